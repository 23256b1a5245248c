"""Messages of OpenAI's and Anthropic's APIs, of LangChain, and of hosts that write such messages, as pi does."""

import re
from collections.abc import Sequence
from typing import Any, Final

from mcp_reflect.models.common import unpacked
from mcp_reflect.sessions.records import (
    Listener,
    PromptAuthor,
    Record,
    as_list,
    as_record,
    as_records,
    text_of,
)

# A record's `type` or `role` tells what it is; one thing has many names, of which the first that is there counts.
_WHAT: Final = {
    **dict.fromkeys(("user", "human"), "person"),
    **dict.fromkeys(("assistant", "ai", "gemini"), "agent"),
    **dict.fromkeys(
        "tool_use server_tool_use mcp_tool_use toolCall function_call custom_tool_call local_shell_call".split(),
        "call",
    ),
    **dict.fromkeys(
        "tool function toolResult tool_result mcp_tool_result function_call_output custom_tool_call_output "
        "local_shell_call_output".split(),
        "answer",
    ),
    **dict.fromkeys(("thinking", "redacted_thinking", "image", "image_url", "reasoning"), "silent"),
}
_IDS: Final = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")
_ARGUMENTS: Final = ("input", "arguments", "args", "action")
_ELSEWHERE: Final = ("bashExecution", "branch_summary")
"""What pi writes of a command that the person ran, and of a branch of the session that was left."""

FAILED: Final = ("error", "cancelled")
"""The status of an answer that failed."""

# The lines before the output of a command in Codex.
_EXEC_HEAD: Final = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines): .*\n"
    r"|(?:Exit code:|Process exited with code) (-?\d+)\n){1,6}Output:\n"
)


def is_record(record: Record) -> bool:
    """True for a record of a conversation."""
    return bool(what_of(message_in(record)) or what_of(record))


def message_in(record: Record) -> Record:
    """The message or item that a line of a session holds, else the record itself."""
    return as_record(record.get("message")) or as_record(record.get("payload")) or record


def what_of(values: Record) -> str:
    """What a record is: of a person, of the agent, a call, an answer, or silent; empty for anything else."""
    for name in (values.get("type"), values.get("role")):
        if isinstance(name, str) and name in _WHAT:
            return _WHAT[name]
    return ""


def first_of(values: Record, names: Sequence[str]) -> Any:
    """The first value that is there under one of the names."""
    for name in names:
        value = values.get(name)
        if value is not None:
            return value
    return None


def id_of(values: Record) -> Any:
    """The id of the call in a call or an answer."""
    return first_of(values, _IDS)


class MessagesReader:
    """Reads messages, in which calls and answers are parts of them, or records of their own.

    A reader of a host that writes its records in another way inherits from it. `known` has the keys of records that
    were read in another session.
    """

    def __init__(self, listener: Listener, known: frozenset[str] = frozenset()) -> None:
        """Tell `listener` what is read, without the records in `known`."""
        self.listener = listener
        self.known = known

    def add(self, record: Record) -> None:
        """Read a record; one outside the conversation is left out."""
        if self.listener.session is None and record.get("type") == "session":
            self.name_session(record.get("id"))
        if self.listener.session is None:
            self.name_session(record.get("sessionId"))
        self.add_message(record, PromptAuthor.PERSON)

    def end(self) -> None:
        """Nothing waits for the end."""

    def name_session(self, name: object) -> None:
        """Take the session's own name, once."""
        if self.listener.session is None and isinstance(name, str) and name:
            self.listener.session = name

    def add_message(self, record: Record, speaker: PromptAuthor) -> None:
        """Read a message with the calls and answers in it, in any of the forms of chat APIs.

        A message may be a call or an answer as a whole, or have them among its parts or in `tool_calls`. One of a role whose
        words stand elsewhere only says that something is not seen here.
        """
        values = message_in(record)
        if values.get("role") in _ELSEWHERE or record.get("type") in _ELSEWHERE:
            self.listener.unseen()
        what = what_of(values) or what_of(record)
        content = values.get("content")
        if what == "call":
            self.add_call(values)
        elif what == "answer":
            self.add_answer(values)
        elif what in ("person", "agent"):
            self._add_parts(as_list(content) or [content], what, speaker)
            for call in as_records(values.get("tool_calls") or values.get("toolCalls")):
                self.add_call(call)

    def _add_parts(self, parts: Sequence[Any], what: str, speaker: PromptAuthor) -> None:
        """Read the parts of a message that `what`, a person or the agent, wrote: calls and answers are among them."""
        for part in parts:
            inner = as_record(part)
            kind = what_of(inner)
            if kind in ("call", "answer"):
                self.add_message(inner, speaker)
            elif kind == "silent":
                continue
            elif what == "person":
                self.listener.asked(text_of(part), speaker)
            else:
                self.listener.told(text_of(part))

    def add_call(self, values: Record) -> None:
        """Read a call."""
        inner = as_record(values.get("function")) or values
        self.listener.called(inner.get("name", "shell"), first_of(inner, _ARGUMENTS), id_of(values))

    def add_answer(self, values: Record) -> None:
        """Read an answer: text, or JSON with the text and how the program ended."""
        wrapped = as_record(unpacked(values.get("output")))
        code = as_record(wrapped.get("metadata")).get("exit_code", wrapped.get("exit_code"))
        text = _text_of_answer(values, wrapped)
        head = _EXEC_HEAD.match(text)
        if head is not None:
            text = text[head.end() :]
            if head[1]:
                code = int(head[1])
        marked = True in (values.get("is_error"), values.get("isError"))
        failed = marked or str(values.get("status")) in FAILED or wrapped.get("success") is False
        self.listener.answered(text, id_of(values), failed=failed, exit_code=code)


def _text_of_answer(values: Record, wrapped: Record) -> str:
    """The text of an answer; `wrapped` is the object that its output holds as JSON, empty where it is plain text."""
    if {"output", "content"} & wrapped.keys():
        return text_of(first_of(wrapped, ("output", "content")))
    return text_of(values.get("output", values.get("content")))


class EventsReader(MessagesReader):
    """Reads records of a host's own form, each of which has an id. A record that is there twice is read once."""

    def __init__(self, listener: Listener, known: frozenset[str] = frozenset()) -> None:
        """Tell `listener` what is read, without the records in `known`."""
        super().__init__(listener, known)
        self._seen: set[str] = set()

    def is_read(self, record_id: str) -> bool:
        """Return whether a record of this id was read, here or in another session, and note that it is read now.

        A record without an id is always read, since nothing tells it from another one.
        """
        if not record_id:
            return False
        if record_id in self.known or record_id in self._seen:
            return True
        self._seen.add(record_id)
        return False

    def add_ended_unfinished(self, call_id: object) -> None:
        """Take back a call that was stopped, perhaps in its middle: what it did until then is not known."""
        self.listener.withdrawn(call_id)
        self.listener.unseen()
