"""No completion outlives its timeout, whatever the provider does."""

import asyncio

import pytest

from mcp_reflect.llm.protocol import Reply, Request, TimedOutError
from mcp_reflect.llm.providers import Model
from tests.llm.requests import asking
from tests.scripted import Scripted


class Stuck:
    """Never answers; `ended` says that it was told to stop."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ended = False

    async def complete(self, request: Request) -> Reply:
        del request
        self.started.set()
        try:
            return await asyncio.Future()
        finally:
            self.ended = True


async def test_a_stuck_provider_is_cancelled_and_the_error_names_it() -> None:
    stuck = Stuck()
    with pytest.raises(TimedOutError, match=r"x:y: no reply within 0\.01 s") as caught:
        await Model(stuck, "x:y", "the test").complete(asking(timeout=0.01))
    assert stuck.ended
    assert caught.value.__context__ is None


async def test_a_reply_in_time_passes_through() -> None:
    with Scripted("yes") as llm:
        assert (await Model(llm, "x:y", "the test").complete(asking())).text == "yes"


async def test_a_timeout_that_the_provider_raises_itself_is_one_too() -> None:
    with Scripted(TimeoutError()) as llm, pytest.raises(TimedOutError):
        await Model(llm, "x:y", "the test").complete(asking())


async def test_a_cancelled_caller_stays_cancelled() -> None:
    stuck = Stuck()
    call = asyncio.create_task(Model(stuck, "x:y", "the test").complete(asking()))
    await stuck.started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert stuck.ended
