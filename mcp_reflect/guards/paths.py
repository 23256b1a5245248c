"""Whether a change of a path reaches what a guard of files names. Paths are compared as words, never on the disk.

A guard's path is read as in a .gitignore, from the folder of its project on:

| the guard                | names                                                   |
|--------------------------|---------------------------------------------------------|
| `config/a.yaml`          | this file of the project, and not `other/config/a.yaml` |
| `a.yaml`, `*.pem`        | each such file of the project                           |
| `config/prod/`           | this folder, and all in it                              |
| `dist/`                  | each folder of that name, and all in it                 |
| `/etc/hosts`, `~/.npmrc` | this file of the machine                                |

Where the folder of the project is not known, a path with folders names each path that ends so.
"""

import posixpath
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import Final

from mcp_reflect.guards.items import WILDCARDS, is_path
from mcp_reflect.patterns import lazy_compile

_DRIVE: Final = lazy_compile(r"[A-Za-z]:/")
HOME_VARIABLES: Final = ("$HOME/", "${HOME}/")
"""Begin a path below a person's home as a shell's script writes it, beside `~/`."""

_WORKING_FOLDER: Final = lazy_compile(r"(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`|~\+)(?=/|$)")
_MOST_PATTERN_CHARS: Final = 1_000  # of a path that is compared with a pattern, which takes time
_MOST_PARTS: Final = 60  # of a path that is compared


@dataclass(frozen=True)
class SeenChange:
    """A path that a call changes, as the guards of one project see it.

    `path` is absolute where the folder of the call is known, and has no `..` then. `roots` are the folders of the project
    whose guards are asked, without a slash at the end; none where they are not known. `removes`, `names`, `if_folder`
    and `restores` are those of `shell.PathChange`. With `is_in_inner` the path lies in another project inside of this one:
    then only a guard that names a path with folders, `vendor/lib/a.py`, applies to it.
    """

    path: str
    roots: tuple[str, ...] = ()
    removes: bool = False
    names: tuple[str, ...] = ()
    if_folder: bool = False
    is_in_inner: bool = False
    restores: bool = False

    def reaches(self, item: str) -> bool:
        """Return whether it changes what a guard names by `item`; the first row that fits decides.

        | the change                                      | reaches                                              |
        |-------------------------------------------------|------------------------------------------------------|
        | is one only if its path is a folder             | no item without a folder in it                       |
        | lies in another project inside of this one      | no item without folders before its name              |
        | any, and the item is `/etc/hosts` or `~/.npmrc` | what the absolute path of the item says              |
        | lies in the project                             | what its path from the project's folder on reaches   |
        | lies elsewhere                                  | all of the project, if it removes a folder around it |
        | any other: the folders are not known            | an item with which its path ends, or that it reaches |
        """
        if self.if_folder and "/" not in item:
            return False
        if self.is_in_inner and "/" not in item.rstrip("/"):
            return False
        if is_absolute(item):
            return self._reaches_absolute(item)
        if self._paths_in_project is not None:
            return any(_reaches(self, path, item) for path in self._paths_in_project)
        if self.roots and is_absolute(self.path):
            return self._is_around_root and self.takes(item)
        if is_path(self.path, item):
            return True
        return not is_absolute(self.path) and _reaches(self, self.path, item)

    def _reaches_absolute(self, item: str) -> bool:
        """Return whether it changes a file of the machine that a guard names: `/etc/hosts`, `~/.npmrc`."""
        if not is_absolute(self.path):
            return False
        path = self.path.lstrip("/")
        paths_of_item = {item, posixpath.expanduser(item)}
        return any(
            _reaches(self, path, path_of_item.lstrip("/"), is_anchored=True)
            for path_of_item in paths_of_item
        )

    def is_within(self, item: str) -> bool:
        """Return whether the path itself is what `item` names, or lies in it, as the exceptions of a guard ask.

        A pattern or a search may name more than the exception, so that it is none.
        """
        if self.names or not WILDCARDS.isdisjoint(self.path):
            return False
        paths = self._paths_in_project
        if paths is None:
            paths = [self.path]
        return any(is_path(path, item) for path in paths)

    @cached_property
    def _paths_in_project(self) -> list[str] | None:
        """The path from the project's folder on, one for each name of that folder; None where it lies elsewhere."""
        paths = [
            self.path[len(root) + 1 :] for root in self.roots if self.path.startswith(f"{root}/")
        ]
        return paths or None

    @property
    def _is_around_root(self) -> bool:
        """Whether the path is the project's folder or one around it."""
        return any(is_around(self.path, root) for root in self.roots)

    def takes(self, item: str) -> bool:
        """Return whether a change of all of the project changes what `item` names, wherever that is."""
        if self.names:
            return self.names_one_of(_parts(item))
        return self.removes

    def names_one_of(self, parts: list[str]) -> bool:
        """Return whether a search, `find -name "*.js"`, finds the file at the end of a path.

        A search that removes what it finds reaches the file by a folder of its path as well.
        """
        parts_to_find = parts if self.removes else parts[-1:]
        return any(_is_named(part, self.names) for part in parts_to_find)


