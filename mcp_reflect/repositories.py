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
from mcp_reflect.search_path import find_program, safe_path

_MOST_POINTER: Final = 4_096  # bytes of a file that names a folder, a branch or a commit
_MOST_CONFIG: Final = 1_000_000  # bytes
_MOST_PACKED_REFS: Final = 20_000_000  # bytes: some 300,000 branches
_MOST_OBJECTS: Final = 100_000  # files of objects in a folder
_MOST_SYMREFS: Final = 5  # from HEAD to a branch to another one, as git follows them
_GIT_SECONDS: Final = 5.0  # that git may walk through all commits
_ID: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")  # of SHA-1, or of SHA-256
_SHA1_DIGITS: Final = 40
_BRANCH: Final = re.compile(rb"refs/[^\x00-\x20\x7f~^:?*\[\\]+")
_OBJECT_FOLDER: Final = re.compile("pack|[0-9a-f]{2}")
_MORE_THAN_AN_ID: Final = 200  # bytes
_SHORT_ID: Final = 16  # digits of an id in a project's name
# Lines of git's configuration.
_SECTION: Final = re.compile(r'\s*\[\s*remote\s+"([^"]+)"\s*\]', re.IGNORECASE)
_URL: Final = re.compile(r'\s*url\s*=\s*(?:"([^"]*)"|([^#;\s]+))', re.IGNORECASE)
_WORKTREE: Final = re.compile(
    r"^[ \t]*worktree[ \t]*=[ \t]*(\S[^\n#;]*)$", re.IGNORECASE | re.MULTILINE
)
_SAFE_OPTIONS: Final = (
    *("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"),
    *("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never", "--no-pager", "--no-replace-objects", "--no-optional-locks"),
)
"""Options of git that keep it from every file and program but the objects: hooks, other graphs, other servers."""


@dataclass(frozen=True, slots=True)
class GitRepository:
    """The data of a repository, which its worktrees share; `remotes` are the addresses in its configuration by name."""

    data: Path
    remotes: dict[str, str]


class NotReadableError(Exception):
    """There is a `.git` that is not one: a pipe, a link, too large, or the data of another folder."""


def repository_in(tree: Path) -> GitRepository | None:
    """Return the repository whose `.git` is in the folder `tree`; None without one.

    | `.git` is                             | the data of the repository                               |
    |---------------------------------------|----------------------------------------------------------|
    | a folder                              | that folder                                              |
    | a file, as in a worktree or submodule | the folder that it points to, if the two belong together |
    | a link to a folder inside of `tree`   | that folder                                              |
    | anything else                         | NotReadableError                                         |
    """
    git = tree / ".git"
    try:
        mode = git.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        data = git
        if not _is_inside(_resolved(git), tree):
            raise NotReadableError
    elif stat.S_ISREG(mode):
        data = _pointed_to(git)
    elif stat.S_ISDIR(mode):
        data = git
    else:
        raise NotReadableError
    if not (data / "HEAD").exists():
        return None  # git looks further up as well
    return GitRepository(data, _remotes(_read(data / "config", _MOST_CONFIG, missing=b"")))


def _is_inside(data: Path, tree: Path) -> bool:
    """Return whether `data` is a folder inside of the working tree `tree`."""
    return data.is_dir() and data.is_relative_to(_resolved(tree))


def _pointed_to(file: Path) -> Path:
    """Return the data that the file `.git` of a worktree or a submodule points to.

    Such a file can name any folder. So that folder has to lie beside it, or to name this one in return, as git writes
    it: the data of a worktree in `gitdir`, that of a submodule in its `core.worktree`. Else NotReadableError.
    """
    pointer = _read_pointer(file)
    if not pointer.startswith("gitdir:"):
        raise NotReadableError
    data = _resolved(file.parent / pointer.removeprefix("gitdir:").strip())
    if _is_inside(data, file.parent) and not (data / "commondir").exists():
        return data
    if _read_pointer(data / "gitdir", missing=b""):
        return _data_of_worktree(data, file)
    config = _read(data / "config", _MOST_CONFIG).decode("utf-8", "replace")
    tree = _WORKTREE.search(config)
    if tree and _is_same(data / _unquoted(tree[1]), file.parent):
        return data
    raise NotReadableError


