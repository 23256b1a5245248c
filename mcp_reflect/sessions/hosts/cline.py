"""Sessions of Cline CLI: `~/.cline/data/sessions/SESSION/SESSION.messages.json`, one JSON value."""

import json
import re
from typing import Final

from mcp_reflect.sessions.hosts.messages import MessagesReader
from mcp_reflect.sessions.records import (
    PromptAuthor,
    Record,
    as_list,
    as_record,
    as_records,
    text_of,
)

_PROMPT: Final = re.compile(r"\A<user_input\b[^<>]{0,200}>|</user_input>\s*\Z")
_OF_HOST: Final = "<hook_context"


def is_of_cline(record: Record) -> bool:
    """True for a whole session of Cline, in one value."""
    return {"sessionId", "origin", "messages"} <= record.keys() and "projectHash" not in record


class ClineReader(MessagesReader):
    """Reads the messages of a session, which are those of Anthropic's API with results of its own."""

    def add(self, record: Record) -> None:
        """Read a whole session, message by message."""
        self.name_session(record.get("sessionId"))
        for number, message in enumerate(as_records(record.get("messages")), start=1):
            self.listener.begin_record(number, message)
            self.add_message(_without_frame(message), _speaker_of(message))

    def add_answer(self, values: Record) -> None:
        """Read an answer; that of Cline's shell is a list of commands, each with what it printed."""
        runs = as_records(values.get("content"))
        if not any("query" in run for run in runs):
            super().add_answer(values)
            return
        printed = "\n".join(text_of(run.get("result") or run.get("error")) for run in runs)
        failed = any(run.get("success") is False for run in runs)
        self.listener.answered(printed, values.get("tool_use_id"), failed=failed)

    def add_call(self, values: Record) -> None:
        """Read a call; the commands of one to Cline's shell are read as one script."""
        sent = as_record(values.get("input"))
        commands = as_list(sent.get("commands"))
        if not commands:
            super().add_call(values)
            return
        script = "\n".join(map(_line_of_script, commands))
        self.listener.called("Bash", {"command": script}, values.get("id"))


def _line_of_script(command: object) -> str:
    """Return a command as a line: a text as it is, a program with its arguments as JSON."""
    if isinstance(command, str):
        return command
    return json.dumps(command)


def _without_frame(message: Record) -> Record:
    """Return a message without the marks around what a person typed."""
    if message.get("role") != "user":
        return message
    parts = [_part_without_frame(part) for part in as_records(message.get("content"))]
    return {**message, "content": parts}


def _part_without_frame(part: Record) -> Record:
    """Return a part of a prompt without the marks (`<user_input>`); one that is no text, such as a picture, as it is."""
    text = part.get("text")
    if not isinstance(text, str):
        return part
    return {**part, "text": _PROMPT.sub("", text)}


def _speaker_of(message: Record) -> PromptAuthor:
    """Return who wrote a prompt: the host shows its own as those of the system, or they open as a hook's words."""
    if as_record(message.get("metadata")).get("displayRole") == "system":
        return PromptAuthor.HOST
    if text_of(message.get("content")).startswith(_OF_HOST):
        return PromptAuthor.HOST
    return PromptAuthor.PERSON
