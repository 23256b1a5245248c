"""Sessions of opencode, which lie in its database: `session_database` makes a line of each part of a message."""

from typing import Final

from mcp_reflect.sessions.hosts.messages import MessagesReader
from mcp_reflect.sessions.records import PromptAuthor, Record, as_record, as_text

_REJECTED: Final = "The user rejected permission"
_STOPPED: Final = "Tool execution aborted"


def is_of_opencode(record: Record) -> bool:
    """True for a part of a message of opencode, as `session_database` writes it."""
    return "opencode" in record and "part" in record


def part_id(record: Record) -> str:
    """The id of a part."""
    return as_text(record.get("opencode"))


class OpencodeReader(MessagesReader):
    """Reads the parts of a session's messages."""

    def add(self, record: Record) -> None:
        """Read a part of a message.

        | the part                        | is read as                       |
        |---------------------------------|----------------------------------|
        | text of the user                | a prompt                         |
        | text of the assistant           | words of the agent               |
        | a tool of the assistant         | a call, with its answer          |
        | any other, such as a thought    | nothing                          |
        """
        self.name_session(record.get("session"))
        part = as_record(record.get("part"))
        match record.get("role"), part.get("type"):
            case "user", "text":
                self.listener.prompted(as_text(part.get("text")), _speaker_of(record, part))
            case "assistant", "text":
                self.listener.spoke(as_text(part.get("text")))
            case "assistant", "tool":
                self._add_call(part)
            case _:
                pass

    def _add_call(self, part: Record) -> None:
        """Read a call with its answer, which stand in one part.

        A call that the person rejected never ran; one that was aborted may have done a part of its work.
        """
        state, call_id = as_record(part.get("state")), part.get("callID")
        self.listener.called(part.get("tool"), state.get("input"), call_id)
        error = as_text(state.get("error"))
        if error.startswith(_REJECTED):
            self.listener.withdrawn(call_id)
        elif error.startswith(_STOPPED):
            self.listener.withdrawn(call_id)
            self.listener.unseen()
        elif state.get("status") == "error":
            self.listener.answered(error, call_id, failed=True)
        elif state.get("status") == "completed":
            seen = as_record(state.get("metadata"))
            # What a shell printed stands there as it was, before hooks added their words.
            printed = as_text(seen.get("output")) or as_text(state.get("output"))
            self.listener.answered(printed, call_id, exit_code=seen.get("exit"))


def _speaker_of(record: Record, part: Record) -> PromptAuthor:
    """Return who wrote a prompt: of a session that an agent started, that agent."""
    if part.get("synthetic"):
        return PromptAuthor.HOST
    if record.get("parent"):
        return PromptAuthor.PROGRAM
    return PromptAuthor.PERSON
