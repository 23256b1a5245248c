"""Another try where the fault may pass, within the time of the request."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.llm.protocol import (
    LLM,
    AuthError,
    BadRequestError,
    BudgetExceededError,
    GarbledReplyError,
    LLMError,
    NotServedError,
    OverloadedError,
    RateLimitedError,
    RefusedError,
    Reply,
    Request,
    TimedOutError,
    UnreachableError,
)
from mcp_reflect.llm.providers import Retry
from tests.llm.frozen import FrozenClock
from tests.llm.requests import asking
from tests.scripted import Scripted


def busy(wait: float | None = None) -> OverloadedError:
    return OverloadedError("x:y", "busy", "Wait", retry_after=wait)


def retry(llm: LLM, clock: FrozenClock) -> Retry:
    return Retry(llm, "x:y", clock=clock, sleep=clock.sleep)


@pytest.mark.parametrize("kind", [OverloadedError, RateLimitedError, UnreachableError])
async def test_a_fault_that_may_pass_is_tried_again(kind: type[LLMError]) -> None:
    clock = FrozenClock()
    with Scripted(kind("x:y", "no", "Wait"), "at last") as llm:
        assert (await retry(llm, clock).complete(asking())).text == "at last"
    assert clock.slept == [pytest.approx(0.25)]


@pytest.mark.parametrize(
    "kind",
    [
        AuthError,
        BadRequestError,
        BudgetExceededError,
        GarbledReplyError,
        NotServedError,
        RefusedError,
        TimedOutError,
    ],
)
async def test_a_fault_that_stays_is_not(kind: type[LLMError]) -> None:
    clock = FrozenClock()
    with Scripted(kind("x:y", "no", "Wait")) as llm, pytest.raises(kind):
        await retry(llm, clock).complete(asking())
    assert clock.slept == []


async def test_after_three_tries_the_last_error_is_raised() -> None:
    clock = FrozenClock()
    errors = [OverloadedError("x:y", f"busy {number}", "Wait") for number in range(3)]
    with Scripted(*errors) as llm, pytest.raises(OverloadedError, match="busy 2"):
        await retry(llm, clock).complete(asking())
    assert clock.slept == [pytest.approx(0.25), pytest.approx(0.5)]


async def test_it_waits_as_long_as_the_endpoint_asks() -> None:
    clock = FrozenClock()
    with Scripted(busy(3.0), "yes") as llm:
        await retry(llm, clock).complete(asking())
    assert clock.slept == [3.0]


async def test_a_pause_past_the_deadline_is_not_begun() -> None:
    clock = FrozenClock()
    with Scripted(busy(5.0)) as llm, pytest.raises(OverloadedError):
        await retry(llm, clock).complete(asking(timeout=5.0))
    assert clock.slept == []


async def test_each_try_gets_the_time_that_is_left() -> None:
    clock = FrozenClock()
    with Scripted(busy(2.0), busy(1.0), "yes") as llm:
        await retry(llm, clock).complete(asking(timeout=5.0))
    assert [request.timeout for request in llm.asked] == [5.0, 3.0, 2.0]
    assert [replace(request, timeout=5.0) for request in llm.asked] == [asking(timeout=5.0)] * 3


async def test_a_clock_set_back_gives_no_more_time() -> None:
    clock = FrozenClock()

    class SetsBack:
        async def complete(self, request: Request) -> Reply:
            clock.at -= 3600
            return await llm.complete(request)

    with Scripted(busy(), "yes") as llm:
        await retry(SetsBack(), clock).complete(asking(timeout=5.0))
    assert [request.timeout for request in llm.asked] == [5.0, 5.0]


@settings(deadline=None, max_examples=100)
@given(chance=st.floats(0, 1), waits=st.lists(st.none() | st.floats(0, 100), min_size=1, max_size=8))
async def test_the_pauses_never_reach_the_deadline_and_keep_what_was_asked(
    chance: float, waits: list[float | None]
) -> None:
    clock = FrozenClock(chance=chance)
    llm = Scripted(*(busy(wait) for wait in waits), "yes")
    patient = Retry(llm, "x:y", clock=clock, sleep=clock.sleep, attempts=100)
    with suppress(OverloadedError):
        await patient.complete(asking(timeout=30.0))
    assert sum(clock.slept) < 30
    assert all(pause >= (wait or 0) for pause, wait in zip(clock.slept, waits, strict=False))
    assert all(pause <= max(8.0, wait or 0) for pause, wait in zip(clock.slept, waits, strict=False))
