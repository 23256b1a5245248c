"""The person's own agent program as a language model: Claude Code, Codex or Gemini CLI, run without a window.

The program reads the prompt on stdin, in an empty folder, and has no tools, hooks or MCP servers.
"""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

from mcp_reflect import children
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
    without_lone_surrogates,
)
from mcp_reflect.llm.providers import MAIN, Spec
from mcp_reflect.models.common import Json, json_of
from mcp_reflect.places import NESTED
from mcp_reflect.search_path import find_program, safe_path
from mcp_reflect.security.redact import quoted

_LONGEST_QUOTE = 300
_INPUT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "prompt")
_OUTPUT_COUNTS = ("output_tokens", "candidates", "thoughts")
_NO_LOGIN = re.compile(r"log(ged)? ?in|auth|api.?key|credential|\b401\b", re.IGNORECASE)
_OF_THE_HOST = {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"}
"""Variables by which Claude Code knows that it runs inside itself, which it refuses."""


class ProgramOutput(NamedTuple):
    """The result of a program: its text, its tokens, and its error (empty for none)."""

    text: str = ""
    usage: Usage = Usage()
    error: str = ""


def _result_in(output: str) -> ProgramOutput:
    """Return the last text and error in the output of a program, and the sum of its tokens.

    | program     | output                    | text                                           | tokens                    |
    |-------------|---------------------------|------------------------------------------------|---------------------------|
    | Claude Code | one object                | {"result": …}                                  | {"usage": {…}}            |
    | Gemini CLI  | one object                | {"response": …}                                | {"stats": {"models": …}}  |
    | Codex       | objects, one a line       | {"item": {"type": "agent_message", "text": …}} | {"usage": {…}}            |

    An output with neither text nor error is itself the error.
    """
    text = ""
    error = ""
    usage = Usage()
    for event in _objects(output):
        item = _section(event, "item")
        failure = _section(event, "error")
        answer = event.get("result") or event.get("response")
        if failure or event.get("is_error") or event.get("type") == "error":
            error = str(failure.get("message") or event.get("message") or answer)
        elif item.get("type") == "agent_message":
            text = str(item.get("text", ""))
        elif isinstance(answer, str):
            text = answer
        usage = _with_counts(usage, _section(event, "usage"))
        for model in _section(_section(event, "stats"), "models").values():
            usage = _with_counts(usage, _section(model, "tokens"))
    if not error and not text:
        error = output
    return ProgramOutput(text, usage, error)


def _with_counts(usage: Usage, counts: Mapping[str, Json]) -> Usage:
    """Return the tokens with those that a program counts, each under names of its own, added to them."""
    return Usage(
        usage.input_tokens + count_of(counts, *_INPUT_COUNTS),
        usage.output_tokens + count_of(counts, *_OUTPUT_COUNTS),
    )


def _objects(output: str) -> list[Mapping[str, Json]]:
    """Return the objects of an output: the one from its first brace to its end, else those that are a line each."""
    whole_object = json_of(output[output.find("{") :])
    if isinstance(whole_object, dict):
        return [whole_object]
    values = [json_of(line) for line in output.splitlines()]
    return [value for value in values if isinstance(value, dict)]


def _section(body: object, name: str) -> Mapping[str, Json]:
    """Return the object that stands in another one under a name, empty if none does: `body[name]` of odd input."""
    if not isinstance(body, dict):
        return {}
    value = cast("dict[str, Json]", body).get(name)
    if not isinstance(value, dict):
        return {}
    return value


@dataclass(frozen=True, slots=True)
class ModelProgram:
    """A program of an agent."""

    title: str  # as people know it
    command: str
    words: tuple[str, ...]  # arguments that take tools, hooks and servers away, and ask for JSON


_CLAUDE_CODE_SETTINGS = json.dumps({"disableAllHooks": True})

PROGRAMS: Mapping[str, ModelProgram] = {
    "claude-code": ModelProgram(
        "Claude Code",
        "claude",
        (
            *("-p", "--output-format", "json", "--tools", "", "--strict-mcp-config"),
            *("--no-session-persistence", "--settings", _CLAUDE_CODE_SETTINGS),
            *("--system-prompt", "Answer the request."),
        ),
    ),
    "codex": ModelProgram(
        "Codex",
        "codex",
        (
            *("exec", "--json", "--ephemeral", "--ignore-user-config", "--skip-git-repo-check"),
            *("--sandbox", "read-only", "-c", "features.hooks=false"),
            *("-c", "features.shell_tool=false", "-c", "features.unified_exec=false"),
        ),
    ),
    "gemini": ModelProgram(
        "Gemini CLI",
        "gemini",
        (
            *("-p", "Answer the request above.", "--output-format", "json"),
            *("--approval-mode", "plan", "--skip-trust", "-e", "none"),
            *("--allowed-mcp-server-names", "none"),
        ),
    ),
}


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """Return the program of `spec`. Raises `LLMSettingError` where it is not on PATH, or would run inside itself.

    It would where an agent program answers us already (`NESTED` is set) and this process was started by that program.
    """
    del settings
    program = PROGRAMS[spec.provider]
    if os.environ.get(NESTED):
        raise LLMSettingError(
            MAIN, f"{spec.name} would run inside itself", "Name another model here"
        )
    path = find_program(program.command)
    if path is None:
        fault = f'the program "{program.command}" of {program.title} is not on PATH'
        raise LLMSettingError(MAIN, fault, "Install it, or name another model")
    return AgentProgram(spec, program, path)


class AgentProgram:
    """One program, started for each completion. It is killed with its children when the completion is canceled."""

    def __init__(self, spec: Spec, program: ModelProgram, path: str) -> None:
        self._name = spec.name
        self._program = program
        self._command = [path, *program.words]
        if spec.model:
            self._command += ["--model", spec.model]

    async def complete(self, request: Request) -> Reply:
        """Return the program's reply. Raises `RefusedError` where it failed, or has no login."""
        prompt_text = f"{request.system}\n\n{request.user}\n".lstrip()
        prompt = without_lone_surrogates(prompt_text).encode()
        env = {name: value for name, value in os.environ.items() if name not in _OF_THE_HOST}
        with tempfile.TemporaryDirectory(
            prefix="reflection-", ignore_cleanup_errors=True
        ) as folder:
            env |= {NESTED: "1", "PATH": safe_path()}
            try:
                process = await children.start_program(self._command, folder, env)
            except OSError as error:
                raise self._error(f"it cannot be started ({error.strerror})") from None
            try:
                output, errors = await process.communicate(prompt)
            finally:
                await children.end_program(process)
        printed = output.strip() or errors.strip()
        result = _result_in(printed.decode("utf-8", "replace"))
        if result.error or process.returncode:
            printed_errors = errors.decode("utf-8", "replace")
            raise self._error(
                result.error or printed_errors or f"it ended with {process.returncode}"
            )
        return reply_of(self._name, result.text, Stop.END, result.usage)

    def _error(self, words: str) -> RefusedError:
        """Return the error of a program in its own words, cut short, with what to do about it."""
        fault = quoted(" ".join(words.split()).rstrip("."), _LONGEST_QUOTE)
        fix = f"Try `{self._program.command}` in a terminal"
        if _NO_LOGIN.search(words):
            fix = f"Run `{self._program.command}` once, and log in"
        return RefusedError(self._name, fault, fix)
