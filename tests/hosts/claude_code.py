"""A session of the real Claude Code against a scripted model, run on demand: `python -m tests.hosts.claude_code DIR`.

DIR is where `npm install --prefix DIR @anthropic-ai/claude-code` put it (Node 20). No account and no network are
needed: ANTHROPIC_BASE_URL names an endpoint on loopback that plays the model, the home is empty, and the hooks
stand in a settings file as docs/hooks.md has them.

Two sessions in one project. In the first a command fails and another one works; its transcript is reflected on
when it ends. In the second the model makes the failing call again. The script prints which request of the host
carries the lesson (the first, before any call), and which the warning of the call: Claude Code hands what a hook
says before a call to the model together with the call's result. The call is not blocked. Exit code 0 where all
of it is so.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
FAILING = "python3 tool.py --mode fast"
WORKING = "python3 tool.py --mode=fast --yes"
TOOL = """import sys
if "--yes" not in sys.argv:
    sys.exit("tool.py: error: refusing to run without --yes")
print("all done")
"""
PROMPT = "Run tool.py in fast mode, please"
EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    "SessionEnd",
)


class Model:
    """Plays the model: says each line of a script once, and keeps what it was asked."""

    def __init__(self) -> None:
        self.script: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if not request.get("tools"):  # a side request of the host: a title, a topic
            return {"type": "text", "text": "ok"}
        self.requests.append(request)
        return self.script.pop(0) if self.script else {"type": "text", "text": "Done."}


def call(command: str, number: int) -> dict[str, Any]:
    arguments = {"command": command, "description": "Run the tool"}
    return {"type": "tool_use", "id": f"toolu_{number:04}", "name": "Bash", "input": arguments}


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
            whole = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "content": [block]}
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


def session(binary: Path, folder: Path, url: str, model: Model, script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run one session to its end; what the host sent to the model."""
    model.script, model.requests = list(script), []
    home = folder / "home"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "MCP_REFLECT_BANK": str(folder / "bank.db"),
        "PYTHONPATH": str(ROOT),
    }
    settings = str(folder / "settings.json")
    done = subprocess.run(
        [str(binary), "-p", PROMPT, "--allowedTools", "Bash", "--settings", settings, "--model", "claude-sonnet-4-5"],
        cwd=folder / "project",
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0 or not model.requests:
        sys.exit(f"Claude Code ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return model.requests


def holding(requests: list[dict[str, Any]], text: str) -> int | None:
    """The number (from 1) of the first request that holds a text, null for none."""
    return next((at for at, one in enumerate(requests, start=1) if text in json.dumps(one["messages"])), None)


def results(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of calls in a request."""
    blocks = [block for one in request["messages"] if isinstance(one["content"], list) for block in one["content"]]
    return [block for block in blocks if block.get("type") == "tool_result"]


def main() -> int:
    """Play the sessions; see the module."""
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    found = sorted(where.glob("node_modules/@anthropic-ai/claude-code-*/claude")) or sorted(
        where.glob("node_modules/.bin/claude")
    )
    if not found:
        print("Name the folder in which npm has installed @anthropic-ai/claude-code.")
        return 2
    folder = Path(tempfile.mkdtemp(prefix="claude-code-"))
    for name in ("home", "project"):
        (folder / name).mkdir()
    (folder / "project" / "tool.py").write_text(TOOL)
    command = f"{sys.executable} -m mcp_reflect hook"
    hooks = {
        event: [{"hooks": [{"type": "command", "command": f"{command} {event}", "timeout": 10}]}] for event in EVENTS
    }
    (folder / "settings.json").write_text(json.dumps({"hooks": hooks}))
    model = Model()
    server = serve(model)
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        first = session(found[0], folder, url, model, [call(FAILING, 1), call(WORKING, 2)])
        print(f"first session: {len(first)} requests; the failing call and the working one were made")
        lesson = wait_for_lesson(folder)
        print(f"  reflected on at its end: {lesson}")
        second = session(found[0], folder, url, model, [call(FAILING, 3), call(WORKING, 4)])
        lesson_at, warned_at = holding(second, "--mode=fast --yes"), holding(second, "this call is known to fail")
        ran = sum("refusing to run" in json.dumps(block) for block in results(second[-1]))
        print(
            f"second session: lesson in request {lesson_at}, warning in request {warned_at}; calls that failed: {ran}"
        )
    finally:
        server.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if (lesson_at, warned_at, ran) == (1, 2, 1) else 1


def wait_for_lesson(folder: Path) -> str:
    """The lesson that the process at the session's end makes; it outlives the host, so we look for it."""
    env = {**os.environ, "MCP_REFLECT_BANK": str(folder / "bank.db"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mcp_reflect", "lessons", "list", "--json"]
    for _ in range(40):
        told = subprocess.run(
            command, cwd=folder / "project", env=env, capture_output=True, text=True, timeout=60, check=False
        )
        held = json.loads(told.stdout or "[]")
        if held:
            return str(held[0]["text"])
        time.sleep(0.5)
    sys.exit("No lesson came of the first session.")


if __name__ == "__main__":
    sys.exit(main())
