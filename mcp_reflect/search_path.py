"""What a program of the person's may be taken from, and be given: nothing that comes with the folder that is worked in.

A repository can bring a `git` of its own, and a `.envrc`, an editor's settings or a package manager put its folder on
PATH. So what lies in the session's folder, or in the tree of a repository around it, is passed over, links followed.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_BEFORE_PATH: Final = re.compile(r"^(?:-[A-Za-z]|[-\w]{1,80}=)")
"""What may stand before a path in the word of an option: `-u./x.vim`, `--init=./x`."""


def find_program(name: str, *worked_in: Path) -> str | None:
    """Return the path of a program in the folders of PATH outside of this folder and those that are `worked_in`.

    None where there is none: a `git` that a repository brings with it is never started.
    """
    trees = _trees_around(worked_in)
    endings = [""]
    if sys.platform == "win32":
        endings = os.environ.get("PATHEXT", ".EXE;.CMD;.BAT").split(os.pathsep)
    for folder in _folders_outside(trees):
        for ending in endings:
            path = Path(folder, name + ending)
            if path.is_file() and os.access(path, os.X_OK) and not _is_inside(path, trees):
                return str(path)
    return None


def safe_path(*worked_in: Path) -> str:
    """Return PATH for a child: a program that it starts is no more taken from the folder than one of ours."""
    return os.pathsep.join(_folders_outside(_trees_around(worked_in)))


def word_of_folder(command: Sequence[str]) -> str | None:
    """Return the word of a command that would run or read something of the folder that is worked in; None without one.

    That is a program with a relative path, which lies in some folder, or with a path into this one, and an argument that
    names a file here: `sh ./ed.sh`, `vim -u.vimrc`, `sh -c 'exec bin/ed'`.
    """
    trees = _trees_around(())
    program, *arguments = command
    has_folder = os.path.dirname(program) != ""  # noqa: PTH120 - Path drops what makes `./vi` a path
    if has_folder and (not Path(program).is_absolute() or _is_inside(Path(program), trees)):
        return program
    for argument in arguments:
        for word in argument.split():
            paths = {word, _BEFORE_PATH.sub("", word, count=1)}
            if any(_is_file_inside(path.strip("'\";"), trees) for path in paths):
                return argument
    return None


def _is_file_inside(word: str, trees: Iterable[Path]) -> bool:
    """Return whether a word is the path of something in the trees; a name alone only where it is a file's."""
    path = Path.cwd() / word
    try:
        is_there = path.is_file() or (len(Path(word).parts) > 1 and path.exists())
    except (OSError, ValueError):
        return False
    return is_there and _is_inside(path, trees)


def _folders_outside(trees: Iterable[Path]) -> Iterator[str]:
    """Yield the folders of PATH that lie in none of the trees.

    A relative one is left out: it lies below the folder that a program happens to run in.
    """
    for folder in os.get_exec_path():
        if Path(folder).is_absolute() and not _is_inside(Path(folder), trees):
            yield folder


def _is_inside(path: Path, trees: Iterable[Path]) -> bool:
    """Return whether a path lies in a tree, or leads into one. One that cannot be followed counts as inside."""
    try:
        as_written = Path(os.path.normpath(path))
        followed = path.resolve()
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop, before Python 3.13
        return True
    return any(as_written.is_relative_to(tree) or followed.is_relative_to(tree) for tree in trees)


def _trees_around(worked_in: Iterable[Path]) -> set[Path]:
    """Return the folders that are worked in with the trees of all repositories around them, links followed."""
    shared = _shared_folders()
    trees: set[Path] = set()
    for folder in (*_this_folder(), *worked_in):
        here = _followed(folder)
        around = [tree for tree in here.parents if os.path.lexists(tree / ".git")]
        trees.update(tree for tree in (here, *around) if tree not in shared)
    return trees


def _shared_folders() -> set[Path]:
    """Return the folders that no session has for itself.

    Programs of the person's own lie in the home, and in what the home lies in, up to the root. What lies in the folder
    for temporary files belongs to others.
    """
    shared = {_followed(Path(tempfile.gettempdir()))}
    with suppress(RuntimeError):  # there is no home
        home = _followed(Path.home())
        shared.update((home, *home.parents))
    return {*shared, *(Path(folder.anchor) for folder in shared)}


def _this_folder() -> Iterator[Path]:
    """Yield the working folder, if it is still there."""
    with suppress(OSError):
        yield Path.cwd()


def _followed(path: Path) -> Path:
    """Return a path with its links followed; where they lead to themselves, the absolute path as it is."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop, before Python 3.13
        return path.absolute()
