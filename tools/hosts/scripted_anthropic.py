"""An endpoint of the Messages API on loopback that plays the model, so that the real Claude Code needs no account."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Until(NamedTuple):
    """A call that the model makes again and again, until a request is as it should be; at most 200 times."""

    call: dict[str, Any]
    enough: Callable[[dict[str, Any]], bool]


class Model:
    """Plays the model: says each line of a script once, and keeps what it was asked."""

    def __init__(self) -> None:
        self.script: list[dict[str, Any] | Until] = []
        self.requests: list[dict[str, Any]] = []
        self.repeated = 0

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if not request.get("tools"):  # a side request of the host: a title, a topic
            return {"type": "text", "text": "ok"}
        self.requests.append(request)
        while self.script:
            line = self.script.pop(0)
            if not isinstance(line, Until):
                return line
            if self.repeated < 200 and not line.enough(request):
                self.repeated += 1
                self.script.insert(0, line)
                return {**line.call, "id": f"toolu_again_{self.repeated}"}
        return {"type": "text", "text": "Done."}


def tool_use(name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
    """A call of a tool, as the model says it."""
    return {"type": "tool_use", "id": f"toolu_{number:04}", "name": name, "input": arguments}


def sse(block: dict[str, Any]) -> Iterator[bytes]:
    """A reply as the stream of events of the Messages API."""
    usage = {"input_tokens": 10, "output_tokens": 10}
    start: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "usage": usage,
    }
    calls = block["type"] == "tool_use"
    empty: dict[str, Any] = {**block, "input": {}} if calls else {"type": "text", "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if calls
        else {"type": "text_delta", "text": block["text"]}
    )
    ending = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    events: tuple[dict[str, Any], ...] = (
        {"type": "message_start", "message": {**start, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
    )
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def serve(model: Model) -> ThreadingHTTPServer:
    """The endpoint, on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            pass

        def do_HEAD(self) -> None:
            self._send(b"", "text/plain")

        do_GET = do_HEAD  # noqa: N815 - the base class names it so

        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if "count_tokens" in self.path:
                self._send(b'{"input_tokens": 10}', "application/json")
                return
            if not self.path.startswith("/v1/messages"):
                self._send(b"{}", "application/json")
                return
            block = model.reply(sent)
            if sent.get("stream"):
                self._send(b"".join(sse(block)), "text/event-stream")
                return
            whole = {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "scripted",
                "content": [block],
            }
            ending = {"stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
            self._send(json.dumps({**whole, **ending}).encode(), "application/json")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def results(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of calls in a request."""
    blocks = [
        block
        for one in request["messages"]
        if isinstance(one["content"], list)
        for block in one["content"]
    ]
    return [block for block in blocks if block.get("type") == "tool_result"]
