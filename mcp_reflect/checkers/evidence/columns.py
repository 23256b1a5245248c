"""Claims over several rows: extremes, totals, limits, which of two is larger, and how many places in a file."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement, judged
from mcp_reflect.checkers.evidence.numbers import Fact, claimed, columns, equal, facts, named
from mcp_reflect.checkers.evidence.rows import NUMBERS, amount, figures, stems, words_of
from mcp_reflect.checkers.sentences import NEGATED, Sentence
from mcp_reflect.models.critique import Status

_EXTREME: Final = re.compile(
    r"\b(?:(?P<most>largest|biggest|highest|longest|slowest|best|the most(?! of))|smallest|lowest|fewest|the least|"
    r"shortest|cheapest|fastest)\b"
)
RANKS: Final = re.compile(
    r"\b(?:(?:slowest|fastest|longest|shortest) \w+(?= (?:took|takes)\b)|largest|biggest|highest|longest|slowest|most|"
    r"smallest|lowest|fewest|least|shortest|cheapest|fastest|best|larger|bigger|higher|longer|slower|greater|fewer|less|"
    r"smaller|lower|shorter|faster|cheaper|together|altogether|total|combined)\b"
)
_MOST: Final = stems("max maximum peak slowest longest largest highest biggest")
_LEAST: Final = stems("min minimum fastest shortest smallest lowest cheapest")
_OTHER_RANK: Final = re.compile(r"\b(?:second|third|one of|among|next|not|at (?:least|most)|than|almost)\b")
_THAN: Final = re.compile(
    r"\b(?:(?P<more>more|larger|bigger|higher|longer|slower|greater)|fewer|less|smaller|lower|shorter|faster|cheaper)\b"
    r"[^,;]{0,40}\bthan\b"
)
_TOTAL: Final = re.compile(
    r"\b(?:(?:over|across) all|together|altogether|in all|in total|all told|combined|sum|zusammen|insgesamt)\b"
)
_NEAR: Final = 0.2
"""A number further from the sum than this share of it sums something else."""
_LIMIT: Final = re.compile(
    r"\b(?P<every>every|all|each|both|none)\b.*\b(?:(?P<more>above|over|more than|at least|exceeds?)|below|under|"
    r"less than|at most|within)\b|"
    r"^(?P<no>no) \w+(?: \w+)? (?:is|are|has|have|takes?|was|were)\b.*?\b(?:(?P<over>above|over|more than|at least)|"
    r"below|under|less than|at most|within)\b",
    re.IGNORECASE,
)
_N: Final = rf"(?P<n>\d+|{'|'.join(NUMBERS)})"
_IN_FILES: Final = re.compile(
    rf"\bin (?P<files>\d+|{'|'.join(NUMBERS)}) files\b|\b{_N} (?:of (?:them|these)|(?:\w+ )?"
    r"(?:findings?|complaints?|matches|hits|todos?))(?: \w+)? in `?(?P<file>[\w./-]+\.\w+)"
)
_PLACE: Final = re.compile(r"^\s*([\w./-]+\.\w{1,5})[:(]\d+", re.MULTILINE)
_FILE: Final = re.compile(r"^(\S*\.\w{1,5})\s*$|^\s+\d+:\d+\s", re.MULTILINE)


def _column(text: str, found: Sequence[list[Fact]], kind: str | None = None) -> list[Fact] | None:
    """Return the column that a clause names by its label, else the only one (of a kind); None where it is not clear."""
    words = stems(text)
    labelled = [column for column in found if (column[0].cell.label | {column[0].cell.noun}) & words]
    same = [column for column in found if kind is None or column[0].figure.kind == kind]
    return labelled[0] if len(labelled) == 1 else same[0] if len(same) == 1 and not labelled else None


def _named_in(text: str, column: Sequence[Fact], evidence: Evidence) -> list[Fact]:
    """Return the facts whose row a text names, else those that share a word with it that not all rows have."""
    rows = named(text, evidence)
    common = column[0].row.words.intersection(*(fact.row.words for fact in column))
    words = words_of(text)
    return [fact for fact in column if fact.row in rows] or [
        fact for fact in column if (fact.row.words - common - fact.cell.label) & words
    ]


def judge_extremes(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "web-1 has the most errors"; "the slowest took 971 ms" against what is called a maximum.

    The best may be the least, so that it is never contradicted.
    """
    extreme = _EXTREME.search(text.lower())
    if not extreme or _OTHER_RANK.search(text):
        return
    most, best = bool(extreme["most"]), extreme[0] == "best"
    called = [fact for fact in evidence.once(facts) if fact.cell.label & (_MOST if most else _LEAST)]
    numbers = list(figures(text))
    if len(called) == len(numbers) == 1 and called[0].figure.kind == numbers[0].kind:
        others = [f.figure for f in evidence.once(facts) if f is not called[0]]
        if equal(numbers[0], called[0].figure):
            yield Judgement(Status.PASS, text)
        elif any(equal(numbers[0], other) for other in others):
            yield Judgement(Status.FAIL, text, called[0].row.line[:160], "the result has another number")
    column = _column(text, evidence.once(columns))
    meant = (_named_in(text, column, evidence) or _named_in(sentence.text, column, evidence)) if column else []
    if column and len(meant) == 1:
        first = (max if most else min)(column, key=lambda fact: fact.figure.value)
        holds = meant[0].figure.value == first.figure.value
        if holds or not best:
            detail = "another row has the largest or smallest number"
            yield judged(text, holds=holds, shown=first.row.line, detail=detail)


