"""States, fields, and claims over several rows: extremes, totals, limits, counts, and which of two is larger."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_reflect.checkers.evidence.claims import Evidence, Judgement, amount
from mcp_reflect.checkers.evidence.facts import NUMBERS, Cell, Row, figures, stems, words_of
from mcp_reflect.checkers.evidence.numbers import Fact, all_rows, claimed, columns, equal, facts, named
from mcp_reflect.checkers.sentences import NEGATED, Sentence
from mcp_reflect.models.critique import Status

# Words for a state that exclude each other; a synonym of the shown one never contradicts.
_STATES: Final = tuple(
    frozenset(group.split())
    for group in (
        "cancelled canceled storniert|closed resolved|open unpaid outstanding new todo|paid settled|overdue|"
        "shipped dispatched|delivered|pending queued waiting processing in_progress scheduled|on_hold hold held|"
        "booked confirmed ticketed|running active up healthy ready enabled started online|"
        "stopped inactive down dead failed crashloopbackoff unhealthy disabled error exited oomkilled evicted|"
        "completed done finished success succeeded|approved accepted merged|rejected declined denied refused|draft|"
        "archived deleted removed"
    ).split("|")
)
# Groups that may hold at the same time: what is running may be new, what is overdue is open.
_TOGETHER: Final = ({2, 4}, {2, 7}, {3, 6}, {3, 5}, {5, 6}, {9, 3}, {12, 13}, {1, 12}, {9, 7}, {10, 12}, {12, 11})
_STATE_LABELS: Final = stems("status state phase conclusion result condition")
_SAID: Final = re.compile(
    r"\b(?:is|are|was|were|been|now|stays|remains|lists?|shows?|as|marked|:)\s(?:\w+ly |now |still |already |all )?"
    r"(\w+)\b|^(closed|cancelled|booked|confirmed|shipped|refunded|approved|merged|archived|deleted)\b",
    re.IGNORECASE,
)
_ALL: Final = re.compile(r"\b(?:all|both|every|each|everything|everyone)\b", re.IGNORECASE)
_PRONOUN: Final = re.compile(r"^(?:and |so |now )?(?:it|this|that|everything|all)\b", re.IGNORECASE)
# The values that a field is compared by: addresses, whole numbers, true and false, and ids; no plain words.
_FIELD: Final = re.compile(
    r"\b([a-z][\w-]*(?: [a-z]+)?)(?::| ?=| is:?| was:?| equals) ([\w.+-]+@[\w.-]+\w|\d+\b(?!\.\d|\s?[a-zA-Z%])|true\b|"
    r"false\b|\w+(?:-\w+)+)"
)
_SHAPES: Final = tuple(
    re.compile(shape) for shape in (r".+@.+", r"\d+", r"true|false", r"\S*[a-z-]\S*\d\S*|\d\S*[a-z-]\S*")
)
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
_TOTAL: Final = re.compile(r"\b(?:together|altogether|in all|in total|all told|combined|sum|zusammen|insgesamt)\b")
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
_COUNTED: Final = re.compile(rf"^(?:and |so )?{_N}(?: \w+){{0,2}} (?:are|is) (?P<state>\w+)\b")


def judge_rows(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Every claim over rows that a clause makes."""
    for clause in sentence.clauses:
        if clause.hedged:
            continue
        text = clause.text
        yield from _flags(text, evidence)
        yield from _places(text, evidence)
        yield from _fields(text, evidence)
        if not sentence.earlier:
            yield from _states(text, sentence.text, evidence)
        found = evidence.once(columns)
        if (extreme := _EXTREME.search(text.lower())) and not _OTHER_RANK.search(text):
            yield from _extreme(text, sentence.text, evidence, most=bool(extreme["most"]), best=extreme[0] == "best")
        if found and (than := _THAN.search(text)) and not NEGATED.search(text):
            yield from _compared(text, than, evidence)
        if found and _TOTAL.search(text):
            yield from _total(text, sentence.text, found)
        if found and (limit := _LIMIT.search(text)):
            yield from _limit(text, limit, found)


