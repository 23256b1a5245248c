"""Sessions of Qwen Code: `~/.qwen/projects/FOLDER/chats/SESSION.jsonl`, a record a line.

Its messages have the parts of Gemini's API, the records around them the fields of Claude Code's.
"""

from typing import Final

from mcp_reflect.sessions.hosts.gemini import printed_by_shell
from mcp_reflect.sessions.hosts.messages import FAILED, MessagesReader
from mcp_reflect.sessions.records import (
    Listener,
    PromptAuthor,
    Record,
    as_record,
    as_records,
    as_text,
    text_of,
)

_TYPES: Final = ("user", "assistant", "tool_result", "system")
_OF_HOST: Final = "<qwen:"


def is_of_qwen(record: Record) -> bool:
    """True for a line of a session."""
    if record.get("type") not in _TYPES or "sessionId" not in record:
        return False
    return "provenance" in record or "parts" in as_record(record.get("message"))


def line_id(record: Record) -> str:
    """The id of a record, the same in every copy of it."""
    return as_text(record.get("uuid"))


class QwenReader(MessagesReader):
    """Reads the lines of a session. A line that is there twice is read once."""

    def __init__(self, listener: Listener, known: frozenset[str] = frozenset()) -> None:
        super().__init__(listener, known)
        self._seen: set[str] = set()

    def add(self, record: Record) -> None:
        """Read a line."""
        self.name_session(record.get("sessionId"))
        name = line_id(record)
        if name and (name in self.known or name in self._seen):
            return
        self._seen.add(name)
        parts = as_records(as_record(record.get("message")).get("parts"))
        match record.get("type"):
            case "user":
                speaker = _speaker_of(record)
                for part in parts:
                    self._add_words(text_of(part), speaker)
            case "assistant":
                for part in parts:
                    self._add_part(part)
            case "tool_result":
                for part in parts:
                    self._add_result(as_record(part.get("functionResponse")), record)
            case _:
                pass

    def _add_words(self, text: str, speaker: PromptAuthor) -> None:
        by_host = text.lstrip().startswith(_OF_HOST)
        self.listener.asked(text, PromptAuthor.HOST if by_host else speaker)

    def _add_part(self, part: Record) -> None:
        call = as_record(part.get("functionCall"))
        if call:
            self.listener.called(call.get("name"), call.get("args"), call.get("id"))
        elif not part.get("thought"):
            self.listener.told(text_of(part))

    def _add_result(self, response: Record, record: Record) -> None:
        if not response:
            return
        status = as_record(record.get("toolCallResult")).get("status")
        call_id = response.get("id")
        if status == "cancelled":
            self.listener.withdrawn(call_id)
            self.listener.unseen()
            return
        said = as_record(response.get("response"))
        text, code = printed_by_shell(text_of(said.get("output", said.get("error"))))
        failed = status in FAILED or "error" in said
        self.listener.answered(text, call_id, failed=failed, exit_code=code)


def _speaker_of(record: Record) -> PromptAuthor:
    return (
        PromptAuthor.PERSON
        if record.get("provenance", "real_user") == "real_user"
        else PromptAuthor.HOST
    )
