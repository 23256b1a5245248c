"""Files that a command reads or writes: whole or not at all, and nothing of another's is overwritten."""

import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO, Final

from mcp_reflect.errors import InputError
from mcp_reflect.limits import Limits
from mcp_reflect.whole_files import open_regular, replace_whole

_HEAD_CHARS: Final = 4096  # of an existing file, which tell whether the same command wrote it
_SHELL_PIPES: Final = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""The beginnings of the names under which a shell hands over a pipe, as for `<(command)`."""


def replace_file(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a file by a text (UTF-8, line ends as they are), whole or not at all; `mode` holds the permissions.

    A link stays, and the file it leads to is replaced. OSError if the disk refuses: `path` is as it was then.
    """
    replace_whole(str(path.resolve()), text.encode("utf-8", "surrogateescape"), mode)


def write_output(name: str, argument: str, text: str, *, mark: str, force: bool) -> None:
    """Write a command's output to the file that a person named; InputError names the `argument` if that fails.

    | the name is that of                              | what is done                                                  |
    |--------------------------------------------------|---------------------------------------------------------------|
    | a device or a pipe                               | the text is written into it                                   |
    | a link                                           | refused: a repository may have put it there to lead out of it |
    | a file that begins without this command's `mark` | refused, unless with `force`                                  |
    | any other file, or none yet                      | it is replaced whole, and is private (0600)                   |
    """
    path = Path(name)
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            _write_through(path, text)
            return
        if path.is_symlink():
            fault = f"{name} is a link to {path.readlink()}"
            raise InputError(argument, fault, "Name the file itself, or remove the link.")
        if path.exists() and not force:
            with path.open(encoding="utf-8", errors="replace") as file:
                head = file.read(_HEAD_CHARS)
            if head and mark not in head:
                fault = f"{name} exists and is not from this command"
                raise InputError(argument, fault, "Name another, or add --force.")
        replace_file(path, text)
    except OSError as error:
        raise InputError(
            argument, f"{name} cannot be written: {error.strerror}", "Name another file."
        ) from None


def _write_through(path: Path, text: str) -> None:
    """Write into a device or pipe; OSError for a pipe that nobody reads, where writing would wait without end."""
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def read_text(name: str, limits: Limits) -> str:
    """Return the text of a file, or of stdin for `-`. Raises InputError if it is unreadable or too large."""
    try:
        if name == "-":
            text = sys.stdin.read(limits.max_file_bytes + 1)
            limits.refuse_more("max_file_bytes", "file", len(text), "characters or more")
            return text
        with _open_to_read(name) as file:
            content = file.read(limits.max_file_bytes + 1)
        limits.refuse_more("max_file_bytes", "file", len(content), "bytes or more")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError(
            "file", f"{name} cannot be read: {error.strerror}", "Give the path of a file."
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(
            "file", f"{name} is not UTF-8 at byte {error.start}", "Save it as UTF-8."
        ) from None


def _open_to_read(name: str) -> BinaryIO:
    """Open a regular file, or the pipe that a shell hands over as `<(command)`.

    Any other pipe is refused: nobody may ever write into it, and the command would wait without end.
    """
    if name.startswith(_SHELL_PIPES):
        return Path(name).open("rb")
    return open_regular(Path(name))
