"""A server that works for a while dreams once a day, beside its calls."""

from dataclasses import replace
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.server.service import Service
from mcp_reflect.services.engine import Engine
from tests.held_clock import HeldClock
from tests.services.test_consolidate import FAR, SAME, reflections


async def dreams_after_a_call(engine: Engine, service: Service) -> int:
    """The dreams that there are after a call at which one may begin."""
    service.next_dream = 0.0
    await service.call("recall_lessons", {"task": "x"})
    if service.dreaming is not None:
        await service.dreaming
    return len(await engine.bank.consolidations.latest(engine.scopes.own))


async def test_one_dream_a_day_follows_a_call_where_something_is_new(settings: Settings, clock: HeldClock) -> None:
    async with Engine(settings, clock=clock) as engine:
        service = Service(settings, engine)
        await reflections(engine, *SAME, FAR)
        assert [await dreams_after_a_call(engine, service) for _ in range(2)] == [1, 1]
        await reflections(engine, "The gate of the mill stood open", "The gates of the mill stood open")
        assert await dreams_after_a_call(engine, service) == 1
        clock.time += 86_400
        assert [await dreams_after_a_call(engine, service) for _ in range(2)] == [2, 2]
        await service.close()


@pytest.mark.parametrize("mode", ["full", "lite"])
async def test_a_server_that_has_just_started_and_a_lite_one_do_not_dream(engine: Engine, mode: Any) -> None:
    await reflections(engine, *SAME, FAR)
    service = Service(replace(engine.settings, mode=mode), engine)
    await service.call("recall_lessons", {"task": "x"})
    assert service.dreaming is None
