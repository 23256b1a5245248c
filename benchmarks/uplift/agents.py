"""Who plays the tasks: an agent program of the user, or a model at an endpoint in a small loop of ours."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, cast

from benchmarks.uplift.host import SERVER
from mcp_reflect import services
from mcp_reflect.cli.host_hooks import set_hooks
from mcp_reflect.cli.host_table import HOOK_SETTINGS
from mcp_reflect.cli.hosts import ServerCommand
from mcp_reflect.config import Settings
from mcp_reflect.errors import McpReflectError
from mcp_reflect.llm.protocol import LLM, LLMError, Request, Role
from mcp_reflect.models.common import Json, json_of, plain
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import read_hook

_SECONDS: Final = 600.0  # for a task
_MOST_STEPS: Final = 30
_MOST_OUTPUT: Final = 8_000  # characters of what a command prints that the model sees
_COMMAND_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a session: its whole output as the agent gave it, its tokens where it tells them, and its error."""

    raw: str
    tokens: int | None = None
    error: str = ""


class Agent(Protocol):
    """Plays one session in a folder; with a bank it has mcp-reflect, else nothing of it."""

    @property
    def name(self) -> str: ...

    async def play(self, folder: Path, prompt: str, session: str, bank: Path | None) -> Played: ...


# Agent programs.

_WITHOUT: Final = {
    "MCP_REFLECT_ASK": "off",
    "MCP_REFLECT_GUARDS": "off",
    "MCP_REFLECT_LAST_WORD": "off",
}
"""What silences a registration that the user has anyway; its bank is an empty one."""


def command_of(agent: str, folder: Path, prompt: str, *, memory: bool) -> list[str]:
    """Return the line that plays a prompt without a window; with memory the server and hooks are registered for it alone."""
    ours = ServerCommand(str(Path(sys.executable).with_name(SERVER)))
    server = json.dumps({"mcpServers": {SERVER: ours.entry()} if memory else {}})
    match agent:
        case "claude":
            hooks = set_hooks("", HOOK_SETTINGS["claude-code"], ours) if memory else "{}"
            tools = "Bash Edit Write Read Glob Grep mcp__mcp-reflect"
            return [
                *("claude", "-p", prompt, "--output-format", "json", "--allowedTools", tools),
                *("--strict-mcp-config", "--mcp-config", server, "--settings", hooks),
            ]
        case "codex":
            told = f"mcp_servers.{SERVER}.command={json.dumps(ours.program)}"
            return [
                *("codex", "exec", "--json", "--full-auto", "--skip-git-repo-check"),
                *(("-c", told) if memory else ()),
                prompt,
            ]
        case "gemini":
            if memory:
                settings = folder / ".gemini" / "settings.json"
                settings.parent.mkdir(exist_ok=True)
                settings.write_text(set_hooks(server, HOOK_SETTINGS["gemini"], ours))
            return ["gemini", "-p", prompt, "--output-format", "json", "--yolo"]
        case "copilot":
            config = ("--additional-mcp-config", server) if memory else ()
            return ["copilot", "-p", prompt, "--allow-all-tools", *config]
        case _:
            raise ValueError(f"there is no agent {agent}")


