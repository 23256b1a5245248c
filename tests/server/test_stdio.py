"""Lines of stdin that the SDK would drop are repaired or answered, so that no caller waits forever."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.server.stdio import readable
from tests.clients.stdio import RawClient
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


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
DENSE = "[" + ",".join(["[]"] * 200_000) + "]"
PING = b'{"jsonrpc":"2.0","id":"next","method":"ping"}\n'


@pytest.mark.parametrize(
    ("line", "code", "name"),
    [
        (
            '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","a":'
            + "9" * 5000
            + "}}",
            -32700,
            7,
        ),
        ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"' + TOKEN, -32700, 7),
        (TOKEN, -32700, None),
        ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"' + TOKEN + '"}', -32600, 7),
        ('{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, "a"),
        ('{"id":7,"method":"ping"}', -32600, 7),
        ('[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None),
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":' + DENSE + "}}", -32600, 7),
    ],
    ids=["number", "cut off", "no json", "params", "version", "no version", "batch", "dense"],
)
def test_a_line_that_is_no_message_is_answered_with_its_id(
    server: RawClient, line: str, code: int, name: int | str | None
) -> None:
    server.send_raw(line.encode() + b"\n" + PING)
    answers = [server.next_message(), server.next_message()]
    refused, answered = sorted(answers, key=lambda answer: "result" in answer)
    assert answered["id"] == "next"
    assert refused["id"] == name
    error = refused["error"]
    assert isinstance(error, dict)
    assert error["code"] == code
    assert TOKEN not in json.dumps(refused)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  ",
        '{"jsonrpc":"2.0","method":"notifications/x","params":7}',
        '{"jsonrpc":"2.0","id":7,"result":7}',
    ],
)
def test_what_nobody_waits_for_is_not_answered(server: RawClient, line: str) -> None:
    server.send_raw(line.encode() + b"\n" + PING)
    assert server.next_message()["id"] == "next"


def test_a_byte_order_mark_before_a_message_is_read_past(server: RawClient) -> None:
    server.send_raw(b"\xef\xbb\xbf" + PING)
    assert server.next_message()["result"] == {}
