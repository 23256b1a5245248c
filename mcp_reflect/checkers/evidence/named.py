"""Exit codes, statuses, exceptions, versions, places and fields against the tool results.

A name that the results show is supported. Where they show only others of its family, it is contradicted.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement, judged
from mcp_reflect.checkers.evidence.lookup import named
from mcp_reflect.checkers.evidence.rows import Row, stems
from mcp_reflect.checkers.sentences import NEGATED, Sentence
from mcp_reflect.models.critique import Status

_POINTING: Final = (
    r"\b(?:errors?|fail\w*|crash\w*|rais\w+|throw\w*|complains?|assertion|panic\w*|violat\w+|warning|exception|bug|"
    r"reported|reports|points?|traceback|cause)\b"
)
_GENERAL: Final = re.compile(
    r"\b(?:for|above|below|when|if|during|while|only|unless|in case|after|until|sometimes|means|rule|flags|right|"
    r"targets?|thresholds?)\b"
)
_EXCEPTION: Final = r"\b([a-z_][\w.]{1,80}(?:error|exception)|keyboardinterrupt|systemexit|stopiteration)\b"


class _Family(NamedTuple):
    """How claims and results write a kind of name (lower case), and what a clause must say besides."""

    said: str
    shown: str
    beside: str = ""


_FAMILIES: Final = (
    _Family(
        r"\bexit(?:s|ed|ing)?(?: with)?(?: an?)?(?: exit)? ?(?:code|status)?(?: was| is|:)? (\d{1,3})\b|"
        r"\b(?:exit|return) (?:code|status)(?: was| is|:)? (\d{1,3})\b",
        r"\bexit (?:status|code):? (\d{1,3})\b|\bexited \((\d{1,3})\)|\bcode=exited, status=(\d{1,3})",
    ),
    _Family(
        r"\b(?:return(?:s|ed)?|respon(?:ds|ded|se)|status(?: code)?|answer(?:s|ed)?|http|gives?|gave|got)\b"
        r"(?: (?:with|is|was|of|code|status|an?|http|us))*:? ?\b([1-5]\d\d)\b",
        r"\bhttp/\d(?:\.\d)? ([1-5]\d\d)\b|\"(?:status|status_?code)\": ?([1-5]\d\d)\b|^([1-5]\d\d) https?://|"
        r"\b(failed to connect|connection refused|could not resolve host)\b",
    ),
    _Family(_EXCEPTION, _EXCEPTION, _POINTING + r"|\bis an? \w+(?:error|exception)"),
    _Family(r"\b([a-z]{1,3}\d{3,5})\b", r"\b([a-z]{1,3}\d{3,5})\b", _POINTING),
    _Family(
        r"\b(?:by|owner is|author is|assigned to) ([a-z][\w-]+ [a-z][\w-]+)(?= on\b| at\b|$|,|\.)",
        r"^\W*(?:author|committer|owner|assignee|reporter|reviewer|created by)\W{1,5}([a-z][\w-]+ [a-z][\w-]+)",
        r"\b(?:made|written|authored|committed|created|approved|reported|reviewed|assigned|owner|author)\b",
    ),
    _Family(
        r"\bcoverage\b[^.%]{0,40}?\b(\d{1,3}(?:\.\d{1,2})?) ?%|\b(\d{1,3}(?:\.\d{1,2})?) ?% (?:\w+ )?coverage\b",
        r"^total\s.{0,200}?(\d{1,3}(?:\.\d+)?)%\s*$|^all files\s*\|\s*(\d{1,3}(?:\.\d+)?)\s|"
        r"^lines\s*: (\d{1,3}(?:\.\d+)?)%|coverage: (\d{1,3}(?:\.\d+)?)% of statements|"
        r"\((\d{1,3}(?:\.\d+)?)%\) covered",
    ),
)
# A claim, the line of the results that excludes it, and the one that shows it.
_CONTRARY: Final = (
    (
        (
            r"\b(?:work(?:ing)? (?:tree|directory)|git status)\b.{0,20}\bclean|\bno (?:uncommitted|unstaged) changes|"
            r"\bevery(?:thing|body)? .{0,30}\b(?:committed|pushed)\b"
        ),
        r"^(?:changes not staged for commit|changes to be committed|untracked files):|^your branch is ahead",
        r"working tree clean",
    ),
    (r"\b(?:no|without|any) (?:merge )?conflicts?\b(?! in)", r"^conflict \(", r"^(?:merge made|fast-forward)"),
)


def judge_named(clause: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Names of each family, and claims that a line of the results excludes."""
    text = clause.lower().replace("`", "")
    for said, contrary, support in _CONTRARY:
        if re.search(said, text):
            if shown := evidence.every(contrary):
                yield judged(clause, holds=False, shown=shown[-1][0], detail="the result shows the contrary")
            elif evidence.every(support):
                yield Judgement(Status.PASS, clause)
    if NEGATED.search(text) or _GENERAL.search(text):
        return
    for family in _FAMILIES:
        for match in list(re.finditer(family.said, text))[:10] if re.search(family.beside, text) else ():
            yield from _compared(clause, _name(match), family, evidence)


