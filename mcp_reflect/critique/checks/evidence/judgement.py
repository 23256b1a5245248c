"""What a rule says of one sentence, and what it has to judge by."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mcp_reflect.critique.checks.evidence.reading import Seen
from mcp_reflect.critique.checks.evidence.report import Report
from mcp_reflect.critique.checks.evidence.sentences import Sentence
from mcp_reflect.records.verdict import Status


@dataclass(frozen=True, slots=True)
class Judgement:
    """One claim judged: `expected` is what the evidence shows instead."""

    status: Status
    claim: str
    expected: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All tool results as read: `text` joins them in lower case."""

    seen: tuple[Seen, ...]
    text: str

    def reports(self) -> list[Report]:
        """Every report, oldest first."""
        return [report for result in self.seen for report in result.reports]

    def latest(self, reports: Iterable[Report]) -> list[Report]:
        """The last report of each runner."""
        last: dict[str, Report] = {}
        for report in reports:
            last[report.runner] = report
        return list(last.values())


def evidence_of(seen: tuple[Seen, ...]) -> Evidence:
    """The evidence that the rules share."""
    return Evidence(seen=seen, text="\n".join(result.text for result in seen).lower())


Rule = Callable[[Sentence, Evidence], Iterable[Judgement]]


def verdict(sentence: Sentence, *, holds: bool, expected: str | None = None, detail: str | None = None) -> Judgement:
    """Pass or fail for a sentence, quoting it."""
    if holds:
        return Judgement(Status.PASS, sentence.text)
    return Judgement(Status.FAIL, sentence.text, expected, detail)


def unsupported(sentence: Sentence, detail: str) -> Judgement:
    """Nothing contradicts the sentence and nothing shows it."""
    return Judgement(Status.UNCHECKED, sentence.text, None, detail)
