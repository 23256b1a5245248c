"""A run as it is gathered from records: the arguments of `reflect`, in the order in which things happened."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

MOST_EVENTS: Final = 1_000  # of one run; a longer session is several, cut where the person said something
MOST_TASK: Final = 2_000  # characters of what was asked that name the run
_HOST_WORDS: Final = re.compile(
    r"\s*<(?:command-|local-command|system-reminder|environment_context|user_instructions|permissions|task-notification)"
)


@dataclass(slots=True)
class Gathered:
    """What one conversation holds so far. A person's first words are the task."""

    session: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _tools: dict[str, str] = field(default_factory=dict[str, str])

    def asked(self, text: str) -> None:
        """A person's words; what a host puts into their mouth is left out."""
        if text.strip() and not _HOST_WORDS.match(text):
            self.events.append({"type": "user_feedback", "content": text})

    def told(self, text: str) -> None:
        """The agent's words."""
        if text.strip():
            self.events.append({"type": "llm_call", "content": text})

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """A call. Arguments that are JSON in a text are taken out of it."""
        name = tool if isinstance(tool, str) and tool.strip() else "tool"
        event: dict[str, Any] = {"type": "tool_call", "tool": name, "arguments": unpacked(arguments)}
        if isinstance(call_id, str) and call_id:
            self._tools[call_id] = name
            event["metadata"] = {"tool_call_id": call_id}
        self.events.append(event)

    def answered(
        self, content: str, call_id: object = None, *, error: str | None = None, exit_code: object = None
    ) -> None:
        """What came of a call; `error` where the record itself calls it one."""
        event: dict[str, Any] = {"type": "tool_response", "content": content or "(empty)"}
        facts: dict[str, Any] = {}
        if isinstance(call_id, str) and call_id:
            facts["tool_call_id"] = call_id
            if call_id in self._tools:
                event["tool"] = self._tools[call_id]
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            facts["exit_code"] = exit_code
        if error is not None:
            event["error"] = error or "error"
        if facts:
            event["metadata"] = facts
        self.events.append(event)

    def runs(self, outcome: str) -> Iterator[dict[str, Any]]:
        """The arguments of `reflect` for each part of at most MOST_EVENTS events that holds a call."""
        for part in _parts(self.events):
            if any(event["type"] == "tool_call" for event in part):
                asked = next((event["content"] for event in part if event["type"] == "user_feedback"), None)
                task = " ".join((asked or "A run without a task in its record").split())[:MOST_TASK]
                yield {"task": task, "outcome": outcome, "events": part}


def as_record(value: object) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Any]:
    """The value where it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def unpacked(value: object) -> Any:
    """JSON out of a text, where it is an object or a list; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def text_of(content: object) -> str:
    """The text of a message's content: a string, or its parts that hold text."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        values = cast("dict[str, Any]", content)
        inner = values.get("text", values.get("content"))
        return text_of(inner) if inner is not None else ""
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part) for part in cast("list[object]", content))))
    return ""


def _parts(events: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The events in parts of at most MOST_EVENTS, cut before what a person said where that is in the later half."""
    rest = events
    while len(rest) > MOST_EVENTS:
        marks = [at for at in range(MOST_EVENTS // 2, MOST_EVENTS) if rest[at]["type"] == "user_feedback"]
        cut = marks[-1] if marks else MOST_EVENTS
        yield rest[:cut]
        rest = rest[cut:]
    if rest:
        yield rest
