"""The version of a package in the lock files of a tree, found by its name in their text.

A lock file is not parsed: one of five megabytes would take a hook longer than it has. Whatever is unsure (several
versions, a file with conflicts) has no version.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.models.root import VersionRoot
from mcp_reflect.roots.tree import NotMeasuredError, read_in

_MOST_LOCK: Final = 8_000_000  # bytes of a lock file that is read
_MOST_MANIFEST: Final = 1_000_000  # bytes of a file such as package.json
_MOST_VERSIONS: Final = 4  # packages that a lesson is about
_LEAST_NAME: Final = 2  # characters of a package's name
_NAME: Final = re.compile(r"@?[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*\Z")
_VERSION: Final = re.compile(r"v?(\d+(?:\.\d+)*[\w.+-]{0,30})\Z")
_NUMBERS: Final = re.compile(r"\d+")
_SEPARATORS: Final = re.compile(r"[-_.]")
_CONFLICT: Final = "\n<<<<<<< "


@dataclass(frozen=True, slots=True)
class _Lock:
    """A kind of lock file."""

    manifests: tuple[str, ...]  # files beside it that name the direct dependencies
    patterns: Callable[[str], tuple[str, ...]]  # find the versions of a package, the surest first
    is_whole: Callable[
        [str], bool
    ]  # whether its text is whole, so that a package may be gone from it


# For each kind of lock file: the patterns that find the versions of a package, the surest first. `name` is a pattern, too.


def _npm(name: str) -> tuple[str, ...]:
    """Return the patterns for package-lock.json: `"node_modules/NAME": {"version": "VERSION"`."""
    return (rf'"(?:node_modules/)?{name}":\s*\{{\s*"version":\s*"([^"\n]+)"',)


def _pnpm(name: str) -> tuple[str, ...]:
    """Return the patterns for pnpm-lock.yaml: of a direct dependency, else of any package."""
    quoted = rf"^ +['\"]?{name}['\"]?"
    return (
        rf"{quoted}:\n +specifier:[^\n]*\n +version: ['\"]?(\d[^\s('\"]*)",
        rf"^ +['\"]?/?{name}[@/](\d[^\s(:'\"_]*)",
    )


def _toml(name: str) -> tuple[str, ...]:
    """Return the pattern for a lock file in TOML: `name = "NAME"` and the version in the next line."""
    return (rf'^name = "{name}"\r?\nversion = "([^"\n]+)"',)


def _go(name: str) -> tuple[str, ...]:
    """Return the pattern for go.sum: `HOST/OWNER/NAME vVERSION h1:`."""
    return (rf"^(?:[^\s/]+/)*{name}(?:/v\d+)? v(\S+) h1:",)


def _ruby(name: str) -> tuple[str, ...]:
    """Return the pattern for Gemfile.lock: `    NAME (VERSION)`."""
    return (rf"^ {{4}}{name} \(([^)\n]+)\)",)


def _requirements(name: str) -> tuple[str, ...]:
    """Return the pattern for requirements.txt: `NAME==VERSION`."""
    return (rf"^{name}(?:\[[^\]\n]*\])?[ \t]*==[ \t]*([^\s;#,]+)",)


def _is_json(text: str) -> bool:
    """Return whether a text is a whole object in JSON: of one that is cut, a package may only seem gone."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _is_toml(text: str) -> bool:
    """Return whether a text is whole TOML, for the same reason."""
    import tomllib  # noqa: PLC0415 - only where a package is gone

    try:
        return bool(tomllib.loads(text))
    except (ValueError, RecursionError):
        return False


def _has_lines(text: str) -> bool:
    """Return whether a text of lines has any; whether it is whole cannot be seen."""
    return bool(text.strip())


_LOCKS: Final[Mapping[str, _Lock]] = {
    "package-lock.json": _Lock(("package.json",), _npm, _is_json),
    "pnpm-lock.yaml": _Lock(("package.json",), _pnpm, _has_lines),
    "uv.lock": _Lock(("pyproject.toml",), _toml, _is_toml),
    "poetry.lock": _Lock(("pyproject.toml",), _toml, _is_toml),
    "Cargo.lock": _Lock(("Cargo.toml",), _toml, _is_toml),
    "go.sum": _Lock(("go.mod",), _go, _has_lines),
    "Gemfile.lock": _Lock(("Gemfile",), _ruby, _has_lines),
    "requirements.txt": _Lock(("requirements.txt",), _requirements, _has_lines),
}


def is_lock(path: str) -> bool:
    """Return whether a file says the versions of packages: it changes with each of them."""
    return path.rpartition("/")[2] in _LOCKS


def _path_in(folder: str, name: str) -> str:
    """Return the path of a file in a folder of a tree; an empty one is the tree itself."""
    if not folder:
        return name
    return f"{folder}/{name}"