@dataclass(frozen=True, slots=True)
class Program:
    """An agent program of the user, with the user's own login."""

    name: str

    def is_there(self) -> bool:
        """Return whether the program can be started."""
        return shutil.which(self.name) is not None

    async def play(self, folder: Path, prompt: str, session: str, bank: Path | None) -> Played:
        """Run the program once; what it prints is kept whole."""
        empty = folder.parent / f".{session}.db"
        memory = {"MCP_REFLECT_BANK": str(bank or empty), "MCP_REFLECT_PROJECT": "uplift"}
        env = {**os.environ, **memory, **({} if bank else _WITHOUT)}
        line = command_of(self.name, folder, prompt, memory=bank is not None)
        try:
            done = await asyncio.to_thread(
                subprocess.run,
                line,
                cwd=folder,
                env=env,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as error:
            return Played(str(error.stdout or ""), error=f"it took over {_SECONDS:.0f} s")
        except OSError as error:
            return Played("", error=f"it cannot be started: {error.strerror}")
        failed = f"it ended with {done.returncode}: {done.stderr[-300:]}" if done.returncode else ""
        return Played(f"{done.stdout}\n{done.stderr}", tokens_in(done.stdout), failed)


def tokens_in(output: str) -> int | None:
    """Return the sum of the tokens that an agent's JSON tells; None where it tells none."""
    values = [json_of(output), *map(json_of, output.splitlines())]
    counts = [count for value in values if (count := _tokens_of(value))]
    return max(counts, default=None)


def _tokens_of(value: Json) -> int:
    """Return the tokens in a JSON value: of its `usage`, or of all below it that name tokens."""
    if isinstance(value, list):
        return max(map(_tokens_of, value), default=0)
    if not isinstance(value, dict):
        return 0
    own = sum(
        count
        for name, count in value.items()
        if name.endswith("tokens") and isinstance(count, int) and not isinstance(count, bool)
    )
    return max([own, *(_tokens_of(one) for one in value.values())])


# A model in a loop of ours.

_SYSTEM: Final = """\
You are an agent that does small tasks in a folder, by shell commands. Answer with one JSON object and nothing else:
{"bash": "COMMAND"} runs a command in the folder, {"end": "LAST MESSAGE"} ends the task."""
_MEMORY: Final = """
{"tool": "store_lesson" or "recall_lessons" or "record_outcome", "arguments": {...}} calls a memory that later
sessions share: store_lesson {mistake, correction, wrong_call, right_call, evidence}, recall_lessons {task},
record_outcome {success, lesson_ids}."""
_TOOLS: Final = frozenset({"store_lesson", "recall_lessons", "record_outcome"})


@dataclass(slots=True)
class Loop:
    """A model that acts by JSON replies; with memory it is told what a host's hooks are told."""

    llm: LLM
    name: str = "endpoint"
    _said: list[str] = field(default_factory=list[str])

    async def play(self, folder: Path, prompt: str, session: str, bank: Path | None) -> Played:
        """Play a session to its end, or to its last step."""
        self._said = []
        if bank is None:
            return await self._loop(folder, prompt, session, None)
        settings = Settings(bank=bank, project="uplift", folder=folder)
        async with Engine(settings) as engine:
            await self._hear(engine, "SessionStart", session, source="startup")
            await self._hear(engine, "UserPromptSubmit", session, prompt=prompt)
            played = await self._loop(folder, prompt, session, engine)
            await self._hear(engine, "SessionEnd", session)
            return played

    async def _loop(self, folder: Path, prompt: str, session: str, engine: Engine | None) -> Played:
        self._said.append(f"The task: {prompt}")
        system, tokens = _SYSTEM + (_MEMORY if engine else ""), 0
        for _ in range(_MOST_STEPS):
            request = Request(role=Role.REFLECTOR, system=system, user="\n\n".join(self._said))
            try:
                reply = await self.llm.complete(request)
            except LLMError as error:
                return Played("\n\n".join(self._said), tokens, str(error))
            tokens += reply.usage.input_tokens + reply.usage.output_tokens
            self._said.append(f"You: {reply.text}")
            act = json_of(reply.text)
            if not isinstance(act, dict):
                self._said.append("That is not one JSON object.")
            elif "end" in act:
                return Played("\n\n".join(self._said), tokens)
            else:
                self._said.append(await self._act(folder, act, session, engine))
        return Played("\n\n".join(self._said), tokens, f"it did not end in {_MOST_STEPS} steps")

    async def _act(
        self, folder: Path, act: Mapping[str, Any], session: str, engine: Engine | None
    ) -> str:
        if isinstance(command := act.get("bash"), str):
            return await self._run(folder, command, session, engine)
        tool, sent = act.get("tool"), act.get("arguments")
        if engine is None or tool not in _TOOLS or not isinstance(sent, dict):
            return "There is no such act."
        arguments = cast("dict[str, Any]", sent)
        try:
            return json.dumps(plain(await engine.call(str(tool), arguments)), default=str)
        except McpReflectError as error:
            return str(error)

    async def _run(self, folder: Path, command: str, session: str, engine: Engine | None) -> str:
        call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}}
        if engine and await self._hear(engine, "PreToolUse", session, **call):
            return "The call was refused."
        done = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-c", command],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        output = f"{done.stdout}{done.stderr}"[:_MOST_OUTPUT]
        if engine and done.returncode:
            await self._hear(
                engine, "PostToolUseFailure", session, **call, error=output or "failed"
            )
        elif engine:
            await self._hear(
                engine, "PostToolUse", session, **call, tool_response={"stdout": output}
            )
        return f"Exit code {done.returncode}\n{output}"

    async def _hear(self, engine: Engine, event: str, session: str, **fields: Any) -> bool:
        """Add what a hook tells at a moment; return whether it refuses the call."""
        hook = read_hook(event, {"session_id": session, **fields})
        if hook is None:
            return False
        text, holds = await services.hooks.answer(engine.context, hook)
        if text:
            self._said.append(f"[from a hook] {text}")
        return holds
