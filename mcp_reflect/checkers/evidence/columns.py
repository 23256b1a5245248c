"""Claims over several rows: extremes, totals, limits, which of two is larger, and how many places in a file."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement, judged
from mcp_reflect.checkers.evidence.lookup import Fact, columns, facts, named
from mcp_reflect.checkers.evidence.numbers import claimed, equal
from mcp_reflect.checkers.evidence.rows import NUMBERS, Row, figures, stems, unit_of, words_of
from mcp_reflect.checkers.sentences import NEGATED, Sentence

_EXTREME: Final = re.compile(
    r"\b(?:(?P<most>largest|biggest|highest|longest|slowest|best|costliest|heaviest|busiest|fullest|strongest|"
    r"the most(?! of))|smallest|lowest|fewest|the least|shortest|cheapest|fastest|quickest|lightest|weakest)\b"
)
RANKS: Final = re.compile(
    r"\b(?:(?:slowest|fastest|longest|shortest) \w+(?= (?:took|takes)\b)|largest|biggest|highest|longest|slowest|most|"
    r"smallest|lowest|fewest|least|shortest|cheapest|fastest|best|larger|bigger|higher|longer|slower|greater|fewer|less|"
    r"smaller|lower|shorter|faster|cheaper|together|altogether|total|combined)\b"
)
_OTHER_RANK: Final = re.compile(r"\b(?:second|third|one of|among|next|not|at (?:least|most)|than|almost)\b")
_THAN: Final = re.compile(
    r"\b(?:(?P<more>more|larger|bigger|higher|longer|slower|greater|costlier|heavier|dearer)|fewer|less|smaller|lower|shorter|"
    r"faster|quicker|cheaper|lighter)\b[^,;]{0,40}\bthan\b|\b(?P<same>as (?:much|many|large|long|slow|fast|big|high)\b"
    r"[^,;]{0,25}\bas|the same [^,;]{0,25}\bas)\b"
)
_TOTAL: Final = re.compile(
    r"\b(?:(?:over|across) all|together|altogether|in all|in total|all told|combined|sum|zusammen|insgesamt|"
    r"(?:adds?|added|sums?|summed) up|(?:amount|come)s? to)\b"
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


_SUBJECT: Final = re.compile(r"[,;]|\s(?:with|at|and)\s")
_KINDS: Final = {
    "size": re.compile(r"\b(?:larg|bigg|small|more room|more space|heav|light)"),
    "time": re.compile(r"\b(?:slow|fast|quick|long|short)"),
}
"""Words that rank, and the kind of what they rank; others rank any number."""


def _candidates(text: str, found: Sequence[list[Fact]], kind: str | None = None) -> list[list[Fact]]:
    """Return the columns that a clause may mean: those of its labels or the kind that it ranks, else all."""
    words = stems(text)
    kinds = {kind} if kind is not None else {each for each, ranked in _KINDS.items() if ranked.search(text.lower())}
    labelled = [column for column in found if (column[0].cell.label | {column[0].cell.noun}) & words]
    same = [column for column in labelled or found if column[0].figure.kind in kinds]
    return same or labelled or (list(found) if kind is None else [])


def _column(text: str, found: Sequence[list[Fact]], kind: str | None = None) -> list[Fact] | None:
    """Return the one column that a clause means; None where it is not clear."""
    chosen = _candidates(text, found, kind)
    return chosen[0] if len(chosen) == 1 else None


def _agreed(text: str, verdicts: Sequence[tuple[bool, str]]) -> Iterator[Judgement]:
    """Judge a claim that several columns may mean: only if it holds in all of them or in none."""
    if len({holds for holds, _ in verdicts}) == 1:
        yield judged(text, holds=verdicts[0][0], shown=verdicts[0][1])


def _named_rows(text: str, evidence: Evidence) -> list[Row]:
    """Return the rows that a text names by a sure name, else by another one."""
    return named(text, evidence) or named(text, evidence, sure=False)


def _of_rows(text: str, evidence: Evidence) -> list[list[Fact]]:
    """Return the columns that hold a row which a text names, else all."""
    found, rows = evidence.once(columns), _named_rows(text, evidence)
    return [column for column in found if any(fact.row in rows for fact in column)] or found


def _named_in(text: str, column: Sequence[Fact], evidence: Evidence) -> list[Fact]:
    """Return the facts whose row a text names, else those that share a word with it that not all rows have."""
    rows = _named_rows(text, evidence)
    common = column[0].row.words.intersection(*(fact.row.words for fact in column))
    words = words_of(text)
    return [fact for fact in column if fact.row in rows] or [
        fact for fact in column if not fact.row.free and (fact.row.words - common - fact.cell.label) & words
    ]


def judge_extremes(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "web-1 has the most errors".

    The best may be the least, so that it is never contradicted.
    """
    extreme = _EXTREME.search(text.lower())
    if not extreme or _OTHER_RANK.search(text):
        return
    most, best = bool(extreme["most"]), extreme[0] == "best"
    numbers = list(figures(text))
    texts = (text, sentence.text, _SUBJECT.split(sentence.before)[0])
    verdicts: list[tuple[bool, str]] = []
    for column in _candidates(text, _of_rows(text, evidence)):
        named_in = [_named_in(each, column, evidence) for each in texts]
        meant = next(filter(None, named_in), named_in[0])
        first = (max if most else min)(column, key=lambda fact: fact.figure.value)
        holds = len(meant) == 1 and meant[0].figure.value == first.figure.value
        holds = holds or any(equal(number, first.figure) for number in numbers)
        verdicts += [(holds, first.row.line)] if len(meant) == 1 else []
    if not best or any(holds for holds, _ in verdicts):
        yield from _agreed(text, verdicts)