def judge_comparisons(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "web-1 has more errors than web-2"."""
    than = _THAN.search(text)
    if than is None or NEGATED.search(text):
        return
    column = _column(text, evidence.once(columns))
    first = _named_in(text[: than.end() - 4], column, evidence) if column else []
    second = _named_in(text[than.end() :], column, evidence) if column else []
    if len(first) == len(second) == 1 and first != second:
        holds = (first[0].figure.value > second[0].figure.value) == bool(than["more"])
        shown = f"{first[0].row.line}; {second[0].row.line}"
        yield judged(text, holds=holds, shown=shown, detail="the rows compare otherwise")


def judge_totals(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "together they have 540 lines" against the sum over the rows."""
    if not _TOTAL.search(text.lower()):
        return
    numbers = [claim for claim in claimed(text, sentence.text) if re.search(r"\d", claim.figure.text)]
    column = _column(text, evidence.once(columns), numbers[0].figure.kind) if len(numbers) == 1 else None
    total = sum(fact.figure.value for fact in column or ())
    if column and numbers and not numbers[0].figure.kind:
        total /= column[0].figure.factor
    if column and (apart := abs(total - numbers[0].figure.value)) <= _NEAR * total:
        figure = numbers[0].figure
        holds = apart <= 0.5001 * 10.0**-figure.places * figure.factor
        shown = f"{total / figure.factor:g}"
        yield judged(text, holds=holds, shown=shown, detail="the sum of the rows is another number")


def judge_limits(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "every package is above 55 %"."""
    limit = _LIMIT.search(text)
    figure = next((figure for figure in figures(text) if limit and figure.start >= limit.end()), None)
    column = _column(text, evidence.once(columns), figure.kind) if figure else None
    if limit and figure and column:
        none = bool(limit["no"]) or limit["every"].lower() == "none"
        more = bool(limit["more"] or limit["over"])
        wrong = [f.row.line for f in column if ((f.figure.value >= figure.value) == more) == none]
        yield judged(text, holds=not wrong, shown="; ".join(wrong), detail="not every row keeps the limit")


def _places_in(text: str) -> Iterator[str]:
    """Return the file of each place: before its line, or alone above the indented lines of its places."""
    yield from _PLACE.findall(text)
    file = ""
    for match in _FILE.finditer(text):
        if match[1]:
            file = match[1]
        elif file:
            yield file


def judge_place_counts(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "five TODOs in three files", "two of them are in cart.ts", where lines begin with file and line."""
    for found in _IN_FILES.finditer(text.lower()):
        number = amount(found["files"] or found["n"])
        for result in evidence.results:
            places = list(_places_in(result.text.lower()))
            counted = sum(place.endswith(found["file"]) for place in places) if found["file"] else len(set(places))
            if len(places) > 1:
                detail = "the result lists another number"
                yield judged(text, holds=counted == number, shown=str(counted), detail=detail)
