"""Records of a session: one JSON object for each thing that its host wrote down.

A `RecordReader` knows the form in which one host writes them. It tells a `Listener` what they say, which is the same for
all hosts: prompts, words of the agent, calls and answers.
"""

import json
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, Protocol, cast

Record = Mapping[str, Any]


class PromptAuthor(Enum):
    """Who wrote the words of a prompt."""

    PERSON = auto()
    PROGRAM = auto()  # a script that started the agent, or another agent
    HOST = auto()  # what the host adds: hooks, notifications, summaries, surroundings


class Listener(Protocol):
    """Is told what happened in a session, in its order."""

    session: str | None

    def begin_record(self, number: int, record: Record) -> None:
        """Take the record that is read next, and its place in the session from 1."""

    def prompted(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Take the words of a prompt."""

    def spoke(self, text: str) -> None:
        """Take words of the agent."""

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Take a call. Arguments may be JSON in a text."""

    def answered(
        self,
        content: str,
        call_id: object = None,
        *,
        failed: bool = False,
        exit_code: object = None,
    ) -> None:
        """Take the answer of a call; `failed` where the record itself marks it as an error."""

    def withdrawn(self, call_id: object) -> None:
        """Forget a call that never ran."""

    def unseen(self) -> None:
        """Note that something was done here of which the records do not tell what: a person's command, a rewind."""


class RecordReader(Protocol):
    """Reads the records of one session, in the form of its host."""

    def add(self, record: Record) -> None:
        """Read a record, and tell the listener what it says."""

    def end(self) -> None:
        """Read what has to wait for the end of the records, as later ones may change it."""


def as_record(value: object) -> Record:
    """The value where it is an object, else an empty one."""
    if not isinstance(value, dict):
        return {}
    return cast("Record", value)


def as_list(value: object) -> Sequence[Any]:
    """The value where it is a list, else an empty one."""
    if not isinstance(value, list):
        return ()
    return cast("Sequence[Any]", value)


def as_records(value: object) -> list[Record]:
    """The objects in a list, empty ones left out."""
    records = map(as_record, as_list(value))
    return [record for record in records if record]


def as_text(value: object) -> str:
    """The value where it is a text, else an empty one."""
    if not isinstance(value, str):
        return ""
    return value


def text_of(content: object) -> str:
    """The text of a message's content: [{"type": "text", "text": "a"}, "b"] gives "a" and "b" on two lines."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part) for part in cast("list[object]", content))))
    values = as_record(content)
    inner = values.get("text", values.get("content"))
    if inner is None:
        return ""
    return text_of(inner)


def parsed(text: bytes | str) -> Record:
    """The object that a text holds as JSON, else an empty one. Bytes that are not UTF-8 are replaced."""
    try:
        return as_record(json.loads(text))
    except UnicodeDecodeError:
        if isinstance(text, str):
            return {}
        return parsed(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
