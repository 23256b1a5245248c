"""Numbers of the work against the numbers of the results, and against what follows from them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Final

from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement
from mcp_reflect.checkers.evidence.lookup import COMMON, GENERIC, Fact, facts, facts_of, is_entry, named
from mcp_reflect.checkers.evidence.rows import (
    STOP,
    Cell,
    Figure,
    Row,
    figures,
    spelled,
    stem,
    stems,
    words_of,
)
from mcp_reflect.checkers.sentences import Sentence
from mcp_reflect.models.critique import Status

_ABOUT: Final = re.compile(
    r"\b(?:about|around|roughly|approximately|some|nearly|almost|close to|just (?:under|over)|a (?:little|good|bit)|"
    r"over|up to|rund|etwa|environ|circa|ca\.?)\W{0,3}"
    r"(?:\w+ )?$|[~≈>]\s?$",
    re.IGNORECASE,
)
_BOUND: Final = re.compile(r"(?<!just )\b(?:above|below|under|within)\W{0,2}$", re.IGNORECASE)
_CODE: Final = re.compile(r"`[^`]*[^`\d.,%][^`]*`|#\w+|\b\d+-(?=[a-z])")
_TOLERANCE: Final = 0.05
_NO_CLAIM: Final = re.compile(
    r"\b(?:lines?|steps?|port|chapter|page|issue|section|item|option|rule|pr|#|version|v|node|python|day|from|threshold|"
    r"limit|target|goal|least|most|than|max(?:imum)?|min(?:imum)?|every|last|next|first|error|january|february|march|"
    r"april|may|june|july|august|september|october|november|december|"
    r"(?:\d|out|one|two|three|four|five|any|each|all|most) of)\W{0,2}$",
    re.IGNORECASE,
)
# A rate, the start of a range, a number whose unit stands behind another one, and a day of a month.
_NO_VALUE: Final = re.compile(
    r"\s(?:a|an|per|each)\b|\s?(?:to|or|-|–|instead of|rather than)\s?\d|"
    r"\.?\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b",
    re.IGNORECASE,
)
_LINKS: Final = frozenset("a an the is are was were be at to of about only now after".split())
_BORDER: Final = re.compile(r"[.;,] |(?<![\w.])\d[\d.,]*")
_LEAST: Final = 4
"""The least score that contradicts: the noun, or a key and a word of the row."""

_SURE: Final = 7
"""The score of a fact with the claim's noun and key: it contradicts though another number on its line agrees."""

