"""Nobody waits for an embedder: it has a moment, and after a failure it rests."""

import asyncio
from collections.abc import Sequence

from mcp_reflect.llm.embedders import FIRST_PAUSE, LONGEST_PAUSE, Embedder, Patient, Vector
from mcp_reflect.llm.protocol import LLMError, LLMSettingError, RefusedError
from tests.held_clock import HeldClock


class Moody:
    """Fails as long as it is told to, and counts how often it is asked."""

    name = "moody:1"

    def __init__(self) -> None:
        self.fault: LLMError | None = None
        self.silent = False
        self.asked = 0

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked += 1
        if self.silent:
            await asyncio.Event().wait()
        if self.fault:
            raise self.fault
        return [[1.0] for _ in texts]


def busy(retry_after: float | None = None) -> RefusedError:
    return RefusedError("moody:1", "busy", "Wait", retry_after=retry_after)


async def test_one_that_says_nothing_costs_a_moment_and_then_nothing_for_a_while() -> None:
    moody, clock = Moody(), HeldClock()
    moody.silent = True
    patient = Patient(lambda: moody, clock)
    assert await patient.embed(["x"], 0.01) is None
    assert patient.problem == "moody:1: no vectors within 0.01 s. Run a faster one, or wait longer"
    assert await patient.embed(["x"], 60) is None
    assert moody.asked == 1
    moody.silent = False
    clock.time += FIRST_PAUSE
    assert await patient.embed(["x"], 60) == [[1.0]]
    assert patient.problem is None


async def test_each_further_failure_doubles_the_rest_up_to_a_quarter_of_an_hour() -> None:
    moody, clock = Moody(), HeldClock()
    moody.fault = busy()
    patient = Patient(lambda: moody, clock)
    rests: list[float] = []
    for _ in range(8):
        await patient.embed(["x"], 1)
        start = clock.time
        while patient.resting:
            clock.time += FIRST_PAUSE
        rests.append(clock.time - start)
    assert rests == [30, 60, 120, 240, 480, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    moody.fault = None
    assert await patient.embed(["x"], 1) is not None
    moody.fault = busy()
    await patient.embed(["x"], 1)
    clock.time += FIRST_PAUSE
    assert not patient.resting


async def test_it_rests_as_long_as_the_endpoint_asks_and_no_longer_than_a_quarter_of_an_hour() -> None:
    for wait, rest in ((100.0, 100.0), (1e9, LONGEST_PAUSE)):
        moody, clock = Moody(), HeldClock()
        moody.fault = busy(wait)
        patient = Patient(lambda moody=moody: moody, clock)
        await patient.embed(["x"], 1)
        clock.time += rest - 1
        assert patient.resting
        clock.time += 1
        assert not patient.resting


async def test_a_setting_that_cannot_be_used_is_the_problem_and_is_looked_at_seldom() -> None:
    tried: list[int] = []

    def refuse() -> Embedder:
        tried.append(1)
        raise LLMSettingError("MCP_REFLECT_EMBEDDINGS", "no", "Write another")

    clock = HeldClock()
    patient = Patient(refuse, clock)
    for _ in range(5):
        assert await patient.embed(["x"], 1) is None
        clock.time += FIRST_PAUSE
    assert (len(tried), patient.problem, patient.name) == (1, "MCP_REFLECT_EMBEDDINGS: no. Write another", None)
