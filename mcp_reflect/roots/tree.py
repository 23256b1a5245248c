"""Read files of a working tree safely: regular ones inside of it, through no link, and of a bounded size."""

import errno
import os
import stat
from collections import defaultdict
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Final

MOST_BYTES: Final = 256_000
"""Bytes of a file that can be a root; a larger one is not measured."""

_MOST_ENTRIES: Final = 5_000  # of a tree that is looked through for a name
_SKIPPED: Final = frozenset(
    "node_modules venv env target dist build out vendor __pycache__ coverage site-packages".split()
)
# A link is not followed, and a pipe not waited for; systems that do not know a flag do without it.
_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)

_FOLDER_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_DIRECTORY", 0)


class NotMeasuredError(Exception):
    """There is something at a path that is not read: a link, a pipe, a folder, or a file that is too large."""


def tree_of(folder: Path) -> Path:
    """Return the working tree that a folder lies in: the nearest one with a `.git`, else the folder itself."""
    resolved = folder.resolve()
    for tree in (resolved, *resolved.parents):
        if os.path.lexists(tree / ".git"):
            return tree
    return resolved


def read_in(tree: Path, path: str, most: int = MOST_BYTES) -> bytes | None:
    """Return the content of a file of a tree, None if there is none; NotMeasuredError if it is not read."""
    try:
        descriptor = _open_in(tree, path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and not _has_link(tree, path):
            return None
        raise NotMeasuredError from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise NotMeasuredError
        return _content_of(descriptor, most)
    finally:
        os.close(descriptor)


def _content_of(descriptor: int, most: int) -> bytes:
    """Return the content of an open file; NotMeasuredError if it has more than `most` bytes.

    It is read by its descriptor: to make a file object takes as long as the reading.
    """
    data = os.read(descriptor, most + 1)
    if not data:
        return data
    while part := os.read(descriptor, most + 1 - len(data)):
        data += part
    if len(data) > most:
        raise NotMeasuredError
    return data


def _open_in(tree: Path, path: str) -> int:
    """Open a file of a tree, folder by folder, so that no link is followed on the way. OSError where that fails."""
    *folders, name = path.split("/")
    if os.open not in os.supports_dir_fd:  # Windows
        file = os.path.join(tree, *folders, name)  # noqa: PTH118 - half the time of a Path
        if os.path.realpath(file) != os.path.normpath(file):
            raise OSError(errno.ELOOP, "a link leads there", file)
        return os.open(file, _FLAGS)
    folder_descriptor = os.open(tree, _FOLDER_FLAGS)
    try:
        for folder in folders:
            next_descriptor = os.open(folder, _FOLDER_FLAGS, dir_fd=folder_descriptor)
            os.close(folder_descriptor)
            folder_descriptor = next_descriptor
        return os.open(name, _FLAGS, dir_fd=folder_descriptor)
    finally:
        os.close(folder_descriptor)


def _has_link(tree: Path, path: str) -> bool:
    """Return whether a part of a path is a link: then nobody knows whether the file is gone."""
    parts = PurePosixPath(path).parts
    file_and_folders = (tree.joinpath(*parts[:count]) for count in range(1, len(parts) + 1))
    return any(each.is_symlink() for each in file_and_folders)


def is_file_in(tree: Path, path: str) -> bool:
    """Return whether a path names a regular file of a tree that no link leads to."""
    file = os.path.join(tree, *PurePosixPath(path).parts)  # noqa: PTH118 - as above
    try:
        is_linked = os.path.realpath(file) != os.path.normpath(file)
        return not is_linked and stat.S_ISREG(os.lstat(file).st_mode)
    except (OSError, ValueError):
        return False


def size_in(tree: Path, path: str) -> int | None:
    """Return the size of a file of a tree in bytes, None if there is none."""
    try:
        return os.lstat(tree / path).st_size
    except OSError:
        return None


def inside(path: str, tree: Path) -> str | None:
    r"""Return a path as it is named in a tree, with `/`; None for one that leads out of it, or into its `.git`.

    `.\src\app.py` and TREE/src/app.py -> `src/app.py`; `../other/app.py` -> None
    """
    with_slashes = path.replace("\\", "/")
    pure = PurePosixPath(with_slashes)
    if pure.is_absolute() or Path(path).is_absolute():
        try:
            pure = PurePosixPath(Path(path).relative_to(tree).as_posix())
        except ValueError:
            return None
    parts = [part for part in pure.parts if part != "."]
    if not parts or ".." in parts or "\0" in with_slashes or parts[0] == ".git":
        return None
    return "/".join(parts)


class Listing:
    """The files of a tree by name, looked through once, when they are first asked for.

    A tree that is too large is not known whole: then no name in it is unique.
    """

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._by_name: dict[str, list[str]] | None = None

    def ending_with(self, path: str) -> str | None:
        """Return the one file whose path is this one or ends with it; None if there are none or several."""
        same_name = self._all().get(PurePosixPath(path).name, ())
        ending = [file for file in same_name if file == path or file.endswith(f"/{path}")]
        if len(ending) != 1:
            return None
        return ending[0]

    def all_files(self) -> list[str]:
        """Return the paths of all files."""
        return list(chain.from_iterable(self._all().values()))

    def _all(self) -> dict[str, list[str]]:
        """Return the paths of the tree's files by their last part."""
        if self._by_name is None:
            self._by_name = _names_in(self._tree)
        return self._by_name


def _names_in(tree: Path) -> dict[str, list[str]]:
    """Return the paths of a tree's files by their last part; nothing of a tree with too many.

    Hidden folders and those with what is built or installed are left out.
    """
    names: dict[str, list[str]] = defaultdict(list)
    entries_seen = 0
    for folder, subfolders, files in os.walk(tree, followlinks=False):
        subfolders[:] = sorted(
            name for name in subfolders if name not in _SKIPPED and not name.startswith(".")
        )
        entries_seen += len(files) + 1
        if entries_seen > _MOST_ENTRIES:
            return {}
        within = Path(folder).relative_to(tree)
        for name in files:
            names[name].append((within / name).as_posix())
    return dict(names)
