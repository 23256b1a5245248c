"""The evidence as rules look things up in it, their judgements, and counts in a clause."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar, cast

from mcp_reflect.checkers.evidence.reading import Seen
from mcp_reflect.checkers.evidence.reports import Report, words
from mcp_reflect.checkers.sentences import Sentence
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
    return Judgement(Status.UNSUPPORTED, sentence.text, None, detail)


WORDS = {
    **dict(
        zip(
            ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
            range(13),
            strict=True,
        )
    ),
    "no": 0,
    "none": 0,
}

_CATEGORY = {
    **dict.fromkeys(
        ("pass", "passes", "passed", "passing", "succeed", "succeeds", "succeeded", "green", "ok"), "passed"
    ),
    **dict.fromkeys(("fail", "fails", "failed", "failing", "failure", "failures", "broken", "red"), "failed"),
    **dict.fromkeys(("error", "errors", "errored"), "errors"),
    **dict.fromkeys(("skip", "skipped", "skips", "ignored", "pending"), "skipped"),
    **dict.fromkeys(("xfail", "xfailed", "xfails"), "xfailed"),
    **dict.fromkeys(("warning", "warnings"), "warnings"),
    **dict.fromkeys(
        ("problem", "problems", "issue", "issues", "finding", "findings", "violation", "violations"), "problems"
    ),
    "deselected": "deselected",
}
_FILLERS = words(
    "in of the test tests case cases spec specs suite suites file files package packages unit jest pytest mocha "
    "vitest node "
    "python rust go have has had are is were was still now all do does did currently already left remaining an a got "
    "type lint linting typing typescript merge compile compiler linter build ruff eslint mypy tsc flake8 pylint "
    "clippy prettier more new java "
    "rust total them these those doc be been"
)
_NOUNS = {
    **dict.fromkeys(("test", "tests", "case", "cases", "spec", "specs"), "tests"),
    **dict.fromkeys(("suite", "suites", "file", "files", "package", "packages"), "suites"),
}
_TOKEN = re.compile(r"[A-Za-z][\w'’-]*|\d[\d,]*(?:\.\d+)?(?:\s?%)?|[/(:,.;=]")
_NOT_COUNTS = words(
    "line lines step version code status python node port # page chapter level pr about around over nearly "
    "almost roughly "
    "approximately than least most fix fixed fixes fixing added add adds wrote resolved not to until another took v"
)
_AFTER_NOUN = words("and in with out left remain remains so or but which that among")
_RAN = words("ran run runs executed collected")
_LISTING = words("ran has have shows show lists list contains collected executes executed runs reports of")


@dataclass(frozen=True, slots=True)
class Count:
    """`value` things of a category (passed, failed, errors, …), of `total` where given; `noun` is tests or suites."""

    category: str
    value: float
    total: int | None = None
    noun: str | None = None
    every: bool = False


def counts(clause: str) -> list[Count]:
    """Every count in the clause, in order. Tokens are looked at once, and up to nine further from each number."""
    tokens = [found.lower() for found in _TOKEN.findall(clause)]
    found: list[Count] = []
    for place, word in enumerate(tokens):
        value = _value(word)
        if value is None or _no_count(tokens, place):
            continue
        if (count := _count(tokens, place, value)) is not None:
            # "1 test file failed and 1 passed": the second one is of files, too.
            found.append(replace(count, noun=count.noun or found[-1].noun) if found else count)
    return found


def _value(word: str) -> float | None:
    if word in WORDS:
        return WORDS[word]
    digits = word.replace(",", "").rstrip("% ")
    return float(digits) if digits[:1].isdigit() and len(digits) < 9 else None


def _no_count(tokens: list[str], place: int) -> bool:
    before = tokens[place - 1] if place else ""
    if before in _NOT_COUNTS or any(
        word in ("fixed", "added", "wrote", "repaired", "resolved") for word in tokens[max(0, place - 4) : place]
    ):
        return True
    if before in {"but", "except"} or tokens[max(0, place - 2) : place] == ["except", "for"]:
        return True
    if tokens[place] == "one" and before in {
        "this",
        "that",
        "which",
        "last",
        "first",
        "any",
        "each",
        "every",
        "the",
        "new",
    }:
        return True
    # The total of "3 of the 7 tests" or "3/7" belongs to the number before it.
    reach = tokens[max(0, place - 3) : place]
    return bool(reach) and (reach[-1] == "/" or ("of" in reach and any(_value(word) is not None for word in reach)))


def _count(tokens: list[str], place: int, value: float) -> Count | None:
    percent = tokens[place].endswith("%")
    nouns: set[str] = set()
    total: int | None = None
    before = tokens[max(0, place - 2) : place]
    every = before[-1:] in (["all"], ["every"]) or before == ["all", "the"]
    for ahead in range(place + 1, min(place + 10, len(tokens))):
        word = tokens[ahead]
        if word == "expected" and tokens[ahead + 1 : ahead + 2] in (["failure"], ["failures"]):
            return Count("xfailed", value, noun=_noun(nouns))
        if word in _CATEGORY:
            count = Count(_CATEGORY[word], value, total, _noun(nouns), every)
            return _categorised(tokens, ahead, count, percent=percent)
        if (number := _value(word)) is not None and tokens[ahead - 1] in {"of", "/", "the"} and total is None:
            total = int(number)
        elif word in _NOUNS:
            # "Test files" are files, "tests in the suite" are tests.
            if not nouns or tokens[ahead - 1] in _NOUNS:
                nouns.add(_NOUNS[word])
        elif word not in _FILLERS and not (word == "/" and ahead == place + 1):
            return _total(tokens, place, ahead, value, _noun(nouns))
    return _total(tokens, place, len(tokens), value, _noun(nouns))


def _noun(nouns: set[str]) -> str | None:
    """What is counted: test files are files."""
    return "suites" if "suites" in nouns else "tests" if nouns else None


def _categorised(tokens: list[str], ahead: int, count: Count, *, percent: bool) -> Count | None:
    after = tokens[ahead + 1] if ahead + 1 < len(tokens) else ""
    if percent:
        return Count("percent", count.value, noun=count.noun) if count.category == "passed" else None
    # "3 failing tests" is 3 failed; "2 failed attempts" is something else.
    if tokens[ahead] in {"failing", "passing", "failed", "skipped", "broken"} and after and after[0].isalpha():
        known = after in _NOUNS or after in _FILLERS or after in {"and", "in", "with", "out", "during", "so", "or"}
        further = tokens[ahead + 2] if after in _NOUNS and ahead + 2 < len(tokens) else "."
        told = further in _FILLERS or further in _CATEGORY or further in _AFTER_NOUN or not further[0].isalpha()
        return count if (known and told) or after in _CATEGORY else None
    return count


def _total(tokens: list[str], place: int, ahead: int, value: float, noun: str | None) -> Count | None:
    before = tokens[place - 1] if place else ""
    after = tokens[ahead] if ahead < len(tokens) else ""
    listed = noun == "tests" and (before in _LISTING or after in _RAN)
    if (
        not listed
        or not (after in _RAN or after in _AFTER_NOUN or not after[:1].isalpha())
        or after in {"that", "which"}
    ):
        return None
    return Count("total", value, noun=noun)
