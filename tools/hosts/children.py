"""Which variables hosts set in the commands that their agents run: `python -m tools.hosts.children DIR`.

DIR is where npm installed the programs. Each one runs in a clean home with a model on loopback that asks for one
command, which prints its environment; what it has beside the environment of the host itself is the answer.
`mcp_reflect/speaker.py` keeps what was found.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools.hosts.trying import Home, clean_home

_MARK = "ENVIRONMENT-OF-A-CHILD"
_SECONDS = 90
_SHELLS = (
    *("Bash", "bash", "shell", "exec_command"),
    *("run_shell_command", "shell_command", "run_commands"),
)


class Asking(BaseHTTPRequestHandler):
    """A model that asks for one command, in each of the protocols that hosts speak."""

    asked = ""
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        """Say that the endpoint is there."""
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        """List one model."""
        models = [{"id": "scripted", "object": "model", "name": "scripted"}]
        self._json({"data": models, "object": "list", "models": models})

    def do_POST(self) -> None:
        """Ask for the command, and say that all is done once its output is there."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = json.loads(body or b"{}")
        done = _MARK.encode() in body or not request.get("tools")
        if "/messages" in self.path and "count_tokens" not in self.path:
            self._events(_of_anthropic(request, self.asked, done=done))
        elif "/responses" in self.path:
            self._events(_of_responses(request, self.asked, done=done))
        elif "/chat/completions" in self.path:
            self._events(_of_chat(request, self.asked, done=done))
        elif "enerateContent" in self.path:
            self._gemini(done=done)
        else:
            self._json({"input_tokens": 1, "totalTokens": 1})

    def _gemini(self, *, done: bool) -> None:
        part: dict[str, Any] = {"text": "Done."}
        if not done:
            arguments = {"command": self.asked, "description": "look"}
            part = {"functionCall": {"name": "run_shell_command", "args": arguments}}
        answer = {
            "candidates": [
                {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2},
        }
        if "stream" in self.path:
            self._events(iter([("", answer)]))
        else:
            self._json(answer)

    def _json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _events(self, events: Iterator[tuple[str, Any]]) -> None:
        body = b""
        for name, value in events:
            head = f"event: {name}\n" if name else ""
            text = value if isinstance(value, str) else json.dumps(value)
            body += f"{head}data: {text}\n\n".encode()
        self._send(body, "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Say nothing."""


def _tool_of(request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and parameters of the tool that runs a command."""
    for tool in request.get("tools", ()):
        own = tool.get("function", tool)
        name = own.get("name", "")
        if name in _SHELLS:
            return name, own
    return "Bash", {}


def _arguments(name: str, command: str) -> dict[str, Any]:
    if name == "exec_command":
        return {"cmd": command}
    if name == "run_commands":
        return {"commands": [command]}
    if name == "shell":
        return {"command": ["bash", "-lc", command]}
    return {"command": command, "description": "look", "is_background": False}


def _of_anthropic(
    request: dict[str, Any], command: str, *, done: bool
) -> Iterator[tuple[str, Any]]:
    from tools.hosts.scripted_anthropic import sse  # noqa: PLC0415 - one host alone speaks it

    name, _ = _tool_of(request)
    arguments = {"command": command, "description": "look"}
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
    for raw in sse({"type": "text", "text": "Done."} if done else block):
        for event in raw.decode().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in event.splitlines() if ": " in line)
            if "data" in lines:
                yield lines.get("event", ""), lines["data"]


def _of_responses(
    request: dict[str, Any], command: str, *, done: bool
) -> Iterator[tuple[str, Any]]:
    name, _ = _tool_of(request)
    item: dict[str, Any] = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
    }
    if not done:
        sent = json.dumps(_arguments(name, command))
        item = {
            "type": "function_call",
            "id": "f1",
            "call_id": "call_1",
            "name": name,
            "arguments": sent,
        }
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response: dict[str, Any] = {"id": "r1", "object": "response", "status": "completed"}
    response |= {"output": [item], "usage": usage}
    yield "response.created", {"type": "response.created", "response": {"id": "r1"}}
    added: dict[str, Any] = {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield "response.output_item.added", added
    finished = {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield "response.output_item.done", finished
    yield "response.completed", {"type": "response.completed", "response": response}


def _of_chat(request: dict[str, Any], command: str, *, done: bool) -> Iterator[tuple[str, Any]]:
    name, _ = _tool_of(request)
    delta: dict[str, Any] = {"role": "assistant", "content": "Done."}
    if not done:
        sent = json.dumps(_arguments(name, command))
        function = {"name": name, "arguments": sent}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [call]}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "stop" if done else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    last: list[dict[str, Any]] = [{"index": 0, "delta": {}, "finish_reason": reason}]
    yield "", {**head, "choices": last, "usage": usage}
    yield "", "[DONE]"


def _started(folder: Path, home: Home, url: str) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return the command and the environment by which each host runs one prompt without a person."""
    programs = folder / "node_modules" / ".bin"
    codex = home.folder / ".codex"
    codex.mkdir()
    (codex / "config.toml").write_text(
        'model = "scripted"\nmodel_provider = "fake"\n[model_providers.fake]\nname = "fake"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "FAKE_KEY"\n'
    )
    gemini = home.folder / ".gemini"
    gemini.mkdir()
    (gemini / "settings.json").write_text(
        json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})
    )
    opencode = home.folder / ".config" / "opencode"
    opencode.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
        "models": {"scripted": {"name": "scripted"}},
    }
    (opencode / "opencode.json").write_text(
        json.dumps({"provider": {"fake": provider}, "model": "fake/scripted"})
    )
    pi = home.folder / ".pi" / "agent"
    pi.mkdir(parents=True)
    own = {"baseUrl": f"{url}/v1", "apiKey": "x", "api": "openai-completions"}
    own |= {"models": [{"id": "scripted", "name": "scripted"}]}
    (pi / "models.json").write_text(json.dumps({"providers": {"fake": own}}))
    cline = home.folder / ".cline" / "data" / "settings"
    cline.mkdir(parents=True)
    named = {"provider": "openai-compatible", "apiKey": "x", "model": "scripted"}
    named |= {"baseUrl": f"{url}/v1"}
    about = {"settings": named, "updatedAt": "2026-11-28T00:00:00.000Z", "tokenSource": "manual"}
    providers = {"version": 1, "modes": {}, "providers": {"openai-compatible": about}}
    providers |= {"lastUsedProvider": "openai-compatible"}
    (cline / "providers.json").write_text(json.dumps(providers))
    prompt = "Run env."
    return {
        "claude": (
            [str(programs / "claude"), "-p", prompt, "--dangerously-skip-permissions"],
            {
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "x",
                "IS_SANDBOX": "1",
                "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
        ),
        "codex": (
            [
                *(str(programs / "codex"), "exec", "--skip-git-repo-check"),
                *("--dangerously-bypass-approvals-and-sandbox", prompt),
            ],
            {"FAKE_KEY": "x"},
        ),
        "gemini": (
            [str(programs / "gemini"), "--yolo", "--skip-trust", "-p", prompt],
            {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url},
        ),
        "qwen": (
            [str(programs / "qwen"), "--yolo", "--auth-type", "openai", "-p", prompt],
            {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"},
        ),
        "copilot": (
            [str(programs / "copilot"), "--allow-all-tools", "-p", prompt],
            {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
                "COPILOT_MODEL": "scripted",
            },
        ),
        "opencode": ([str(programs / "opencode"), "run", prompt], {}),
        "cline": (
            [
                *(str(programs / "cline"), "-P", "openai-compatible", "-k", "x"),
                *("-m", "scripted", prompt),
            ],
            {},
        ),
        "pi": (
            [str(programs / "pi"), "--model", "fake/scripted", "-p", prompt],
            {"PI_OFFLINE": "1"},
        ),
    }


def main() -> int:
    """Run each host, and print what its child has beside the host's own environment."""
    folder = Path(sys.argv[1]).absolute()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Asking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    for name in sys.argv[2:] or (
        *("claude", "codex", "gemini", "qwen"),
        *("copilot", "opencode", "cline", "pi"),
    ):
        with clean_home("children") as home, tempfile.TemporaryDirectory() as kept:
            command, added = _started(folder, home, url)[name]
            seen = Path(kept) / "seen"
            Asking.asked = f"env > {seen}; echo {_MARK}"
            env = {
                key: value
                for key, value in {**home.env, **added}.items()
                if not key.startswith(("CLAUDE", "GEMINI_CLI", "AGENT"))
            }
            try:
                done = subprocess.run(
                    command, cwd=home.project, env=env, stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, timeout=_SECONDS, check=False,
                )  # fmt: skip
                said = (done.stdout + done.stderr)[-600:]
            except subprocess.TimeoutExpired as error:
                said = f"no end after {_SECONDS} s: {error.stdout!r}"[-600:]
            if not seen.exists():
                print(f"{name}: its command did not run: {said}")
                continue
            child = dict(
                line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line
            )
            new = {key: value[:60] for key, value in child.items() if env.get(key) != value}
            print(f"{name}: {json.dumps(new, indent=1)}", flush=True)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