def is_absolute(path: str) -> bool:
    """Return whether a path begins at the root of the system, or at a person's home."""
    return path[:1] == "/" or path == "~" or path[:2] == "~/" or _DRIVE.match(path) is not None


def is_around(path: str, folder: str) -> bool:
    """Return whether a path, which may be a pattern, is a folder or lies around it: `/work/*` is around `/work/shop/web`."""
    return _begins_with(_parts(folder), _parts(path), swapped=True)


def is_in_working_folder(path: str) -> bool:
    """Return whether a path begins with the folder that the shell is in: `$PWD/a`, `$(pwd)/a`, `~+/a`."""
    return _WORKING_FOLDER.match(path) is not None


def joined(folder: str, path: str) -> str:
    """Return a path as seen from a folder, without `.`, `..`, `//` and backslashes: `/a/c` for `./b/../c` in `/a`.

    `$PWD/a` is `a` in that folder, which has to be the one that the shell is in.
    """
    plain = path.replace("\\", "/")
    if not plain:
        return plain
    working_folder = _WORKING_FOLDER.match(plain)
    if working_folder:
        plain = f".{plain[working_folder.end() :]}"
    if plain.startswith(HOME_VARIABLES):
        plain = f"~/{plain.partition('/')[2]}"
    if not is_absolute(plain):
        plain = posixpath.join(folder.replace("\\", "/"), plain)
    return re.sub(r"^//+", "/", posixpath.normpath(plain))


@lru_cache(maxsize=2_000)
def _parts(path: str) -> list[str]:
    """Return the names in a path: `dist` and `a.js` of `dist/a.js`. Nobody changes the list, which is kept."""
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]


