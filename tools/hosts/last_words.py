"""A last message held in the real Codex and Gemini CLI: `python -m tools.hosts.last_words DIR`.

DIR is where `npm install --prefix DIR @openai/codex @google/gemini-cli` put them. A model on loopback runs the tests,
which fail, and says that all pass. The hooks that `mcp-reflect install HOST --hooks` writes hold that message once: the
reason stands in the model's next request, and the message after it ends the session.
"""

import json
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tools.hosts.trying import Home, binary, clean_home, held, step

TESTS: Final = "#!/bin/sh\necho 'Tests: 1 failed, 17 passed, 18 total'\nexit 1\n"
PROMPT: Final = "run the tests"
REASON: Final = "You say: "
CLAIM: Final = "Done. All tests pass now."
CORRECTED: Final = "One test still fails."
HOLDS: Final = {
    "MCP_REFLECT_LAST_WORD": "hold"
}  # a session without a window is only told otherwise


def of_codex(body: dict[str, Any]) -> str:
    """What the model says to Codex: a stream of events."""
    said = json.dumps(body["input"])
    ran = "function_call_output" in said
    if ran or REASON in said:
        text = CORRECTED if REASON in said else CLAIM
        item = {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }
    else:
        call = {"name": "exec_command", "arguments": json.dumps({"cmd": "./run_tests.sh"})}
        item = {"type": "function_call", "id": "f", "call_id": "c", **call}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def of_gemini(body: dict[str, Any]) -> str:
    """What the model says to Gemini CLI: one event."""
    said = json.dumps(body.get("contents", []))
    part: dict[str, Any] = {
        "functionCall": {"name": "run_shell_command", "args": {"command": "./run_tests.sh"}}
    }
    if REASON in said:
        part = {"text": CORRECTED}
    elif '"functionResponse"' in said:
        part = {"text": CLAIM}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return f"data: {json.dumps({'candidates': [candidate]})}\n\n"


@contextmanager
def model(answer: Callable[[dict[str, Any]], str]) -> Generator[tuple[str, list[str]]]:
    """A model on loopback: its address, and the requests that it got."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append(text)
            data = answer(json.loads(text)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()


def run_codex(home: Home, address: str) -> None:
    """One session of Codex."""
    file = home.folder / ".codex" / "config.toml"
    provider = f'name = "model"\nbase_url = "{address}/v1"\nwire_api = "responses"\nenv_key = "MODEL_KEY"\n'
    head = 'model = "scripted"\nmodel_provider = "model"\n'
    file.write_text(
        f"{head}{file.read_text('utf-8')}\n[model_providers.model]\n{provider}", "utf-8"
    )
    flags = (
        "--dangerously-bypass-hook-trust",
        "--dangerously-bypass-approvals-and-sandbox",
        "--skip-git-repo-check",
    )
    home.run(
        binary(".bin/codex"), "exec", *flags, PROMPT, seconds=120, env={**HOLDS, "MODEL_KEY": "x"}
    )


def run_gemini(home: Home, address: str) -> None:
    """One session of Gemini CLI."""
    file = home.folder / ".gemini" / "settings.json"
    settings = {
        **json.loads(file.read_text("utf-8")),
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }
    file.write_text(json.dumps(settings), "utf-8")
    file.with_name("trustedFolders.json").write_text(
        json.dumps({str(home.project): "TRUST_FOLDER"}), "utf-8"
    )
    env = {**HOLDS, "GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": address}
    home.run(binary(".bin/gemini"), "--approval-mode", "yolo", "-p", PROMPT, seconds=120, env=env)


def main() -> int:
    """Play the sessions; see the module."""
    for name, answer, run in (("codex", of_codex, run_codex), ("gemini", of_gemini, run_gemini)):
        with (
            clean_home(name) as home,
            model(answer) as (address, asked),
            step(f"{name} holds the last message once"),
        ):
            tests = home.project / "run_tests.sh"
            tests.write_text(TESTS, "utf-8")
            tests.chmod(0o755)
            home.reflect("install", name, "--hooks", "--yes")
            run(home, address)
            reasons = [text for text in asked if REASON in text]
            held(len(reasons) == 1, f"one request has the reason: {len(reasons)} of {len(asked)}")
            held("1 failed, 17 passed" in reasons[0], "it quotes the line that decides")
    return 0


if __name__ == "__main__":
    sys.exit(main())
