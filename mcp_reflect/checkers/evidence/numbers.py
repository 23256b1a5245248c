"""Numbers of the work against the numbers of the results, and against what follows from them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Final

from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement, judged
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

_WHOLES: Final = stems("misses total requests all calls attempts rows runs")
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
    rf"\bfrom\s{_N}(?:\s?[a-z%]{{1,12}})?\s(?:(?:down|up|back)\s)?to\s{_N}|(?<![\w.]){_N}\"?\s?[a-z%]{{0,12}}\s?(?:→|[-=]>)\s?\"?{_N}|"
    rf"\b(?:from|old|before)\"?\s?[:=]\s?{_N}.{{1,30}}\b(?:to|new|after)\"?\s?[:=]\s?{_N}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A figure of the work: the nouns behind it, the stems beside it, of its clause and of its sentence.

    `direct` are those of the two words before it. `about` is True if it is said to be approximate.
    """

    figure: Figure
    nouns: frozenset[str]
    near: frozenset[str]
    direct: frozenset[str]
    clause: frozenset[str]
    words: frozenset[str]
    about: bool


def judge_numbers(sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Numbers with their unit and label against those of the results."""
    known = evidence.once(facts)
    measured = {"time", "size"} - {fact.figure.kind for fact in known}
    meant = named(sentence.before, evidence)
    for text in (part for clause in sentence.clauses if not clause.hedged for part in _parts(clause.text, evidence)):
        meant = named(text, evidence) or meant
        # "No issues with the naming" is about something else than the issues of a linter.
        zeros = not evidence.unknown_words(_ZERO.sub(" ", text))
        numbers = [
            claim
            for claim in claimed(text, sentence.text, evidence.shown)
            if not _in_name(claim, text, meant) and (zeros or claim.figure.value)
        ]
        values = [claim.figure.value for claim in numbers]
        each = len(meant) > 1 and _EACH.search(text)
        for claim in numbers:
            compared = [_in_row(claim, row, values, known) for row in meant] if each or len(meant) == 1 else []
            if compared and not each and _is_of_another(claim, meant[0], known):
                compared = []
            holds, shown = min(compared, key=lambda each: _DECIDING.index(each[0]), default=(None, ""))
            if holds is None and not each:
                holds, shown = compare(claim, known)
            if holds is None and (slip := _slip(claim.figure, evidence)):
                holds, shown = False, slip
            number = claim.figure.text.strip()
            stands = any(equal(claim.figure, fact.figure) for fact in known)
            if holds is False and stands and _RANKED.search(text):
                continue  # it may be of all rows, not of the one that is named
            if holds is False:
                yield Judgement(Status.FAIL, text, shown, f"the result has another number: {number}")
            elif holds:
                yield Judgement(Status.PASS, text)
            elif claim.figure.kind in measured and _MEASURED.search(text):
                yield Judgement(Status.UNSUPPORTED, text, None, "no tool result shows such a measurement")


_RANKED: Final = re.compile(
    r"\b(?!(?:at|the) (?:least|most)\b)(?:\w{3,}est|most|least|sum|total|together|altogether|combined|overall|"
    r"instead of|rather than|than|average|mean)\b",
    re.IGNORECASE,
)


_RATE: Final = re.compile(r"\b([a-z]{3,})[- ](?:rate|ratio|share)\b", re.IGNORECASE)


def judge_rates(text: str, _: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "the hit rate is 95 %" against the share of the hits in the numbers beside them."""
    rate = _RATE.search(text)
    shares = [figure for figure in figures(text) if figure.kind == "%"]
    if rate is None or len(shares) != 1:
        return
    rows = named(text, evidence)
    known = [fact for fact in evidence.once(facts) if not rows or fact.row in rows]
    parts = [f for f in known if stem(rate[1]) in f.cell.label | {f.cell.noun} and not f.figure.kind]
    if len({part.figure.value for part in parts}) != 1 or any(fact.figure.kind == "%" for fact in known):
        return
    part = parts[0].figure.value
    values = [fact.figure.value for fact in known]
    rates = [100 * part / whole for value in values for whole in (value, value + part) if whole >= part > 0]
    if any((fact.cell.label | {fact.cell.noun}) & _WHOLES for fact in known):
        about = bool(_ABOUT.search(text[: shares[0].start]))
        holds = any(_near(shares[0], rate, about=about) for rate in rates)
        yield judged(text, holds=holds, shown=parts[0].row.line, detail="the numbers give another rate")


def _parts(clause: str, evidence: Evidence) -> list[str]:
    """Return the parts of a clause that each name a row and have a number: "88 are paid and 17 are pending"."""
    parts = re.split(r"\s+(?:and|while|against|versus)\s+", clause)
    rows = [named(part, evidence) for part in parts]
    one_each = len({id(row) for meant in rows for row in meant}) == len(rows) and all(len(meant) == 1 for meant in rows)
    return parts if one_each and all(any(figures(part)) for part in parts) else [clause]


def _slip(figure: Figure, evidence: Evidence) -> str | None:
    """Return the line with the one number that a number of the work is a slip of: two digits swapped, one left out.

    None where the number stands in the results or the goal, or follows from numbers there.
    """
    digits = _digits(figure)
    known = evidence.once(facts)
    if len(digits) < 3 or digits in evidence.once(_all_digits) or _follows(figure, known):
        return None
    swapped = {digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :] for i in range(len(digits) - 1)} - {digits}
    near = [fact for fact in known if fact.figure.kind == figure.kind and _digits(fact.figure) in swapped]
    return near[0].row.line if len({fact.figure.value for fact in near}) == 1 else None


