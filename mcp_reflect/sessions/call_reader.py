"""The base of whoever reads a session: each call of it is handed over with its answer.

Hosts write a call on one line and its answer on a later one, in forms of their own (`sessions.hosts`). A class that
inherits from `CallReader` sees neither: it defines `call_ended`, and gets both at once.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mcp_reflect.models.common import Json, unpacked
from mcp_reflect.sessions.hosts import form_of
from mcp_reflect.sessions.records import Record, RecordReader, parsed
from mcp_reflect.sessions.run_builder import RunBuilder, name_of_tool

LONGEST_PAUSE: Final = 300.0
"""Seconds between two records that count as work at most: for longer the person was away."""

LOOKING_TOOLS: Final = frozenset(
    "read grep glob ls webfetch websearch todowrite toolsearch read_file read_many_files list_directory "
    "search_file_content google_web_search notebookread exitplanmode view_image update_plan skill".split()
)
"""Tools whose answers prove nothing and teach nothing, unless they are errors."""

_NOTE_OF_HOST: Final = re.compile(
    rb"\A\{[^{]{0,300}\"type\": ?\"(?:progress|file-history-snapshot|queue-operation|event_msg|attachment|system|"
    rb"api-request[a-z-]*|summary|turn_context|compacted|last-prompt|reasoning|world_state|token_usage_record)\""
)
"""The types of lines that a host writes for itself: its progress, its settings, copies of what it sends."""

_NEEDED_NOTE: Final = re.compile(rb'"(?:queued_command|item_completed|exec_command_end)"')
"""Among those, the notes that are read all the same: what a person typed meanwhile, and what a script ran."""

_MOST_HEAD: Final = 4_000  # bytes of a line in which its type stands
_MOST_LINES: Final = 20  # the first lines of a session, in which its form shows


class _OpenCall(NamedTuple):
    """A call that waits for its answer; `sent_at_work` counts the seconds of work in the session until it was sent."""

    tool: str
    arguments: Json
    sent_at_work: float


def record_of(line: bytes) -> Record | None:
    """Return the record of a line, an empty one for a line that is no JSON object, and None for one that is skipped.

    Blank lines are skipped, and notes of the host for itself, such as its progress: parsing them would take time for
    nothing. For the same reason the copy of an answer is cut off, which Claude Code writes as `toolUseResult` at the end
    of the line.
    """
    if not line.strip():
        return None
    if _NOTE_OF_HOST.match(line) and not _NEEDED_NOTE.search(line[:_MOST_HEAD]):
        return None
    start_of_copy = line.find(b',"toolUseResult":')
    if start_of_copy > 0:
        without_copy = parsed(line[:start_of_copy] + b"}")
        if without_copy:
            return without_copy
    return parsed(line)


def is_one_value(data: bytes) -> bool:
    """Return whether a session is one JSON value, as Gemini CLI wrote it until 2026; `data` is its beginning.

    `data` has to have the whole first line: it is `{` alone, or an object with the field `messages`.
    """
    first = data.removeprefix(BOM_UTF8).lstrip().partition(b"\n")[0].strip()
    return first == b"{" or "messages" in parsed(first)


def is_rewritten(beginning: bytes) -> bool:
    """Return whether later records of a session change what earlier ones said, so that it has to be read as a whole.

    That depends on the host alone, which the first record of a known form shows.
    """
    for line in beginning.split(b"\n")[:_MOST_LINES]:
        record = record_of(line)
        form = form_of(record) if record else None
        if form is not None:
            return form.rewrites
    return False


def records_in(data: bytes) -> Iterator[Record]:
    """Yield the records of a session; `data` is the whole of it, or its end from the beginning of a line."""
    if is_one_value(data):
        yield parsed(data)
    else:
        yield from filter(None, (record_of(line) for line in data.split(b"\n")))


@dataclass(slots=True)
class CallReader(RunBuilder):
    """Hands over each call of a session with its answer to `call_ended`, which a class that inherits defines.

    | attribute       | what it has                                                              |
    |-----------------|--------------------------------------------------------------------------|
    | `known`         | whether any record was of a known form                                   |
    | `line`, `time`  | the line and the time (seconds since 1970) of the latest record, where it is noted |
    | `work_seconds`  | the work in the session until the latest record                          |
    | `sent_at_work`  | the same until the call that was just answered was sent                  |
    | `read_elsewhere` | the keys of records that were read in the session which this one copied |
    """

    known: bool = False
    work_seconds: float = 0.0
    sent_at_work: float = 0.0
    _open: dict[str, _OpenCall] = field(default_factory=dict[str, _OpenCall])
    read_elsewhere: frozenset[str] = frozenset()
    line: int = 0
    time: float | None = None
    _reader: RecordReader | None = None
    _line_number: int = 0

    def note_record(self, line: int, time: float | None) -> None:
        """Note the line and the time of the next record; the time since the record before counts as work.

        A record without a time leaves that of the one before. Work is no more than `LONGEST_PAUSE` between two.
        """
        self.line = line
        if time is None:
            return
        if self.time is not None:
            self.work_seconds += min(max(time - self.time, 0.0), LONGEST_PAUSE)
        self.time = time

    def call_ended(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Take a call with its answer.

        `failed` says that the host marks the answer as an error, `code` is the exit code that the host tells.
        """

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Note a call until it is answered."""
        self._open[str(call_id)] = _OpenCall(
            name_of_tool(tool), unpacked(arguments), self.work_seconds
        )

    def answered(
        self,
        content: str,
        call_id: object = None,
        *,
        failed: bool = False,
        exit_code: object = None,
    ) -> None:
        """Hand over a call with its answer to `call_ended`.

        An answer to a call that is not open is left out: without its tool and arguments it says nothing.
        """
        call = self._open.pop(str(call_id), None)
        if call is None:
            self.sent_at_work = 0.0
            return
        self.sent_at_work = call.sent_at_work
        code: int | None = None
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            code = exit_code
        self.call_ended(call.tool, call.arguments, content, failed=failed, code=code)

    def withdrawn(self, call_id: object) -> None:
        """Forget a call that never ran."""
        self._open.pop(str(call_id), None)

    def reader_of(self, record: Record) -> RecordReader | None:
        """Return a reader of the form that a record shows, None for a record of no form."""
        form = form_of(record)
        if form is None:
            return None
        return form.reader(self, self.read_elsewhere)

    def read_lines(self, lines: Iterable[bytes]) -> list[int]:
        """Read the next lines of a session, and return the numbers (from 1) of those that are no records.

        What stood on such a line may have been a call, so that it counts as something of which nobody knows what was done.
        """
        bad_lines: list[int] = []
        for line in lines:
            self._line_number += 1
            record = record_of(line)
            if record:
                self.add(record)
            elif record is not None:
                bad_lines.append(self._line_number)
                self.unseen()
        return bad_lines

    def add(self, record: Record) -> None:
        """Read a record in the form of its host, which the first record shows; before that, records are left out."""
        if self._reader is None:
            self._reader = self.reader_of(record)
        if self._reader is not None:
            self.known = True
            self.begin_record(max(self._line_number, 1), record)
            self._reader.add(record)

    def finish(self) -> None:
        """Read what waits for the end of the records: in some hosts' forms later records change earlier ones."""
        if self._reader is not None:
            self._reader.end()
