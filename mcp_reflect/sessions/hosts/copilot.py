"""Sessions of Copilot CLI: `~/.copilot/session-state/SESSION/events.jsonl`, an event a line."""

import re
from typing import Final

from mcp_reflect.sessions.hosts.messages import MessagesReader
from mcp_reflect.sessions.records import (
    Listener,
    PromptAuthor,
    Record,
    as_record,
    as_text,
    text_of,
)

_KINDS: Final = ("session.", "user.message", "assistant.", "tool.", "hook.", "system.", "subagent.")
_SHELL_ENDED: Final = re.compile(
    r"\n?<shellId: [^\n<>]{1,80} completed with exit code (-?\d{1,10})>[^\n]*"
)
_TAIL: Final = 400  # characters at the end of an output in which its shell says how it ended
_BY_PERSON: Final = ("", "user")
_NEVER_RAN: Final = ("denied", "rejected")
_STOPPED: Final = ("cancelled", "canceled", "aborted", "interrupted")  # perhaps in its middle


def is_of_copilot(record: Record) -> bool:
    """True for an event of a session."""
    kind = record.get("type")
    return isinstance(kind, str) and kind.startswith(_KINDS) and "data" in record


def event_id(record: Record) -> str:
    """The id of an event, the same in every copy of it."""
    return as_text(record.get("id"))


class CopilotReader(MessagesReader):
    """Reads the events of a session, those of its subagents among them. An event that is there twice is read once."""

    def __init__(self, listener: Listener, known: frozenset[str] = frozenset()) -> None:
        super().__init__(listener, known)
        self._seen: set[str] = set()

    def add(self, record: Record) -> None:
        """Read an event."""
        name = event_id(record)
        if name and (name in self.known or name in self._seen):
            return
        self._seen.add(name)
        data = as_record(record.get("data"))
        of_child = bool(data.get("parentToolCallId"))
        match record.get("type"):
            case "session.start" | "session.resume":
                self.name_session(data.get("sessionId"))
            case "session.snapshot_rewind":  # files may be other than the events that are left tell
                self.listener.unseen()
            case "user.message" if not of_child:
                self.listener.asked(as_text(data.get("content")), _speaker_of(data))
            case "assistant.message" if not of_child:
                self.listener.told(as_text(data.get("content")))
            case "tool.execution_start":
                call_id = data.get("toolCallId")
                self.listener.called(data.get("toolName"), data.get("arguments"), call_id)
            case "tool.execution_complete":
                self._add_result(data)
            case _:
                pass

    def _add_result(self, data: Record) -> None:
        call_id, error = data.get("toolCallId"), as_record(data.get("error"))
        if error.get("code") in _NEVER_RAN + _STOPPED:
            self.listener.withdrawn(call_id)
            if error.get("code") in _STOPPED:
                self.listener.unseen()
            return
        result = as_record(data.get("result"))
        # The content that the model is given may have the words of hooks behind it.
        said = text_of(result.get("detailedContent")) or text_of(result.get("content"))
        said = said or as_text(error.get("message"))
        code = as_record(data.get("shellExecution")).get("exitCode")
        head, tail = said[:-_TAIL], said[-_TAIL:]
        if ended := _SHELL_ENDED.search(tail):
            code = int(ended[1]) if code is None else code
            said = head + tail[: ended.start()] + tail[ended.end() :]
        failed = data.get("success") is False
        self.listener.answered(said, call_id, failed=failed, exit_code=code)


def _speaker_of(data: Record) -> PromptAuthor:
    by_person = as_text(data.get("source")) in _BY_PERSON
    return (
        PromptAuthor.PERSON
        if by_person and not data.get("isAutopilotContinuation")
        else PromptAuthor.HOST
    )
