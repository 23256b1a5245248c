"""Every limit has a safe default: a call over it is refused with the name of the argument before any work is done."""

import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from mcp_reflect.cli import main
from mcp_reflect.config import PREFIX, Settings
from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT, Limits
from mcp_reflect.server.app import build
from mcp_reflect.server.stdio import request_id
from mcp_reflect.services.engine import Engine
from tests.clients.stdio import RawClient, RpcError
from tests.conftest import place_empty_bank
from tests.server.calls import FAILED_RUN, LESSON
from tests.server.servers import server

RUN = {"task": "t", "outcome": "failure"}
QUERY = {"table": "talks", "query_text": "quantum"}
SEARCH = {"user_message": "quantum?", "queries": [QUERY]}
WORK = {"goal": "add", "steps": ["1 + 1 = 3"]}
LONG = "a long word " * 5

# A limit, a small value for it, and a call that is one over it, with the field that the error names.
CALLS: list[tuple[str, int, str, dict[str, Any], str]] = [
    ("max_depth", 8, "reflect", {**RUN, "decision": [[[[[[[[[1]]]]]]]]]}, "decision"),
    ("max_values", 100, "reflect", {**RUN, "decision": {"numbers": list(range(200))}}, "arguments"),
    ("max_task_chars", 40, "recall_lessons", {"task": LONG}, "task"),
    ("max_lesson_chars", 40, "store_lesson", {**LESSON, "mistake": LONG}, "mistake"),
    ("max_phrase_chars", 40, "store_lesson", {**LESSON, "symptoms": [LONG]}, "symptoms[0]"),
    ("max_label_chars", 40, "store_lesson", {**LESSON, "task_type": LONG}, "task_type"),
    ("max_list_items", 2, "store_lesson", {**LESSON, "tags": ["a", "b", "c"]}, "tags"),
    ("max_sent_events", 3, "reflect", {**FAILED_RUN, "events": [*FAILED_RUN["events"]] * 3}, "events"),
    ("max_work_chars", 40, "critique", {"goal": "g", "response": LONG}, "response"),
    ("max_work_chars", 40, "critique", {"goal": "g", "steps": [LONG[:30], LONG[:30]]}, "steps"),
    ("max_steps", 2, "critique", {"goal": "g", "steps": ["a", "b", "c"]}, "steps"),
    ("max_results", 1, "critique", {**WORK, "tool_results": [{"content": "1"}, {"content": "2"}]}, "tool_results"),
    ("max_result_chars", 40, "critique", {**WORK, "tool_results": [{"content": LONG}]}, "tool_results[0].content"),
    ("max_analysis_chars", 40, "reflect", {**RUN, "analysis": {"reflection": LONG}}, "analysis"),
    ("max_judgment_chars", 40, "reflect", {**RUN, "analysis": {"reflection": LONG}}, "analysis.reflection"),
    ("max_judgment_chars", 40, "critique", {**WORK, "analysis": {"issues": [LONG]}}, "analysis.issues[0]"),
    ("max_queries", 1, "replan_search", {**SEARCH, "queries": [QUERY, {**QUERY, "query_text": "b"}]}, "queries"),
    ("max_queries", 1, "replan_search", {**SEARCH, "analysis": {"new_queries": [QUERY, QUERY]}},
     "analysis.new_queries"),
    ("max_queries_chars", 40, "replan_search", {**SEARCH, "queries": [LONG]}, "queries"),
    ("max_query_chars", 40, "replan_search", {**SEARCH, "queries": [{**QUERY, "query_text": LONG}]},
     "queries[0].query_text"),
    ("max_query_chars", 40, "replan_search", {**SEARCH, "catalog": [{"table": "talks", "description": LONG}]},
     "catalog[0].description"),
    ("max_filter_chars", 40, "replan_search", {**SEARCH, "queries": [{**QUERY, "filters": {"a": LONG}}]},
     "queries[0].filters"),
    ("max_catalog_words", 1, "replan_search", {**SEARCH, "catalog": [{"table": "a", "vocabulary": ["b", "c"]}]},
     "catalog"),
    ("max_catalog_chars", 40, "replan_search", {**SEARCH, "catalog": [{"table": "a", "vocabulary": [LONG]}]},
     "catalog"),
    ("max_tables", 1, "replan_search", {**SEARCH, "catalog": [{"table": "a"}, {"table": "b"}]}, "catalog"),
]  # fmt: skip
# What a call has of that, where it is neither LONG nor one more than the small value.
SIZES: dict[str, Any] = {
    "max_depth": 10,
    "max_values": 204,  # every level counts
    "max_sent_events": 12,
    "max_analysis_chars": len(LONG) + len("reflection"),
    "max_filter_chars": len(LONG) + 1,
    "max_catalog_chars": len(LONG) + len("tableavocabulary"),
}
ELSEWHERE = {
    "max_message_bytes", "max_events", "max_event_chars",
    "max_trace_chars", "max_prompt_chars", "max_listed", "max_file_bytes", "max_recalled", "max_recalled_chars",
    "max_hook_bytes", "max_http_requests", "max_body_seconds",
}  # fmt: skip


def test_every_limit_is_tried() -> None:
    assert {name for name, *_ in CALLS} | ELSEWHERE == {item.name for item in fields(Limits)}


