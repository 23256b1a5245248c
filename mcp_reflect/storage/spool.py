"""The spool, a file beside the bank with the calls that a hook could not note in time: a later process stores them."""

import _thread
import errno
import json
import os
import stat
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from mcp_reflect.security.gate import CleanJson

ENDING: Final = ".spool"
"""The end of the name of the file beside the bank: `bank.db.spool`."""

_MAX_FILE_BYTES: Final = 1 << 20
"""The largest size of that file; a record that does not fit is lost."""

_MAX_LINE_BYTES: Final = 32_768
_FIELDS_WITH_OUTPUT: Final = ("result", "error")
"""The fields of a record with the output of a call."""


def append(bank: str, *records: dict[str, Any], most: int | None = None) -> bool:
    """Append records to the spool of a bank, each as a line with its checksum; return whether all of them fitted.

    They are redacted first, and only then the outputs of calls are shortened to `most` characters at each end: half a
    secret would not be recognized.
    """
    from mcp_reflect.security.gate import clean_record  # noqa: PLC0415 - it takes as long to import as the rest of a hook

    lines = [_line_of(clean_record(record, _FIELDS_WITH_OUTPUT, most)) for record in records]
    all_fitted = True
    with _locked(bank + ENDING) as file:
        for line in lines:
            size = file.seek(0, os.SEEK_END)
            if len(line) > _MAX_LINE_BYTES or size + len(line) > _MAX_FILE_BYTES:
                all_fitted = False
                continue
            file.write(line)
    return all_fitted


def _line_of(record: "CleanJson") -> bytes:
    """Return the line of a record, its checksum and its JSON: `1c291ca3 {"tool": "Bash"}`.

    The type `CleanJson` says that it is redacted.
    """
    text = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def waiting(bank: str) -> list[dict[str, Any]]:
    """Return the records of the spool of a bank, which stay in it."""
    try:
        with os.fdopen(open_beside_bank(bank + ENDING, os.O_RDONLY), "rb") as file:
            return list(_records(file))
    except OSError:
        return []


class Spool:
    """The spool of the bank at `bank`, and the records that this process has yet to note (`pending`)."""

    def __init__(self, bank: "Path") -> None:
        self.path = bank.with_name(bank.name + ENDING)
        self.pending: list[dict[str, Any]] = []
        self._keeping = _thread.allocate_lock()

    def keep(self) -> None:
        """Append the pending records. A second thread waits for the first, and may then end the process."""
        with self._keeping:
            if self.pending:
                append(str(self.path).removesuffix(ENDING), *self.pending)
                self.pending.clear()

    def take(self, most: int) -> None:
        """Move at most `most` records from the file to those that are pending; a damaged line is dropped."""
        if not self.path.exists():
            return
        with _locked(str(self.path)) as file:
            lines = _cut(file, most)
        self.pending += _records(lines)

    def has_some(self) -> bool:
        """Return whether the file has records."""
        return self.path.exists() and self.path.stat().st_size > 0

    def send_all(self, send: "Callable[[dict[str, Any]], None]") -> None:
        """Send the records of the file, one process at a time; each leaves the file when it is sent."""
        with _locked(f"{self.path}.lock"):
            while self.has_some():
                with _locked(str(self.path)) as file:
                    line = file.readline()
                for record in _records([line]):
                    send(record)
                with _locked(str(self.path)) as file:
                    _cut(file, 1)


def team_spool(options: "Mapping[str, str]", bank: "Path") -> Spool:
    """Return the spool of the service that a hook's options name, which lies beside the bank of this machine."""
    return Spool(bank.with_name(f"team-{zlib.crc32(options['url'].encode()):08x}"))


def _cut(file: BinaryIO, most: int) -> list[bytes]:
    """Remove the first lines of a file, at most `most`, and return them."""
    lines = file.read().splitlines(keepends=True)
    file.seek(0)
    file.writelines(lines[most:])
    file.truncate()  # last: who is killed before it leaves lines twice, and loses none
    return lines[:most]


def _records(lines: "Iterable[bytes]") -> "Iterator[dict[str, Any]]":
    """Yield the records of lines whose checksum is right: a process that was killed may have written half a line."""
    for line in lines:
        checksum, _, text = line.rstrip(b"\n").partition(b" ")
        if checksum == b"%08x" % zlib.crc32(text):
            yield json.loads(text)


@contextmanager
def _locked(path: str) -> Generator[BinaryIO]:
    """Open a file, which is made if it is not there, and lock it for this process until the block ends."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - hooks import no pathlib
    with os.fdopen(open_beside_bank(path, os.O_RDWR | os.O_CREAT), "r+b") as file:
        with suppress(ImportError):
            import fcntl  # noqa: PLC0415 - not on Windows

            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield file


def open_beside_bank(path: str, flags: int) -> int:
    """Open a file beside the bank. OSError, which names it, if it is a link or a pipe: somebody else put it there."""
    flags |= (
        getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if os.path.islink(path):  # noqa: PTH114 - hooks import no pathlib
            raise OSError(error.errno, "it is a link. Remove it", path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file. Remove it", path)
    return descriptor
