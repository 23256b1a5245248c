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
from mcp_reflect.sessions.transcripts import RunBuilder, name_of_tool

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
_MOST_LINES: Final = 20  # the first lines of a session, in which its form shows


class _OpenCall(NamedTuple):
    """A call that waits for its answer, and the seconds of work until it was sent."""

    tool: str
    arguments: Json
    sent: float


def record_of(line: bytes) -> Record | None:
    """The record of a line, empty where it is none.

    None for what a host notes for itself, such as its progress: parsing it would take time for nothing. Claude
    Code writes each answer twice, the second time as `toolUseResult` at the end of the line: that is not parsed, either.
    """
    if not line.strip():
        return None
    if _SAYS_NOTHING.match(line) and not _SAYS_SOMETHING.search(line[:_MOST_HEAD]):
        return None
    start_of_copy = line.find(b',"toolUseResult":')
    if start_of_copy > 0:
        without_copy = parsed(line[:start_of_copy] + b"}")
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
    """True for the beginning of a session in a form whose later records change what earlier ones said.

    The first line that shows the form of a host tells.
    """
    for line in head.split(b"\n")[:_MOST_LINES]:
        record = record_of(line)
        form = form_of(record) if record else None
        if form is not None:
            return form.rewrites
    return False


def records_in(data: bytes) -> Iterator[Record]:
    """The records of a session, or of its end from the beginning of a line."""
    if is_one_value(data):
        yield parsed(data)
    else:
        yield from filter(None, (record_of(line) for line in data.split(b"\n")))


@dataclass(slots=True)
class CallReader(RunBuilder):
    """Hands over each call of a session with its answer, to `call_ended`.

    `known`: a record was of a known form. `worked` counts the seconds of work until the latest record, `sent` those until
    the call that was just answered was sent. `read_elsewhere` has the keys of records that were read in another session.
    """

    known: bool = False
    worked: float = 0.0
    sent: float = 0.0
    _open: dict[str, _OpenCall] = field(default_factory=dict[str, _OpenCall])
    read_elsewhere: frozenset[str] = frozenset()
    _reader: RecordReader | None = None
    _place: int = 0

    def call_ended(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Take a call with its answer; `failed`: the host marks it as an error, `code`: the exit code that it tells."""

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Note a call until it is answered."""
        self._open[str(call_id)] = _OpenCall(name_of_tool(tool), unpacked(arguments), self.worked)

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
            self.sent = 0.0
            return
        self.sent = call.sent
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
            self.begin_record(max(self._place, 1), record)
            self._reader.add(record)

    def finish(self) -> None:
        """Read what some hosts' forms leave for the end of the records."""
        if self._reader is not None:
            self._reader.end()
