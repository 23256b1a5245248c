"""The runs in a file that somebody gives to `reflect`: each becomes the arguments of a call of that tool.

The file may be a session of a host (`sessions.hosts`), messages of OpenAI's and Anthropic's APIs, or such arguments
themselves.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, NamedTuple, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import unpacked
from mcp_reflect.sessions.hosts import form_of
from mcp_reflect.sessions.hosts.gemini import is_of_gemini
from mcp_reflect.sessions.records import (
    Listener,
    PromptAuthor,
    Record,
    RecordReader,
    as_list,
    as_record,
    as_records,
)
from mcp_reflect.text.signature import digest

MOST_EVENTS: Final = 1_000
"""Of one run; a longer session is several, cut where the person said something."""

MOST_CHARS: Final = 800_000
"""Characters of one run."""

_MOST_OF_EVENT: Final = MOST_CHARS // 40
"""Characters that an event counts for at most: a longer text is cut when the run is read."""

NO_ANSWER: Final = "(empty)"
_MOST_NAME: Final = 150  # characters of a session's name in the id of a run
MOST_TASK: Final = 2_000  # characters of the person's first words that name the run
_HOST_WORDS: Final = re.compile(
    r"\s*<(?:command-|local-command|system-reminder|environment_context|user_instructions|permissions|task-notification)"
)


@dataclass(slots=True)
class RunBuilder:
    """The arguments of `reflect` as they are gathered from one conversation. A person's first words are the task."""

    session: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _tools: dict[str, str] = field(default_factory=dict[str, str])

    def begin_record(self, number: int, record: Record) -> None:
        """Nothing is kept of a record's place."""

    def prompted(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Add the words of a prompt; those that the host adds are left out."""
        if text.strip() and by is not PromptAuthor.HOST and not _HOST_WORDS.match(text):
            self.events.append({"type": "user_feedback", "content": text})

    def spoke(self, text: str) -> None:
        """Add the agent's words."""
        if text.strip():
            self.events.append({"type": "llm_call", "content": text})

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Add a call. Arguments may be JSON in a text."""
        name = name_of_tool(tool)
        event: dict[str, Any] = {
            "type": "tool_call",
            "tool": name,
            "arguments": unpacked(arguments),
        }
        if isinstance(call_id, str) and call_id:
            self._tools[call_id] = name
            event["metadata"] = {"tool_call_id": call_id}
        self.events.append(event)

    def answered(
        self,
        content: str,
        call_id: object = None,
        *,
        failed: bool = False,
        exit_code: object = None,
    ) -> None:
        """Add the answer of a call; `failed` where the record itself marks it as an error."""
        event: dict[str, Any] = {"type": "tool_response", "content": content or NO_ANSWER}
        facts: dict[str, Any] = {}
        if isinstance(call_id, str) and call_id:
            facts["tool_call_id"] = call_id
            if call_id in self._tools:
                event["tool"] = self._tools[call_id]
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            facts["exit_code"] = exit_code
        if failed:
            event["error"] = content or "error"
        if facts:
            event["metadata"] = facts
        self.events.append(event)

    def withdrawn(self, call_id: object) -> None:
        """Take out a call that never ran."""
        if isinstance(call_id, str) and self._tools.pop(call_id, None):
            call = {"tool_call_id": call_id}
            self.events = [event for event in self.events if event.get("metadata") != call]

    def unseen(self) -> None:
        """Nothing is kept of what the records do not tell."""

    def runs(self, outcome: str) -> Iterator[dict[str, Any]]:
        """The arguments of `reflect` for each part that holds a call.

        A part has at most MOST_EVENTS events and MOST_CHARS characters, so that no event of it is left out. It is cut
        before a person's words where these are in its later half.
        """
        rest = self.events
        while rest:
            end = _end_of_part(rest)
            part = rest[:end]
            rest = rest[end:]
            if any(event["type"] == "tool_call" for event in part):
                yield {"task": _task_of(part), "outcome": outcome, "events": part}


def _end_of_part(events: Sequence[dict[str, Any]]) -> int:
    """How many of the first events make a part: as many as it may have, or those before a person's last words in it.

    Words in its earlier half do not end it, for then the parts would be small.
    """
    sizes = accumulate(min(len(str(event)), _MOST_OF_EVENT) for event in events[:MOST_EVENTS])
    within_limit = sum(size <= MOST_CHARS for size in sizes)
    most = max(1, within_limit)
    if len(events) <= most:
        return most
    later_half = range(max(1, most // 2), most)
    for index in reversed(later_half):
        if events[index]["type"] == "user_feedback":
            return index
    return most


def _task_of(part: Sequence[dict[str, Any]]) -> str:
    """The task of a part, on one line: what the person said first in it."""
    task = ""
    for event in part:
        if event["type"] == "user_feedback":
            task = event["content"]
            break
    return " ".join((task or "A run without a task in its record").split())[:MOST_TASK]


def name_of_tool(tool: object) -> str:
    """The name of a tool, or a word that stands for one without a name."""
    if isinstance(tool, str) and tool.strip():
        return tool
    return "tool"


# The runs of a file.


class PlacedRun(NamedTuple):
    """A run as the arguments of `reflect`, and where it stands in its file, as errors name it: `line 3, `."""

    where: str
    arguments: dict[str, Any]


class PlacedRecord(NamedTuple):
    """A record, and where it stands in its file: `line 3`, `item 3`, or empty for the whole file."""

    where: str
    record: Record


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
    bad: list[str] = field(default_factory=list[str])


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
    placed = _records(text, transcript.bad)
    conversations = _conversations_in(placed)
    if not conversations:
        transcript.runs.extend(_arguments_of_reflect(placed, transcript.bad))
    for where, records in conversations:
        run = RunBuilder()
        read_records(run, records)
        name = session or run.session or "transcript"
        for part in run.runs(outcome):
            transcript.runs.append(PlacedRun(where, _with_run_id(part, name)))
    return transcript


def _conversations_in(
    placed: Sequence[PlacedRecord],
) -> list[Conversation]:
    """The conversations in the records of a file; none where they are arguments of `reflect`.

    The lines of a host's session are one conversation. Else each record that holds messages is one, as in a file of an
    API's requests.
    """
    if any(form_of(record) for _, record in placed if not _holds_messages(record)):
        return [Conversation("", [record for _, record in placed])]
    return [
        Conversation(_before_fault(where), [record, *as_records(record.get("messages"))])
        for where, record in placed
        if "messages" in record
    ]


def _arguments_of_reflect(placed: Sequence[PlacedRecord], bad: Sequence[str]) -> list[PlacedRun]:
    """The records as arguments of `reflect`.

    InputError for a line that is none: a run that the file's author wrote is not left out in silence.
    """
    if bad:
        where, _, fault = bad[0].partition(": ")
        raise InputError(where, fault, "Give one JSON object a line.")
    return [PlacedRun(_before_fault(where), dict(record)) for where, record in placed]


def _before_fault(where: str) -> str:
    """Return where a run stands, as the beginning of what is wrong there: `line 3, `; empty for the whole file."""
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


def _records(text: str, bad: list[str]) -> list[PlacedRecord]:
    """The JSON objects of a text, or of its lines, by their places; anything else is named in `bad`."""
    placed: list[PlacedRecord] = []
    values = _values_in(text, bad)
    for where, value in values:
        if isinstance(value, dict):
            placed.append(PlacedRecord(where, as_record(cast("object", value))))
        elif where:
            bad.append(f"{where}: it is not a JSON object")
        else:
            bad.append("it is not a JSON object")
    if not placed:
        fault = next(iter(bad), "it is empty")
        fix = "Give reflect's arguments, a session of Claude Code or Codex, or messages."
        raise InputError("file", fault, fix)
    return placed


def _values_in(text: str, bad: list[str]) -> list[tuple[str, object]]:
    """The JSON values of a text by their places: the items of a list, one value, else a value a line."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return _values_of_lines(text, bad)
    items = as_list(whole)
    if not items:
        return [("", whole)]
    return [(f"item {number}", item) for number, item in enumerate(items, start=1)]


def _values_of_lines(text: str, bad: list[str]) -> list[tuple[str, object]]:
    """The JSON values of the lines of a text; a line that is not JSON is named in `bad`."""
    values: list[tuple[str, object]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append((f"line {number}", json.loads(line)))
        except (ValueError, RecursionError) as error:
            bad.append(f"line {number}: it is not JSON: {str(error)[:80]}")
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