def group_of(word: str) -> int | None:
    """Return the group of a word for a state, None where it is none."""
    plain = re.sub(r"[ -]", "_", word.strip().lower())
    return next((place for place, group in enumerate(_STATES) if plain in group), None)


def _stated(evidence: Evidence) -> list[tuple[int, Row, Cell]]:
    """Return the rows that have one state, in a cell that is called so or in a table."""
    found: list[tuple[int, Row, Cell]] = []
    for row in evidence.once(all_rows):
        cells = [cell for cell in row.cells if cell.label & _STATE_LABELS]
        states = [(group, row, cell) for cell in cells if (group := group_of(cell.text)) is not None]
        found += states if len(states) == 1 else []
    return found


def _states(text: str, sentence: str, evidence: Evidence) -> Iterator[Judgement]:
    """A state of something against its state in the results, and the number of rows in a state."""
    stated = evidence.once(_stated)
    if not stated or NEGATED.search(text):
        return
    counted = _COUNTED.search(text.lower())
    if counted and len(stated) > 1 and (group := group_of(counted["state"])) is not None:
        number = sum(state == group for state, _, _ in stated)
        yield _judgement(
            text, number == amount(counted["n"]), f"{number} {counted['state']}", "the rows are another number"
        )
        return
    every = _ALL.search(text) is not None
    rows = named(text, evidence) or named(sentence, evidence)
    meant = [state for state in stated if state[1] in rows]
    if not meant:
        meant = [state for state in stated if (state[1].words - stems(state[2].text)) & words_of(sentence)]
    if every or (len(stated) == 1 and _PRONOUN.match(text)):
        meant = stated
    for found in _SAID.finditer(text):
        group = group_of(found[1] or found[2])
        same = [state == group for state, _, _ in meant]
        others = [row for state, row, _ in meant if state != group and {state, group} not in _TOGETHER]
        if group is None or not meant:
            continue
        if all(same) or (any(same) and not every):
            yield Judgement(Status.PASS, text)
        elif others:
            yield Judgement(Status.FAIL, text, others[0].line[:160], "the result shows another state")


