"""The arguments of `reflect`, as they are gathered from the records of one conversation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from mcp_reflect.models.common import unpacked
from mcp_reflect.sessions.records import PromptAuthor, Record

MOST_EVENTS: Final = 1_000
"""Events of one run; a longer session is several runs, cut where the person said something."""

MOST_CHARS: Final = 800_000
"""Characters of one run."""

_MOST_OF_EVENT: Final = MOST_CHARS // 40
"""Characters that an event counts for at most: a longer text is cut when the run is read."""

EMPTY_ANSWER: Final = "(empty)"
MOST_TASK: Final = 2_000  # characters of the person's first words that name the run
_ADDED_BY_HOST: Final = re.compile(
    r"\s*<(?:command-|local-command|system-reminder|environment_context|user_instructions|permissions|task-notification)"
)


@dataclass(slots=True)
class RunBuilder:
    """The arguments of `reflect` as they are gathered from one conversation. A person's first words are the task."""

    session: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _tools: dict[str, str] = field(default_factory=dict[str, str])

    def begin_record(self, number: int, record: Record) -> None:
        """Leave out the number of a record: a run needs none."""

    def prompted(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Add the words of a prompt; those that the host adds are left out."""
        if text.strip() and by is not PromptAuthor.HOST and not _ADDED_BY_HOST.match(text):
            self.events.append({"type": "user_feedback", "content": text})

    def spoke(self, text: str) -> None:
        """Add the agent's words."""
        if text.strip():
            self.events.append({"type": "llm_call", "content": text})

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Add a call. Arguments may be JSON in a text."""
        name = name_of_tool(tool)
        event: dict[str, Any] = {
            "type": "tool_call",
            "tool": name,
            "arguments": unpacked(arguments),
        }
        if isinstance(call_id, str) and call_id:
            self._tools[call_id] = name
            event["metadata"] = {"tool_call_id": call_id}
        self.events.append(event)

    def answered(
        self,
        content: str,
        call_id: object = None,
        *,
        failed: bool = False,
        exit_code: object = None,
    ) -> None:
        """Add the answer of a call; `failed` where the record itself marks it as an error."""
        event: dict[str, Any] = {"type": "tool_response", "content": content or EMPTY_ANSWER}
        facts: dict[str, Any] = {}
        if isinstance(call_id, str) and call_id:
            facts["tool_call_id"] = call_id
            if call_id in self._tools:
                event["tool"] = self._tools[call_id]
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            facts["exit_code"] = exit_code
        if failed:
            event["error"] = content or "error"
        if facts:
            event["metadata"] = facts
        self.events.append(event)

    def withdrawn(self, call_id: object) -> None:
        """Take out a call that never ran."""
        if isinstance(call_id, str) and self._tools.pop(call_id, None):
            call = {"tool_call_id": call_id}
            self.events = [event for event in self.events if event.get("metadata") != call]

    def unseen(self) -> None:
        """Leave out what the records do not tell: a run has only what was seen."""

    def runs(self, outcome: str) -> Iterator[dict[str, Any]]:
        """The arguments of `reflect` for each part that holds a call.

        A part has at most MOST_EVENTS events and MOST_CHARS characters, so that no event of it is left out. It is cut
        before a person's words where these are in its later half.
        """
        remaining = self.events
        while remaining:
            end = _end_of_part(remaining)
            part = remaining[:end]
            remaining = remaining[end:]
            if any(event["type"] == "tool_call" for event in part):
                yield {"task": _task_of(part), "outcome": outcome, "events": part}


def _end_of_part(events: Sequence[dict[str, Any]]) -> int:
    """Return how many of the first events make one run.

    A part ends before the last words of a person that stand in its later half, since a new task begins with them. Without
    such words it has as many events as a run may have. Words in the earlier half do not end it: the parts would be small.
    """
    sizes = accumulate(min(len(str(event)), _MOST_OF_EVENT) for event in events[:MOST_EVENTS])
    within_limit = sum(size <= MOST_CHARS for size in sizes)
    most = max(1, within_limit)
    if len(events) <= most:
        return most
    later_half = range(max(1, most // 2), most)
    for index in reversed(later_half):
        if events[index]["type"] == "user_feedback":
            return index
    return most


def _task_of(part: Sequence[dict[str, Any]]) -> str:
    """The task of a part, on one line: what the person said first in it."""
    task = ""
    for event in part:
        if event["type"] == "user_feedback":
            task = event["content"]
            break
    return " ".join((task or "A run without a task in its record").split())[:MOST_TASK]


def name_of_tool(tool: object) -> str:
    """The name of a tool, or a word that stands for one without a name."""
    if isinstance(tool, str) and tool.strip():
        return tool
    return "tool"
