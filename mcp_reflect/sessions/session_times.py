"""When a session was last worked in, by the times that its records tell.

The time of its file is not enough: it changes where the file is copied.
"""

import json
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.sessions.records import Record, as_record, as_records, parsed
from mcp_reflect.sessions.session_database import is_in_database
from mcp_reflect.sessions.session_lines import (
    COMPRESSED,
    MOST_LINE,
    MOST_WHOLE,
    is_value,
    open_session,
)
from mcp_reflect.sessions.session_sources import SessionSource

_TAIL: Final = 1_000_000  # bytes at the end of a session in which its last time is looked for
_LAST_LINES: Final = 50  # of a compressed session, whose end cannot be jumped to
_NAMES: Final = ("timestamp", "lastUpdated", "ts")
_MILLISECONDS: Final = 100_000_000_000  # numbers above this count milliseconds since 1970
_READ_ERRORS: Final = (OSError, ValueError, EOFError, ModuleNotFoundError, RecursionError)


def last_worked(session: SessionSource) -> float:
    """Return when a session was last worked in: by its records, else by its file."""
    if is_in_database(session.path):
        return session.changed  # the host notes the time beside the session
    last_time = _last_recorded(session.path)
    if last_time is None:
        return session.changed
    return last_time


def _time_in(record: Record) -> float | None:
    """Return the time at which a record was written, in seconds since 1970; None where it does not tell."""
    for name in _NAMES:
        moment = seconds_of(record.get(name))
        if moment is not None:
            return moment
    return None


def seconds_of(value: object) -> float | None:
    """Return a time as hosts write it in seconds since 1970; None for anything else.

    1700000000, 1700000000000 (milliseconds) and "2023-11-14T22:13:20Z" are one time.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value > _MILLISECONDS:
            return value / 1000
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def _last_recorded(path: Path) -> float | None:
    """Return the last time that the records of a session tell, None where none does or the file cannot be read."""
    try:
        for record in _records_from_last(path):
            moment = _time_in(record)
            if moment is not None:
                return moment
    except _READ_ERRORS:
        return None
    return None


def _records_from_last(path: Path) -> Iterator[Record]:
    """Yield the last records of a session, the last one first."""
    with open_session(path) as file:
        if is_value(path):
            yield from _records_of_value(json.loads(file.read(MOST_WHOLE)))
            return
        if path.suffix == COMPRESSED:
            lines = list(deque(iter(lambda: file.readline(MOST_LINE), b""), maxlen=_LAST_LINES))
        else:
            file.seek(max(path.stat().st_size - _TAIL, 0))
            lines = file.read(_TAIL).split(b"\n")
    for line in reversed(lines):
        yield parsed(line)


def _records_of_value(value: Json) -> Iterator[Record]:
    """Yield a session that is one value, and its messages from the last one."""
    session = as_record(value)
    return chain([session], reversed(list(as_records(session.get("messages")))))
