"""Statuses of HTTP, coverage, versions, lines and days of the month against those that the tool results show."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement, judged
from mcp_reflect.checkers.evidence.lookup import named
from mcp_reflect.checkers.evidence.rows import Row, stems
from mcp_reflect.checkers.sentences import NEGATED, Sentence
from mcp_reflect.models.critique import Status

_GENERAL: Final = re.compile(
    r"\b(?:for|above|below|when|if|during|while|only|unless|in case|after|until|sometimes|means|rule|flags|right|"
    r"targets?|thresholds?)\b"
)
# How claims say a status or a coverage, and how results write it, in lower case.
_STATUS: Final = (
    r"\b(?:return(?:s|ed)?|respon(?:ds|ded|se)|status(?: code)?|answer(?:s|ed)?|http|gives?|gave|got)\b"
    r"(?: (?:with|is|was|of|code|status|an?|http|us))*:? ?\b([1-5]\d\d)\b"
)
_STATUS_SHOWN: Final = (
    r"\bhttp/\d(?:\.\d)? ([1-5]\d\d)\b|\"(?:status|status_?code)\": ?([1-5]\d\d)\b|^([1-5]\d\d) https?://|"
    r"\b(failed to connect|connection refused|could not resolve host)\b"
)
_COVERAGE: Final = (
    r"\bcoverage\b[^.%]{0,40}?\b(\d{1,3}(?:\.\d{1,2})?) ?%|\b(\d{1,3}(?:\.\d{1,2})?) ?% (?:\w+ )?coverage\b"
)
_COVERAGE_SHOWN: Final = (
    r"^total\s.{0,200}?(\d{1,3}(?:\.\d+)?)%\s*$|^all files\s*\|\s*(\d{1,3}(?:\.\d+)?)\s|"
    r"^lines\s*: (\d{1,3}(?:\.\d+)?)%|coverage: (\d{1,3}(?:\.\d+)?)% of statements|"
    r"\((\d{1,3}(?:\.\d+)?)%\) covered"
)
_CLEAN: Final = re.compile(
    r"\b(?:work(?:ing)? (?:tree|directory)|git status)\b.{0,20}\bclean|\bno (?:uncommitted|unstaged) changes|"
    r"\bevery(?:thing|body)? .{0,30}\b(?:committed|pushed)\b"
)
_NOT_CLEAN: Final = r"^(?:changes not staged for commit|changes to be committed|untracked files):|^your branch is ahead"


def judge_named(clause: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """A status of HTTP or a coverage of which the results show only others, and a working tree that is not clean."""
    text = clause.lower().replace("`", "")
    if _CLEAN.search(text) and (shown := evidence.every(_NOT_CLEAN)):
        yield judged(clause, holds=False, shown=shown[-1][0])
    if NEGATED.search(text) or _GENERAL.search(text):
        return
    for pattern, shown_pattern in ((_STATUS, _STATUS_SHOWN), (_COVERAGE, _COVERAGE_SHOWN)):
        names = [_name(match) for match in evidence.every(shown_pattern)]
        for said in map(_name, list(re.finditer(pattern, text))[:10]) if names else ():
            holds = any(_same(said, name) for name in names) or bool(re.search(rf"\b{said}\b", evidence.text))
            yield judged(clause, holds=holds, shown=", ".join(dict.fromkeys(names)))


def _name(found: re.Match[str]) -> str:
    return next(group for group in found.groups() if group)


def _same(said: str, shown: str) -> bool:
    """True if two texts are the same, or numbers of which one is rounded."""
    rounded = "." in shown and abs(float(said) - float(shown)) <= 0.5 * 10.0 ** -len(said.partition(".")[2])
    return said == shown or rounded


_VERSION: Final = re.compile(
    r"(?<![\w.-])v?(\d+\.\d+(?:\.\d+)+(?:[-+.][\w.]+)?|(?<=v)\d+\.\d+)(?![\w])|\bv(\d+\.\d+)\b"
)
_VERSION_LABELS: Final = stems("version tag release")


def judge_versions(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """A version number behind a name against the versions that the results give for the name."""
    for found in _VERSION.finditer(text):
        said, name = _name(found), stems(" ".join(text[: found.start()].split()[-2:]))
        cells = [
            cell
            for row in named(text, evidence) or named(sentence.text, evidence)
            for cell in row.cells
            if _VERSION.fullmatch(cell.text)
        ]
        labelled = [cell.text for cell in cells if cell.label & name]
        in_rows = labelled or [cell.text for cell in cells if cell.label & _VERSION_LABELS]
        lines = [line for line in evidence.text.split("\n")[:3_000] if name & stems(line)]
        shown = [_name(version) for line in lines for version in _VERSION.finditer(line)]
        if other := next((version for version in in_rows if not f"{version}.".startswith(f"{said}.")), None):
            yield judged(text, holds=False, shown=other)
        elif in_rows or any(version == said or version.startswith(said + ".") for version in shown):
            yield Judgement(Status.PASS, text)
        elif shown and said not in evidence.text:
            yield judged(text, holds=False, shown=", ".join(dict.fromkeys(shown)))


def judge_lines(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the bare except is in line 20", where one place has these words and another place this line."""
    rows = evidence.once(_placed)
    words = stems(_AT_LINE.sub(" ", text))
    for said in _AT_LINE.findall(text) if rows and not NEGATED.search(text) else ():
        own = [(number, row) for number, unique, row in rows if len(unique & words) > 1]
        if len(own) == 1 and any(number == said for number, _, _ in rows):
            yield judged(text, holds=own[0][0] == said, shown=own[0][1].line)


