"""What an answer of `critique` shows of the verdicts, where there are more than it has room for."""

import random

from mcp_reflect.checkers.answers import _listed  # pyright: ignore[reportPrivateUsage] - verdicts of any mixture
from mcp_reflect.checkers.verify import Verified
from mcp_reflect.models.critique import Status, Verdict
from mcp_reflect.services.engine import Engine

WORST_FIRST = [Status.FAIL, Status.UNSUPPORTED, Status.UNCHECKED, Status.PASS]


def test_what_is_wrong_is_shown_before_what_is_open_and_what_is_right() -> None:
    for seed in range(40):
        chance = random.Random(seed)
        statuses = [chance.choice(WORST_FIRST[seed % 3 :]) for _ in range(90)]
        verdicts = [
            Verdict(step=chance.randint(1, 30), status=status, checker="any", claim=f"claim {number}")
            for number, status in enumerate(statuses)
        ]
        shown = _listed(Verified(steps=("x",) * 30, findings=(), verdicts=tuple(verdicts)))
        assert (
            sorted(WORST_FIRST.index(verdict.status) for verdict in shown)
            == (sorted(map(WORST_FIRST.index, statuses))[:40])
        )
        assert [verdict.step for verdict in shown] == sorted(verdict.step for verdict in shown)


async def test_late_mistakes_are_shown_beside_many_right_steps(engine: Engine) -> None:
    steps = [f"{number} + 1 = {number + 1}" for number in range(60)] + ["2 + 2 = 5", "3 + 3 = 7"]
    found = await engine.critique(goal="Add", steps=steps)
    assert [verdict.step for verdict in found.verdicts if verdict.status is Status.FAIL] == [61, 62]
    assert len(found.verdicts) == 40
