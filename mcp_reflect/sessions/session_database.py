"""Sessions that a host keeps in a SQLite database, as opencode does: `opencode.db/SESSION.jsonl` names one of them.

Such a path is no file. `open_session` gives its lines all the same, one for each part of a message, so that whoever
reads sessions need not know of it. The database is read while its host may write: nothing is changed in it.
"""

import io
import json
import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from errno import EFBIG, EINVAL, EIO
from pathlib import Path
from typing import Any, BinaryIO, Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.records import as_text, parsed

DATABASE: Final = "opencode.db"
_LINES: Final = ".jsonl"
_NAME: Final = lazy_compile(r"\w[\w-]{0,99}")
_MOST_BYTES: Final = 200_000_000
"""Bytes of one session; a longer one is not read."""
_BUSY_SECONDS: Final = 2.0
"""Seconds for which another process may lock the database."""
_MOST_SECONDS: Final = 20.0
"""Seconds that reading may take: a database of another making may never answer a query."""
_STEPS: Final = 100_000
"""Steps of SQLite's machine, a few milliseconds, after which the time is looked at."""

_SESSIONS: Final = """
SELECT session.id, session.directory, session.time_updated, sum(length(part.data))
FROM session JOIN part ON part.session_id = session.id
GROUP BY session.id
"""
_SIZE: Final = "SELECT sum(length(data)) FROM part WHERE session_id = ?"
_PARTS: Final = """
SELECT part.id, part.time_created, part.data, message.data, session.parent_id
FROM part
JOIN message ON message.id = part.message_id
JOIN session ON session.id = part.session_id
WHERE part.session_id = ?
ORDER BY message.time_created, message.id, part.id
"""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in a database: its path, folder, size in bytes, and time of change (seconds since 1970)."""

    path: Path
    folder: str
    size: int
    changed: float


def is_in_database(path: Path) -> bool:
    """True for the path of a session that lies in a database."""
    return path.parent.name == DATABASE


def sessions_in(database: Path) -> Iterator[StoredSession]:
    """Yield the sessions of a database that have any message. OSError: it cannot be read."""
    with _opened(database) as bank:
        for name, folder, changed, size in bank.execute(_SESSIONS):
            if not _NAME.fullmatch(str(name)):  # it becomes a part of a path
                continue
            path = database / f"{name}{_LINES}"
            yield StoredSession(path, str(folder), int(size), int(changed) / 1000)


def open_stored(path: Path) -> BinaryIO:
    """Open a session of a database as the lines of a file: `opencode.db/ses_7.jsonl`.

    OSError: the database has no such session, it is too large, or the database cannot be read.
    """
    name = path.name.removesuffix(_LINES)
    with _opened(path.parent) as bank:
        (size,) = bank.execute(_SIZE, (name,)).fetchone()
        if size is None:
            raise OSError(EINVAL, "the database has no such session", str(path))
        if size > _MOST_BYTES:
            raise OSError(EFBIG, f"it is larger than {_MOST_BYTES} bytes", str(path))
        lines = [_line(name, row) for row in bank.execute(_PARTS, (name,))]
    return io.BytesIO(b"\n".join(lines))


def _line(session: str, row: tuple[Any, ...]) -> bytes:
    """Return a part of a message as a line of a session's file, in the form that `hosts.opencode` reads."""
    part_id, created, part, message, parent = row
    record = {
        "opencode": part_id,
        "session": session,
        "parent": parent,
        "role": as_text(parsed(str(message)).get("role")),
        "timestamp": datetime.fromtimestamp(created / 1000, UTC).isoformat(),
        "part": parsed(str(part)),
    }
    return json.dumps(record).encode()


@contextmanager
def _opened(database: Path) -> Generator[sqlite3.Connection]:
    """Open a database to read it alone, for `_MOST_SECONDS` at most. OSError: it is a link, or no database of this form."""
    if database.is_symlink() or not database.is_file():
        raise OSError(EINVAL, "it is no regular file", str(database))
    try:
        with closing(
            sqlite3.connect(f"{database.as_uri()}?mode=ro", _BUSY_SECONDS, uri=True)
        ) as bank:
            bank.execute("PRAGMA query_only = ON")
            bank.execute("PRAGMA trusted_schema = OFF")
            ends = time.monotonic() + _MOST_SECONDS
            bank.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
            yield bank
    except sqlite3.Error as error:
        raise OSError(EIO, f"it cannot be read: {error}", str(database)) from None
