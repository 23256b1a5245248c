"""The raw client: what it sends is what was asked for, and a server that goes wrong is named as such."""

import json
import sys
from pathlib import Path

import pytest

from tests.clients.stdio import Era, RawServer, RpcError, ServerDiedError

STAND_IN = Path(__file__).parent / "stand_in.py"


def stand_in(behaviour: str = "", timeout: float = 10.0) -> RawServer:
    return RawServer([sys.executable, "-S", "-E", str(STAND_IN), behaviour], timeout=timeout)


def test_an_answer_is_given_to_its_request_and_notifications_are_kept_apart() -> None:
    with stand_in() as server:
        assert server.request("first", {"a": 1}) == {"method": "first", "params": {"a": 1}}
        assert server.request("second") == {"method": "second", "params": None}
    assert [message["method"] for message in server.notifications] == ["notifications/progress"] * 2


def test_a_legacy_client_opens_with_initialize_and_sends_no_envelope() -> None:
    with stand_in() as server:
        assert server.open(Era.LEGACY)["method"] == "initialize"
        assert server.request("tools/list") == {"method": "tools/list", "params": None}


def test_a_modern_client_opens_with_discover_and_sends_its_envelope_with_every_request() -> None:
    with stand_in() as server:
        assert server.open(Era.MODERN)["method"] == "server/discover"
        sent = json.dumps(server.call_tool("echo", {"text": "x"}))
    assert '"io.modelcontextprotocol/protocolVersion": "2026-07-28"' in sent
    assert '"arguments": {"text": "x"}' in sent


def test_an_error_answer_is_raised_with_its_code() -> None:
    with stand_in() as server, pytest.raises(RpcError, match="no such method") as caught:
        server.request("fails")
    assert caught.value.code == -32601


def test_a_server_that_ends_is_reported_with_its_stderr_and_exit_code() -> None:
    server = stand_in("crashes")
    with pytest.raises(ServerDiedError, match="the disk is on fire"):
        server.request("anything")
    assert server.close() == 3
    assert server.close() == 3


def test_a_silent_server_is_given_up_on() -> None:
    with (
        stand_in("silent", timeout=0.2) as server,
        pytest.raises(ServerDiedError, match="said nothing"),
    ):
        server.request("anything")
    assert server.close() == 0


def test_a_line_on_stdout_that_is_no_json_is_an_error() -> None:
    with stand_in("chatty") as server, pytest.raises(json.JSONDecodeError):
        server.request("anything")


def test_a_server_that_outlives_its_input_is_ended() -> None:
    server = RawServer([sys.executable, "-c", "import select; select.select([], [], [], 60)"])
    assert server.close(within=0.2) < 0
