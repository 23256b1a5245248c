"""Searches in several calls: what each rung plans, what is kept and refused, what is learned, and where it ends."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.types import CreateMessageRequestParams, CreateMessageResult, TextContent

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Reply, Request, UnreachableError
from mcp_reflect.llm.runner import CALL_SECONDS
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.conftest import Era, one_era
from tests.scripted import NAME, Scripted
from tests.server.calls import contents, refused, told
from tests.services.replan_calls import ELSEWHERE, HELP, QUANTUM, WIDER, plan, said

BOTH = pytest.mark.parametrize(("asked", "proposed"), [(QUANTUM, WIDER), (HELP, ELSEWHERE)])


def is_as_proposed(found: dict[str, Any], proposed: dict[str, Any]) -> bool:
    (new,) = found["new_queries"]
    (wanted,) = proposed["new_queries"]
    return found["strategy"] == proposed["strategy"] and wanted.items() <= new.items()


@BOTH
async def test_the_host_plans_in_one_call(
    client: Client, asked: dict[str, Any], proposed: dict[str, Any]
) -> None:
    found = await told(client, "replan_search", {**asked, "analysis": proposed})
    assert found["thinker"] == "host"
    assert found["user_message"] == proposed["user_message"]
    assert is_as_proposed(found, proposed)


@BOTH
async def test_a_language_model_plans(
    settings: Settings, era: Era, asked: dict[str, Any], proposed: dict[str, Any]
) -> None:
    with Scripted(said(proposed)) as llm:
        async with (
            Engine(settings, llm=llm) as engine,
            Client(build(engine=engine), mode=era) as client,
        ):
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

    async def sample(
        context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult:
        assert context
        asked.append(params)
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=said(WIDER)), model="m"
        )

    async with Client(build(engine=engine), mode=era, sampling_callback=sample) as client:
        found = await told(client, "replan_search", QUANTUM)
    assert (found["thinker"], len(asked)) == ("sampling", 1)
    assert is_as_proposed(found, WIDER)


@pytest.mark.parametrize("main", ["off", "openai:m@http://127.0.0.1:9/v1"])
async def test_a_role_that_is_off_asks_no_model_of_the_host_either(
    settings: Settings, main: str
) -> None:
    async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> Any:
        del context, params
        raise AssertionError("the host's model was asked")

    engine = Engine(replace(settings, llm=main, llm_planner="off"))
    async with engine, Client(build(engine=engine), sampling_callback=sample) as client:
        assert (await told(client, "replan_search", QUANTUM))["thinker"] == "rules"


async def test_a_failing_language_model_leaves_the_mechanical_plan_and_says_why(
    settings: Settings,
) -> None:
    with Scripted(UnreachableError(NAME, "it is down", "Start it")) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.replan(**QUANTUM)
    assert found.thinker == "rules"
    assert "it is down" in (found.note or "")
    assert found.new_queries


async def test_a_plan_by_rules_is_not_answered_again_once_a_model_is_there(
    settings: Settings,
) -> None:
    with Scripted(ValueError("down"), said(WIDER)) as llm:
        async with Engine(settings, llm=llm) as engine:
            first = await engine.replan(**QUANTUM)
            second = await engine.replan(search_id=first.search_id)
    assert (first.thinker, second.thinker) == ("rules", NAME)


async def test_a_language_model_sees_every_description_beside_a_long_vocabulary(
    settings: Settings,
) -> None:
    first, second = QUANTUM["catalog"]
    catalog = [{**first, "vocabulary": [f"word{number}" for number in range(3000)]}, second]
    with Scripted(said(ELSEWHERE)) as llm:
        async with Engine(settings, llm=llm) as engine:
            await engine.replan(**{**HELP, "catalog": catalog})
    assert second["description"] in llm.asked[0].user


class Silent:
    """Never answers."""

    async def complete(self, request: Request) -> Reply:
        del request
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


async def test_a_model_that_never_answers_leaves_the_mechanical_plan(
    settings: Settings, era: Era
) -> None:
    async with (
        Engine(replace(settings, llm_seconds=0.05), llm=Silent()) as engine,
        Client(build(engine=engine), mode=era) as client,
    ):
        found = await told(client, "replan_search", QUANTUM)
        again = await told(client, "replan_search", {"search_id": found["search_id"]})
    assert found["thinker"] == "rules"
    assert "no reply within 0.05 s" in found["note"]
    assert found["new_queries"]
    assert again == found


async def test_a_call_asks_for_no_more_than_its_time(settings: Settings) -> None:
    with Scripted(said(WIDER)) as llm:
        async with Engine(replace(settings, llm_seconds=3600), llm=llm) as engine:
            await engine.replan(**QUANTUM)
    assert (llm.asked[0].timeout or CALL_SECONDS + 1) <= CALL_SECONDS == 45


async def test_the_second_call_leaves_the_arguments_out(client: Client) -> None:
    first = await told(client, "replan_search", QUANTUM)
    call = {"search_id": first["search_id"], "analysis": WIDER}
    second = await told(client, "replan_search", call)
    assert (second["thinker"], second["retry_count"]) == ("host", first["retry_count"])
    assert second["original_queries"] == first["original_queries"]
    assert await told(client, "replan_search", call) == second


async def test_another_message_for_the_same_search_is_an_error(client: Client) -> None:
    first = await told(client, "replan_search", QUANTUM)
    call = {"search_id": first["search_id"], "user_message": "Find a hotel"}
    assert (await refused(client, "replan_search", call)).startswith("user_message: ")


@pytest.mark.parametrize(
    "report", [{"results": {"sessions": 0}}, {"zero_result_tables": ["sessions"]}]
)
async def test_a_report_without_queries_is_about_the_plan(
    engine: Engine, report: dict[str, Any]
) -> None:
    first = await engine.replan(**QUANTUM)
    second = await engine.replan(search_id=first.search_id, **report)
    assert (second.retry_count, second.give_up) == (2, False)
    assert second.new_queries
    assert not set(map(str, second.new_queries)) & set(map(str, first.new_queries))


async def test_tried_queries_are_refused_whoever_proposes_them(settings: Settings) -> None:
    again = {**QUANTUM["queries"][0], "query_text": "Computing, quantum"}
    proposed = plan(again, *WIDER["new_queries"])
    with Scripted(said(proposed)) as llm:
        async with Engine(settings, llm=llm) as engine:
            for extra in ({}, {"analysis": proposed}):
                found = await engine.replan(**QUANTUM, **extra)
                assert len(found.new_queries) == 1
                assert "was tried before" in found.notes[0]


async def test_after_the_last_retry_it_gives_up_and_asks_nobody(settings: Settings) -> None:
    with Scripted() as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.replan(**QUANTUM, retry_count=3)
    assert (found.give_up, found.retry_count, found.new_queries) == (True, 4, ())
    assert '"quantum computing" in sessions' in found.reasoning
    assert found.user_message
    assert not found.next


BAD: list[tuple[dict[str, Any], str]] = [
    ({"user_message": "x"}, "queries: it is empty."),
    (
        {**QUANTUM, "catalog": [{"table": "a", "vocabulary": [["x"]]}]},
        "catalog[0].vocabulary[0]: it is a list, not",
    ),
    (
        {**QUANTUM, "queries": [{"table": "a", "query_text": "x" * 1_000_000}]},
        "queries: it has 1000016",
    ),
    (
        {**QUANTUM, "analysis": plan(*[{"table": "a"}] * 51)},
        "analysis.new_queries: it has 51 items.",
    ),
    (
        {**QUANTUM, "results": {"sessions": "none"}},
        "results.sessions: is neither a count nor a list.",
    ),
    ({**QUANTUM, "analysis": "no idea"}, "analysis: it holds no JSON object."),
    ({**QUANTUM, "project": "elsewhere"}, "project: 'elsewhere' is not one"),
    ({"search_id": "srch_none"}, "search_id: there is no 'srch_none' in project app."),
]


@one_era
async def test_bad_input_names_field_fault_and_fix_and_stores_nothing(
    client: Client, engine: Engine
) -> None:
    before = await contents(engine)
    for arguments, start in BAD:
        assert (await refused(client, "replan_search", arguments)).startswith(start)
    with pytest.raises(InputError, match=r"queries\[0\]\.score_threshold: nan is not a number"):
        await engine.replan(
            **{**QUANTUM, "queries": [{"table": "a", "score_threshold": float("nan")}]}
        )
    theirs = await engine.replan(**QUANTUM, project="other")
    with pytest.raises(InputError, match="search_id"):
        await engine.replan(search_id=theirs.search_id)
    assert await contents(engine) == before


@pytest.mark.parametrize("table", ["sessions", "elsewhere"])
async def test_a_report_of_rows_after_giving_up_is_a_success(engine: Engine, table: str) -> None:
    first = await engine.replan(**QUANTUM, retry_count=2)
    over = await engine.replan(search_id=first.search_id, results={"sessions": 0})
    late = await engine.replan(search_id=first.search_id, results={table: 3})
    assert (first.give_up, over.give_up, late.give_up) == (False, True, False)
    assert "found something" in late.user_message


async def test_giving_up_names_what_was_tried_and_what_would_settle_it(engine: Engine) -> None:
    over = await engine.replan(
        user_message="a pay out",
        queries=[{"table": "docs", "query_text": "pay-out"}],
        retry_count=3,
    )
    assert over.give_up
    assert '"pay-out" in docs' in over.reasoning
    assert "a list of the tables" in over.reasoning
    assert "sample of rows of docs" in over.reasoning
