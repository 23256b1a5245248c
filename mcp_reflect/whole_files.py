"""Replace a file as a whole, so that nobody can bend the writing to another file."""

import os
from typing import Final

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
