"""Numbers of the work against the numbers of the results, and against what follows from them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

from mcp_reflect.checkers.evidence.claims import Evidence, Judgement
from mcp_reflect.checkers.evidence.facts import (
    STOP,
    SUMMED,
    Cell,
    Figure,
    Row,
    figures,
    rows,
    spelled,
    stem,
    stems,
    words_of,
)
from mcp_reflect.checkers.sentences import Sentence
from mcp_reflect.models.critique import Status

_ABOUT: Final = re.compile(
    r"\b(?:about|around|roughly|approximately|some|nearly|almost|close to|just (?:under|over)|a (?:little|good|bit)|"
    r"over|under|more than|less than|below|above|up to|at (?:least|most)|rund|etwa|environ|circa|ca\.?)\W{0,3}"
    r"(?:\w+ )?$|[~≈>]\s?$",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"`[^`]*[^`\d.,%][^`]*`|#\w+|\b\d+-(?=[a-z])")
_TOLERANCE: Final = 0.05
_NO_CLAIM: Final = re.compile(
    r"\b(?:lines?|steps?|port|chapter|page|issue|section|item|option|rule|pr|#|version|v|node|python|day|from|threshold|"
    r"limit|target|goal|least|most|than|max(?:imum)?|min(?:imum)?|every|last|next|first|error|january|february|march|"
    r"april|may|june|july|august|september|october|november|december|"
    r"(?:\d|out|one|two|three|four|five|any|each|all|most) of)\W{0,2}$",
    re.IGNORECASE,
)
_BORDER: Final = re.compile(r"[.;,] |(?<![\w.])\d[\d.,]*")
_LEAST: Final = 4
"""The least score that contradicts: the noun, or a key and a word of the row."""

_SURE: Final = 7
"""The score of a fact with the claim's noun and key: it contradicts though another number on its line agrees."""

_GENERIC: Final = stems("time way thing part place case other more new number value result run day step")
_COMMON: Final = stems(
    "test file line error warning issue problem package item second minute commit step byte row user order"
)
"""Nouns of many texts: they label a number only together with a word of its line beside it, as in "files changed"."""
_LIMIT: Final = re.compile(
    r"\b(?:targets?|thresholds?|limits?|goals?|timeouts?|minimum|maximum|budget|required|port|wrote|by hand|"
    r"days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_MEASURED: Final = re.compile(
    r"\b(?:fell|falls|drop(?:s|ped)|rose|improved|went|reduced|increased|now|takes?|took|below|under|faster)\b",
    re.IGNORECASE,
)

_CURRENCIES: Final = stems("EUR USD CHF GBP JPY euro dollar franc")
_COUNTED: Final = stems("count total number size length n rows")
_THINGS: Final = stems("items entries rows records results elements")
_EACH: Final = re.compile(r"\b(?:each|both|all|every|alike)\b", re.IGNORECASE)
_DECIDING: Final = (False, None, True)
_N: Final = r"(-?\d[\d.,'’]*\d|\d)(?![\w/:-])"
_CHANGE: Final = re.compile(
    rf"\bfrom\s{_N}(?:\s?[a-z%]{{1,12}})?\s(?:(?:down|up|back)\s)?to\s{_N}|(?<![\w.]){_N}\s?[a-z%]{{0,12}}\s?(?:→|[-=]>)\s?{_N}|"
    rf"\b(?:from|old|before)\"?\s?[:=]\s?{_N}.{{1,30}}\b(?:to|new|after)\"?\s?[:=]\s?{_N}",
    re.IGNORECASE,
)


class Fact(NamedTuple):
    """A cell with a number, and its row."""

    figure: Figure
    cell: Cell
    row: Row


@dataclass(frozen=True, slots=True)
class Claimed:
    """A figure of the work: the nouns behind it, the stems beside it, of its clause and of its sentence.

    `about` is True if it is said to be approximate.
    """

    figure: Figure
    nouns: frozenset[str]
    near: frozenset[str]
    clause: frozenset[str]
    words: frozenset[str]
    about: bool


def all_rows(evidence: Evidence) -> list[Row]:
    return rows(evidence.seen)


def facts(evidence: Evidence) -> list[Fact]:
    """Return the numbers of all rows, true and false apart."""
    return [fact for row in evidence.once(all_rows) for fact in _in(row)]


