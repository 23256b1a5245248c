"""What the files of a git repository say, read without git: an archive that was unpacked may have brought them.

git obeys a repository's configuration, which can name programs to run. So it never sees one: names are read here, from
small regular files and through no link, and `first_commit` lets git walk the objects alone, from an empty repository
of our own.
"""

import os
import re
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect import children

_MOST_POINTER: Final = 4_096  # bytes of a file that names a folder, a branch or a commit
_MOST_CONFIG: Final = 1_000_000
_MOST_PACKED_REFS: Final = 20_000_000
_MOST_OBJECTS: Final = 100_000  # files of objects in a folder
_MOST_SYMREFS: Final = 5
_GIT_SECONDS: Final = 5.0
_ID: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH: Final = re.compile(rb"refs/[^\x00-\x20\x7f~^:?*\[\\]+")
_OBJECT_FOLDER: Final = re.compile("pack|[0-9a-f]{2}")
_SHORT_ID: Final = 16


@dataclass(frozen=True, slots=True)
class GitRepository:
    """The data of a repository, which its worktrees share; `remotes` are the addresses in its configuration by name."""

    data: Path
    remotes: dict[str, str]


class NotReadableError(Exception):
    """There is a `.git` that is not one: a pipe, a link, too large, or the data of another folder."""


def repository_in(tree: Path) -> GitRepository | None:
    """Return the repository whose `.git` is in the folder `tree`; None without one.

    NotReadableError if what stands there cannot be read, or belongs to another folder.
    """
    git = tree / ".git"
    try:
        kind = git.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISLNK(kind):
        data = git
        if not _is_inside(git.resolve(), tree):
            raise NotReadableError
    elif stat.S_ISREG(kind):
        data = _pointed_to(git)
    elif stat.S_ISDIR(kind):
        data = git
    else:
        raise NotReadableError
    if not (data / "HEAD").exists():
        return None  # git looks further up as well
    return GitRepository(data, _remotes(_read(data / "config", _MOST_CONFIG, missing=b"")))


def _is_inside(data: Path, tree: Path) -> bool:
    return data.is_dir() and data.is_relative_to(tree.resolve())


def _pointed_to(file: Path) -> Path:
    """Return the data that the file `.git` of a worktree or a submodule points to.

    Such a file can name any folder. So that folder has to lie beside it, or to name this one in return, as git writes
    it: the data of a worktree in `gitdir`, that of a submodule in its `core.worktree`. Else NotReadableError.
    """
    pointer = _read(file, _MOST_POINTER).decode("utf-8", "replace").strip()
    if not pointer.startswith("gitdir:"):
        raise NotReadableError
    data = (file.parent / pointer.removeprefix("gitdir:").strip()).resolve()
    if _is_inside(data, file.parent) and not (data / "commondir").exists():
        return data
    back = _read(data / "gitdir", _MOST_POINTER, missing=b"").decode("utf-8", "replace").strip()
    if back:
        common = data.parent.parent
        shared = _read(data / "commondir", _MOST_POINTER).decode("utf-8", "replace").strip()
        is_of_it = data.parent.name == "worktrees" and (data / shared).resolve() == common
        if is_of_it and _is_same(data / back, file):
            return common
        raise NotReadableError
    config = _read(data / "config", _MOST_CONFIG).decode("utf-8", "replace")
    tree = _WORKTREE.search(config)
    if tree and _is_same(data / _unquoted(tree[1]), file.parent):
        return data
    raise NotReadableError


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _read(path: Path, most: int, *, missing: bytes | None = None) -> bytes:
    """Return a small regular file without following a link, or waiting for a pipe.

    NotReadableError if it is something else, or has more than `most` bytes. `missing` is what counts where there is
    no file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        if missing is None:
            raise NotReadableError from None
        return missing
    except OSError:
        raise NotReadableError from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise NotReadableError
        return file.read(most)


_SECTION: Final = re.compile(r'\s*\[\s*remote\s+"([^"]+)"\s*\]', re.IGNORECASE)
_URL: Final = re.compile(r'\s*url\s*=\s*(?:"([^"]*)"|([^#;\s]+))', re.IGNORECASE)
_WORKTREE: Final = re.compile(
    r"^[ \t]*worktree[ \t]*=[ \t]*(\S[^\n#;]*)$", re.IGNORECASE | re.MULTILINE
)


def _unquoted(value: str) -> str:
    return value.strip().strip('"')


def _remotes(config: bytes) -> dict[str, str]:
    """Return the first address of each remote of a configuration; included files are not read."""
    urls: dict[str, str] = {}
    section: str | None = None
    for line in config.decode("utf-8", "replace").splitlines():
        if line.lstrip().startswith("["):
            found = _SECTION.match(line)
            section = found[1] if found else None
        elif section is not None and (found := _URL.match(line)):
            urls.setdefault(section, found[1] or found[2] or "")
    return urls


# The first commit.


def first_commit(data: Path) -> str | None:
    """Return the start of the id of the first commit before HEAD; None if there is none, or it cannot be told.

    A shallow clone does not have it. Objects that lie elsewhere (alternates) are not looked at.
    """
    git = children.find_program("git")
    if git is None or os.path.lexists(data / "shallow"):
        return None
    try:
        head = _head(data)
        with tempfile.TemporaryDirectory(prefix="mcp-reflect-", ignore_cleanup_errors=True) as ours:
            objects = _empty_repository(Path(ours), data / "objects", is_long=len(head) > 40)
            roots = Path(ours, "roots")
            command = [git, *_SAFE, f"--git-dir={ours}", "rev-list", "--max-parents=0", head]
            done = children.write_output(
                command,
                roots,
                folder=Path(ours),
                env=_environment(ours, objects),
                seconds=_GIT_SECONDS,
            )
            return _last_id(roots) if done else None
    except (NotReadableError, OSError, NotImplementedError):
        return None


_SAFE: Final = (
    *("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"),
    *("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never", "--no-pager", "--no-replace-objects", "--no-optional-locks"),
)


def _environment(ours: str, objects: Path) -> dict[str, str]:
    """Return the environment of git: nothing of this one but where programs and the system are."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP")
        if name in os.environ
    }
    return {
        **kept,
        "HOME": ours,
        "XDG_CONFIG_HOME": ours,
        "LC_ALL": "C",
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOC_LIMIT": "256m",
    }