def _is_named(part: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a name is one of some names or patterns."""
    return any(fnmatchcase(part, pattern) for pattern in patterns)


def _is_same_part(part: str, item_part: str) -> bool:
    """Return whether a name of a changed path is a name of a guard's path; either may be a pattern.

    | the changed name | the guard's name | is the same                                |
    |------------------|------------------|--------------------------------------------|
    | `di*`            | `dist`           | yes                                        |
    | `*`              | `.env`           | no: the shell's `*` leaves out such a name |
    | `.e*`            | `.env`           | yes                                        |
    | `a.pem`          | `*.pem`          | yes                                        |
    """
    if part == item_part:
        return True
    if len(part) + len(item_part) > _MOST_PATTERN_CHARS:
        return False
    is_item_pattern = not WILDCARDS.isdisjoint(item_part)
    is_left_out = item_part.startswith(".") and not part.startswith(".")
    is_shell_pattern = not WILDCARDS.isdisjoint(part) and not is_left_out
    if is_shell_pattern and not is_item_pattern and fnmatchcase(item_part, part):
        return True
    return is_item_pattern and fnmatchcase(part, item_part)


def _begins_with(parts: list[str], beginning: list[str], *, swapped: bool = False) -> bool:
    """Return whether a path begins with the names of another one; with `swapped` the other one is the changed path."""
    if len(parts) < len(beginning):
        return False
    pairs = zip(parts, beginning, strict=False)
    if swapped:
        return all(_is_same_part(changed_part, part) for part, changed_part in pairs)
    return all(_is_same_part(changed_part, part) for changed_part, part in pairs)


def _reaches(change: SeenChange, path: str, item: str, *, is_anchored: bool = False) -> bool:
    """Return whether a change of a path of the project reaches what a guard names by a path of the project.

    Both paths begin at the project's folder. An item with folders is that one path (`is_anchored`: so is any item); an
    item of one name stands for each file or folder of that name.
    """
    parts = _parts(path)
    item_parts = _parts(item)
    if not item_parts:
        return False
    if not parts:  # the project's folder itself
        return change.takes(item)
    if max(len(parts), len(item_parts)) > _MOST_PARTS:
        return False
    is_folder = item.endswith("/")
    if len(item_parts) > 1 or is_anchored:
        return _reaches_anchored(change, parts, item_parts, item, is_folder=is_folder)
    return _reaches_anywhere(change, parts, item_parts[0], is_folder=is_folder)


def _reaches_anchored(
    change: SeenChange, parts: list[str], item_parts: list[str], item: str, *, is_folder: bool
) -> bool:
    """Return whether a change reaches the one path of a guard: it is that path, in that folder, or around it.

    | the guard     | changed                            | reached                      |
    |---------------|------------------------------------|------------------------------|
    | `dist/a.js`   | `dist/a.js`, `dist/*`, `di*/a.js`  | yes                          |
    | `dist/`       | `dist`, `dist/web/x`, `di*`        | yes                          |
    | `dist/a.js`   | `dist` is removed, or restored     | yes                          |
    | `dist/a.js`   | below `dist`, what is named `*.js` | yes                          |
    | `src/**/*.py` | `src/a/b.py`                       | yes: `*` is for folders, too |
    """
    is_inside = _begins_with(parts, item_parts)
    if is_inside and (is_folder or (len(parts) == len(item_parts) and not change.names)):
        return True
    is_around = _begins_with(item_parts, parts, swapped=True)
    if is_around and change.names:
        return change.names_one_of(item_parts[len(parts) :])
    if is_around and (change.removes or change.restores):
        return True
    is_pattern = not WILDCARDS.isdisjoint(item) and len(item) < _MOST_PATTERN_CHARS
    return is_pattern and not change.names and fnmatchcase("/".join(parts), item.lstrip("/"))


def _reaches_anywhere(change: SeenChange, parts: list[str], name: str, *, is_folder: bool) -> bool:
    """Return whether a change reaches what a guard names alone, in whatever folder it is.

    A pattern of the shell counts in the project's own folder: elsewhere nobody knows whether such a file is there.

    | the guard | changed                           | reached |
    |-----------|-----------------------------------|---------|
    | `a.js`    | `web/a.js`, `*.js`                | yes     |
    | `a.js`    | `web/*.js`, `web` is removed      | no      |
    | `dist/`   | `web/dist/x`, `web/dist`, `di*`   | yes     |
    | `a.js`    | below `web`, what is named `a.js` | yes     |
    """
    if change.names and name in change.names:
        return True
    if len(parts) == 1 and not change.names and _is_same_part(parts[0], name):
        return True
    is_pattern = not WILDCARDS.isdisjoint(name)
    candidates = parts if is_folder else parts[-1:]
    if change.names and not is_folder:
        return False
    return any(part == name or (is_pattern and fnmatchcase(part, name)) for part in candidates)