def _digits(figure: Figure) -> str:
    return re.sub(r"\D", "", figure.text)


def _all_digits(evidence: Evidence) -> frozenset[str]:
    numbers = re.findall(r"\d+(?:[.,'’]\d+)*", f"{evidence.text} {evidence.goal}")
    return frozenset(re.sub(r"\D", "", number) for number in numbers)


def judge_changes(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "pool.max went from 40 to 8" against the changes of the same name in the results."""
    said = _changes(text)
    lines = evidence.once(_changed_lines) if len(said) == 1 else ()
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
            yield Judgement(Status.PASS, text)
        elif said[0][0] == before or said[0][1] == after:
            yield Judgement(Status.FAIL, text, line[:160], "the result shows another change")


def _changes(text: str) -> list[tuple[float, float]]:
    found = ([group for group in match.groups() if group] for match in _CHANGE.finditer(text))
    pairs = (tuple(next(figures(number), None) for number in numbers) for numbers in found)
    return [(first.value, second.value) for first, second in pairs if first and second]


def _changed_lines(evidence: Evidence) -> list[tuple[frozenset[str], tuple[float, float], str]]:
    lines = [line.strip() for line in evidence.text.split("\n")[:3_000] if len(line) < 400]
    return [(words_of(_CHANGE.sub("", line)), change, line) for line in lines for change in _changes(line)]


def claimed(clause: str, sentence: str, shown: frozenset[str] = frozenset()) -> Iterator[Claimed]:
    """Return the figures that a clause states, spelled-out numbers with a noun and zeros such as "no" among them.

    A limit or a target is no claim unless its name is among the words `shown` by the results.
    """
    limit = _LIMIT.search(clause)
    if limit and (stem(limit[0]) not in shown or limit[0].lower() == "port"):
        return
    words, own = words_of(sentence), words_of(clause)
    clause = _CODE.sub(lambda found: " " * len(found[0]), clause)
    for figure in [*figures(clause), *spelled(clause), *_zeros(clause)]:
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
        yield Claimed(figure, counted - GENERIC, near, direct, own, words, bool(_ABOUT.search(before)))


_ZERO: Final = re.compile(
    r"\b(?:no|zero|none of (?:them|these|the)|none)\b(?! (?:longer|more|one|other|need|new)\b)|\bnothing\b",
    re.IGNORECASE,
)


def _zeros(clause: str) -> Iterator[Figure]:
    """Return a zero for each "no", "none of them" and "nothing"."""
    for found in _ZERO.finditer(clause):
        yield Figure(0.0, "", 0, 1.0, found.start(), found.end(), found[0])


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
    if claim.nouns & _THINGS and cell.label and cell.label <= _COUNTED and equal(claim.figure, fact.figure):
        return True
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


def _is_of_another(claim: Claimed, row: Row, known: Sequence[Fact]) -> bool:
    """True if the clause has a word of another row of the table, which holds the number."""
    others = [f.row for f in known if f.row.table == row.table and f.row is not row and equal(claim.figure, f.figure)]
    return any(other.words & claim.clause - row.words for other in others)


def _in_row(claim: Claimed, row: Row, numbers: Sequence[float], known: Sequence[Fact]) -> tuple[bool | None, str]:
    """Compare a number with the cell of its label in a row that the clause names.

    Without a label, False where the row has numbers of this kind and none from which this one follows, or has one
    number, and this is the number of another row, or stands alone beside the name and is not ten times off.
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
    units = {fact.figure.kind for fact in labelled}
    alone = len(numbers) == 1
    if len(labelled) == 1 and figure.kind in {"", *units}:
        wrong = alone or bool(labelled[0].cell.label & beside)
    elif labelled and all(fact.cell.label & claim.nouns for fact in labelled):
        wrong = alone
    else:
        wrong = alone and figure.kind in {f.figure.kind for f in own} - {""}
        if alone and not labelled and len(own) == 1 and not figure.kind and not own[0].figure.kind:
            close = 0.1 < figure.value / (own[0].figure.value or 1e-9) < 10 and not claim.nouns - _CURRENCIES
            wrong = close or bool(peers)
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
