"""Words and meaning in one score.

Scores are joined, not ranks: a rank forgets how much better the first is than the second. The lexical score is
scaled by the best row's; the cosine by what unrelated texts have in the same model, and raised to a power, for a low
one tells next to nothing. Then once more from where the best rows lie (Rocchio 1971), for the question is one wording
and they are several.

How much meaning counts depends on the bank: where all lessons are close to one another (reports of one kind of
work, say), their cosines with a question hardly tell them apart, and their words do. `benchmarks.recall --embed`
measures it; the numbers were chosen over six sets together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from mcp_reflect.bank.lexical import Match
from mcp_reflect.bank.sqlite.statements import Reading

MEANING: Final = 0.9  # the part that meaning has in a score; words have the rest
ALIKE: Final = 0.18  # lessons that are closer to one another than this are told apart less well
FALL: Final = 2.0  # what meaning loses of its part for each unit that they are closer
LEAST_MEANING: Final = 0.2
STEEP: Final = 2.5  # the power of closeness
FEEDBACK: Final = 0.8  # how much the middle of the best rows is worth beside the question
FEEDBACK_ROWS: Final = 2


class Meant(Protocol):
    """What a question means, beside lessons: how close they are, 0..1, for those that have a vector (see `Asked`).

    `alike` is how close the lessons are to one another, 0..1.
    """

    @property
    def alike(self) -> float: ...
    @property
    def near(self) -> Sequence[int]: ...
    def beside(self, reading: Reading, rows: Sequence[int]) -> "Meant": ...
    def closeness(self, rows: Sequence[int]) -> Mapping[int, float]: ...
    def moved(self, rows: Sequence[int], weight: float) -> "Meant": ...


def fused(found: Sequence[Match], beside: Meant) -> list[Match]:
    """The matches, and rows that share no word but lie near, by words and meaning together, best first.

    The best has the score 1. A lesson without a vector (yet) is taken to mean as much as its words say.
    """
    known = {match.row: match for match in found}
    asked = max((match.asked for match in found), default=1)
    rows = list(dict.fromkeys((*known, *beside.near)))
    words = {row: known[row].score if row in known else 0.0 for row in rows}
    close = beside.closeness(rows)
    part = meaning_part(beside.alike)
    first = _mixed(words, close, part)
    top = sorted((row for row in rows if row in close), key=lambda row: (-first[row], -row))[:FEEDBACK_ROWS]
    scores = _mixed(words, beside.moved(top, FEEDBACK).closeness(rows), part) if top else first
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return list(found)
    return [
        replace(
            known.get(row) or Match(row, 0.0, 0.0, (), asked), score=max(scores[row], 0.0) / best, close=close.get(row)
        )
        for row in sorted(rows, key=lambda row: (-scores[row], -row))
    ]


def meaning_part(alike: float) -> float:
    """The part (0..1) that meaning has in a score where lessons are so `alike` (0..1)."""
    return max(MEANING - FALL * max(alike - ALIKE, 0.0), LEAST_MEANING)


def _mixed(words: Mapping[int, float], close: Mapping[int, float], part: float) -> dict[int, float]:
    """The score of each row, 0..1; `part` is what meaning has of it."""
    nearest = max(close.values(), default=0.0) ** STEEP
    return {
        row: (1 - part) * score + part * (close[row] ** STEEP if row in close else nearest * score)
        for row, score in words.items()
    }
