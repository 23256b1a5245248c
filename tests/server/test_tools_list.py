"""What a host is told of the tools: from the generated file, small, and flat."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.server.app import ALWAYS_LOADED, INSTRUCTIONS, build
from mcp_reflect.server.catalog import TOOLS as CATALOGUE
from tests.conftest import one_era
from tests.server import generate
from tests.server.generate import ROOT, files, main, tools_text

TOOLS = tuple(spec.name for spec in CATALOGUE)


async def listed(client: Client) -> list[dict[str, Any]]:
    found = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"}) for tool in found.tools]


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema; the names of properties are none."""
    if isinstance(value, dict):
        schema = cast("dict[str, Any]", value)
        yield schema
        for name, item in schema.items():
            for inner in cast("dict[str, Any]", item).values() if name == "properties" else (item,):
                yield from schemas(inner)
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from schemas(item)


async def test_the_list_is_the_generated_file(client: Client) -> None:
    assert await listed(client) == json.loads(tools_text())
    assert tuple(tool["name"] for tool in await listed(client)) == TOOLS


@pytest.mark.parametrize("on", [True, False])
async def test_a_host_that_defers_tools_loads_those_that_the_server_names(settings: Settings, on: bool) -> None:
    async with Client(build(replace(settings, always_load=on))) as client:
        found = (await client.list_tools()).tools
    loaded = {tool.name for tool in found if tool.meta == {"anthropic/alwaysLoad": True}}
    assert loaded == (set(ALWAYS_LOADED) if on else set())


def test_the_instructions_say_of_each_tool_in_one_sentence_when_to_call_it() -> None:
    sentences = INSTRUCTIONS.split(". ")
    assert [sum(f"Call {name} " in one for one in sentences) for name in TOOLS] == [1] * len(TOOLS)


def test_every_generated_file_is_up_to_date() -> None:
    assert [name for name, text in files().items() if (ROOT / name).read_text(encoding="utf-8") != text] == []


def test_a_generated_file_that_is_stale_is_named_and_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "mcp_reflect" / "server").mkdir(parents=True)
    (tmp_path / "docs" / "tools.md").write_text("old")
    assert main(["--check"]) == 1
    assert "docs/tools.md is out of date" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0


@one_era
async def test_the_list_of_eight_tools_fits_6200_bytes(client: Client) -> None:
    text = json.dumps(await listed(client), separators=(",", ":"), ensure_ascii=False)
    assert len(text.encode()) <= 6_200


@one_era
async def test_schemas_have_no_titles_no_references_and_no_unions_with_null(client: Client) -> None:
    for tool in await listed(client):
        for schema in [*schemas(tool["inputSchema"]), *schemas(tool["outputSchema"])]:
            assert not {"title", "$ref", "$defs", "anyOf", "oneOf", "additionalProperties"} & set(schema), tool["name"]
            assert schema.get("type") != "null"
            assert "null" not in schema.get("type", ())


@one_era
async def test_results_are_described_one_level_deep(client: Client) -> None:
    for tool in await listed(client):
        assert {tuple(item) for item in tool["outputSchema"]["properties"].values()} == {("type",)}


@one_era
async def test_forgetting_alone_is_destructive_and_no_tool_reaches_beyond_the_bank(client: Client) -> None:
    hints = {tool["name"]: tool["annotations"] for tool in await listed(client)}
    read_only = {name for name, hint in hints.items() if hint.get("readOnlyHint")}
    assert read_only == {spec.name for spec in CATALOGUE if spec.read_only}
    assert {name for name, hint in hints.items() if hint.get("destructiveHint", name not in read_only)} == {
        "forget_lesson"
    }
    assert not any(hint["openWorldHint"] for hint in hints.values())


@one_era
@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("should I stop and think", "should_reflect"),
        ("look back on a failed run", "reflect"),
        ("learn from what went wrong in this task", "reflect"),
        ("check my answer before I send it", "critique"),
        ("review this plan", "critique"),
        ("verify code against tool results", "critique"),
        ("have I seen this error before, recall past mistakes", "recall_lessons"),
        ("lessons learned before I start a task", "recall_lessons"),
        ("my grep found nothing", "replan_search"),
        ("database search returned nothing, new queries", "replan_search"),
        ("remember this for later", "store_lesson"),
        ("record that a lesson helped", "record_outcome"),
        ("a lesson was irrelevant or wrong", "record_outcome"),
        ("forget an outdated lesson", "forget_lesson"),
    ],
)
async def test_a_search_by_a_persons_words_finds_the_tool(client: Client, words: str, tool: str) -> None:
    with closing(sqlite3.connect(":memory:")) as search:  # hosts that hide tools rank them by their words
        search.execute("CREATE VIRTUAL TABLE tool USING fts5(name, description, tokenize='porter unicode61')")
        search.executemany("INSERT INTO tool VALUES (:name, :description)", await listed(client))
        any_word = " OR ".join(re.findall(r"\w+", words))
        best = search.execute("SELECT name FROM tool WHERE tool MATCH ? ORDER BY rank", (any_word,)).fetchone()
    assert best == (tool,)
