"""States and fields: "order 17 is shipped", "the job failed", "SEPA is disabled", "the email is …"."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.checkers.evidence.claims import polarity
from mcp_reflect.checkers.evidence.judgements import Evidence, Judgement
from mcp_reflect.checkers.evidence.lookup import COMMON, GENERIC, named, parts_of
from mcp_reflect.checkers.evidence.rows import NUMBERS, Cell, Row, stems, words_of
from mcp_reflect.checkers.sentences import NEGATED, Sentence
from mcp_reflect.models.critique import Status

# Words for a state that exclude each other; a synonym of the shown one never contradicts.
_STATES: Final = tuple(
    frozenset(group.split())
    for group in (
        "cancelled canceled storniert|closed resolved|open unpaid outstanding new todo|paid settled|overdue|"
        "shipped dispatched|delivered|pending queued waiting processing in_progress scheduled|on_hold hold held|"
        "booked confirmed ticketed|running active up healthy ready enabled started online|"
        "stopped inactive down dead disabled exited|completed done finished success succeeded deployed passed "
        "passes|approved accepted merged|rejected declined denied refused|draft|"
        "archived deleted removed|failed fails failing crashloopbackoff unhealthy error oomkilled evicted"
    ).split("|")
)
# Groups that may hold at the same time: what is running may be new, what is overdue is open.
_TOGETHER: Final = (
    *({2, 4}, {2, 7}, {3, 6}, {3, 5}, {5, 6}, {9, 3}, {12, 13}, {1, 12}, {9, 7}, {10, 12}, {12, 11}, {11, 17}),
)
_STATE_LABELS: Final = stems("status state phase conclusion result condition active")
_SAID: Final = re.compile(
    r"\b(?:is|are|was|were|been|now|stays|remains|lists?|shows?|as|marked|:)\s(?:\w+ly |now |still |already |all )?"
    r"(\w+)\b|^(closed|cancelled|booked|confirmed|shipped|refunded|approved|merged|archived|deleted)\b",
    re.IGNORECASE,
)
_ENDED: Final = re.compile(r"\b(?:pass(?:es|ed)|fail(?:s|ed)|succeed(?:s|ed))\b", re.IGNORECASE)
_ALL: Final = re.compile(r"\b(?:all|both|every|each|everything|everyone)\b", re.IGNORECASE)
_PRONOUN: Final = re.compile(r"^(?:and |so |now )?(?:it|this|that|everything|all)\b", re.IGNORECASE)


def group_of(word: str) -> int | None:
    """Return the group of a word for a state, None where it is none."""
    plain = re.sub(r"[ -]", "_", word.strip().lower())
    return next((place for place, group in enumerate(_STATES) if plain in group), None)


def _stated(evidence: Evidence) -> list[tuple[int, Row, Cell]]:
    """Return the rows that have one state, in a cell that is called so or in a table."""
    found: list[tuple[int, Row, Cell]] = []
    for row in evidence.rows:
        cells = [(cell, re.match(r"[\w-]*", cell.text)) for cell in row.cells if cell.label & _STATE_LABELS]
        states = [(group, row, cell) for cell, word in cells if word and (group := group_of(word[0])) is not None]
        found += states if len(states) == 1 else []
    return found


def judge_states(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """A state of something against its state in the results, and the number of rows in a state."""
    stated = evidence.once(_stated)
    if not stated or sentence.earlier or NEGATED.search(text):
        return
    every = _ALL.search(text) is not None
    rows = named(text, evidence) or named(sentence.text, evidence)
    meant = [state for state in stated if state[1] in rows]
    if not meant:
        meant = [
            state
            for state in stated
            if (state[1].words - stems(state[2].text) - GENERIC - COMMON) & words_of(sentence.text)
        ]
    if every or (len(stated) == 1 and _PRONOUN.match(text)):
        meant = stated
    groups = [group for found in _SAID.finditer(text) if (group := group_of(found[1] or found[2])) is not None]
    if not groups and rows and _ENDED.search(text) and (good := polarity(text)) is not None:
        groups = [group_of("passed" if good else "failed")]
    for group in groups if meant else ():
        same = [state == group for state, _, _ in meant]
        others = [row for state, row, _ in meant if state != group and {state, group} not in _TOGETHER]
        if all(same) or (any(same) and not every):
            yield Judgement(Status.PASS, text)
        elif others:
            yield Judgement(Status.FAIL, text, others[0].line[:160])


_SIGNS: Final = (
    re.compile(
        r"\b(?:ok|pass(?:es|ed)?|succe(?:ss|eds?|eded|ssful(?:ly)?)|fine|works?|clean|healthy|up|enabled|green|verified|"
        r"holds?|kept|met|built)\b"
    ),
    re.compile(
        r"\b(?:fail(?:s|ed|ing|ure)?|broken|errors?|crash(?:es|ed)?|down|disabled|rejected|denied|refused|unhealthy|"
        r"timeout|mismatch|conflicts?)\b"
    ),
    re.compile(r"\b(?:skipped|ignored|pending|todo)\b"),
)
_OK, _BAD, _LEFT_OUT = range(3)
_OTHERS: Final = re.compile(r"\b(?:every|all|each|none|nothing|the rest|the (?:others|remaining))\b", re.IGNORECASE)


def _sign(text: str) -> int | None:
    """Return if a text says that something is well, is not, or was left out; None where it says none or several."""
    lower = re.sub(r"\b(?:no|0|without) (?:\w+ )?(?:errors?|failures?|conflicts?)\b", "ok", text.lower())
    found = [sign for sign, pattern in enumerate(_SIGNS) if pattern.search(lower)]
    if len(found) != 1 or (NEGATED.search(lower) and found[0] == _LEFT_OUT):
        return None
    return found[0] if not NEGATED.search(lower) or found[0] == _LEFT_OUT else 1 - found[0]


def _signed(evidence: Evidence) -> list[tuple[int, Row]]:
    """Return the lines of lists in which some are well and some are not."""
    signs = [
        (_sign(f"{row.line} {' '.join(cell.text for cell in row.cells if cell.label == _MARKED)}"), row)
        for row in evidence.rows
        if row.free
    ]
    found = [(sign, row) for sign, row in signs if sign is not None]
    return found if len({sign for sign, _ in found}) > 1 else []


_MARKED: Final = frozenset({"stat"})


def _with_names(text: str, signed: list[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """Return the lines that hold a name in parts of a text."""
    names = [name.lower() for name in parts_of(text)]
    return [(sign, row) for sign, row in signed if any(name in parts_of(row.line.lower()) for name in names)]


def judge_signs(text: str, sentence: Sentence, evidence: Evidence) -> Iterator[Judgement]:
    """Claims like "c3.bin is fine", "every other file verified fine" against lists of what is well and what is not."""
    signed, said = evidence.once(_signed), _sign(text)
    if said is None or not signed or sentence.earlier or evidence.runs:  # runs have rules of their own
        return
    meant = _with_names(text, signed)
    if _OTHERS.search(text) and said == _OK and not meant:
        before = _with_names(sentence.before, signed)
        words = {word for word in evidence.unknown_words(text) if not _SIGNS[_OK].search(word) and word not in NUMBERS}
        meant = [] if words else [(sign, row) for sign, row in signed if sign == _BAD and (sign, row) not in before]
    if len({sign for sign, _ in meant}) == 1 and meant[0][0] != said:
        yield Judgement(Status.FAIL, text, meant[0][1].line[:160])
