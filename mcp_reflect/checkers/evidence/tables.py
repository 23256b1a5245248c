"""Claims over many rows of a result: the largest and the smallest, a total, a limit that all keep, rows counted.

And what is true or false of the one that is named.
"""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.checkers.evidence.claims import NUMBERS, Evidence, Judgement, amount
from mcp_reflect.checkers.evidence.figures import Claimed, Fact, claimed, facts, figures, stems
from mcp_reflect.checkers.evidence.states import NEGATED, Stated, group_of, states
from mcp_reflect.checkers.sentences import Sentence
from mcp_reflect.models.critique import Status

_EXTREME: Final = re.compile(
    r"\b(?:(?P<most>largest|biggest|highest|longest|slowest|the most(?! of))|smallest|lowest|fewest|the least|shortest|"
    r"cheapest)\b"
)
_OTHER_RANK: Final = re.compile(r"\b(?:second|third|one of|among|next|not|at (?:least|most)|than|almost)\b")
_TOTAL: Final = re.compile(r"\b(?:together|altogether|in all|in total|all told|combined|sum|zusammen|insgesamt)\b")
_SUMMED: Final = stems("total sum all overall summary")
_NEAR: Final = 0.2
"""A number further from the sum than this share of it sums something else."""
_LIMIT: Final = re.compile(
    r"\b(?P<every>every|all|each|both|no|none)\b.*\b(?:(?P<more>above|over|more than|at least|exceeds?)|below|under|"
    r"less than|at most|within)\b",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(r"^\s*([\w./-]+\.\w{1,5})[:(]\d+", re.MULTILINE)
_IN_FILES: Final = re.compile(
    rf"\bin (?P<files>\d+|{'|'.join(NUMBERS)}) files\b|\b(?P<n>\d+|{'|'.join(NUMBERS)}) (?:of (?:them|these)|(?:\w+ )?"
    r"(?:findings?|complaints?|matches|hits|todos?))(?: \w+)? in `?"
    r"(?P<file>[\w./-]+\.\w+)"
)

_IN_STATE: Final = re.compile(
    rf"^(?:and |so )?(?P<n>\d+|{'|'.join(NUMBERS)})(?: \w+){{0,2}} (?:are|is) (?P<state>\w+)\b"
)

Column = list[Fact]
"""Figures of one kind with one label, a row each; rows that sum up are left out."""


def _all(evidence: Evidence) -> list[Column]:
    columns: dict[object, Column] = {}
    for fact in facts(evidence.seen):
        if not fact.row & _SUMMED:
            columns.setdefault((fact.keys, fact.noun, fact.figure.kind), []).append(fact)
    return list(columns.values())


def _columns(evidence: Evidence) -> list[Column]:
    return [column for column in evidence.once(_all) if len(column) > 1 and column[0].figure.kind != "flag"]


def judge_rows(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims over all rows of a column: extremes, totals and limits; counts of places in files."""
    columns = evidence.once(_columns)
    for clause in sentence.clauses:
        text = clause.text
        if clause.hedged:
            continue
        if columns and (extreme := _EXTREME.search(text)) and not _OTHER_RANK.search(text):
            yield from _extreme(text, columns, most=bool(extreme["most"]))
        stated = claimed(text, sentence.text) if columns and _TOTAL.search(text) else ()
        numbers = [claim for claim in stated if re.search(r"\d", claim.figure.text)]
        if len(numbers) == 1:
            yield from _total(text, numbers[0], columns)
        if columns and (limit := _LIMIT.search(text)):
            yield from _limit(text, limit, columns)
        yield from _places(text, evidence)
        yield from _in_state(text, evidence.once(states))
        yield from _flags(text, [column for column in evidence.once(_all) if column[0].figure.kind == "flag"])


def _meant(text: str, columns: list[Column], kind: str | None = None) -> Column | None:
    """Return the column that a clause names by its label, else the only one (of a kind); None where it is not clear."""
    words = stems(text)
    same = [column for column in columns if kind is None or column[0].figure.kind == kind]
    named = [column for column in same if (column[0].keys | {column[0].noun}) & words]
    return named[0] if len(named) == 1 else same[0] if len(same) == 1 and not named else None


def _extreme(text: str, columns: list[Column], *, most: bool) -> Iterator[Judgement]:
    column = _meant(text, columns)
    if column is None:
        return
    common = column[0].row.intersection(*(fact.row for fact in column))
    words = stems(text) | frozenset(re.findall(r"\d+", text))
    meant = [fact for fact in column if (fact.row - common - fact.keys) & words]
    best = (max if most else min)(column, key=lambda fact: fact.figure.value)
    if len(meant) == 1:
        holds = meant[0].figure.value == best.figure.value
        yield _judgement(text, holds, best.line.strip(), "another row has the largest or smallest number")


def _total(text: str, claim: Claimed, columns: list[Column]) -> Iterator[Judgement]:
    column = _meant(text, columns, claim.figure.kind)
    total = sum(fact.figure.value for fact in column or ())
    apart = abs(total - claim.figure.value)
    if column and apart <= _NEAR * total:
        holds = apart <= 0.5001 * 10.0**-claim.figure.places * claim.figure.factor
        shown = f"{total / claim.figure.factor:g}"
        yield _judgement(text, holds, shown, "the sum of the rows is another number")


def _limit(text: str, limit: re.Match[str], columns: list[Column]) -> Iterator[Judgement]:
    figure = next((figure for figure in figures(text) if figure.start >= limit.end()), None)
    column = _meant(text, columns, figure.kind) if figure else None
    if figure is None or column is None:
        return
    kept = [(fact.figure.value >= figure.value) == bool(limit["more"]) for fact in column]
    none = limit["every"].lower() in {"no", "none"}
    wrong = [fact.line.strip() for fact, keeps in zip(column, kept, strict=True) if keeps == none]
    yield _judgement(text, not wrong, "; ".join(wrong)[:160], "not every row keeps the limit")


def _places(text: str, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "five TODOs in three files", "two of them are in cart.ts", where lines begin with file and line."""
    for found in _IN_FILES.finditer(text.lower()):
        number = amount(found["files"] or found["n"])
        for result in evidence.seen:
            places = [place.lower() for place in _PLACE.findall(result.text)]
            counted = sum(place.endswith(found["file"]) for place in places) if found["file"] else len(set(places))
            if len(places) > 1:
                yield _judgement(text, counted == number, str(counted), "the result lists another number")


def _flags(text: str, columns: list[Column]) -> Iterator[Judgement]:
    """Claims like "the Astor has breakfast" against a true or false of that name, in the object that is named."""
    words = stems(text) | frozenset(re.findall(r"\d+", text))
    for column in columns:
        common = column[0].row.intersection(*(fact.row for fact in column)) if len(column) > 1 else frozenset[str]()
        meant = [fact for fact in column if (fact.row - common) & words]
        if column[0].keys and column[0].keys <= words and len(meant) == 1:
            holds = bool(meant[0].figure.value) != bool(NEGATED.search(text))
            yield _judgement(text, holds, meant[0].line, "the result says otherwise")


def _in_state(text: str, stated: list[Stated]) -> Iterator[Judgement]:
    """Claims like "two orders are open" against the number of rows in that state."""
    found = _IN_STATE.search(text.lower())
    group = group_of(found["state"]) if found else None
    if found and group is not None and len(stated) > 1:
        counted = sum(state.group == group for state in stated)
        yield _judgement(
            text, counted == amount(found["n"]), f"{counted} {found['state']}", "the rows are another number"
        )


def _judgement(text: str, holds: bool, shown: str, detail: str) -> Judgement:
    return Judgement(Status.PASS, text) if holds else Judgement(Status.FAIL, text, shown[:160], detail)
