"""Sessions of Copilot CLI: `~/.copilot/session-state/SESSION/events.jsonl`, an event a line."""

import re
from typing import Final

from mcp_reflect.sessions.hosts.messages import EventsReader, ShellOutput
from mcp_reflect.sessions.records import (
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
    """True for an event of a session of Copilot CLI: {"type": "tool.execution_start", "data": {…}}."""
    kind = record.get("type")
    return isinstance(kind, str) and kind.startswith(_KINDS) and "data" in record


def event_id(record: Record) -> str:
    """The id of an event, the same in every copy of it."""
    return as_text(record.get("id"))


class CopilotReader(EventsReader):
    """Reads the events of a session. Of its subagents the calls count, and the words do not."""

    def add(self, record: Record) -> None:
        """Read an event that was not read before.

        What a subagent is asked and says is left out, since it talks with the agent; its calls change files all the same.
        """
        if self.is_read(event_id(record)):
            return
        data = as_record(record.get("data"))
        of_child = bool(data.get("parentToolCallId"))
        match record.get("type"):
            case "session.start" | "session.resume":
                self.name_session(data.get("sessionId"))
            case "session.snapshot_rewind":  # files may be other than the events that are left tell
                self.listener.unseen()
            case "user.message" if not of_child:
                self.listener.prompted(as_text(data.get("content")), _speaker_of(data))
            case "assistant.message" if not of_child:
                self.listener.spoke(as_text(data.get("content")))
            case "tool.execution_start":
                call_id = data.get("toolCallId")
                self.listener.called(data.get("toolName"), data.get("arguments"), call_id)
            case "tool.execution_complete":
                self._add_result(data)
            case _:
                pass

    def _add_result(self, data: Record) -> None:
        """Read the end of a call. A refused one never ran, while one that was stopped may have done a part of its work."""
        call_id = data.get("toolCallId")
        ended_by = as_record(data.get("error")).get("code")
        if ended_by in _NEVER_RAN:
            self.listener.withdrawn(call_id)
        elif ended_by in _STOPPED:
            self.add_ended_unfinished(call_id)
        else:
            printed, code_of_shell = _without_shell_note(_text_of_result(data))
            code = as_record(data.get("shellExecution")).get("exitCode")
            if code is None:
                code = code_of_shell
            failed = data.get("success") is False
            self.listener.answered(printed, call_id, failed=failed, exit_code=code)


def _text_of_result(data: Record) -> str:
    """The text of a call's result: the detailed one, since hooks may have put their words behind the one for the model."""
    result = as_record(data.get("result"))
    text = text_of(result.get("detailedContent")) or text_of(result.get("content"))
    return text or as_text(as_record(data.get("error")).get("message"))


def _without_shell_note(text: str) -> ShellOutput:
    """What a command printed, without the note of its shell ("<shellId: 3 completed with exit code 2>")."""
    head, tail = text[:-_TAIL], text[-_TAIL:]
    note = _SHELL_ENDED.search(tail)
    if note is None:
        return ShellOutput(text, None)
    return ShellOutput(head + tail[: note.start()] + tail[note.end() :], int(note[1]))


def _speaker_of(data: Record) -> PromptAuthor:
    """Who wrote a prompt: the host, where it names another source than the user or lets its autopilot go on."""
    if data.get("isAutopilotContinuation"):
        return PromptAuthor.HOST
    if as_text(data.get("source")) not in _BY_PERSON:
        return PromptAuthor.HOST
    return PromptAuthor.PERSON
