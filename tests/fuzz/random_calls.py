"""Calls that no honest host would make, and honest ones between them: reproducible by their seed."""

import copy
import json
import random
from typing import Any, Final, cast

from mcp_reflect.server.service import tools

_RUN: Final[dict[str, Any]] = {
    "task": "Read the settings of the orders service",
    "outcome": "failure",
    "goal": "know the page size",
    "task_type": "orders",
    "tags": ["settings"],
    "run_id": "run 1",
    "error": {"category": "timeout_error", "message": "no answer in 30 s"},
    "events": [
        {
            "type": "tool_call",
            "tool": "read_file",
            "arguments": {"path": "orders/setings.toml"},
            "id": "a",
        },
        {
            "type": "tool_response",
            "tool": "read_file",
            "error": "No such file: orders/setings.toml",
        },
        {"type": "tool_call", "tool": "read_file", "arguments": {"path": "orders/settings.toml"}},
        {"type": "tool_response", "tool": "read_file", "content": "page_size = 50"},
    ],
}
GOOD: Final[dict[str, list[dict[str, Any]]]] = {
    "reflect": [
        _RUN,
        {**_RUN, "analysis": {"reflection": "It looked in the wrong place", "importance": 0.7}},
    ],
    "critique": [
        {"goal": "add", "response": "1 + 1 = 3. Then 3 × 2 = 6.", "criteria": ["short"]},
        {
            "goal": "test",
            "steps": ["All tests pass."],
            "tool_results": [{"tool": "pytest", "content": "1 failed"}],
        },
    ],
    "replan_search": [
        {
            "user_message": "Who can help with quantum computers?",
            "queries": [
                {
                    "table": "talks",
                    "query_text": "quantum AND computing",
                    "limit": 5,
                    "score_threshold": 0.5,
                }
            ],
            "results": {"talks": 0},
            "catalog": [
                {
                    "table": "talks",
                    "description": "the programme",
                    "vocabulary": ["quantum", "qubit"],
                }
            ],
        }
    ],
    "recall_lessons": [
        {"task": "read the settings", "symptoms": ["No such file"], "limit": 5, "max_chars": 900}
    ],
    "store_lesson": [
        {
            "mistake": "Called get_orders with the customer's name",
            "correction": "Look the customer's id up first",
            "task_type": "orders",
            "symptoms": ["404"],
        }
    ],
    "record_outcome": [{"success": True, "lesson_ids": ["les_none"], "note": "it helped"}],
    "forget_lesson": [{"lesson_id": "les_none", "reason": "outdated"}],
    "should_reflect": [{"confidence": 0.3, "run_id": "run 1", "step_number": 4}],
}
URIS: Final = (
    "bank://stats", "bank://lessons", "bank://reflections", "lesson://",
    "lesson://les_none", "reflection://../../etc/passwd", "lesson://%00", "lesson://a?b#c", "file:///etc/passwd", "x",
    "bank://", "lesson://" + "a" * 5_000, "http://[::1", "",
)  # fmt: skip
_TEXTS: Final = (
    "", " ", "\n\t", "x", "a" * 30_000, "word " * 3_000, "\u200b\u2060", "\u202eevil", "🙂" * 50, "中文" * 40, "\x00",
    "'; DROP TABLE lessons; --", '" OR 1=1 NEAR(', "../../etc/passwd", "$(reboot)", "%s%n%x", "NaN", "1e999", "null",
    "</data>", "<script>alert(1)</script>", "${jndi:ldap://x}", "(" * 4_000, "=" * 4_000, "1 + 1 = 3 " * 200,
    "2025-02-30", "0" * 400, "\ud7ff", "é" * 300, "[" * 200, "```python\n" * 20, "sk-" + "a1B2" * 12,
)  # fmt: skip
_NUMBERS: Final = (0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 2**31, 2**63, 2**70, 10**400, 1e-320)


def arguments(source: random.Random, tool: str) -> dict[str, Any]:
    """Arguments for a tool: good ones, or good ones with up to three things wrong in them."""
    made: dict[str, Any] = copy.deepcopy(source.choice(GOOD.get(tool, [{}])))
    for _ in range(source.choice((0, 0, 1, 1, 2, 3))):
        _spoil(source, made, tool)
    return made


def tool_name(source: random.Random) -> str:
    """Nearly always a tool of the list."""
    return (
        source.choice(("", "no_such_tool", "reflect ", "x" * 3_000))
        if source.random() < 0.02
        else source.choice([tool["name"] for tool in tools()])
    )


def value(source: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    kind = source.randrange(8 if depth < 3 else 5)
    match kind:
        case 0:
            return source.choice(_NUMBERS)
        case 1:
            return source.choice((True, False, None))
        case 2 | 3 | 4:
            return source.choice(_TEXTS)
        case 5:
            return [value(source, depth + 1) for _ in range(source.choice((0, 1, 2, 5)))]
        case 6:
            return {
                source.choice(("", "a", "type", "content", "__class__", "x" * 200)): value(
                    source, depth + 1
                )
            }
        case _:
            return _deep(source.choice((10, 70, 100)))


def line(source: random.Random, number: int, envelope: dict[str, Any]) -> bytes:
    """A line of raw JSON-RPC, or of something that only looks like it; requests carry the era's `envelope`."""
    if source.random() < 0.1:
        return source.choice(
            (b"", b"{", b"[]", b"null", b"0", b'"x"', b"\xff\xfe", b"{}" * 9, b"[" * 9_000, b"\x00")
        )
    name = tool_name(source)
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
    message["params"] = {"name": name, "arguments": arguments(source, name), **envelope}
    match source.randrange(12):
        case 0:
            message["method"] = source.choice(
                ("tools/list", "resources/read", "prompts/get", "no/such", "", "initialize",
                 "notifications/cancelled", "notifications/initialized", "logging/setLevel", "server/discover")
            )  # fmt: skip
        case 1:
            message["params"] = value(source)
        case 2:
            odd: tuple[Any, ...] = (None, -1, 1.5, True, [], {}, "", "x" * 500, 2**70)
            message["id"] = source.choice(odd)
        case 3:
            message.pop(source.choice(list(message)))
        case 4:
            message |= {
                "method": "resources/read",
                "params": {"uri": source.choice(URIS), **envelope},
            }
        case 5:
            message = {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {
                    "requestId": source.choice((number - 1, number - 2, number + 1, "x", None))
                },
            }
        case 6:
            message["jsonrpc"] = source.choice(("1.0", 2, None))
        case _:
            pass
    return json.dumps(message, ensure_ascii=source.random() < 0.5).encode("utf-8", "replace")


def _spoil(source: random.Random, made: dict[str, Any], tool: str) -> None:
    names = [*made, *_properties(tool)]
    name = source.choice(names) if names else "x"
    match source.randrange(6):
        case 0:
            made.pop(name, None)
        case 1:
            made[
                source.choice((name + "s", "tsk", "self", "", "applied", "project", "x" * 300))
            ] = value(source)
        case 2 if isinstance(made.get(name), list) and made[name]:
            inner: Any = source.choice(made[name])
            if isinstance(inner, dict):
                fields = cast("dict[str, Any]", inner)
                fields[source.choice([*fields, "extra"])] = value(source)
            else:
                made[name] = [value(source) for _ in range(source.choice((1, 3, 600)))]
        case _:
            made[name] = value(source)


def _properties(tool: str) -> list[str]:
    return [
        name
        for one in tools()
        if one["name"] == tool
        for name in one["inputSchema"].get("properties", {})
    ]


def _deep(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = [made]
    return made
