"""A line that is no message is answered, so that nobody waits for ever; what nobody waits for is not."""

import json
from collections.abc import Iterator

import pytest

from benchmarks.stdio import RawClient
from tests.server import servers

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PING = b'{"jsonrpc":"2.0","id":"next","method":"ping"}\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    with servers.server(tmp_path_factory.mktemp("lines") / "bank.db") as server:
        yield server


@pytest.mark.parametrize(
    ("line", "code", "name"),
    [
        ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","a":' + "9" * 5000 + "}}", -32700, 7),
        ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"' + TOKEN, -32700, 7),
        (TOKEN, -32700, None),
        ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"' + TOKEN + '"}', -32600, 7),
        ('{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, "a"),
        ('{"id":7,"method":"ping"}', -32600, 7),
        ('[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None),
    ],
    ids=["number", "cut off", "no json", "params", "version", "no version", "batch"],
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
    ["", "  ", '{"jsonrpc":"2.0","method":"notifications/x","params":7}', '{"jsonrpc":"2.0","id":7,"result":7}'],
)
def test_what_nobody_waits_for_is_not_answered(server: RawClient, line: str) -> None:
    server.send_raw(line.encode() + b"\n" + PING)
    assert server.next_message()["id"] == "next"


def test_a_byte_order_mark_before_a_message_is_read_past(server: RawClient) -> None:
    server.send_raw(b"\xef\xbb\xbf" + PING)
    assert server.next_message()["result"] == {}