def _data_of_worktree(worktree_data: Path, git_file: Path) -> Path:
    """Return the data of the repository that a worktree belongs to; NotReadableError if the two do not name each other.

    git keeps what a worktree has of its own in `REPOSITORY/worktrees/NAME`: `gitdir` there names the worktree's file
    `.git`, and `commondir` names REPOSITORY.
    """
    repository = worktree_data.parent.parent
    common = worktree_data / _read_pointer(worktree_data / "commondir")
    is_in_repository = worktree_data.parent.name == "worktrees" and _resolved(common) == repository
    named_file = worktree_data / _read_pointer(worktree_data / "gitdir", missing=b"")
    if is_in_repository and _is_same(named_file, git_file):
        return repository
    raise NotReadableError


def _read_pointer(file: Path, *, missing: bytes | None = None) -> str:
    """Return the line of a file that names a folder or another file; `missing` as for `_read`."""
    return _read(file, _MOST_POINTER, missing=missing).decode("utf-8", "replace").strip()


def _is_same(first: Path, second: Path) -> bool:
    """Return whether two paths lead to one file or folder, links followed."""
    return _resolved(first) == _resolved(second)


def _resolved(path: Path) -> Path:
    """Return a path with its links followed; NotReadableError for links that lead to themselves, or a name of no file."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop, before Python 3.13
        raise NotReadableError from None


def resolved_or_same(path: Path) -> Path:
    """Return a path with its links followed; where they lead to themselves, the absolute path as it is."""
    try:
        return _resolved(path)
    except NotReadableError:
        return path.absolute()


def _read(path: Path, most: int, *, missing: bytes | None = None) -> bytes:
    """Return the bytes of a small regular file without following a link, or waiting for a pipe.

    NotReadableError if it is something else, or has more than `most` bytes. Where there is no file, `missing` is
    returned; with None for it that is a NotReadableError, too.
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
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise NotReadableError
        return file.read(most)


def _unquoted(value: str) -> str:
    """Return a value of a configuration without spaces and quotation marks around it."""
    return value.strip().strip('"')


def _remotes(config: bytes) -> dict[str, str]:
    """Return the first address of each remote of a configuration; included files are not read."""
    urls: dict[str, str] = {}
    remote: str | None = None  # that the section is about; None in any other section
    for line in config.decode("utf-8", "replace").splitlines():
        if line.lstrip().startswith("["):
            section = _SECTION.match(line)
            remote = section[1] if section else None
            continue
        url = _URL.match(line)
        if remote is not None and url:
            urls.setdefault(remote, url[1] or url[2] or "")
    return urls


def first_commit(data: Path, *worked_in: Path) -> str | None:
    """Return the start of the id of the first commit before HEAD; None if there is none, or it cannot be told.

    A shallow clone does not have it. Objects that lie elsewhere (alternates) are not looked at. No git is started that
    lies in a tree that is worked in.
    """
    git = find_program("git", *worked_in)
    if git is None or os.path.lexists(data / "shallow"):
        return None
    try:
        head = _head(data)
        with tempfile.TemporaryDirectory(prefix="mcp-reflect-", ignore_cleanup_errors=True) as ours:
            is_sha256 = len(head) > _SHA1_DIGITS
            objects = _empty_repository(Path(ours), data / "objects", is_sha256=is_sha256)
            roots = Path(ours, "roots")
            command = [
                git,
                *_SAFE_OPTIONS,
                f"--git-dir={ours}",
                "rev-list",
                "--max-parents=0",
                head,
            ]
            has_run = children.write_output(
                command,
                roots,
                folder=Path(ours),
                env={**_environment(ours, objects), "PATH": safe_path(*worked_in)},
                seconds=_GIT_SECONDS,
            )
            return _last_id(roots) if has_run else None
    except (NotReadableError, OSError, NotImplementedError):
        return None