def _compared(claim: str, said: str, family: _Family, evidence: Evidence) -> Iterator[Judgement]:
    shown = [_name(match) for match in evidence.every(family.shown)]
    if family is _FAMILIES[0]:
        shown += [str(result.exit_code) for result in evidence.results if result.exit_code is not None]
    if re.fullmatch(r"[a-z]{1,3}\d{3,5}", said):  # E0308 and E0277 exclude each other, E0308 and F401 do not
        shown = [name for name in shown if re.sub(r"\d", "0", name) == re.sub(r"\d", "0", said)]
    if any(_same(said, name) for name in shown) or (shown and re.search(rf"\b{re.escape(said)}\b", evidence.text)):
        yield Judgement(Status.PASS, claim)
    elif shown:
        yield Judgement(Status.FAIL, claim, ", ".join(dict.fromkeys(shown))[:160], f"the result shows no {said}")


def _name(found: re.Match[str]) -> str:
    return next(group for group in found.groups() if group)


def _same(said: str, shown: str) -> bool:
    """True if two texts are the same, or numbers of which one is rounded."""
    if re.fullmatch(r"-?\d+(?:\.\d+)?", said) and re.fullmatch(r"-?\d+(?:\.\d+)?", shown):
        return abs(float(said) - float(shown)) <= 0.5 * 10.0 ** -len(said.partition(".")[2]) * ("." in shown)
    return said == shown


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
            yield Judgement(Status.FAIL, text, other, "another version")
        elif in_rows or any(version == said or version.startswith(said + ".") for version in shown):
            yield Judgement(Status.PASS, text)
        elif shown and said not in evidence.text:
            yield Judgement(Status.FAIL, text, ", ".join(dict.fromkeys(shown))[:120], "another version")


_PLACE: Final = re.compile(
    r"\b([\w./-]{1,120}\.[a-z]{1,5})(?::| at line | line |, line | in line )(\d{1,6})\b|"
    r"\bline (\d{1,6}) (?:of|in) ([\w./-]{1,120}\.[a-z]{1,5})\b"
)


def judge_places(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the error is in load.py at line 42", where the results point into the file at other lines."""
    text = sentence.stated.lower().replace("`", "")
    if not re.search(_POINTING, text) or NEGATED.search(text):
        return
    for first, line, other, second in _PLACE.findall(text):
        name, number = (first or second).rsplit("/", 1)[-1], line or other
        pointed: list[str] = re.findall(re.escape(name) + r"(?::|\(|\", line |, line |:line )(\d{1,6})", evidence.text)
        if number in pointed:
            yield Judgement(Status.PASS, sentence.text)
        elif pointed:
            shown = f"{name}:{', '.join(dict.fromkeys(pointed))}"[:120]
            yield Judgement(Status.FAIL, sentence.text, shown, "the result points elsewhere")


def judge_lines(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the bare except is in line 20", where one place has these words and another place this line."""
    rows = evidence.once(_placed)
    words = stems(_AT_LINE.sub(" ", text))
    for said in _AT_LINE.findall(text) if rows and not NEGATED.search(text) else ():
        own = [(number, row) for number, unique, row in rows if len(unique & words) > 1]
        if len(own) == 1 and any(number == said for number, _, _ in rows):
            yield judged(text, holds=own[0][0] == said, shown=own[0][1].line, detail="the result points elsewhere")


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
    if len(meant) == 1 and (own := _days(meant[0].line.lower())) and not _days(text.lower()) <= own and len(said) == 1:
        shown = own  # the day of the row that is named
    if shown and _days(text.lower()) - shown - _days(evidence.goal.lower()):
        listed = ", ".join(f"{_MONTHS[month - 1].title()} {day}" for month, day in sorted(shown)[:6])
        yield Judgement(Status.FAIL, text, listed, "the result has other dates")


def _shown_days(evidence: Evidence) -> set[tuple[int, int]]:
    return {day for day in _days(evidence.text) if 1 <= day[0] <= 12}