def versions_of(
    tree: Path, folders: Iterable[str], code: Iterable[str], words: Iterable[str]
) -> tuple[VersionRoot, ...]:
    """Return the versions of the packages that a lesson names, _MOST_VERSIONS at most.

    `folders` of the tree are looked in. A name in `code` counts if a lock file has it; one of the lesson's `words`, which
    may be plain English, only where it is also a direct dependency.
    """
    versions: dict[str, VersionRoot] = {}
    names_in_code = dict.fromkeys(code)
    all_names = dict.fromkeys((*names_in_code, *words))
    for folder in dict.fromkeys(folders):
        for file, lock in _LOCKS.items():
            path = _path_in(folder, file)
            text = _text_of(tree, path, _MOST_LOCK)
            if text is None or _CONFLICT in text:
                continue
            manifests = [_path_in(folder, name) for name in lock.manifests]
            direct = "\n".join(_text_of(tree, name, _MOST_MANIFEST) or "" for name in manifests)
            for name in all_names:
                if name.casefold() in versions:
                    continue
                if name not in names_in_code and not _is_named(name, direct):
                    continue
                version = _version_in(text, lock, name)
                if version is not None:
                    versions[name.casefold()] = VersionRoot(name=name, version=version, lock=path)
                if len(versions) >= _MOST_VERSIONS:
                    return tuple(versions.values())
    return tuple(versions.values())


@dataclass(frozen=True, slots=True)
class NewVersion:
    """What a package has become since a lesson was stored."""

    name: str
    version: str | None  # None if it is gone
    is_major: bool  # so much changed that the advice may no longer be true


def changed_version(tree: Path, root: VersionRoot) -> NewVersion | None:
    """Return what a package has become since, None if nothing that matters, or nobody knows.

    | the lock file now                                   | result                               |
    |-----------------------------------------------------|--------------------------------------|
    | cannot be read, or is of no known kind              | None                                 |
    | does not have the package, and is whole             | gone, a major change                 |
    | does not have it, and has a conflict or is cut      | None                                 |
    | has the same version, but for a patch               | None                                 |
    | has several versions                                | None: nobody knows which is meant    |
    | has another version                                 | it, a major change or not            |
    """
    text = _text_of(tree, root.lock, _MOST_LOCK)
    lock = _LOCKS.get(root.lock.rpartition("/")[2])
    if text is None or lock is None:
        return None
    versions = _all_versions(text, lock, root.name)
    if not versions:
        is_gone = _CONFLICT not in f"\n{text}" and lock.is_whole(text)
        if not is_gone:
            return None
        return NewVersion(root.name, None, is_major=True)
    if any(_release(version) == _release(root.version) for version in versions):
        return None
    if len(versions) > 1:
        return None
    version = versions[0]
    return NewVersion(root.name, version, is_major=_major(version) != _major(root.version))


def _text_of(tree: Path, path: str, most: int) -> str | None:
    """Return a file's text in lower case, as names are looked for: to ignore case in a search takes many times as long."""
    try:
        data = read_in(tree, path, most)
    except NotMeasuredError:
        return None
    if data is None:
        return None
    return data.decode("utf-8", "replace").lower()


def _is_named(name: str, manifest: str) -> bool:
    """Return whether a manifest such as package.json names a package."""
    pattern = rf"(?<![\w@.-]){_escaped(name.lower())}(?![\w/-])"
    return re.search(pattern, manifest) is not None


def _version_in(text: str, lock: _Lock, name: str) -> str | None:
    """Return the version of a package in a lock file; None if it is not there, or in several major versions."""
    versions = _all_versions(text, lock, name)
    if len({_major(version) for version in versions}) != 1:
        return None
    return versions[0]


def _all_versions(text: str, lock: _Lock, name: str) -> list[str]:
    """Return the versions of a package in a lock file's text (in lower case), by the first pattern that finds any.

    There are none of names that are too short or no package name.
    """
    if not _may_have(text, name):
        return []
    for pattern in lock.patterns(_escaped(name.lower())):
        matches = map(_VERSION.match, re.findall(pattern, text, re.MULTILINE))
        versions = [match[1] for match in matches if match is not None]
        if versions:
            return list(dict.fromkeys(versions))
    return []


def _may_have(text: str, name: str) -> bool:
    """Return whether the text (in lower case) of a lock file may have a package.

    Most packages are in few lock files: a text without the longest part of the name has none, and is not searched.
    """
    if len(name) < _LEAST_NAME or not _NAME.match(name):
        return False
    longest_part = max(_SEPARATORS.split(name.lower()), key=len)
    return longest_part in text


def _escaped(name: str) -> str:
    """Return a package's name as a pattern: `-`, `_` and `.` are one in the names of Python."""
    return re.sub(r"\\?[-_.]", "[-_.]", re.escape(name))


def _release(version: str) -> tuple[str, ...]:
    """Return the first two numbers of a version, which matter to advice: "4.17.21" -> "4", "17"."""
    return tuple(_NUMBERS.findall(version)[:2])


def _major(version: str) -> tuple[str, ...]:
    """Return the numbers after whose change things may work differently: "4" of "4.17.21", "0" and "3" of "0.3.1"."""
    numbers = _NUMBERS.findall(version)
    if numbers[:1] == ["0"]:
        return tuple(numbers[:2])
    return tuple(numbers[:1])
