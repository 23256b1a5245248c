"""A host for an agent that has a shell and nothing else: one act of it at a call, with the hooks of Claude Code.

    host begin 1            the task, and what a host with mcp-reflect would show at its beginning
    host bash 'COMMAND'     a shell's call in the folder of the task
    host mcp TOOL 'JSON'    a tool of the server
    host end 'MESSAGE'      its last message; a hook may ask something before the session ends

The hooks are those of the real command, over a transcript in the form of Claude Code. Each act is a process of its own,
so that little is imported here.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.uplift.tasks import WITH, all_tasks

SERVER: Final = "mcp-reflect"
_COMMAND_SECONDS: Final = 60
_MOST_OUTPUT: Final = 8_000  # characters of what a command prints that the agent sees
_USAGE: Final = (
    "host begin N | host bash 'COMMAND' | host mcp TOOL 'JSON' | host end 'LAST MESSAGE'"
)


@dataclass(frozen=True, slots=True)
class Play:
    """The sessions of one kind, in one folder: their tasks, and the session that is open."""

    folder: str
    hidden: str
    memory: str
    variant: str
    tasks: tuple[str, ...]
    begun: tuple[int, ...] = ()
    session: str = ""
    place: int = 0
    was_asked: bool = False

    @property
    def has_memory(self) -> bool:
        """Whether its agent has mcp-reflect."""
        return self.memory == WITH

    @property
    def cwd(self) -> Path:
        """The folder of the open task."""
        return Path(self.folder) / str(self.place)

    @property
    def transcript(self) -> Path:
        """The transcript of the open session."""
        return Path(self.hidden) / f"{self.memory}-{self.variant}-{self.place}-{self.session}.jsonl"

    @property
    def file(self) -> Path:
        """Where it is kept between calls."""
        return Path(self.hidden) / f"{self.memory}-{self.variant}.json"

    def keep(self) -> None:
        """Keep it for the next call."""
        self.file.write_text(json.dumps(asdict(self)))


def read_play(file: Path) -> Play:
    """Return the sessions of a folder as they were kept."""
    values: dict[str, Any] = json.loads(file.read_text())
    values |= {name: tuple(values[name]) for name in ("tasks", "begun")}
    return Play(**values)


class Host:
    """What an agent runs between `begin` and `end` of a session."""

    def __init__(self, play: Play) -> None:
        self.play = play

    @property
    def environment(self) -> dict[str, str]:
        """The environment of hooks and the server: a home and a bank of their own."""
        home = Path(self.play.hidden) / "home"
        home.mkdir(exist_ok=True)
        bank = Path(self.play.hidden).parent / WITH / "bank.db"
        own = {"HOME": str(home), "MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "uplift"}
        return {**{name: value for name, value in os.environ.items() if name != "CI"}, **own}

    def begin(self, place: int) -> str:
        """Begin the session of a task; return what the agent is shown."""
        is_first = not self.play.begun
        self.play = replace(
            self.play,
            session=uuid.uuid4().hex,
            place=place,
            begun=tuple({*self.play.begun, place}),
            was_asked=False,
        )
        self.play.keep()
        [task] = all_tasks([self.play.tasks[place - 1]])
        prompt = task.prompt(self.play.variant)
        shown: list[str] = []
        if self.play.has_memory and is_first:
            shown.append(asyncio.run(self._server()))
        shown += [
            self._told("SessionStart", source="startup"),
            f"[user] (in {self.play.cwd})\n{prompt}",
            self._told("UserPromptSubmit", prompt=prompt),
        ]
        self._write("user", prompt)
        return "\n\n".join(filter(None, shown))

    def bash(self, command: str) -> str:
        """Run a command in the task's folder, with what hooks say of it."""
        call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": _call_id()}
        before = self._hook("PreToolUse", **call)
        if before.get("permissionDecision") == "deny":
            reason = str(before.get("permissionDecisionReason"))
            self._write_call(call, reason, failed=True)
            return f"[a hook refused the call] {reason}"
        done = _run(command, self.play.cwd)
        output = f"{done.stdout}{done.stderr}".strip()[:_MOST_OUTPUT]
        if done.returncode:
            output = f"Exit code {done.returncode}\n{output}"
            after = self._told("PostToolUseFailure", **call, error=output)
        else:
            answer = {"stdout": done.stdout, "stderr": done.stderr}
            after = self._told("PostToolUse", **call, tool_response=answer)
        self._write_call(call, output, failed=done.returncode != 0)
        shown = [output or "(no output)", _context("PreToolUse", before), after]
        return "\n\n".join(filter(None, shown))

    def mcp(self, tool: str, arguments: str) -> str:
        """Call a tool of the server."""
        if not self.play.has_memory:
            return "There is no MCP server."
        sent = json.loads(arguments)
        answer = asyncio.run(self._call(tool, sent))
        call = {
            "tool_name": f"mcp__{SERVER}__{tool}",
            "tool_input": sent,
            "tool_use_id": _call_id(),
        }
        self._write_call(call, answer, failed=False)
        return answer

    def end(self, message: str) -> str:
        """End the session with the agent's last message, unless a hook asks something first."""
        self._write("assistant", [{"type": "text", "text": message}])
        if not self.play.was_asked:
            asked = self._answer("Stop", stop_hook_active=False, last_assistant_message=message)
            if asked.get("decision") == "block":
                self.play = replace(self.play, was_asked=True)
                self.play.keep()
                return (
                    f"[a hook asks before the session ends]\n{asked.get('reason')}\nThen end again."
                )
        self._answer("SessionEnd", reason="other")
        return "The session ended."

    def _told(self, event: str, **fields: Any) -> str:
        return _context(event, self._hook(event, **fields))

    def _hook(self, event: str, **fields: Any) -> Mapping[str, Any]:
        answer: dict[str, Any] = self._answer(event, **fields)
        return answer.get("hookSpecificOutput") or {}

    def _answer(self, event: str, **fields: Any) -> dict[str, Any]:
        """Return what a hook of Claude Code answers at an event; nothing without memory."""
        if not self.play.has_memory:
            return {}
        sent = {
            "session_id": self.play.session,
            "transcript_path": str(self.play.transcript),
            "cwd": str(self.play.cwd),
            "hook_event_name": event,
            **fields,
        }
        done = subprocess.run(
            [_program(), "hook", event],
            input=json.dumps(sent),
            cwd=self.play.cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        with (Path(self.play.hidden) / "hooks.log").open("a") as log:
            log.write(json.dumps([event, sent, done.stdout, done.stderr]) + "\n")
        if not done.stdout.strip():
            return {}
        return json.loads(done.stdout)

    def _write(self, role: str, content: object) -> None:
        line = {
            "type": role,
            "sessionId": self.play.session,
            "cwd": str(self.play.cwd),
            "uuid": uuid.uuid4().hex,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "message": {"role": role, "content": content},
        }
        with self.play.transcript.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _write_call(self, call: Mapping[str, Any], output: str, *, failed: bool) -> None:
        name, sent, call_id = call["tool_name"], call["tool_input"], call["tool_use_id"]
        self._write("assistant", [{"type": "tool_use", "id": call_id, "name": name, "input": sent}])
        result = {"type": "tool_result", "tool_use_id": call_id, "content": output}
        self._write("user", [{**result, "is_error": failed}])

    async def _server(self) -> str:
        """Return what the server says of itself, and its tools."""
        async with self._session() as session:
            begun = await session.initialize()
            tools = (await session.list_tools()).tools
        lines = [f"[the MCP server {SERVER}] {begun.instructions}"]
        for tool in tools:
            schema = tool.model_dump(mode="json", by_alias=True)["inputSchema"]
            lines.append(f"- {tool.name}: {tool.description} {json.dumps(schema)}")
        return "\n".join(lines)

    async def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        async with self._session() as session:
            await session.initialize()
            answer = await session.call_tool(tool, arguments)
        return "\n".join(str(getattr(part, "text", "")) for part in answer.content)

    @asynccontextmanager
    async def _session(self) -> AsyncGenerator[Any]:
        from mcp.client.session import ClientSession  # noqa: PLC0415 - slow, and most acts need no server
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - same

        server = StdioServerParameters(
            command=_program(), args=[], env=self.environment, cwd=self.play.cwd
        )
        with open(os.devnull, "w", encoding="utf-8") as errors:  # noqa: ASYNC230, PTH123 - once, of no disk
            async with (
                stdio_client(server, errlog=errors) as (read, write),
                ClientSession(read, write) as session,
            ):
                yield session


def _context(event: str, found: Mapping[str, Any]) -> str:
    text = found.get("additionalContext")
    if not text:
        return ""
    return f"[from the hook {event}]\n{text}"


def _call_id() -> str:
    return f"toolu_{uuid.uuid4().hex[:12]}"


def _program() -> str:
    return str(Path(sys.executable).with_name(SERVER))


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"over {_COMMAND_SECONDS} s")


def main() -> None:
    """Do one act of an agent."""
    file, *words = sys.argv[1:]
    host = Host(read_play(Path(file)))
    match words:
        case ["begin", number]:
            said = host.begin(int(number))
        case ["bash", command]:
            said = host.bash(command)
        case ["mcp", tool, *rest]:
            said = host.mcp(tool, rest[0] if rest else "{}")
        case ["end", *rest]:
            said = host.end(" ".join(rest) or "Done.")
        case _:
            said = _USAGE
    sys.stdout.write(f"{said}\n")


if __name__ == "__main__":
    main()
