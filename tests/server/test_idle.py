"""Dreaming at idle: after a quiet time, given up where a call comes, once a day."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from mcp_reflect.server.service import Idle
from mcp_reflect.services.engine import Engine
from tests.held_clock import HeldClock
from tests.services.test_consolidate import FAR, SAME, reflections


class Quiet:
    """A wait that ends when the test says so."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.asked: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self.over.wait()


async def dreams(engine: Engine) -> int:
    return len(await engine.bank.consolidations.latest(engine.scopes.own))


async def quiet_time(idle: Idle) -> None:
    """Let a quiet time pass, and the dream of it end."""
    with idle.call():
        pass
    waiting = idle._waiting  # pyright: ignore[reportPrivateUsage]
    assert waiting is not None
    await waiting


async def test_a_quiet_time_brings_a_dream_and_one_without_news_none(engine: Engine) -> None:
    await reflections(engine, *SAME, FAR)
    quiet = Quiet()
    quiet.over.set()
    idle = Idle(lambda: engine, 300, quiet)
    await quiet_time(idle)
    assert (await dreams(engine), quiet.asked) == (1, [300])
    await quiet_time(idle)
    assert await dreams(engine) == 1


async def test_a_call_ends_the_waiting_and_the_dream(engine: Engine) -> None:
    await reflections(engine, *SAME)
    quiet = Quiet()
    idle = Idle(lambda: engine, 300, quiet)
    with idle.call():
        pass
    quiet.over.set()
    for _ in range(6):
        await asyncio.sleep(0)
    with idle.call():
        assert (await engine.recall(task="search the wrong page of the orders service")).lessons
        assert await dreams(engine) == 0
    await idle.close()


async def test_idle_brings_one_dream_a_day(settings: Settings, clock: HeldClock) -> None:
    async with Engine(settings, clock=clock) as engine:
        quiet = Quiet()
        quiet.over.set()
        idle = Idle(lambda: engine, 300, quiet)
        await reflections(engine, *SAME)
        await quiet_time(idle)
        texts = ("The gate of the mill stood open", "The gates of the mill stood open")
        await reflections(engine, *texts)
        await quiet_time(idle)
        assert await dreams(engine) == 1
        clock.time += 86_400
        await quiet_time(idle)
        assert await dreams(engine) == 2


@pytest.mark.parametrize(("mode", "begins"), [("full", True), ("lite", False)])
async def test_only_full_dreams_by_itself(settings: Settings, mode: Any, begins: bool) -> None:
    async with Engine(replace(settings, mode=mode)) as engine:
        server = build(engine=engine)
        async with Client(server, mode="2026-07-28") as client:
            await client.call_tool("recall_lessons", {"task": "x"})
            waiting = server.service.idle._waiting  # pyright: ignore[reportPrivateUsage]
            assert (waiting is not None) == begins
