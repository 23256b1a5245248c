"""Messages of OpenAI's and Anthropic's APIs, of LangChain, and of hosts that write such messages, as pi does."""

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple

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


class MessageKind(Enum):
    """What a message, or a part of one, is."""

    PERSON = auto()
    AGENT = auto()
    CALL = auto()
    ANSWER = auto()
    SILENT = auto()  # a thought or an image, which tells nothing


# The kind of a message by its `type` or `role`, for which each API has names of its own.
_KINDS: Final = {
    **dict.fromkeys(("user", "human"), MessageKind.PERSON),
    **dict.fromkeys(("assistant", "ai", "gemini"), MessageKind.AGENT),
    **dict.fromkeys(
        "tool_use server_tool_use mcp_tool_use toolCall function_call custom_tool_call local_shell_call".split(),
        MessageKind.CALL,
    ),
    **dict.fromkeys(
        "tool function toolResult tool_result mcp_tool_result function_call_output custom_tool_call_output "
        "local_shell_call_output".split(),
        MessageKind.ANSWER,
    ),
    **dict.fromkeys(
        ("thinking", "redacted_thinking", "image", "image_url", "reasoning"), MessageKind.SILENT
    ),
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
    return bool(kind_of_message(message_in(record)) or kind_of_message(record))


def message_in(record: Record) -> Record:
    """The message or item that a line of a session holds, else the record itself."""
    return as_record(record.get("message")) or as_record(record.get("payload")) or record


def kind_of_message(values: Record) -> MessageKind | None:
    """The kind of a message by its type, else by its role; None for what is no message."""
    for name in (values.get("type"), values.get("role")):
        if isinstance(name, str) and name in _KINDS:
            return _KINDS[name]
    return None


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


class ShellOutput(NamedTuple):
    """What a command printed, and its exit code; None where the host tells none."""

    text: str
    exit_code: int | None


class MessagesReader:
    """Reads messages, in which calls and answers are parts of them, or records of their own.

    A reader of a host that writes its records in another way inherits from it. `read_elsewhere` has the keys of records that
    were read in another session.
    """

    def __init__(self, listener: Listener, read_elsewhere: frozenset[str] = frozenset()) -> None:
        """Tell `listener` what is read, without the records in `read_elsewhere`."""
        self.listener = listener
        self.read_elsewhere = read_elsewhere

    def add(self, record: Record) -> None:
        """Read a record; one that is no message only names the session, as the first line of pi does."""
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

        A message may be a call or an answer as a whole, or have them among its parts or in `tool_calls`. Of a command that
        the person ran (`_ELSEWHERE`) it says nothing but that something was done.
        """
        values = message_in(record)
        if values.get("role") in _ELSEWHERE or record.get("type") in _ELSEWHERE:
            self.listener.unseen()
        kind = kind_of_message(values) or kind_of_message(record)
        content = values.get("content")
        if kind is MessageKind.CALL:
            self.add_call(values)
        elif kind is MessageKind.ANSWER:
            self.add_answer(values)
        elif kind in (MessageKind.PERSON, MessageKind.AGENT):
            self._add_parts(as_list(content) or [content], kind, speaker)
            for call in as_records(values.get("tool_calls") or values.get("toolCalls")):
                self.add_call(call)

    def _add_parts(self, parts: Sequence[Any], writer: MessageKind, speaker: PromptAuthor) -> None:
        """Read the parts of a message, in which calls and answers may stand beside the words of its `writer`."""
        for part in parts:
            inner = as_record(part)
            kind = kind_of_message(inner)
            if kind in (MessageKind.CALL, MessageKind.ANSWER):
                self.add_message(inner, speaker)
            elif kind is MessageKind.SILENT:
                continue
            elif writer is MessageKind.PERSON:
                self.listener.prompted(text_of(part), speaker)
            else:
                self.listener.spoke(text_of(part))

    def add_call(self, values: Record) -> None:
        """Read a call: its tool, its arguments and its id, under the names that each API has for them."""
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
        is_error = True in (values.get("is_error"), values.get("isError"))
        failed = is_error or str(values.get("status")) in FAILED or wrapped.get("success") is False
        self.listener.answered(text, id_of(values), failed=failed, exit_code=code)


def _text_of_answer(values: Record, wrapped: Record) -> str:
    """The text of an answer; `wrapped` is the object that its output holds as JSON, empty where it is plain text."""
    if {"output", "content"} & wrapped.keys():
        return text_of(first_of(wrapped, ("output", "content")))
    return text_of(values.get("output", values.get("content")))


class EventsReader(MessagesReader):
    """Reads records of a host's own form, each of which has an id. A record that is there twice is read once."""

    def __init__(self, listener: Listener, read_elsewhere: frozenset[str] = frozenset()) -> None:
        """Tell `listener` what is read, without the records in `read_elsewhere`."""
        super().__init__(listener, read_elsewhere)
        self._seen: set[str] = set()

    def is_read(self, record_id: str) -> bool:
        """Return whether a record of this id was read, here or in another session, and note that it is read now.

        A record without an id is always read, since nothing tells it from another one.
        """
        if not record_id:
            return False
        if record_id in self.read_elsewhere or record_id in self._seen:
            return True
        self._seen.add(record_id)
        return False

    def add_ended_unfinished(self, call_id: object) -> None:
        """Take back a call that was stopped, perhaps in its middle: what it did until then is not known."""
        self.listener.withdrawn(call_id)
        self.listener.unseen()