def judge_comparisons(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "web-1 has more errors than web-2"."""
    than = _THAN.search(text)
    if than is None or NEGATED.search(text):
        return
    verdicts: list[tuple[bool, str]] = []
    for column in _candidates(text, _of_rows(text, evidence)):
        first = _named_in(text[: than.start()], column, evidence)
        second = _named_in(text[than.end() :], column, evidence)
        if len(first) == len(second) == 1 and first != second:
            apart = first[0].figure.value - second[0].figure.value
            holds = apart == 0 if than["same"] else (apart > 0) == bool(than["more"])
            verdicts.append((holds, f"{first[0].row.line}; {second[0].row.line}"))
    yield from _agreed(text, verdicts)


def judge_totals(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "together they have 540 lines" against the sum over the rows, or over those that are named."""
    numbers = [claim for claim in claimed(text, sentence.text) if re.search(r"\d", claim.figure.text)]
    if not _TOTAL.search(text.lower()) or not numbers:
        return
    kind = numbers[0].figure.kind
    columns_of = [column for column in evidence.once(columns) if not kind or column[0].figure.kind in {kind, ""}]
    column = _column(text, columns_of)
    labels = column[0].cell.label | {column[0].cell.noun} if column else frozenset[str]()
    unknown = {word for word in evidence.unknown_words(text) if word not in NUMBERS and not unit_of(word)[0]}
    if column and unknown and not labels & stems(text):
        return  # it adds up something else
    rows = _named_rows(text, evidence)
    if len(rows) == 1:
        return  # what one of them comes to is no sum of all
    for figure in [claim.figure for claim in numbers]:
        for added in [column] if column else columns_of if len(numbers) > 1 else ():
            few = [fact for fact in added if fact.row in rows]
            total = sum(fact.figure.value for fact in (few if len(few) > 1 else added))
            if not figure.kind:
                total /= added[0].figure.factor
            apart, play = abs(total - figure.value), 0.5001 * 10.0**-figure.places * figure.factor
            stands = any(equal(figure, fact.figure) for fact in evidence.once(facts))
            if apart <= play or (not stands and (apart <= _NEAR * total or len(few) > 1 == len(numbers))):
                shown = f"{total / figure.factor:g}"
                yield judged(text, holds=apart <= play, shown=shown)


def judge_limits(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "every package is above 55 %"."""
    limit = _LIMIT.search(text)
    figure = next((figure for figure in figures(text) if limit and figure.start >= limit.end()), None)
    column = _column(text, evidence.once(columns), figure.kind) if figure else None
    if limit and figure and column:
        none = bool(limit["no"]) or limit["every"].lower() == "none"
        more = bool(limit["more"] or limit["over"])
        wrong = [f.row.line for f in column if ((f.figure.value >= figure.value) == more) == none]
        yield judged(text, holds=not wrong, shown="; ".join(wrong))
