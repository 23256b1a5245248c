"""The two dialogues through the tool, on each rung and in each era of the protocol."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.types import CreateMessageRequestParams, CreateMessageResult, TextContent

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Reply, Request, UnreachableError
from mcp_reflect.llm.runner import CALL_SECONDS
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.conftest import Era
from tests.scripted import NAME, Scripted
from tests.server.calls import contents, told
from tests.services.replan_calls import ELSEWHERE, HELP, QUANTUM, WIDER, said

BOTH = pytest.mark.parametrize(("asked", "proposed"), [(QUANTUM, WIDER), (HELP, ELSEWHERE)])


def is_as_proposed(found: dict[str, Any], proposed: dict[str, Any]) -> bool:
    (new,) = found["new_queries"]
    (wanted,) = proposed["new_queries"]
    return found["strategy"] == proposed["strategy"] and wanted.items() <= new.items()


@BOTH
async def test_the_host_plans_in_one_call(client: Client, asked: dict[str, Any], proposed: dict[str, Any]) -> None:
    found = await told(client, "replan_search", {**asked, "analysis": proposed})
    assert found["thinker"] == "host"
    assert found["user_message"] == proposed["user_message"]
    assert is_as_proposed(found, proposed)


@BOTH
async def test_a_language_model_plans(
    settings: Settings, era: Era, asked: dict[str, Any], proposed: dict[str, Any]
) -> None:
    with Scripted(said(proposed)) as llm:
        async with Engine(settings, llm=llm) as engine, Client(build(engine=engine), mode=era) as client:
            found = await told(client, "replan_search", asked)
    assert found["thinker"] == NAME
    assert is_as_proposed(found, proposed)


async def test_rules_ask_sessions_for_other_words_first(client: Client) -> None:
    found = await told(client, "replan_search", QUANTUM)
    assert (found["thinker"], found["strategy"]) == ("rules", "rewrite")
    assert {query["table"] for query in found["new_queries"]} == {"sessions"}
    assert found["next"]["send"].startswith("search_id with results")


async def test_rules_look_for_helpers_among_exhibitors(client: Client) -> None:
    found = await told(client, "replan_search", HELP)
    assert (found["thinker"], found["strategy"]) == ("rules", "pivot")
    assert found["new_queries"][0]["table"] == "exhibitors"


async def test_the_hosts_model_is_asked_once_in_either_era(engine: Engine, era: Era) -> None:
    asked: list[CreateMessageRequestParams] = []

    async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        assert context
        asked.append(params)
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text=said(WIDER)), model="m")

    async with Client(build(engine=engine), mode=era, sampling_callback=sample) as client:
        found = await told(client, "replan_search", QUANTUM)
    assert (found["thinker"], len(asked)) == ("sampling", 1)
    assert is_as_proposed(found, WIDER)


async def test_a_failing_language_model_leaves_the_mechanical_plan_and_says_why(settings: Settings) -> None:
    with Scripted(UnreachableError(NAME, "it is down", "Start it")) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.replan(**QUANTUM)
    assert found.thinker == "rules"
    assert "it is down" in (found.note or "")
    assert found.new_queries


async def test_a_plan_by_rules_is_not_answered_again_once_a_model_is_there(settings: Settings) -> None:
    with Scripted(ValueError("down"), said(WIDER)) as llm:
        async with Engine(settings, llm=llm) as engine:
            first = await engine.replan(**QUANTUM)
            second = await engine.replan(search_id=first.search_id)
    assert (first.thinker, second.thinker) == ("rules", NAME)


async def test_nobody_is_asked_where_settings_say_so(bank_path: Any) -> None:
    with Scripted() as llm:
        async with Engine(Settings(bank=bank_path, project="app", replan_llm=False), llm=llm) as engine:
            assert (await engine.replan(**QUANTUM)).thinker == "rules"


async def test_a_language_model_sees_every_description_beside_a_long_vocabulary(settings: Settings) -> None:
    first, second = QUANTUM["catalog"]
    catalog = [{**first, "vocabulary": [f"word{number}" for number in range(3000)]}, second]
    with Scripted(said(ELSEWHERE)) as llm:
        async with Engine(settings, llm=llm) as engine:
            await engine.replan(**{**HELP, "catalog": catalog})
    assert second["description"] in llm.asked[0].user


async def test_planning_leaves_an_export_as_it_was(client: Client, engine: Engine) -> None:
    before, _ = await contents(engine)
    await told(client, "replan_search", QUANTUM)
    after, _ = await contents(engine)
    assert after == before


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
