"""How well a lesson works: what is shown, and the evidence that ranking rests on.

Shown is a moving average of outcomes that starts at .5. Ranking rests on wins and losses, each weighed by its
evidence (see `standing`). Both are folds over the outcomes in the order in which they were first told, so
recording the same outcome twice changes nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.lesson import Evidence

START: Final = 0.5
RATE: Final = 0.3  # how far one outcome with full weight moves the average

# An agent's own word counts least; what a test or a measurement shows counts whole.
EVIDENCE_WEIGHT: Final = {Evidence.SELF: 0.3, Evidence.USER: 0.8, Evidence.METRIC: 1.0, Evidence.TEST: 1.0}

# All that agents say of a lesson themselves weighs at most as one proven outcome, and stands in only until
# there is as much proof. So no stream of praise lifts a lesson above one that a test has proved.
MOST_SELF_TOLD: Final = 1.0


@dataclass(frozen=True, slots=True)
class Told:
    """An outcome: success is 1, 0.5 or 0, weight in (0, 1]; `proven` where it is more than an agent's own word."""

    success: float
    weight: float
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Worth:
    """What a lesson's outcomes add up to; `effectiveness` is null before the first.

    `proof` is the weight of the proven ones; from `MOST_SELF_TOLD` on, wins and losses are proven alone.
    """

    effectiveness: float | None
    wins: float
    losses: float
    proof: float


def worth(outcomes: Iterable[Told]) -> Worth:
    """Fold outcomes, oldest first. The average stays in 0..1 whatever they are."""
    result = Worth(None, 0.0, 0.0, 0.0)
    for result in worths(outcomes):  # noqa: B007 - the last one is wanted
        pass
    return result


def worths(outcomes: Iterable[Told]) -> Iterator[Worth]:
    """What a lesson was worth after each of its outcomes, oldest first."""
    average: float | None = None
    proven, own = _Sum(), _Sum()
    for told in outcomes:
        before = START if average is None else average
        average = before + RATE * told.weight * (told.success - before)
        (proven if told.proven else own).add(told)
        room = max(MOST_SELF_TOLD - proven.weight, 0.0)
        share = min(1.0, room / own.weight) if own.weight else 0.0
        wins = proven.wins + share * own.wins
        losses = max(proven.weight + share * own.weight - wins, 0.0)
        yield Worth(average, wins, losses, proven.weight)


class _Sum:
    """Outcomes of one sort, added up."""

    def __init__(self) -> None:
        self.wins = self.weight = 0.0

    def add(self, told: Told) -> None:
        self.wins += told.weight * told.success
        self.weight += told.weight
