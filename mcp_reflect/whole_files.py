"""Replace a file as a whole, and open none that is no file: nobody can bend the writing, or make the reading wait."""

import errno
import os
import stat
from typing import BinaryIO, Final

_EXCLUSIVE: Final = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)


def replace_whole(path: str, content: bytes, mode: int = 0o600) -> None:
    """Replace the file at `path`, whole or not at all; `mode` are its permissions.

    The draft lies in the same folder under a name that nobody can guess, and is made anew: a link that somebody
    planted under it would be an error. A link at `path` itself is replaced. OSError: `path` is as it was.
    """
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.{os.urandom(12).hex()}")  # noqa: PTH118 - hooks import no pathlib
    descriptor = os.open(draft, _EXCLUSIVE, 0o600)
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


def open_regular(file: os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; OSError for a pipe or a device, where reading may never end."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(file, flags)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is no regular file", os.fspath(file))
