"""The runs in a file that somebody gives to `reflect`: each becomes the arguments of a call of that tool.

The file may be a session of a host (`sessions.hosts`), messages of OpenAI's and Anthropic's APIs, or such arguments
themselves.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from mcp_reflect.errors import InputError
from mcp_reflect.sessions.hosts import form_of
from mcp_reflect.sessions.hosts.gemini import is_of_gemini
from mcp_reflect.sessions.records import (
    Listener,
    Record,
    RecordReader,
    as_list,
    as_record,
    as_records,
)
from mcp_reflect.sessions.run_builder import RunBuilder
from mcp_reflect.text.signature import digest

_MOST_NAME: Final = 150  # characters of a session's name in the id of a run


class PlacedRun(NamedTuple):
    """A run as the arguments of `reflect`, and where it stands in its file, as errors name it: `line 3, `."""

    where: str
    arguments: dict[str, Any]


class PlacedRecord(NamedTuple):
    """A record, and where it stands in its file: `line 3`, `item 3`, or empty for the whole file."""

    where: str
    record: Record


class _PlacedValue(NamedTuple):
    """A JSON value, and where it stands in its file, as for a record."""

    where: str
    value: object


class Conversation(NamedTuple):
    """The records of one conversation, and where it stands in its file, as errors name it: `line 3, `."""

    where: str
    records: list[Record]


@dataclass(frozen=True, slots=True)
class Transcript:
    """The runs of a file, and the lines that could not be read ("line 7: it is not JSON").

    A run that was read off a transcript has a `run_id`, which names the session and the content.
    """

    runs: list[PlacedRun]
    faults: list[str] = field(default_factory=list[str])


def read_transcript(text: str, outcome: str = "partial", session: str | None = None) -> Transcript:
    """The runs of a text.

    Args:
        text: The content of the file.
        outcome: How the runs ended, which no transcript says.
        session: Overrides the session's own name.

    Raises:
        InputError: Nothing can be read, or a line among the arguments of `reflect` is bad.
    """
    transcript = Transcript([])
    placed = _records(text, transcript.faults)
    conversations = _conversations_in(placed)
    if not conversations:
        transcript.runs.extend(_arguments_of_reflect(placed, transcript.faults))
    for where, records in conversations:
        run = RunBuilder()
        read_records(run, records)
        name = session or run.session or "transcript"
        for part in run.runs(outcome):
            transcript.runs.append(PlacedRun(where, _with_run_id(part, name)))
    return transcript


def _conversations_in(placed: Sequence[PlacedRecord]) -> list[Conversation]:
    """Return the conversations in the records of a file; the first row that fits decides.

    | the records                                          | conversations                     |
    |------------------------------------------------------|-----------------------------------|
    | one of them is a line of a host's session            | one, of all records               |
    | hold messages, as in a file of requests of an API    | one for each record               |
    | are arguments of `reflect`                           | none                              |
    """
    if any(form_of(record) for _, record in placed if not _holds_messages(record)):
        return [Conversation("", [record for _, record in placed])]
    return [
        Conversation(_before_fault(where), [record, *as_records(record.get("messages"))])
        for where, record in placed
        if "messages" in record
    ]


def _arguments_of_reflect(placed: Sequence[PlacedRecord], faults: Sequence[str]) -> list[PlacedRun]:
    """The records as arguments of `reflect`.

    InputError for a line that is none: a run that the file's author wrote is not left out in silence.
    """
    if faults:
        where, _, fault = faults[0].partition(": ")
        raise InputError(where, fault, "Give one JSON object a line.")
    return [PlacedRun(_before_fault(where), dict(record)) for where, record in placed]


def _before_fault(where: str) -> str:
    """Return where a run stands as the beginning of an error: `line 3` -> `line 3, `; empty for the whole file."""
    if not where:
        return ""
    return f"{where}, "


def _with_run_id(run: dict[str, Any], name: str) -> dict[str, Any]:
    """The arguments of `reflect` with an id of session and content, so that the same run is known again."""
    content = json.dumps(run, sort_keys=True, ensure_ascii=False, default=str)
    return {**run, "run_id": f"{name[:_MOST_NAME]}#{digest(content)}"}


def _holds_messages(record: Record) -> bool:
    """True for a whole conversation in one record, of which a file may have several."""
    return "messages" in record and not is_of_gemini(record)


def _records(text: str, faults: list[str]) -> list[PlacedRecord]:
    """Return the JSON objects of a text, or of its lines; anything else is named in `faults` ("line 7: it is not JSON")."""
    placed: list[PlacedRecord] = []
    for where, value in _values_in(text, faults):
        if isinstance(value, dict):
            placed.append(PlacedRecord(where, as_record(cast("object", value))))
        elif where:
            faults.append(f"{where}: it is not a JSON object")
        else:
            faults.append("it is not a JSON object")
    if not placed:
        fault = next(iter(faults), "it is empty")
        fix = "Give reflect's arguments, a session of Claude Code or Codex, or messages."
        raise InputError("file", fault, fix)
    return placed


def _values_in(text: str, faults: list[str]) -> list[_PlacedValue]:
    """The JSON values of a text by their places: the items of a list, one value, else a value a line."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return _values_of_lines(text, faults)
    items = as_list(whole)
    if not items:
        return [_PlacedValue("", whole)]
    return [_PlacedValue(f"item {number}", item) for number, item in enumerate(items, start=1)]


def _values_of_lines(text: str, faults: list[str]) -> list[_PlacedValue]:
    """The JSON values of the lines of a text; a line that is not JSON is named in `faults`."""
    values: list[_PlacedValue] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(_PlacedValue(f"line {number}", json.loads(line)))
        except (ValueError, RecursionError) as error:
            faults.append(f"line {number}: it is not JSON: {str(error)[:80]}")
    return values


def read_records(listener: Listener, records: Iterable[Record]) -> None:
    """Read the records of a session, in the form that the first one shows."""
    reader: RecordReader | None = None
    for number, record in enumerate(records, start=1):
        if reader is None:
            form = form_of(record)
            if form is not None:
                reader = form.reader(listener, frozenset())
        if reader is not None:
            listener.begin_record(number, record)
            reader.add(record)
    if reader is not None:
        reader.end()