def _in(row: Row) -> list[Fact]:
    return [Fact(cell.figure, cell, row) for cell in row.cells if cell.figure and cell.figure.kind != "flag"]


def columns(evidence: Evidence) -> list[list[Fact]]:
    """Return the numbers of one label and kind in several rows, without rows that sum up."""
    found: dict[object, list[Fact]] = {}
    for fact in evidence.once(facts):
        if not fact.row.words & SUMMED:
            found.setdefault((fact.cell.label, fact.cell.noun, fact.figure.kind), []).append(fact)
    return [column for column in found.values() if len(column) > 1]


def judge_numbers(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Numbers with their unit and label against those of the results."""
    known = evidence.once(facts)
    measured = {"time", "size"} - {fact.figure.kind for fact in known}
    meant: list[Row] = []
    for clause in sentence.clauses:
        meant = named(clause.text, evidence) or meant
        numbers = [] if clause.hedged else list(claimed(clause.text, sentence.text))
        numbers = [claim for claim in numbers if not _in_name(claim, clause.text, meant)]
        values = [claim.figure.value for claim in numbers]
        each = len(meant) > 1 and _EACH.search(clause.text)
        for claim in numbers:
            compared = [_in_row(claim, row, values, known) for row in meant] if each or len(meant) == 1 else []
            holds, shown = min(compared, key=lambda each: _DECIDING.index(each[0]), default=(None, ""))
            if holds is None and not each:
                holds, shown = compare(claim, known)
            text = claim.figure.text.strip()
            if holds is False:
                yield Judgement(Status.FAIL, clause.text, shown, f"the result has another number: {text}")
            elif holds:
                yield Judgement(Status.PASS, clause.text)
            elif claim.figure.kind in measured and _MEASURED.search(clause.text):
                yield Judgement(Status.UNSUPPORTED, clause.text, None, "no tool result shows such a measurement")


def judge_changes(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "pool.max went from 40 to 8" against the changes of the same name in the results."""
    for clause in sentence.clauses:
        said = _changes(clause.text)
        lines = evidence.once(_changed_lines) if len(said) == 1 and not clause.hedged else ()
        own = words_of(_CHANGE.sub("", sentence.text))
        # A whole name, such as "pool.max", tells more than its parts.
        shared = [
            (sum(1 + 3 * bool(re.search(r"\w[._/-]\w", word)) for word in own & words), change, line)
            for words, change, line in lines
        ]
        most = max((count for count, _, _ in shared), default=0)
        meant = [(change, line) for count, change, line in shared if count == most > 0]
        if len({change for change, _ in meant}) == 1:
            (before, after), line = meant[0]
            if said[0] == (before, after):
                yield Judgement(Status.PASS, clause.text)
            elif said[0][0] == before or said[0][1] == after:
                yield Judgement(Status.FAIL, clause.text, line[:160], "the result shows another change")


def _changes(text: str) -> list[tuple[float, float]]:
    found = ([group for group in match.groups() if group] for match in _CHANGE.finditer(text))
    pairs = (tuple(next(figures(number), None) for number in numbers) for numbers in found)
    return [(first.value, second.value) for first, second in pairs if first and second]


def _changed_lines(evidence: Evidence) -> list[tuple[frozenset[str], tuple[float, float], str]]:
    lines = [line.strip() for line in evidence.text.split("\n")[:3_000] if len(line) < 400]
    return [(words_of(_CHANGE.sub("", line)), change, line) for line in lines for change in _changes(line)]


def claimed(clause: str, sentence: str) -> Iterator[Claimed]:
    """Return the figures that a clause states, spelled-out numbers with a noun among them."""
    if _LIMIT.search(clause):
        return
    words, own = words_of(sentence), words_of(clause)
    clause = _CODE.sub(lambda found: " " * len(found[0]), clause)
    for figure in [*figures(clause), *spelled(clause)]:
        before, after = clause[: figure.start], clause[figure.end :]
        if _NO_CLAIM.search(before) or re.match(r"\s(?:a|an|per|each)\b", after):
            continue
        following = re.match(r"\s?((?:[^\W\d_][\w-]*\s?){0,3})", after)
        nouns = [word for word in (following[1].split() if following else []) if word.lower() not in STOP]
        counted = frozenset(stem(noun) for noun in nouns[:2]) if not figure.kind else frozenset[str]()
        beside = _BORDER.split(before)[-1].split()[-4:], _BORDER.split(after)[0].split()[:4]
        near = stems(" ".join((*beside[0], *beside[1])))
        yield Claimed(figure, counted - _GENERIC, near, own, words, bool(_ABOUT.search(before)))


def compare(claim: Claimed, facts: Sequence[Fact]) -> tuple[bool | None, str]:
    """Return if one figure agrees with the facts of its kind that carry its label best, and the line that decided.

    None where the results do not decide it. A time or size may also stand in the results without its unit.
    """
    kind = claim.figure.kind
    same_kind = [f for f in facts if kind == f.figure.kind or (not f.figure.kind and kind in {"time", "size"})]
    labelled = [fact for fact in same_kind if _labels(claim, fact)]
    everywhere = (
        frozenset[str]().union(*(f.row.words for f in labelled[:1])).intersection(*(f.row.words for f in labelled))
    )
    common = everywhere if len(labelled) > 1 else frozenset[str]()
    scored = [(_score(claim, fact, common), fact) for fact in labelled]
    best = max((score for score, _ in scored), default=0)
    top = [fact for score, fact in scored if score == best]
    agreeing = [fact for fact in same_kind if equal(claim.figure, fact.figure, about=claim.about)]
    if shown := [fact for fact in top if fact in agreeing]:
        return True, shown[0].row.line
    # A label with a unit that stands once in the results needs no word of its row beside it.
    once = bool(kind) and len(labelled) == 1 and labelled[0].figure.kind == kind and labelled[0].cell.label & claim.near
    if best < _LEAST - bool(once) or len({fact.figure.value for fact in top}) > 1 or _follows(claim.figure, labelled):
        return None, ""
    if agreeing and not (best >= _SURE and all(fact.row is top[0].row for fact in agreeing)):
        return None, ""
    return False, top[-1].row.line


def _labels(claim: Claimed, fact: Fact) -> bool:
    """True if a fact carries the noun of a claim or a label near its number, or is alone in its line with a name."""
    cell, row = fact.cell, fact.row.words
    if cell.noun in claim.nouns:
        return cell.noun not in _COMMON or bool((cell.label | row - {cell.noun}) & claim.near)
    alone = len(fact.row.line.split()) < 3 and any(re.search(r"\w[./_-]\w", name) for name in row & claim.near)
    if claim.nouns & _THINGS and cell.label and cell.label <= _COUNTED and equal(claim.figure, fact.figure):
        return True
    return not cell.noun and (alone or bool(cell.label & (claim.near | claim.nouns) - _GENERIC - _COMMON))


def _score(claim: Claimed, fact: Fact, common: frozenset[str]) -> int:
    """Score how well the labels fit: noun 4, key 3, words of the row 3 or 4 in the same clause, else 2."""
    keys = fact.cell.label & (claim.near | claim.nouns)
    words = (fact.row.words & claim.words) - {fact.cell.text} - keys - claim.nouns - common
    near = min(len(words & claim.clause), 2)
    return 4 * (fact.cell.noun in claim.nouns) + 3 * bool(keys) + (2 + near if near else 2 * bool(words))


def equal(written: Figure, shown: Figure, *, about: bool = False) -> bool:
    """True if a figure of the work agrees with one of the results as it is rounded, with 1000 or 1024 for sizes."""
    values = [shown.value]
    if written.kind and not shown.kind:
        values += [shown.value * scale for scale in (written.factor, 1e-3, 1e-6, 1e-9, 60.0, 3600.0, 1e3, 1e6)]
    if written.kind == "size":
        values += [shown.value * 1.024**n for n in range(-3, 8)]
    return any(_near(written, value, about=about) for value in values)


def _near(written: Figure, value: float, *, about: bool = False) -> bool:
    step = 0.5001 * 10.0**-written.places * written.factor
    return abs(value - written.value) <= max(step, _TOLERANCE * abs(value) if about else 0.0)


def keys(evidence: Evidence) -> list[tuple[Row, frozenset[str]]]:
    """Return each row of a table of several with the words that name it.

    They stand in a column without numbers (or the first one) in which no value stands twice.
    """
    tables: dict[object, list[Row]] = {}
    for row in evidence.once(all_rows):
        tables.setdefault(row.table, []).append(row)
    found: list[tuple[Row, frozenset[str]]] = []
    for table in tables.values():
        values = Counter((cell.label, cell.text) for row in table for cell in row.cells)
        twice = {label for (label, _), count in values.items() if count > 1}
        names = [_names(row, twice) for row in table]
        seen = Counter(name for each in names for name in each)
        pairs = zip(table, names, strict=True) if len(table) > 1 else ()
        found += [(row, frozenset(name for name in each if seen[name] == 1)) for row, each in pairs]
    return found


def _names(row: Row, twice: set[frozenset[str]]) -> frozenset[str]:
    cells = [
        c
        for c in row.cells
        if c.label not in twice and (c.figure is None or (c is row.cells[0] and c.text.isdecimal()))
    ]
    return frozenset() if row.free else words_of(" ".join(cell.text for cell in cells)) - _COMMON - _GENERIC


def named(text: str, evidence: Evidence) -> list[Row]:
    """Return the rows that a text names by a word that only they have in their table."""
    words = words_of(text)
    return [row for row, unique in evidence.once(keys) if unique & words]


def _in_name(claim: Claimed, clause: str, meant: Sequence[Row]) -> bool:
    """True if a number belongs to the name of a row, as in "Customer 28"."""
    words = clause[: claim.figure.end].lower().split()[-2:]
    return any(" ".join(words).strip("`\"'") in cell.text for row in meant for cell in row.cells if not cell.figure)


def _in_row(claim: Claimed, row: Row, numbers: Sequence[float], known: Sequence[Fact]) -> tuple[bool | None, str]:
    """Compare a number with the cell of its label in a row that the clause names.

    Without a label, False where the row has numbers of this kind and none from which this one follows, or has one
    number, and this is the number of another row, or stands alone beside the name and is not ten times off.
    """
    figure, beside = claim.figure, claim.near | claim.nouns
    own = _in(row)
    loose = [Fact(each, Cell(frozenset(), ""), row) for each in figures(row.line)]
    labelled = [f for f in own if f.cell.label & beside - row.words] or [f for f in own if f.cell.label & claim.clause]
    if any(equal(figure, fact.figure, about=claim.about) for fact in labelled or [*own, *loose]):
        return True, row.line
    units = {fact.figure.kind for fact in labelled}
    alone = len(numbers) == 1
    if len(labelled) == 1 and figure.kind in {"", *units}:
        wrong = alone or bool(labelled[0].cell.label & beside)
    elif labelled and all(fact.cell.label & claim.nouns for fact in labelled):
        wrong = alone
    else:
        wrong = alone and figure.kind in {f.figure.kind for f in own} - {""}
        if alone and not labelled and len(own) == 1 and not figure.kind and not own[0].figure.kind:
            others = [f.figure for f in known if f.row.table == row.table and f.cell.label == own[0].cell.label]
            close = 0.1 < figure.value / (own[0].figure.value or 1e-9) < 10 and not claim.nouns - _CURRENCIES
            wrong = close or any(equal(figure, other) for other in others)
    # Three of "for three nights 354" is a factor, and no value of the row.
    factor = any(abs(figure.value * fact.figure.value - number) < 0.01 for fact in own for number in numbers)
    if wrong and not factor and not _follows(figure, [*own, *loose], numbers):
        return False, row.line
    return None, ""


def _follows(figure: Figure, known: Sequence[Fact], factors: Sequence[float] = ()) -> bool:
    """True if a number is the sum of all the known, follows from two of them, or is one times a factor."""
    values = [fact.figure.value for fact in known[:60] if fact.figure.value]
    results = [sum(values)]
    results += (value * factor for value in values for factor in factors)
    for a, b in combinations(values, 2):
        results += (a + b, abs(a - b))
        if figure.kind == "%":
            results += (100 * a / b, 100 * b / a, 100 * abs(a - b) / a, 100 * abs(a - b) / b, 100 * a / (a + b))
    return any(_near(figure, result) for result in results)
