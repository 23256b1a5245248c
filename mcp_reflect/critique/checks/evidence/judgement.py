"""What a rule says of one sentence, and what it has to judge by."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar, cast

from mcp_reflect.critique.checks.evidence.reading import Seen
from mcp_reflect.critique.checks.evidence.report import Report
from mcp_reflect.critique.checks.evidence.sentences import Sentence
from mcp_reflect.models.critique import Status

T = TypeVar("T")
_MOST_MATCHES = 2_000


@dataclass(frozen=True, slots=True)
class Judgement:
    """One claim judged: `expected` is what the evidence shows instead."""

    status: Status
    claim: str
    expected: str | None = None
    detail: str | None = None


class Evidence:
    """All tool results as read, for one check: `text` joins them in lower case, and what is looked up is kept."""

    def __init__(self, seen: tuple[Seen, ...]) -> None:
        self.seen = seen
        self.text = "\n".join(result.text for result in seen).lower()
        self._lower = [result.text.lower() for result in seen]
        self._found: dict[tuple[re.Pattern[str], int], list[re.Match[str]]] = {}
        self._built: dict[Callable[[Evidence], object], object] = {}

    def every(self, pattern: re.Pattern[str], result: Seen | None = None) -> list[re.Match[str]]:
        """Every match in all results, or in one; a text is gone through once for each pattern, however many ask."""
        key = (pattern, -1 if result is None else result.index)
        if key not in self._found:
            text = self.text if result is None else self._lower[result.index]
            self._found[key] = list(islice(pattern.finditer(text), _MOST_MATCHES))
        return self._found[key]

    def once(self, build: Callable[["Evidence"], T]) -> T:
        """What is built from the evidence, built when it is first asked for."""
        if build not in self._built:
            self._built[build] = build(self)
        return cast("T", self._built[build])

    def reports(self) -> list[Report]:
        """Every report, oldest first."""
        return [report for result in self.seen for report in result.reports]

    def latest(self, reports: Iterable[Report]) -> list[Report]:
        """The last report of each runner."""
        last: dict[str, Report] = {}
        for report in reports:
            last[report.runner] = report
        return list(last.values())


Rule = Callable[[Sentence, Evidence], Iterable[Judgement]]


def verdict(sentence: Sentence, *, holds: bool, expected: str | None = None, detail: str | None = None) -> Judgement:
    """Pass or fail for a sentence, quoting it."""
    if holds:
        return Judgement(Status.PASS, sentence.text)
    return Judgement(Status.FAIL, sentence.text, expected, detail)


def unsupported(sentence: Sentence, detail: str) -> Judgement:
    """Nothing contradicts the sentence and nothing shows it."""
    return Judgement(Status.UNCHECKED, sentence.text, None, detail)
