"""One session per protocol version, as it goes over the wire: what a client sends, and what came back.

`python -m tests.server.wire.session` records them anew, when an answer was changed on purpose; read the diff.
What differs from run to run (ids, times, seals of fences) and what other tests hold (schemas) is put down to marks.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect import __version__
from tests.clients.forked import forked_server

FOLDER: Final = Path(__file__).parent / "recordings"
ROOT: Final = Path(__file__).parents[3]
LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"
VERSIONS: Final = (*LEGACY, MODERN)

_CLIENT: Final = {"name": "recorder", "version": "1"}
_RUN: Final[dict[str, Any]] = {
    "task": "Read the settings of the orders service",
    "outcome": "failure",
    "events": [
        {"type": "tool_call", "tool": "read_file", "arguments": {"path": "orders/setings.toml"}},
        {
            "type": "tool_response",
            "tool": "read_file",
            "error": "No such file: orders/setings.toml",
        },
    ],
}
_LESSON: Final = {"mistake": "Deployed on a Friday", "correction": "Deploy on a Tuesday morning"}
_SEARCH: Final = {
    "user_message": "quantum computers",
    "queries": [{"table": "sessions", "query_text": "quantum"}],
}


def requests(version: str) -> list[dict[str, Any]]:
    """What the client sends, in order. `{lesson}` stands for the id that the server gave."""
    opening: list[tuple[str, dict[str, Any] | None]] = (
        [("server/discover", {})]
        if version == MODERN
        else [
            ("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}),
            ("notifications/initialized", None),
            ("ping", {}),
        ]
    )
    calls: list[tuple[str, dict[str, Any] | None]] = [
        ("tools/list", {}),
        ("tools/call", {"name": "store_lesson", "arguments": _LESSON}),
        ("tools/call", {"name": "recall_lessons", "arguments": {"task": "deploy on a Friday"}}),
        (
            "tools/call",
            {"name": "record_outcome", "arguments": {"success": True, "lesson_ids": ["{lesson}"]}},
        ),
        ("tools/call", {"name": "reflect", "arguments": _RUN}),
        ("tools/call", {"name": "critique", "arguments": {"goal": "add", "response": "1 + 1 = 3"}}),
        ("tools/call", {"name": "replan_search", "arguments": _SEARCH}),
        ("tools/call", {"name": "recall_lessons", "arguments": {"tsk": "deploy"}}),
        ("tools/call", {"name": "recall_lesson", "arguments": {}}),
        ("tools/call", {"name": "should_reflect", "arguments": {"confidence": 0.3}}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "lesson://{lesson}"}),
        ("resources/read", {"uri": "lesson://none"}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "start_task", "arguments": {"task": "deploy on a Friday"}}),
        ("prompts/get", {"name": "start_tasks", "arguments": {}}),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "start_task"},
                "argument": {"name": "task_type", "value": ""},
            },
        ),
        (
            "tools/call",
            {"name": "forget_lesson", "arguments": {"lesson_id": "{lesson}", "reason": "outdated"}},
        ),
        ("no/such/method", {}),
    ]
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": _CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    sent: list[dict[str, Any]] = []
    for method, params in [*opening, *calls]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message |= {
                "id": len(sent) + 1,
                "params": {**params, "_meta": meta} if version == MODERN else params,
            }
        sent.append(message)
    return sent


def played(sent: list[dict[str, Any]], bank: Path) -> list[dict[str, Any]]:
    """What a new server answers, in order, with marks for what differs from run to run."""
    lesson = ""
    answers: list[dict[str, Any]] = []
    with forked_server(bank) as server:
        for message in sent:
            server.send_raw(json.dumps(message).replace("{lesson}", lesson).encode() + b"\n")
            if "id" not in message:
                continue
            answer: dict[str, Any] = server.next_message()
            result: dict[str, Any] = answer.get("result", {})
            lesson = lesson or result.get("structuredContent", {}).get("lesson_id", "")
            answers.append(marked(answer))
    return answers


def marked(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with marks in the place of ids, times, seals, our version and the tools' schemas."""
    for tool in cast("list[dict[str, Any]]", answer.get("result", {}).get("tools", [])):
        tool |= {
            name: "…" for name in ("description", "inputSchema", "outputSchema") if name in tool
        }
    text = json.dumps(answer, ensure_ascii=False)
    text = re.sub(
        r"\b([a-z]{2,5})_[0-9a-z]{16,}\b|\b(les)_[0-9a-z]{6}\b",
        lambda match: f"{match[1] or match[2]}_…",
        text,
    )
    text = re.sub(r'((?:seal=\\*"|</data )) *[0-9a-f]{12}', r"\1…", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "TIME", text)
    text = re.sub(r'((?:_ms|_at)\\*": ?)[\d.]+', r"\g<1>0", text)
    return json.loads(text.replace(f'"version": "{__version__}"', '"version": "…"'))


def recording(version: str) -> Path:
    """Where a version's session is kept."""
    return FOLDER / f"{version}.jsonl"


def main() -> None:
    """Record every version anew."""
    FOLDER.mkdir(exist_ok=True)
    for version in VERSIONS:
        sent = requests(version)
        with tempfile.TemporaryDirectory() as folder:
            answers = played(sent, Path(folder) / "bank.db")
        lines = [{"sent": message} for message in sent] + [{"answer": answer} for answer in answers]
        recording(version).write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
