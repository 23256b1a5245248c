"""A home with past sessions of three hosts, as these write them: tests and tries of hosts learn from it."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

Step = tuple[Any, ...]
"""("says", WORDS) of the person, ("runs", COMMAND, OUTPUT), or ("calls", TOOL, ARGUMENTS, OUTPUT) in Claude Code.

An output begins with "Exit code" where the call failed.
"""

_REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said: "
_FAILED = ("Exit code", _REFUSED)  # how the output of a call that did not work begins


def refused(command: str, reason: str) -> Step:
    """A command that the person refused, with the reason that they gave."""
    return ("runs", command, _REFUSED + reason)


RULE = "Use pnpm here, never npm"
PNPM = refused("npm install", RULE)
TASKS = (
    *(
        "add a page",
        "fix the cart",
        "translate the mails",
        "speed up search",
        "sort the prices",
        "count the visits",
    ),
    *("log every order", "rename the stock", "draw a chart", "test the checkout"),
)
FAILS: Step = (
    "runs",
    "make test",
    "Exit code 2\nError: database is not migrated, run make migrate",
)
WORKS: tuple[Step, ...] = (
    ("runs", "make migrate", "migrated 3 tables"),
    ("runs", "make test", "42 passed in 2.41s"),
)
HARD_WON: tuple[Step, ...] = (FAILS, *WORKS)


def stamp(minute: int) -> str:
    """A time of that minute."""
    return f"2026-10-{1 + minute // 600:02}T10:{minute // 10 % 60:02}:{minute % 10 * 6:02}.000Z"


def worked_days_ago(file: Path, days: int) -> Path:
    """Let a session say that it was worked in that many days ago; return its file."""
    day = (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
    file.write_text(re.sub(r"2026-10-\d\d(?=T10:)", day, file.read_text()))
    return file


def claude(home: Path, project: Path, name: str, steps: Iterable[Step], **facts: Any) -> Path:
    """Write a session of Claude Code; return its file."""
    folder = home / ".claude" / "projects" / str(project).replace("/", "-")
    return claude_file(
        folder / f"{name}.jsonl", steps, **{"sessionId": name, "cwd": str(project), **facts}
    )


def claude_file(path: Path, steps: Iterable[Step], **facts: Any) -> Path:
    """Write a session of Claude Code into a file."""
    shared = {"sessionId": path.stem, "version": "2.1.197", "isSidechain": False, **facts}
    lines: list[dict[str, Any]] = [{"type": "summary", "summary": "Tests", "leafUuid": "u"}]
    for number, (kind, said, *rest) in enumerate(steps):
        about = {**shared, "uuid": f"{path.stem}-{number}", "timestamp": stamp(number)}
        if kind == "says":
            lines.append({"type": "user", "message": {"role": "user", "content": said}, **about})
            continue
        tool, sent, output = (
            (said, *rest) if kind == "calls" else ("Bash", {"command": said}, *rest)
        )
        call = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": sent}
        failed = output.startswith(_FAILED)
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": output,
            "is_error": failed,
        }
        lines += [
            {"type": "assistant", "message": {"role": "assistant", "content": [call]}, **about},
            {
                "type": "user",
                "message": {"role": "user", "content": [result]},
                **about,
                "toolUseResult": output,
            },
        ]
    return _write(path, lines)


def codex(home: Path, project: Path, name: str, steps: Iterable[Step]) -> Path:
    """Write a session of Codex; return its file."""
    lines: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": name, "cwd": str(project)}}
    ]
    for number, (kind, text, *output) in enumerate(steps):
        if kind == "says":
            content = [{"type": "input_text", "text": text}]
            items: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": content}]
        else:
            call = {
                "name": "exec_command",
                "arguments": json.dumps({"cmd": text}),
                "call_id": f"c{number}",
            }
            code = 2 if output[0].startswith(_FAILED) else 0
            told = f"Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output[0]}"
            items = [
                {"type": "function_call", **call},
                {"type": "function_call_output", "call_id": f"c{number}", "output": told},
            ]
        lines += [
            {"timestamp": stamp(number), "type": "response_item", "payload": item} for item in items
        ]
    return _write(
        home / ".codex" / "sessions" / "2026" / "10" / "01" / f"rollout-{name}.jsonl", lines
    )


def gemini(home: Path, project: Path, name: str, steps: Iterable[Step]) -> Path:
    """Write a session of Gemini CLI; return its file."""
    messages: list[dict[str, Any]] = []
    for number, (kind, text, *output) in enumerate(steps):
        about = {"id": f"m{number}", "timestamp": stamp(number)}
        if kind == "says":
            messages.append({**about, "type": "user", "content": text})
            continue
        failed = output[0].startswith(_FAILED)
        response = {"functionResponse": {"response": {"error" if failed else "output": output[0]}}}
        call = {
            "id": f"g{number}",
            "name": "run_shell_command",
            "args": {"command": text},
            "result": [response],
        }
        status = {"status": "error" if failed else "success"}
        messages.append(
            {**about, "type": "gemini", "content": "", "toolCalls": [{**call, **status}]}
        )
    chats = home / ".gemini" / "tmp" / sha256(str(project).encode()).hexdigest() / "chats"
    chats.mkdir(parents=True, exist_ok=True)
    path = chats / f"session-{name}.json"
    path.write_text(json.dumps({"sessionId": name, "messages": messages}))
    return path


def thirty(home: Path, project: Path) -> None:
    """Write ten sessions of each host: a failure that comes back, a refusal with its reason, a request that is said again."""
    for number in range(10):
        won: Sequence[Step] = HARD_WON if number in (2, 5) else (("runs", "ls", "README.md"),)
        for write in (claude, codex, gemini):
            said: Sequence[Step] = (("says", f"Please {TASKS[number]} for {write.__name__} users"),)
            write(
                home,
                project,
                f"{write.__name__}-{number}",
                [*said, *won, *([PNPM] if number == 7 else [])],
            )


def _write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path
