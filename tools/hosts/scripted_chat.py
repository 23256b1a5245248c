"""An endpoint of the Chat Completions API on loopback that plays the model, for hosts that speak it."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Line = dict[str, Any]
"""What the model says: `{"text": ...}`, or `{"call": NAME, "arguments": {...}}`."""

DONE: Line = {"text": "Done."}


@dataclass
class ChatModel:
    """Plays the model: says each line of a script once, and keeps what it was asked.

    Requests without tools are side requests of a host, such as one for a title: they take no line of the script.
    """

    script: list[Line] = field(default_factory=list[Line])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def reply(self, request: dict[str, Any]) -> Line:
        if not request.get("tools"):
            return {"text": "ok"}
        self.requests.append(request)
        return self.script.pop(0) if self.script else DONE

    def tools(self) -> set[str]:
        """The names of the tools that the model was offered in its first request."""
        offered = self.requests[0]["tools"] if self.requests else ()
        return {tool.get("function", tool)["name"] for tool in offered}

    def read(self, number: int) -> str:
        """The messages of a request as one text, without the instructions of the host before them."""
        if number >= len(self.requests):
            return ""
        messages: list[dict[str, Any]] = self.requests[number]["messages"]
        said = [message["content"] for message in messages if message["role"] != "system"]
        return json.dumps(said, ensure_ascii=False)


def shell_tool(request: dict[str, Any]) -> str:
    """The name by which a host offers its shell; empty if it offers none."""
    known = ("bash", "Bash", "run_shell_command", "run_commands", "execute_command", "Execute")
    offered = [tool.get("function", tool)["name"] for tool in request.get("tools", ())]
    return next((name for name in known if name in offered), "")


def chunks(line: Line, number: int) -> Iterator[dict[str, Any]]:
    """A reply as the pieces of a stream."""
    delta: dict[str, Any] = {"role": "assistant", "content": line.get("text")}
    if "call" in line:
        function = {"name": line["call"], "arguments": json.dumps(line["arguments"])}
        call = {"index": 0, "id": f"call_{number:04}", "type": "function", "function": function}
        delta["tool_calls"] = [call]
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "tool_calls" if "call" in line else "stop"
    last: list[dict[str, Any]] = [{"index": 0, "delta": {}, "finish_reason": reason}]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**head, "choices": last, "usage": usage}


def whole(line: Line, number: int) -> dict[str, Any]:
    """A reply in one piece."""
    first, last = chunks(line, number)
    message = {**first["choices"][0]["delta"]}
    choice = {"index": 0, "message": message, "finish_reason": last["choices"][0]["finish_reason"]}
    return {**last, "object": "chat.completion", "choices": [choice]}


Shell = Callable[[str], Line]


def serve_chat(model: ChatModel) -> ThreadingHTTPServer:
    """The endpoint, on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            pass

        def do_GET(self) -> None:
            models = [{"id": "scripted", "object": "model", "name": "scripted"}]
            self._send(json.dumps({"object": "list", "data": models}), "application/json")

        def do_POST(self) -> None:
            request = json.loads(
                self.rfile.read(int(self.headers.get("content-length", 0))) or "{}"
            )
            if not self.path.endswith("/chat/completions"):
                self._send("{}", "application/json")
                return
            line = model.reply(request)
            if callable(line.get("shell")):
                line = line["shell"](shell_tool(request))
            number = len(model.requests)
            if not request.get("stream"):
                self._send(json.dumps(whole(line, number)), "application/json")
                return
            events = [json.dumps(chunk) for chunk in chunks(line, number)]
            body = "".join(f"data: {event}\n\n" for event in (*events, "[DONE]"))
            self._send(body, "text/event-stream")

        def _send(self, text: str, kind: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