_LIMIT: Final = re.compile(
    r"\b(?:targets?|thresholds?|limits?|goals?|objectives?|slos?|slas?|ceilings?|caps?|quotas?|allow(?:s|ed)|timeouts?|"
    r"minimum|maximum|budget|required|port|wrote|by hand|"
    r"days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_MEASURED: Final = re.compile(
    r"\b(?:fell|falls|drop(?:s|ped)|rose|improved|went|reduced|increased|now|takes?|took|below|under|faster)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A figure of the work: the nouns behind it, the stems beside it, of its clause and of its sentence.

    `direct` are those of the two words before it. `about` is True if it is said to be approximate, `bound` if something
    else is said to be below or above it.
    """

    figure: Figure
    nouns: frozenset[str]
    near: frozenset[str]
    direct: frozenset[str]
    clause: frozenset[str]
    words: frozenset[str]
    about: bool
    bound: bool


def judge_numbers(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Numbers with their unit and label against those of the results."""
    known = evidence.once(facts)
    measured = {"time", "size"} - {fact.figure.kind for fact in known}
    meant = named(sentence.before, evidence)
    for text in (part for clause in sentence.clauses if not clause.hedged for part in _parts(clause.text, evidence)):
        meant = named(text, evidence) or meant
        read = claimed(text, sentence.text, evidence.shown)
        numbers = [claim for claim in read if not _in_name(claim, text, meant)]
        values = [claim.figure.value for claim in numbers]
        for claim in numbers:
            holds, shown = None, ""
            if len(meant) == 1 and not claim.bound:
                holds, shown = _in_row(claim, meant[0], values, known)
            if holds is None and not claim.bound:
                holds, shown = compare(claim, known)
            stands = any(equal(claim.figure, fact.figure) for fact in known)
            if holds is False and stands and _RANKED.search(text):
                continue  # it may be of all rows, not of the one that is named
            if holds is False:
                yield Judgement(Status.FAIL, text, shown)
            elif holds:
                yield Judgement(Status.PASS, text)
            elif claim.figure.kind in measured and _MEASURED.search(text):
                yield Judgement(Status.UNSUPPORTED, text, None, "no tool result shows such a measurement")


_RANKED: Final = re.compile(
    r"\b(?!(?:at|the) (?:least|most)\b)(?:\w{3,}est|most|least|sum|total|together|altogether|combined|overall|"
    r"instead of|rather than|than|average|mean)\b",
    re.IGNORECASE,
)


def _parts(clause: str, evidence: Evidence) -> list[str]:
    """Return the parts of a clause that each name a row and have a number: "88 are paid and 17 are pending"."""
    parts = re.split(r"\s+(?:and|while|against|versus)\s+", clause)
    rows = [named(part, evidence) for part in parts]
    one_each = len({id(row) for meant in rows for row in meant}) == len(rows) and all(len(meant) == 1 for meant in rows)
    return parts if one_each and all(any(figures(part)) for part in parts) else [clause]


def claimed(clause: str, sentence: str, shown: frozenset[str] = frozenset()) -> Iterator[Claimed]:
    """Return the figures that a clause states, spelled-out numbers with a noun among them.

    A limit or a target is no claim unless its name is among the words `shown` by the results.
    """
    limit = _LIMIT.search(clause)
    if limit and (stem(limit[0]) not in shown or limit[0].lower() == "port"):
        return
    words, own = words_of(sentence), words_of(clause)
    clause = _CODE.sub(lambda found: " " * len(found[0]), clause)
    for figure in [*figures(clause), *spelled(clause)]:
        before, after = clause[: figure.start], clause[figure.end :]
        if (_NO_CLAIM.search(before) and not limit) or _NO_VALUE.match(after):
            continue
        following = re.match(r"\s?((?:[^\W\d_][\w-]*\s?){0,3})", after)
        nouns = list(takewhile(lambda word: word.lower() not in STOP, following[1].split() if following else []))
        counted = frozenset(stem(noun) for noun in nouns[:2]) if not figure.kind else frozenset[str]()
        beside = _BORDER.split(before)[-1].split()[-4:], _BORDER.split(after)[0].split()[:4]
        near = stems(" ".join((*beside[0], *beside[1])))
        linked = list(takewhile(lambda word: word.lower() not in STOP - _LINKS, reversed(beside[0])))
        direct = stems(" ".join([word for word in linked if word.lower() not in STOP][:2]))
        if limit and stem(limit[0]) not in direct:
            continue
        about, bound = bool(_ABOUT.search(before)), bool(_BOUND.search(before))
        yield Claimed(figure, counted - GENERIC, near, direct, own, words, about, bound)


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
    once = (
        bool(kind)
        and len(labelled) == 1
        and labelled[0].figure.kind in ("", kind)
        and labelled[0].cell.label & claim.near
    )
    beside = facts_of(top[0].row) if top else []
    if best < _LEAST - bool(once) or len({fact.figure.value for fact in top}) > 1:
        return None, ""
    if _follows(claim.figure, labelled) or _follows(claim.figure, beside):
        return None, ""
    if agreeing and not (best >= _SURE and all(fact.row is top[0].row for fact in agreeing)):
        return None, ""
    return False, top[-1].row.line


def _labels(claim: Claimed, fact: Fact) -> bool:
    """True if a fact carries the noun of a claim or a label near its number, or is alone in its line with a name."""
    cell, row = fact.cell, fact.row.words
    if cell.noun in claim.nouns or (cell.noun and cell.noun in claim.direct):
        return cell.noun not in COMMON or bool((cell.label | row - {cell.noun}) & claim.near)
    alone = len(fact.row.line.split()) < 3 and any(re.search(r"\w[./_-]\w", name) for name in row & claim.near)
    return not cell.noun and (alone or bool(cell.label & (claim.near | claim.nouns) - GENERIC - COMMON))


def _score(claim: Claimed, fact: Fact, common: frozenset[str]) -> int:
    """Score how well the labels fit: noun 4, key 3 and 3 more right before the number, words of the row 2 to 4."""
    keys = fact.cell.label & (claim.near | claim.nouns)
    words = (fact.row.words & claim.words) - {fact.cell.text} - keys - claim.nouns - common
    near = min(len(words & claim.clause), 2)
    label = {word for word in fact.cell.label if word.isalpha()}
    direct = label <= claim.direct and len(label) > 1 - bool(words)
    return (
        4 * bool(fact.cell.noun and fact.cell.noun in claim.nouns | claim.direct)
        + 3 * bool(keys)
        + 3 * direct
        + (2 + near if near else 2 * bool(words))
    )


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


def _in_name(claim: Claimed, clause: str, meant: Sequence[Row]) -> bool:
    """True if a number belongs to the name of a row, as in "Customer 28"."""
    words = clause[: claim.figure.end].lower().split()[-2:]
    return any(" ".join(words).strip("`\"'") in cell.text for row in meant for cell in row.cells if not cell.figure)


def _in_row(claim: Claimed, row: Row, numbers: Sequence[float], known: Sequence[Fact]) -> tuple[bool | None, str]:
    """Compare a number with the cell of its label in a row that the clause names.

    False where the label has another number; without a label, where the row has numbers of this kind and none from
    which this one follows or one number that is not ten times off, or where it is a number of another row.
    """
    figure, beside = claim.figure, claim.near | claim.nouns
    own = facts_of(row)
    loose = [Fact(each, Cell(frozenset(), ""), row) for each in figures(row.line)]
    loose = [each for each in loose if not any(each.figure.value == fact.figure.value for fact in own)]
    labelled = [f for f in own if f.cell.label & beside - row.words] or [f for f in own if f.cell.label & claim.clause]
    if any(equal(figure, fact.figure, about=claim.about) for fact in labelled or [*own, *loose]):
        return True, row.line
    # The same number in other rows of the table.
    others = (fact for fact in known if fact.row.table == row.table and fact.row is not row and is_entry(fact.row))
    peers = [fact for fact in others if equal(figure, fact.figure)]
    alone, same_kind = len(numbers) == 1, figure.kind in {"", *(fact.figure.kind for fact in labelled)}
    if len(labelled) == 1 and same_kind:
        wrong = alone or bool(labelled[0].cell.label & beside)
    else:
        wrong = alone and figure.kind in {fact.figure.kind for fact in own} - {""}
        if not labelled and len(own) == 1 and figure.kind == own[0].figure.kind == "":
            close = not claim.nouns and 0.1 < figure.value / (own[0].figure.value or 1e-9) < 10
            wrong = alone and (close or bool(peers))
    wrong = wrong or (alone and figure.value >= 10 and bool(peers))
    # Three of "for three nights 354" is a factor, and no value of the row.
    factor = any(
        abs(figure.value * fact.figure.value - number) < 0.01
        for fact in own
        if fact.figure.value != 1
        for number in numbers
    )
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
