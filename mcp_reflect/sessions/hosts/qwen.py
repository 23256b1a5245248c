"""Sessions of Qwen Code: `~/.qwen/projects/FOLDER/chats/SESSION.jsonl`, a record a line.

Its messages have the parts of Gemini's API, the records around them the fields of Claude Code's.
"""

from typing import Final

from mcp_reflect.sessions.hosts.gemini import shell_output_of
from mcp_reflect.sessions.hosts.messages import FAILED, EventsReader
from mcp_reflect.sessions.records import (
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
    """True for a line of a session of Qwen Code: of Claude Code's, which is alike, none has `parts` or a provenance."""
    if record.get("type") not in _TYPES or "sessionId" not in record:
        return False
    return "provenance" in record or "parts" in as_record(record.get("message"))


def line_id(record: Record) -> str:
    """The id of a record, the same in every copy of it."""
    return as_text(record.get("uuid"))


class QwenReader(EventsReader):
    """Reads the lines of a session."""

    def add(self, record: Record) -> None:
        """Read a line that was not read before: a session that goes on repeats the lines of the one before it."""
        self.name_session(record.get("sessionId"))
        if self.is_read(line_id(record)):
            return
        parts = as_records(as_record(record.get("message")).get("parts"))
        match record.get("type"):
            case "user":
                for part in parts:
                    prompt = text_of(part)
                    self.listener.prompted(prompt, _speaker_of(record, prompt))
            case "assistant":
                for part in parts:
                    self._add_part(part)
            case "tool_result":
                for part in parts:
                    self._add_result(as_record(part.get("functionResponse")), record)
            case _:
                pass

    def _add_part(self, part: Record) -> None:
        """Read a part of the agent's message: a call or words; what it thought is left out."""
        call = as_record(part.get("functionCall"))
        if call:
            self.listener.called(call.get("name"), call.get("args"), call.get("id"))
        elif not part.get("thought"):
            self.listener.spoke(text_of(part))

    def _add_result(self, response: Record, record: Record) -> None:
        """Read a call's answer; its record, not the answer, says how the call ended."""
        if not response:
            return
        status = as_record(record.get("toolCallResult")).get("status")
        call_id = response.get("id")
        if status == "cancelled":
            self.add_ended_unfinished(call_id)
            return
        answer = as_record(response.get("response"))
        text, code = shell_output_of(text_of(answer.get("output", answer.get("error"))))
        failed = status in FAILED or "error" in answer
        self.listener.answered(text, call_id, failed=failed, exit_code=code)


def _speaker_of(record: Record, prompt: str) -> PromptAuthor:
    """Who wrote a prompt: the host, where it opens as the host's own ("<qwen:…") or has no person's provenance."""
    if prompt.lstrip().startswith(_OF_HOST):
        return PromptAuthor.HOST
    if record.get("provenance", "real_user") != "real_user":
        return PromptAuthor.HOST
    return PromptAuthor.PERSON
