"""Runs from the session files of agents.

Read are the forms of hosts in `sessions.hosts`, messages of OpenAI's and Anthropic's APIs, and the arguments of
`reflect` themselves.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json, unpacked
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
    parsed,
)
from mcp_reflect.text.signature import digest

# Of one run; a longer session is several, cut where the person said something.
MOST_EVENTS: Final = 1_000
# Of one run; an event counts as a fortieth at most, for a longer text is cut.
MOST_CHARS: Final = 800_000
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

    def begin(self, place: int, record: Record) -> None:
        """Nothing is kept of a record's place."""

    def asked(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Add the words of a prompt; those that the host adds are left out."""
        if text.strip() and by is not PromptAuthor.HOST and not _HOST_WORDS.match(text):
            self.events.append({"type": "user_feedback", "content": text})

    def told(self, text: str) -> None:
        """Add the agent's words."""
        if text.strip():
            self.events.append({"type": "llm_call", "content": text})

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Add a call. Arguments may be JSON in a text."""
        name = _name_of(tool)
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
    """How many of the first events make a part: all that it may have, or those before a person's last words in it.

    Words in the earlier half do not end it, for the rest would be a part of little more than nothing.
    """
    sizes = accumulate(min(len(str(event)), MOST_CHARS // 40) for event in events[:MOST_EVENTS])
    most = max(1, sum(size <= MOST_CHARS for size in sizes))
    if len(events) <= most:
        return most
    for place in range(most - 1, max(1, most // 2) - 1, -1):
        if events[place]["type"] == "user_feedback":
            return place
    return most


def _task_of(part: Sequence[dict[str, Any]]) -> str:
    """The task of a part, on one line: what the person said first in it."""
    words = (event["content"] for event in part if event["type"] == "user_feedback")
    first = next(words, "") or "A run without a task in its record"
    return " ".join(first.split())[:MOST_TASK]


def _name_of(tool: object) -> str:
    """The name of a tool, or a word that stands for one without a name."""
    if isinstance(tool, str) and tool.strip():
        return tool
    return "tool"


# The runs of a file.


@dataclass(frozen=True, slots=True)
class Transcript:
    """The runs of a file, each with its place (`line 3, `), and the lines that could not be read.

    A run that was read off a transcript has a `run_id`, which names the session and the content.
    """

    runs: list[tuple[str, dict[str, Any]]]
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
    numbered = _records(text, transcript.bad)
    conversations = _conversations_in(numbered)
    if not conversations:
        transcript.runs.extend(_arguments_of_reflect(numbered, transcript.bad))
    for place, records in conversations:
        run = RunBuilder()
        read_records(run, records)
        name = session or run.session or "transcript"
        for part in run.runs(outcome):
            transcript.runs.append((place, _with_run_id(part, name)))
    return transcript


def _conversations_in(
    numbered: Sequence[tuple[str, Record]],
) -> list[tuple[str, list[Record]]]:
    """The conversations in the records of a file, each with its place; none where they are arguments of `reflect`.

    The lines of a host's session are one conversation. Else each record that holds messages is one, as in a file of an
    API's requests.
    """
    if any(form_of(record) for _, record in numbered if not _holds_messages(record)):
        return [("", [record for _, record in numbered])]
    return [
        (_before_fault(place), [record, *as_records(record.get("messages"))])
        for place, record in numbered
        if "messages" in record
    ]


def _arguments_of_reflect(
    numbered: Sequence[tuple[str, Record]], bad: Sequence[str]
) -> list[tuple[str, dict[str, Any]]]:
    """The records as arguments of `reflect`, each with its place.

    InputError for a line that is none: a run that the file's author wrote is not left out in silence.
    """
    if bad:
        place, _, fault = bad[0].partition(": ")
        raise InputError(place, fault, "Give one JSON object a line.")
    return [(_before_fault(place), dict(record)) for place, record in numbered]


def _before_fault(place: str) -> str:
    """A place as it stands before what is wrong there: `line 3, `; empty for the whole file."""
    if not place:
        return ""
    return f"{place}, "


def _with_run_id(run: dict[str, Any], name: str) -> dict[str, Any]:
    """The arguments of `reflect` with an id of session and content, so that the same run is known again."""
    content = json.dumps(run, sort_keys=True, ensure_ascii=False, default=str)
    return {**run, "run_id": f"{name[:_MOST_NAME]}#{digest(content)}"}


def _holds_messages(record: Record) -> bool:
    """True for a whole conversation in one record, of which a file may have several."""
    return "messages" in record and not is_of_gemini(record)


def _records(text: str, bad: list[str]) -> list[tuple[str, Record]]:
    """The JSON objects of a text, or of its lines, by their places; anything else is named in `bad`."""
    numbered: list[tuple[str, Record]] = []
    values = _values_in(text, bad)
    for place, value in values:
        if isinstance(value, dict):
            numbered.append((place, as_record(cast("object", value))))
        elif place:
            bad.append(f"{place}: it is not a JSON object")
        else:
            bad.append("it is not a JSON object")
    if not numbered:
        fault = next(iter(bad), "it is empty")
        fix = "Give reflect's arguments, a session of Claude Code or Codex, or messages."
        raise InputError("file", fault, fix)
    return numbered


def _values_in(text: str, bad: list[str]) -> list[tuple[str, object]]:
    """The JSON values of a text by their places: the items of a list, one value without a place, else a value a line."""
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
    for place, record in enumerate(records, start=1):
        if reader is None and (form := form_of(record)):
            reader = form.reader(listener, frozenset())
        if reader is not None:
            listener.begin(place, record)
            reader.add(record)
    if reader is not None:
        reader.end()


# A session's file, as its host writes it: a JSON object a line, or one JSON value.

LOOKS: Final = frozenset(
    "read grep glob ls webfetch websearch todowrite toolsearch read_file read_many_files list_directory "
    "search_file_content google_web_search notebookread exitplanmode view_image update_plan skill".split()
)
"""Tools whose answers prove nothing and teach nothing, unless they are errors."""

_SAYS_NOTHING: Final = re.compile(
    rb"\A\{[^{]{0,300}\"type\": ?\"(?:progress|file-history-snapshot|queue-operation|event_msg|attachment|system|"
    rb"api-request[a-z-]*|summary|turn_context|compacted|last-prompt|reasoning|world_state|token_usage_record)\""
)
# Lines of these types that tell something all the same: what a person typed meanwhile, what a script ran.
_SAYS_SOMETHING: Final = re.compile(rb'"(?:queued_command|item_completed|exec_command_end)"')
_MOST_HEAD: Final = 4_000  # bytes of a line in which its type stands


def record_of(line: bytes) -> Record | None:
    """The record of a line, empty where it is none; None for what a host notes for itself, which is not parsed."""
    if not line.strip():
        return None
    if _SAYS_NOTHING.match(line) and not _SAYS_SOMETHING.search(line[:_MOST_HEAD]):
        return None
    copy = line.find(b',"toolUseResult":')  # what the answer has already
    if copy > 0:
        without_copy = parsed(line[:copy] + b"}")
        if without_copy:
            return without_copy
    return parsed(line)


def is_one_value(data: bytes) -> bool:
    """True for the beginning of a session that is one JSON value, as Gemini CLI wrote it until 2026.

    `data` has the whole first line.
    """
    first = data.removeprefix(BOM_UTF8).lstrip().partition(b"\n")[0].strip()
    return first == b"{" or "messages" in parsed(first)


def is_rewritten(head: bytes) -> bool:
    """True for the beginning of a session whose later records change what earlier ones said."""
    forms = (form_of(record) for line in head.split(b"\n")[:20] if (record := record_of(line)))
    form = next((form for form in forms if form is not None), None)
    return form is not None and form.rewrites


def records_in(data: bytes) -> Iterator[Record]:
    """The records of a session, or of its end from the beginning of a line."""
    if is_one_value(data):
        yield parsed(data)
    else:
        yield from filter(None, (record_of(line) for line in data.split(b"\n")))


@dataclass(slots=True)
class CallReader(RunBuilder):
    """Hands over each call of a session with its answer.

    `known`: a record was of a known form; `worked`: seconds of work until now, and `sent` until the call that was
    just answered. `told_elsewhere` has the keys of records that were read in another session.
    """

    known: bool = False
    worked: float = 0.0
    sent: float = 0.0
    _open: dict[str, tuple[str, Json, float]] = field(
        default_factory=dict[str, tuple[str, Json, float]]
    )
    told_elsewhere: frozenset[str] = frozenset()
    _reader: RecordReader | None = None
    _place: int = 0

    def met(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Note a call with its answer."""

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Note a call until it is answered."""
        name = _name_of(tool)
        self._open[str(call_id)] = name, unpacked(arguments), self.worked

    def answered(
        self,
        content: str,
        call_id: object = None,
        *,
        failed: bool = False,
        exit_code: object = None,
    ) -> None:
        """Hand over a call; one that is not open is left out."""
        tool, arguments, self.sent = self._open.pop(str(call_id), ("", None, 0.0))
        if tool:
            code: int | None = None
            if isinstance(exit_code, int) and not isinstance(exit_code, bool):
                code = exit_code
            self.met(tool, arguments, content, failed=failed, code=code)

    def withdrawn(self, call_id: object) -> None:
        """Forget a call that never ran."""
        self._open.pop(str(call_id), None)

    def reader_of(self, record: Record) -> RecordReader | None:
        """Return a reader of the form that a record shows, None for a record of no form."""
        form = form_of(record)
        return form and form.reader(self, self.told_elsewhere)

    def read_lines(self, lines: Iterable[bytes]) -> list[int]:
        """Read the next lines of a session; return the numbers of those that are no records."""
        bad: list[int] = []
        for line in lines:
            self._place += 1
            record = record_of(line)
            if record:
                self.add(record)
            elif record is not None:
                bad.append(self._place)
                self.unseen()
        return bad

    def add(self, record: Record) -> None:
        """Read a record."""
        if self._reader is None:
            self._reader = self.reader_of(record)
        if self._reader is not None:
            self.known = True
            self.begin(max(self._place, 1), record)
            self._reader.add(record)

    def finish(self) -> None:
        """Read what waits for the end of the records."""
        if self._reader is not None:
            self._reader.end()
