"""Read the files that a person names, and write them without destroying what is there."""

import os
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError

_HEAD_CHARS: Final = 4096  # of an existing file, which tell whether the same command wrote it


@contextmanager
def replace_file(path: Path, mode: int = 0o600) -> Generator[TextIO]:
    """Open a text file (UTF-8, line ends as written) that replaces `path` if the block ends without an error.

    A reader sees the old text or the new one, never a part. A link stays, and the file it leads to is replaced.
    `mode` holds the permissions. Raises OSError, with `path` unchanged, if the disk refuses or if `path` is
    there and is not a regular file.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise OSError(0, "it is not a regular file", str(path))
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # Windows cannot open a folder
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def write_output(name: str, argument: str, *, mark: str, force: bool) -> Generator[TextIO]:
    """Open the file that a person named for a command's output.

    A new file, or one that has the `mark` of this command in its beginning, is replaced whole and is private (0600). A
    device or pipe is written through to. Any other file is replaced only with `force`. InputError names the `argument`.
    """
    path = Path(name)
    try:
        through = path.exists() and not stat.S_ISREG(path.stat().st_mode)
        if path.is_file() and not force:
            with path.open(encoding="utf-8", errors="replace") as file:
                head = file.read(_HEAD_CHARS)
            if head and mark not in head:
                fix = "Name another, or add --force."
                raise InputError(argument, f"{name} exists and is not from this command", fix)
        with path.open("w", encoding="utf-8", newline="") if through else replace_file(path) as file:
            yield file
    except OSError as error:
        raise InputError(argument, f"{name} cannot be written: {error.strerror}", "Name another file.") from None


def read_text(name: str, limits: Limits) -> str:
    """Return the text of a file, or of stdin for `-`. Raises InputError if it is unreadable or too large."""
    try:
        if name == "-":
            text = sys.stdin.read(limits.max_file_bytes + 1)
            limits.refuse_more("max_file_bytes", "file", len(text), "characters or more")
            return text
        with Path(name).open("rb") as file:
            content = file.read(limits.max_file_bytes + 1)  # a device has no size, and may have no end
        limits.refuse_more("max_file_bytes", "file", len(content), "bytes or more")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError("file", f"{name} cannot be read: {error.strerror}", "Give the path of a file.") from None
    except UnicodeDecodeError as error:
        raise InputError("file", f"{name} is not UTF-8 at byte {error.start}", "Save it as UTF-8.") from None
