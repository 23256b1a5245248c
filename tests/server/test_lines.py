"""Lines that no JSON parser takes are read all the same, or answered with what is wrong about them."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stdio import RawClient
from mcp_reflect.server.stdio import readable
from tests.server import servers


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    with servers.server(tmp_path_factory.mktemp("lines") / "bank.db") as server:
        yield server


def answer_to(server: RawClient, arguments: str) -> str:
    """The answer to a raw call: the line is sent as it is, whatever JSON thinks of it."""
    call = f'{{"jsonrpc":"2.0","id":1000,"method":"tools/call","params":{{"name":"reflect","arguments":{arguments}}}}}'
    server.send_raw(call.encode() + b"\n")
    answer = server.next_message()
    assert answer["id"] == 1000
    return json.dumps(answer)


def test_an_output_that_was_cut_inside_a_character_is_reflected_on(server: RawClient) -> None:
    assert "reflection_id" in answer_to(server, r'{"task":"ab\ud800c","outcome":"failure"}')


def test_nesting_without_end_is_answered_with_what_is_wrong(server: RawClient) -> None:
    deep = "[" * 10_000 + "]" * 10_000
    call = f'{{"task":"t","outcome":"failure","events":[{{"type":"tool_call","tool":"x","arguments":{deep}}}]}}'
    assert "recursion limit exceeded" in answer_to(server, call)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    )
)
def test_every_line_that_is_json_stays_what_it_says(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert json.loads(readable(text)) == value


def test_a_backslash_before_letters_that_look_like_half_a_character_stays() -> None:
    assert readable(r'"\\ud800"') == r'"\\ud800"'
    assert json.loads(readable(r'"\\\ud800"')) == "\\\ufffd"
    assert json.loads(readable(r'"\ud83d\ude00\ude00"')) == "😀\ufffd"
    assert json.loads(readable(r'"\ud800\ud800\u0041\n"')) == "\ufffd\ufffdA\n"