def _fields(text: str, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the email is …"; only a label that stands once can contradict."""
    for name, said in [] if NEGATED.search(text) else _FIELD.findall(re.sub(r"[`\"]", "", text.lower())):
        for key in (name, name.rsplit(" ", 1)[-1]):
            cells = [
                cell
                for row in evidence.once(all_rows)
                if not row.free
                for cell in row.cells
                if stems(key) and stems(key) <= cell.label
            ]
            if len(cells) == 1 and any(shape.fullmatch(said) and shape.fullmatch(cells[0].text) for shape in _SHAPES):
                shown = cells[0].text
                yield _judgement(text, said == shown, f"{key}: {shown}", "the result says otherwise")
                break


def _flags(text: str, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the Astor has breakfast" against a true or false of that name, in the object that is named."""
    words = words_of(text)
    flags = [
        (cell, row)
        for row in evidence.once(all_rows)
        for cell in row.cells
        if cell.figure and cell.figure.kind == "flag"
    ]
    for label in {cell.label for cell, _ in flags if cell.label and cell.label <= words}:
        column = [(cell, row) for cell, row in flags if cell.label == label]
        common = (
            column[0][1].words.intersection(*(row.words for _, row in column)) if len(column) > 1 else frozenset[str]()
        )
        meant = [cell for cell, row in column if (row.words - common) & words]
        if len(meant) == 1 and meant[0].figure:
            holds = bool(meant[0].figure.value) != bool(NEGATED.search(text))
            yield _judgement(text, holds, f"{' '.join(sorted(label))}: {meant[0].text}", "the result says otherwise")


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


def _extreme(text: str, sentence: str, evidence: Evidence, *, most: bool, best: bool) -> Iterator[Judgement]:
    """Claims like "web-1 has the most errors"; "the slowest took 971 ms" against what is called a maximum.

    The best may be the least, so that it is never contradicted.
    """
    called = [fact for fact in evidence.once(facts) if fact.cell.label & (_MOST if most else _LEAST)]
    numbers = list(figures(text))
    if len(called) == len(numbers) == 1 and called[0].figure.kind == numbers[0].kind:
        others = [f.figure for f in evidence.once(facts) if f is not called[0]]
        if equal(numbers[0], called[0].figure):
            yield Judgement(Status.PASS, text)
        elif any(equal(numbers[0], other) for other in others):
            yield Judgement(Status.FAIL, text, called[0].row.line[:160], "the result has another number")
    column = _column(text, evidence.once(columns))
    meant = (_named_in(text, column, evidence) or _named_in(sentence, column, evidence)) if column else []
    if column and len(meant) == 1:
        extreme = (max if most else min)(column, key=lambda fact: fact.figure.value)
        holds = meant[0].figure.value == extreme.figure.value
        if holds or not best:
            yield _judgement(text, holds, extreme.row.line, "another row has the largest or smallest number")


def _compared(text: str, than: re.Match[str], evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "web-1 has more errors than web-2"."""
    column = _column(text, evidence.once(columns))
    first = _named_in(text[: than.end() - 4], column, evidence) if column else []
    second = _named_in(text[than.end() :], column, evidence) if column else []
    if len(first) == len(second) == 1 and first != second:
        holds = (first[0].figure.value > second[0].figure.value) == bool(than["more"])
        shown = f"{first[0].row.line}; {second[0].row.line}"
        yield _judgement(text, holds, shown, "the rows compare otherwise")


def _total(text: str, sentence: str, found: Sequence[list[Fact]]) -> Iterator[Judgement]:
    numbers = [claim for claim in claimed(text, sentence) if re.search(r"\d", claim.figure.text)]
    column = _column(text, found, numbers[0].figure.kind) if len(numbers) == 1 else None
    total = sum(fact.figure.value for fact in column or ())
    if column and numbers and not numbers[0].figure.kind:
        total /= column[0].figure.factor
    if column and (apart := abs(total - numbers[0].figure.value)) <= _NEAR * total:
        figure = numbers[0].figure
        holds = apart <= 0.5001 * 10.0**-figure.places * figure.factor
        yield _judgement(text, holds, f"{total / figure.factor:g}", "the sum of the rows is another number")


def _limit(text: str, limit: re.Match[str], found: Sequence[list[Fact]]) -> Iterator[Judgement]:
    figure = next((figure for figure in figures(text) if figure.start >= limit.end()), None)
    column = _column(text, found, figure.kind) if figure else None
    if figure and column:
        none = bool(limit["no"]) or limit["every"].lower() == "none"
        more = bool(limit["more"] or limit["over"])
        wrong = [f.row.line for f in column if ((f.figure.value >= figure.value) == more) == none]
        yield _judgement(text, not wrong, "; ".join(wrong), "not every row keeps the limit")


def _places(text: str, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "five TODOs in three files", "two of them are in cart.ts", where lines begin with file and line."""
    for found in _IN_FILES.finditer(text.lower()):
        number = amount(found["files"] or found["n"])
        for result in evidence.seen:
            places = [place.lower() for place in _PLACE.findall(result.text)]
            counted = sum(place.endswith(found["file"]) for place in places) if found["file"] else len(set(places))
            if len(places) > 1:
                yield _judgement(text, counted == number, str(counted), "the result lists another number")


def _judgement(text: str, holds: bool, shown: str, detail: str) -> Judgement:
    return Judgement(Status.PASS, text) if holds else Judgement(Status.FAIL, text, shown.strip()[:160], detail)