_AT_LINE: Final = re.compile(r"\bline (\d{1,6})\b")
_AT: Final = re.compile(r"^\s*[\w./-]*:?(\d{1,6}):\d{1,4}\b")


def _placed(evidence: Evidence) -> list[tuple[str, frozenset[str], Row]]:
    """Return the rows that begin with a line and a column, with the line and the words that only they have."""
    rows = [(found[1], row) for row in evidence.rows if (found := _AT.match(row.line))]
    seen = Counter(word for _, row in rows for word in row.words)
    return [(number, frozenset(word for word in row.words if seen[word] == 1), row) for number, row in rows]


_MONTHS: Final[tuple[str, ...]] = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
_MONTH: Final = rf"({'|'.join(_MONTHS)})[a-z]{{0,6}}"
_DAY: Final = re.compile(
    rf"\b[12]\d{{3}}-(\d\d)-(\d\d)|\b(\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}\b|"
    rf"\b{_MONTH}\.? {{1,2}}(\d{{1,2}})(?![\d:])"
)


def _days(text: str) -> set[tuple[int, int]]:
    """Return the month and day of each date in a text in lower case."""
    found = (match.groups() for match in _DAY.finditer(text))
    return {
        (int(month), int(day)) if month else (_MONTHS.index(name or other) + 1, int(before or behind))
        for month, day, before, name, other, behind in found
    }


def judge_dates(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Days of the month where the results have others only, and the goal does not name them."""
    said = _days(sentence.text.lower()) if not NEGATED.search(sentence.text) else set[tuple[int, int]]()
    shown = evidence.once(_shown_days) if said else set[tuple[int, int]]()
    meant = named(text, evidence)
    if len(meant) == 1 and (own := _days(meant[0].line.lower())) and len(said) == 1:
        shown = own  # the day of the row that is named
    if shown and _days(text.lower()) - shown - _days(evidence.goal.lower()):
        listed = ", ".join(f"{_MONTHS[month - 1].title()} {day}" for month, day in sorted(shown)[:6])
        yield Judgement(Status.FAIL, text, listed)


def _shown_days(evidence: Evidence) -> set[tuple[int, int]]:
    return {day for day in _days(evidence.text) if 1 <= day[0] <= 12}
