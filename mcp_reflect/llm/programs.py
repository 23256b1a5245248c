"""The person's own agent program as a language model: Claude Code, Codex or Gemini CLI, run without a window.

The program reads the prompt on stdin, in an empty folder, and has no tools, hooks or MCP servers.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mcp_reflect.llm.protocol import (
    LLM,
    LLMSettingError,
    RefusedError,
    Reply,
    Request,
    Stop,
    Usage,
    count_of,
    reply_of,
    strict_json,
    whole,
)
from mcp_reflect.llm.settings import MAIN, Spec
from mcp_reflect.models.common import Json
from mcp_reflect.places import NESTED
from mcp_reflect.security.redact import quoted

_LONGEST_QUOTE = 300
_NO_LOGIN = re.compile(r"log(ged)? ?in|auth|api.?key|credential|\b401\b", re.IGNORECASE)
_OF_THE_HOST = {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"}
"""Variables by which Claude Code knows that it runs inside itself, which it refuses."""


class Output(NamedTuple):
    """The result of a program: its text, its tokens, and its error instead."""

    text: str = ""
    usage: Usage = Usage()
    error: str = ""


def _object(output: str) -> Mapping[str, Json]:
    value = strict_json(output)
    return value if isinstance(value, dict) else {}


def _section(body: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def _read_claude(output: str) -> Output:
    result = _object(output)
    text = result.get("result")
    if not isinstance(text, str) or result.get("is_error"):
        return Output(error=str(text or output))
    usage = _section(result, "usage")
    read = count_of(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Output(text, Usage(read, count_of(usage, "output_tokens")))


def _read_codex(output: str) -> Output:
    text, error, usage = "", output, Usage()
    for event in map(_object, output.splitlines()):
        item = _section(event, "item")
        if item.get("type") == "agent_message":
            text = str(item.get("text", ""))
        elif event.get("type") == "turn.completed":
            tokens = _section(event, "usage")
            usage = Usage(count_of(tokens, "input_tokens"), count_of(tokens, "output_tokens"))
        elif event.get("type") in ("error", "turn.failed"):
            error = str(event.get("message") or _section(event, "error").get("message"))
    return Output(text, usage) if text else Output(error=error)


def _read_gemini(output: str) -> Output:
    result = _object(output[output.find("{") :])
    text = result.get("response")
    if not isinstance(text, str):
        return Output(error=str(_section(result, "error").get("message") or output))
    models = _section(_section(result, "stats"), "models").values()
    tokens = [_section(model, "tokens") for model in models if isinstance(model, dict)]
    read, written = (sum(count_of(one, *names) for one in tokens) for names in (["prompt"], ["candidates", "thoughts"]))
    return Output(text, Usage(read, written))


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its title, its command with the words that take everything but the answer away, and its output."""

    title: str
    command: str
    words: tuple[str, ...]
    read: Callable[[str], Output]


PROGRAMS: Mapping[str, Program] = {
    "claude-code": Program(
        "Claude Code",
        "claude",
        (
            *("-p", "--output-format", "json", "--tools", "", "--strict-mcp-config", "--no-session-persistence"),
            *("--settings", json.dumps({"disableAllHooks": True}), "--system-prompt", "Answer the request."),
        ),
        _read_claude,
    ),
    "codex": Program(
        "Codex",
        "codex",
        (
            *("exec", "--json", "--ephemeral", "--ignore-user-config", "--skip-git-repo-check"),
            *("--sandbox", "read-only", "-c", "features.hooks=false", "-c", "features.shell_tool=false"),
            *("-c", "features.unified_exec=false"),
        ),
        _read_codex,
    ),
    "gemini": Program(
        "Gemini CLI",
        "gemini",
        (
            *("-p", "Answer the request above.", "--output-format", "json", "--approval-mode", "plan"),
            *("--skip-trust", "-e", "none", "--allowed-mcp-server-names", "none"),
        ),
        _read_gemini,
    ),
}


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """Return the program of `spec`. Raises `LLMSettingError` where it is not on PATH, or would run inside itself."""
    del settings
    program = PROGRAMS[spec.provider]
    if os.environ.get(NESTED):
        raise LLMSettingError(MAIN, f"{spec.name} would run inside itself", "Name another model here")
    path = shutil.which(program.command)
    if path is None:
        fault = f'the program "{program.command}" of {program.title} is not on PATH'
        raise LLMSettingError(MAIN, fault, "Install it, or name another model")
    return AgentProgram(spec, program, path)


class AgentProgram:
    """One program, started for each completion. It is killed with its children when the completion is canceled."""

    def __init__(self, spec: Spec, program: Program, path: str) -> None:
        self._name = spec.name
        self._program = program
        self._command = (path, *program.words, *(("--model", spec.model) if spec.model else ()))

    async def complete(self, request: Request) -> Reply:
        """Return the program's reply. Raises `RefusedError` where it failed, or has no login."""
        prompt = whole(f"{request.system}\n\n{request.user}\n".lstrip()).encode()
        env = {name: value for name, value in os.environ.items() if name not in _OF_THE_HOST}
        with tempfile.TemporaryDirectory(prefix="reflection-", ignore_cleanup_errors=True) as folder:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=PIPE,
                    cwd=folder,
                    env={**env, NESTED: "1"},
                    start_new_session=True,
                )
            except OSError as error:
                raise self._error(f"it cannot be started ({error.strerror})") from None
            try:
                output, errors = await process.communicate(prompt)
            finally:
                await _end(process)
        result = self._program.read((output.strip() or errors.strip()).decode("utf-8", "replace"))
        if result.error or process.returncode:
            raise self._error(
                result.error or errors.decode("utf-8", "replace") or f"it ended with {process.returncode}"
            )
        return reply_of(request, self._name, result.text, Stop.END, result.usage)

    def _error(self, words: str) -> RefusedError:
        fault = quoted(" ".join(words.split()).rstrip("."), _LONGEST_QUOTE)
        fix = f"Try `{self._program.command}` in a terminal"
        if _NO_LOGIN.search(words):
            fix = f"Run `{self._program.command}` once, and log in"
        return RefusedError(self._name, fault, fix)


async def _end(process: Process) -> None:
    if process.returncode is None:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            command = ("taskkill", "/T", "/F", "/PID", str(process.pid))
            await (await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL)).wait()
        await process.wait()