def _head(data: Path) -> str:
    """Return the id of the commit that HEAD stands for. NotReadableError if there is none."""
    text = _read(data / "HEAD", _MOST_POINTER).strip()
    for _ in range(_MOST_SYMREFS):
        if _ID.fullmatch(text):
            return text.decode()
        branch = text.removeprefix(b"ref:").strip()
        if not text.startswith(b"ref:") or not _BRANCH.fullmatch(branch) or b".." in branch:
            break
        text = _branch(data, branch)
    raise NotReadableError


def _branch(data: Path, branch: bytes) -> bytes:
    """Return what a branch stands for: its own file goes before the packed ones."""
    if own := _read(data / os.fsdecode(branch), _MOST_POINTER, missing=b"").strip():
        return own
    for line in _read(data / "packed-refs", _MOST_PACKED_REFS).splitlines():
        commit, _, name = line.partition(b" ")
        if name.strip() == branch:
            return commit
    raise NotReadableError


def _empty_repository(ours: Path, objects: Path, *, is_long: bool) -> Path:
    """Make an empty repository in `ours`; return the folder of objects that git is to read.

    It links to the regular files of `objects` alone. What tells git of other folders, of a server that has more, or of
    parents that differ (alternates, promisors, graphs of commits) has no place in it.
    """
    (ours / "refs").mkdir()
    (ours / "objects" / "pack").mkdir(parents=True)
    (ours / "HEAD").write_text("ref: refs/heads/none\n")
    form = "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
    (ours / "config").write_text(f"[core]\n\tbare = true\n{form if is_long else ''}")
    folders = {folder: _regular_files(folder) for folder in _folders(objects)}
    try:
        for folder, files in folders.items():
            if folder.name == "pack":
                for file in files:
                    if file.suffix in (".pack", ".idx"):
                        (ours / "objects" / "pack" / file.name).symlink_to(file)
            else:
                (ours / "objects" / folder.name).symlink_to(folder, target_is_directory=True)
    except OSError:  # Windows lets few people make links
        if os.path.lexists(objects / "info" / "alternates"):
            raise
        return objects
    return ours / "objects"


def _folders(objects: Path) -> list[Path]:
    """Return the folders of packed and of loose objects. NotReadableError for a link."""
    if objects.is_symlink():
        raise NotReadableError
    with os.scandir(objects) as entries:
        named = [entry for entry in entries if _OBJECT_FOLDER.fullmatch(entry.name)]
        if not all(entry.is_dir(follow_symlinks=False) for entry in named):
            raise NotReadableError
    return [Path(entry.path) for entry in named]


def _regular_files(folder: Path) -> list[Path]:
    """Return the files of a folder. NotReadableError for anything else in it, or for too many."""
    found: list[Path] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) >= _MOST_OBJECTS or not entry.is_file(follow_symlinks=False):
                raise NotReadableError
            found.append(Path(entry.path))
    return found


def _last_id(roots: Path) -> str | None:
    """Return the start of the last id of a list, one a line: the oldest of several first commits."""
    with roots.open("rb") as file:
        with suppress(OSError):
            file.seek(-200, os.SEEK_END)
        ids = file.read().split()
    return ids[-1][:_SHORT_ID].decode() if ids else None
