"""What no JSON parser takes is answered all the same, with the field it stands in."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stdio import Era, RawServer
from mcp_reflect.errors import HALF_CHARACTER, TOO_DEEP
from mcp_reflect.server.stdio import MOST_DEEP, readable


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RawServer]:
    env = {"MCP_REFLECT_BANK": str(tmp_path / "bank.db"), "MCP_REFLECT_PROJECT": "p"}
    with RawServer((sys.executable, "-m", "mcp_reflect"), env=env) as server:
        server.open(Era.LEGACY)
        yield server


def answer_to(server: RawServer, arguments: str) -> str:
    """The error that a raw call gets: the line is sent as it is, whatever JSON thinks of it."""
    call = f'{{"jsonrpc":"2.0","id":1000,"method":"tools/call","params":{{"name":"reflect","arguments":{arguments}}}}}'
    server.send_raw(call.encode() + b"\n")
    answer = server.next_message()
    assert answer["id"] == 1000
    result = answer["result"]
    assert isinstance(result, dict)
    assert result["isError"]
    return json.dumps(result["content"])


def test_half_a_character_over_stdio_is_named_with_its_field(server: RawServer) -> None:
    said = answer_to(server, r'{"task":"ab\ud800c","outcome":"failure"}')
    assert "task: it holds half of a character (a lone surrogate) at 2. Send valid Unicode text." in said


def test_nesting_without_end_over_stdio_is_named_with_its_field(server: RawServer) -> None:
    deep = "[" * 10_000 + "]" * 10_000
    call = f'{{"task":"t","outcome":"failure","events":[{{"type":"tool_call","tool":"x","arguments":{deep}}}]}}'
    assert "it is nested more than 64 levels deep" in answer_to(server, call)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_every_line_that_is_json_stays_what_it_says(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert json.loads(readable(text)) == value


def test_a_backslash_before_letters_that_look_like_half_a_character_stays() -> None:
    assert readable(r'"\\ud800"') == r'"\\ud800"'
    assert json.loads(readable(r'"\\\ud800"')) == "\\" + HALF_CHARACTER
    assert json.loads(readable(r'"\ud83d\ude00\ude00"')) == "😀" + HALF_CHARACTER


def test_only_what_is_too_deep_is_put_down() -> None:
    line = json.dumps({"a": [1, {"b": "[" * 500}]})
    assert readable(line) == line
    deep = f'{{"keep":1,"deep":{"[" * 300}1{"]" * 300},"after":2}}'
    found = json.loads(readable(deep))
    assert (found["keep"], found["after"]) == (1, 2)
    assert readable(deep).count("[") == MOST_DEEP - 1
    assert TOO_DEEP in readable(deep)