@pytest.mark.parametrize(
    ("limit", "value", "tool", "arguments", "field"),
    CALLS,
    ids=[f"{name}-{field}" for name, _, _, _, field in CALLS],
)
async def test_a_call_passes_at_its_limit_and_is_refused_by_its_name_one_below(
    settings: Settings, limit: str, value: int, tool: str, arguments: dict[str, Any], field: str
) -> None:
    place_empty_bank(settings.bank_path)
    size = SIZES.get(limit, len(LONG) if value == 40 else value + 1)
    exact: dict[str, Any] = {limit: size}
    below: dict[str, Any] = {limit: size - 1}
    async with Engine(replace(settings, **below)) as engine:
        with pytest.raises(InputError) as caught:
            await engine.call(tool, arguments)
        assert str(caught.value).startswith(field)
        assert str(size - 1) in caught.value.fault + caught.value.fix
        assert (await engine.get_stats())["lessons_stored"] == 0
    async with Engine(replace(settings, **exact)) as engine:
        await engine.call(tool, arguments)


@pytest.mark.parametrize(
    ("limit", "name"), [("max_recalled", "limit"), ("max_recalled_chars", "max_chars")]
)
async def test_a_recall_asks_for_what_its_limits_allow(
    settings: Settings, limit: str, name: str
) -> None:
    low: dict[str, Any] = {limit: 2}
    async with Engine(replace(settings, **low)) as engine:
        found: Any = await engine.recall(task="t", **{name: 3})
    assert found.ignored == (f"{name}: 3 is too large, 2 used",)


def test_no_limit_is_read_from_the_environment() -> None:
    limits = {f"{PREFIX}{item.name.upper()}": "1" for item in fields(Limits)}
    read = Settings.from_env(limits)
    assert all(getattr(read, item.name) == item.default for item in fields(Limits))
    assert set(read.unknown) == set(limits)


def test_a_line_that_is_too_long_is_answered_with_its_id_and_the_next_one_is_served(
    bank_path: Path,
) -> None:
    with server(bank_path) as running:
        with pytest.raises(
            RpcError, match=rf"it has \d+ bytes. Send at most {DEFAULT.max_message_bytes}."
        ):
            running.call_tool("recall_lessons", {"task": "x" * DEFAULT.max_message_bytes})
        assert not running.call_tool("recall_lessons", {"task": "x"}).get("isError")
        _ends_with_its_id(running)


def _ends_with_its_id(running: RawClient) -> None:
    """Clients that write the id last, and one whose id nobody can tell."""
    running.send_raw(
        b'{"method":"ping","params":{"id":3,"x":"'
        + b"x" * DEFAULT.max_message_bytes
        + b'"},"jsonrpc":"2.0","id":"last"}\n'
    )
    assert running.next_message()["id"] == "last"
    running.send_raw(b"x" * DEFAULT.max_message_bytes + b"\n")
    assert running.next_message()["id"] is None


def test_the_id_of_a_long_line_is_never_one_inside_its_params() -> None:
    head = b'{"jsonrpc":"2.0","method":"tools/call","params":{"id":7,'
    assert request_id(head, b'"events":[{"id":8}]}}') is None
    assert request_id(head, b'"events":[{"id":8}]},"id":9}\n') == 9
    assert request_id(b'{"jsonrpc":"2.0","id":"a b","params":{}', b"") == "a b"


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    big = tmp_path / "big.jsonl"
    with big.open("wb") as file:
        file.truncate(DEFAULT.max_file_bytes + 1)
    for command in ("import", "reflect"):
        assert main([command, str(big)]) == 2
        assert (
            f"it has {DEFAULT.max_file_bytes + 1} bytes or more. Send at most {DEFAULT.max_file_bytes}."
            in capsys.readouterr().err
        )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file")
def test_a_file_without_an_end_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("import", "reflect"):
        assert main([command, "/dev/zero"]) == 2
        assert "it is no regular file. Give the path of a file." in capsys.readouterr().err


def test_words_that_are_no_text_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "a \udcff"]) == 2
    assert "arguments: they are not UTF-8" in capsys.readouterr().err


async def test_prompts_and_lists_have_their_limits(settings: Settings) -> None:
    small = replace(settings, max_prompt_chars=40, max_listed=1)
    async with Engine(small) as engine, Client(build(engine=engine)) as client:
        with pytest.raises(MCPError, match=r"task: it has 60 characters. Send at most 40\."):
            await client.get_prompt("start_task", {"task": LONG})
        await engine.store_lesson(**LESSON)
        await engine.store_lesson(
            mistake="Forgot the changelog", correction="Write it with the change"
        )
        (content,) = (await client.read_resource("bank://lessons")).contents
        assert getattr(content, "text", "").count('"mistake"') == 1


def test_the_bounds_that_are_listed_are_the_defaults() -> None:
    assert (DEFAULT.max_recalled, DEFAULT.max_recalled_chars) == (50, 100_000)


async def test_a_task_far_over_its_limit_is_refused_before_its_secrets_are_looked_for(
    tmp_path: Path,
) -> None:
    async with Engine(Settings(bank=tmp_path / "bank.db", project="app")) as engine:
        await engine.call("recall_lessons", {"task": "warm up"})
        began = time.process_time()
        with pytest.raises(InputError, match="it has 100000 characters"):
            await engine.call("recall_lessons", {"task": ("token: " * 20_000)[:100_000]})
        assert time.process_time() - began < 0.4
