"""Write and open files safely where others can write into the folder.

A file is replaced as a whole, so that no link that somebody planted redirects the writing; only regular files are
opened, since reading a pipe or a device may never end.
"""

import errno
import os
import stat
from typing import BinaryIO, Final

_NEW_FILE_ONLY: Final = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)


def replace_whole(path: str, content: bytes, mode: int = 0o600) -> None:
    """Replace the file at `path`, whole or not at all; `mode` are its permissions.

    The content is written to a draft in the same folder, which then takes the place of `path`. The draft's name cannot
    be guessed, and a file or link that already has it is an error. A link at `path` is replaced, not followed. After
    an OSError, `path` is as it was.
    """
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.{os.urandom(12).hex()}")  # noqa: PTH118 - hooks import no pathlib
    descriptor = os.open(draft, _NEW_FILE_ONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, mode)  # noqa: PTH101 - same
        os.replace(draft, path)  # noqa: PTH105 - same
    except BaseException:
        os.unlink(draft)  # noqa: PTH108 - same
        raise


def open_regular(file: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; OSError for a pipe or a device, where reading may never end."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(file, flags)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is no regular file", os.fspath(file))