def _environment(ours: str, objects: Path) -> dict[str, str]:
    """Return the variables that git runs with: of ours only those that say where the system is.

    `ours` is the empty repository that git works in, and its home as well, so that it reads no configuration.
    """
    system_variables = {
        name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "TMP") if name in os.environ
    }
    return {
        **system_variables,
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
    """Return the id of the commit that HEAD stands for. NotReadableError if there is none.

    HEAD holds an id, or `ref: refs/heads/main`, the name of a branch, which holds an id or a name in turn.
    """
    text = _read(data / "HEAD", _MOST_POINTER).strip()
    for _ in range(_MOST_SYMREFS):
        if _ID.fullmatch(text):
            return text.decode()
        branch = text.removeprefix(b"ref:").strip()
        leaves_folder = b".." in branch
        if not text.startswith(b"ref:") or not _BRANCH.fullmatch(branch) or leaves_folder:
            break
        text = _branch(data, branch)
    raise NotReadableError


def _branch(data: Path, branch: bytes) -> bytes:
    """Return what a branch holds: it is in a file of its own, else in the list of packed ones."""
    content = _read(data / os.fsdecode(branch), _MOST_POINTER, missing=b"").strip()
    if content:
        return content
    for line in _read(data / "packed-refs", _MOST_PACKED_REFS).splitlines():
        commit, _, name = line.partition(b" ")
        if name.strip() == branch:
            return commit
    raise NotReadableError


def _empty_repository(ours: Path, objects: Path, *, is_sha256: bool) -> Path:
    """Make an empty repository in `ours`; return the folder of objects that git is to read.

    It links to the regular files of `objects` alone. What tells git of other folders, of a server that has more, or of
    parents that differ (alternates, promisors, graphs of commits) has no place in it. Ids are of SHA-1, or of SHA-256.
    """
    (ours / "refs").mkdir()
    (ours / "objects" / "pack").mkdir(parents=True)
    (ours / "HEAD").write_text("ref: refs/heads/none\n")
    config = "[core]\n\tbare = true\n"
    if is_sha256:
        config += "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
    (ours / "config").write_text(config)
    names_by_folder = {folder: _regular_files(folder) for folder in _object_folders(objects)}
    try:
        for folder, names in names_by_folder.items():
            _link_objects(folder, names, ours / "objects")
    except OSError:  # Windows lets few people make links
        if os.path.lexists(objects / "info" / "alternates"):
            raise
        return objects
    return ours / "objects"


def _link_objects(folder: Path, names: list[str], our_objects: Path) -> None:
    """Link a folder of objects into our repository: of `pack` the packs alone, of loose objects the whole folder.

    Other files in `pack`, such as a graph of commits or a list of promised objects, would steer git.
    """
    if folder.name != "pack":
        (our_objects / folder.name).symlink_to(folder, target_is_directory=True)
        return
    for name in names:
        if name.endswith((".pack", ".idx")):
            (our_objects / "pack" / name).symlink_to(folder / name)


def _object_folders(objects: Path) -> list[Path]:
    """Return the folders of packed and of loose objects. NotReadableError for a link."""
    if objects.is_symlink():
        raise NotReadableError
    with os.scandir(objects) as entries:
        object_entries = [entry for entry in entries if _OBJECT_FOLDER.fullmatch(entry.name)]
        if not all(entry.is_dir(follow_symlinks=False) for entry in object_entries):
            raise NotReadableError
    return [Path(entry.path) for entry in object_entries]


def _regular_files(folder: Path) -> list[str]:
    """Return the names of the files of a folder. NotReadableError for anything else in it, or for too many files.

    The names are not made paths: a repository has thousands of loose objects, and their paths would take longer than git
    does.
    """
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(names) >= _MOST_OBJECTS or not entry.is_file(follow_symlinks=False):
                raise NotReadableError
            names.append(entry.name)
    return names


def _last_id(roots: Path) -> str | None:
    """Return the start of the last id in a file of ids, one a line; None if it is empty.

    git lists the newest first, so that the last of several first commits is the oldest.
    """
    with roots.open("rb") as file:
        with suppress(OSError):  # the file is shorter
            file.seek(-_MORE_THAN_AN_ID, os.SEEK_END)
        ids = file.read().split()
    return ids[-1][:_SHORT_ID].decode() if ids else None
