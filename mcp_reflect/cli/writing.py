"""A file replaced whole: whoever reads it, or whatever ends this process, finds the old text or the new one."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def replacing(path: Path, mode: int = 0o600) -> Generator[TextIO]:
    """A text file (UTF-8, line ends as written) that takes the place of `path` when the block is left without an error.

    Through a link it is the file that the link leads to. `mode` holds its permissions. OSError where the disk does
    not let us; `path` is as it was then.
    """
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(mode)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _sync(folder: Path) -> None:
    """Have the new name on the disk too, where a folder can be synced (Windows has no such thing)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # a file system without it; the file's own bytes are there
    finally:
        os.close(handle)
