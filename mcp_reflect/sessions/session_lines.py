"""A session's file as its lines, be it plain, compressed or damaged: one bad line does not spoil the others."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from mcp_reflect.sessions.call_reader import CallReader, is_one_value, record_of
from mcp_reflect.sessions.hosts import form_of
from mcp_reflect.sessions.records import Record, parsed
from mcp_reflect.sessions.session_database import is_in_database, open_stored
from mcp_reflect.whole_files import open_regular

MOST_LINE: Final = 8_000_000  # bytes of a line; a longer one holds an image or a file
MOST_WHOLE: Final = 24_000_000  # bytes of a session that is one JSON value
MOST_UNPACKED: Final = 2_000_000_000  # bytes of a compressed session
COMPRESSED: Final = ".zst"
_AT_ONCE: Final = 1_000_000  # bytes of a line that is skipped
_NO_RECORD: Final = b"?"  # stands for a line that is not read: something is missing there
_MOST_NAMED: Final = 3  # bad lines that are named by number


@contextmanager
def open_session(path: Path) -> Generator[BinaryIO]:
    """Open a session's file to be read; a compressed one is unpacked while it is read."""
    if is_in_database(path):
        with open_stored(path) as lines:
            yield lines
        return
    if path.suffix != COMPRESSED:
        with open_regular(path) as file:
            yield file
        return
    with open_regular(path) as packed, unpacker().ZstdFile(packed, "rb") as file:
        yield cast("BinaryIO", file)


def unpacker() -> Any:
    """Return the library that unpacks zstd: from Python 3.14 on a part of Python, before a package of its own."""
    try:
        return import_module("compression.zstd")
    except ModuleNotFoundError:
        return import_module("backports.zstd")


def name_of_session(path: Path) -> str:
    """Return the name of a session's file without its endings: "rollout-7" of "rollout-7.jsonl.zst"."""
    return path.name.removesuffix(COMPRESSED).rpartition(".")[0] or path.name


def recorded_name_of_session(path: Path) -> str:
    """Return a session's name as its first records tell it, else as its file is named.

    It is the name that a reader of the whole session finds, without reading the whole.
    """
    reader = CallReader()
    with open_session(path) as file:
        first = file.readline(MOST_LINE)
        if is_value(path) or is_one_value(first):
            _read_value(first + file.read(MOST_WHOLE + 1 - len(first)), reader, [])
        else:
            for line in _lines(first, file, []):
                reader.read_lines((line,))
                if reader.session:
                    break
    return reader.session or name_of_session(path)


def is_value(path: Path) -> bool:
    """True for a file that holds one JSON value by its name."""
    return path.name.removesuffix(COMPRESSED).endswith(".json")


def read_file(file: BinaryIO, reader: CallReader, *, is_value: bool) -> list[str]:
    """Read a session to its end; return what could not be read, each with its line."""
    faults: list[str] = []
    first = file.readline(MOST_LINE)
    if is_value or is_one_value(first):
        _read_value(first + file.read(MOST_WHOLE + 1 - len(first)), reader, faults)
    else:
        _name_bad_lines(reader.read_lines(_lines(first, file, faults)), faults)
    reader.finish()
    if not (reader.known or faults):
        faults.append("of no known form")
    return faults


def _read_value(data: bytes, reader: CallReader, faults: list[str]) -> None:
    """Read a session that is one JSON value; what could not be read is added to `faults`."""
    if len(data) > MOST_WHOLE:
        faults.append(f"larger than {MOST_WHOLE} bytes in one value")
        return
    session: Record = parsed(data)
    if session and form_of(session):
        reader.add(session)
    elif not session and data.strip():
        faults.append("it is not JSON")


def _lines(first: bytes, file: BinaryIO, faults: list[str]) -> Iterator[bytes]:
    """Yield the lines of a file, of which `first` is read already; what is wrong with one is added to `faults`.

    In place of a line that is too long a line stands that is no record. Reading ends where unpacking fails.
    """
    line = first
    number = size = 0
    while line:
        number += 1
        size += len(line)
        if size > MOST_UNPACKED:
            faults.append(f"line {number}: only the first {MOST_UNPACKED} bytes are read")
            return
        if len(line) < MOST_LINE or line.endswith(b"\n"):
            yield line
        else:
            _skip_line(file)
            faults.append(f"line {number}: longer than {MOST_LINE} bytes")
            yield _NO_RECORD
        try:
            line = file.readline(MOST_LINE)
        except Exception as error:  # noqa: BLE001 - each library has errors of its own for what is damaged
            faults.append(f"line {number + 1}: it cannot be unpacked: {type(error).__name__}")
            return


def _skip_line(file: BinaryIO) -> None:
    """Read along to the end of a line, without keeping it."""
    part = file.readline(_AT_ONCE)
    while part and not part.endswith(b"\n"):
        part = file.readline(_AT_ONCE)


def _name_bad_lines(bad: list[int], faults: list[str]) -> None:
    """Add the numbers of lines that are no records to `faults`, but for those that have a fault there already."""
    named = {fault.partition(":")[0] for fault in faults}
    not_named = [number for number in bad if f"line {number}" not in named]
    if not not_named:
        return
    shown = ", ".join(map(str, not_named[:_MOST_NAMED]))
    if len(not_named) > _MOST_NAMED:
        shown += f" and {len(not_named) - _MOST_NAMED} more"
    faults.append(f"line {shown}: not JSON")


def record_keys(path: Path) -> frozenset[str]:
    """Return the keys of the records in a session's file, by which copies of them are known in another file.

    There are none where the file cannot be read: then each record of the other file counts as new.
    """
    keys: set[str] = set()
    try:
        with open_session(path) as file:
            for line in file:
                record = record_of(line)
                form = form_of(record) if record else None
                if record and form:
                    keys.add(form.key(record))
    except Exception:  # noqa: BLE001 - each library has errors of its own for what is damaged
        return frozenset()
    return frozenset(keys - {""})  # a record without a key
