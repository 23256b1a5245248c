"""A language model that does not answer in time costs the plan nothing but its help."""

import asyncio
from dataclasses import replace

from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Reply, Request
from mcp_reflect.llm.runner import CALL_SECONDS
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.conftest import Era
from tests.scripted import Scripted
from tests.server.calls import told
from tests.services.replan_calls import QUANTUM, WIDER, said


class Silent:
    """Never answers, and keeps how long each request was to take."""

    def __init__(self) -> None:
        self.seconds: list[float | None] = []

    async def complete(self, request: Request) -> Reply:
        self.seconds.append(request.timeout)
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


async def test_a_model_that_never_answers_leaves_the_mechanical_plan(settings: Settings, era: Era) -> None:
    llm = Silent()
    async with (
        Engine(replace(settings, llm_seconds=0.05), llm=llm) as engine,
        Client(build(engine=engine), mode=era) as client,
    ):
        found = await told(client, "replan_search", QUANTUM)
        again = await told(client, "replan_search", {"search_id": found["search_id"]})
    assert (found["thinker"], found["stopped"]) == ("rules", "deadline")
    assert "no reply within 0.05 s" in found["note"]
    assert found["new_queries"]
    assert again == found
    assert len(llm.seconds) == 1


async def test_a_call_asks_for_no_more_than_its_time(settings: Settings) -> None:
    with Scripted(said(WIDER)) as llm:
        async with Engine(replace(settings, llm_seconds=3600), llm=llm) as engine:
            found = await engine.replan(**QUANTUM)
    assert (llm.asked[0].timeout or CALL_SECONDS + 1) <= CALL_SECONDS == 45
    assert found.stopped is None
