"""Calls that a short-lived process could not note in time: lines beside the bank, which a later process takes in."""

import json
import os
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from mcp_reflect.security.redact import clean

ENDING: Final = ".spool"  # of the file beside the bank
_MAX_BYTES: Final = 1 << 20  # of the file; what does not fit is lost
_MAX_LINE_BYTES: Final = 32_768


class Spool:
    """The spool of the bank at `bank`, and the records that this process has yet to note (`pending`)."""

    def __init__(self, bank: Path) -> None:
        self.path = bank.with_name(bank.name + ENDING)
        self.pending: list[dict[str, Any]] = []

    def keep(self) -> None:
        """Append the pending records, redacted, each as a line with its checksum."""
        texts = [json.dumps(clean(record), ensure_ascii=False).encode() for record in self.pending]
        if not texts:
            return
        with self._locked() as file:
            for text in texts:
                line = b"%08x %s\n" % (zlib.crc32(text), text)
                if len(line) <= _MAX_LINE_BYTES and file.seek(0, os.SEEK_END) + len(line) <= _MAX_BYTES:
                    file.write(line)
        self.pending.clear()

    def take(self, most: int) -> None:
        """Move at most `most` records from the file to those that are pending; a damaged line is dropped."""
        if not self.path.exists():
            return
        with self._locked() as file:
            lines = file.read().splitlines(keepends=True)
            file.seek(0)
            file.truncate()
            file.writelines(lines[most:])
        for line in lines[:most]:
            checksum, _, text = line.rstrip(b"\n").partition(b" ")
            if checksum == b"%08x" % zlib.crc32(text):
                self.pending.append(json.loads(text))

    @contextmanager
    def _locked(self) -> Generator[BinaryIO]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            with suppress(ImportError):
                import fcntl  # noqa: PLC0415 - not on Windows

                fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
            yield file
