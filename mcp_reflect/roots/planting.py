"""Find the roots of a lesson: the files, lines and packages of a tree that it names, as they are now."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil
from pathlib import Path, PurePosixPath
from typing import Final

from mcp_reflect.models.root import WHOLE, FileRoot, Roots, VersionRoot
from mcp_reflect.roots.lines import digest_of, digest_of_line, lines_of, normalized
from mcp_reflect.roots.locks import is_lock, versions_of
from mcp_reflect.roots.naming import NamingWords, files_named, words_in
from mcp_reflect.roots.tree import Listing, NotMeasuredError, inside, is_file_in, read_in

MOST_FILES: Final = 8
"""Files that are roots of a lesson."""

_MOST_LINES: Final = 20  # lines that a lesson touches in a file
_MOST_WITH_TELLING: Final = 5  # lines with a name or number: one that is in more finds none of them
_MOST_WITH_PLAIN: Final = 3  # the same for a plain word
_MOST_SAMPLED: Final = 40  # lines that stand for a file in which the lesson finds none
_MOST_GONE: Final = 0.5  # the share of these that may be gone while the file counts as the same
_MOST_SETTINGS: Final = 150  # lines of a file of settings that is a root as a whole
_MOST_ABSENT: Final = 20  # words that a file of settings does not have
_MOST_TEXT: Final = 12_000  # characters of a lesson that are looked through
_SETTINGS: Final = re.compile(
    r"(?i)\.(?:json5?|jsonc|toml|ya?ml|ini|cfg|conf|properties|sh|bash|env\.example)\Z|config|rc\Z"
    r"|\A(?:make|docker|container|just|proc|rake|jenkins|vagrant)file\Z"
)
_SCOPED_PACKAGE: Final = re.compile(r"(?<![\w/])@[\w-]+/[\w.-]*\w")
"""The name of a package with its owner: `@types/node`."""

_CHANGES_DAILY: Final = re.compile(
    r"(?i)\A(?:package\.json|pyproject\.toml|cargo\.toml|composer\.json|go\.mod)\Z"
)
_SECRET: Final = re.compile(
    r"(?i)\A\.env|\.(?:pem|key|p12|pfx|keystore|jks)\Z|\Aid_[a-z0-9]+\Z|credential|secret|passw|\A\.(?:npmrc|netrc|pypirc)\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonText:
    """What a lesson says."""

    texts: Sequence[str]
    calls: Sequence[str] = ()  # commands
    files: Sequence[str] = ()  # that it was sent with
    fix_lines: Sequence[str] = ()  # that the fix of its mistake wrote
    valid_until: float | None = None  # seconds since 1970


def plant(tree: Path, working_folder: Path, lesson: LessonText) -> Roots:
    """Return the roots of a lesson in a tree; `working_folder` is the folder in it that the session works in."""
    words = words_in(lesson.texts, lesson.calls)
    paths = _files_of(tree, working_folder, lesson)
    roots_or_none = [_root(tree, path, words, lesson.fix_lines) for path in paths]
    files = [root for root in roots_or_none if root is not None]
    folders = ["", *_folder_of(working_folder, tree), *(path.rpartition("/")[0] for path in paths)]
    versions: tuple[VersionRoot, ...] = ()
    if words.telling or words.plain:
        names = chain.from_iterable(map(_scoped_names, (*lesson.texts, *lesson.calls)))
        versions = versions_of(tree, folders, (*names, *words.telling), words.plain)
    return Roots(files=tuple(files), versions=versions, valid_until=lesson.valid_until)


def _scoped_names(text: str) -> list[str]:
    """Return names of packages such as @types/node."""
    return _SCOPED_PACKAGE.findall(text[:_MOST_TEXT])[:MOST_FILES]


def _folder_of(working_folder: Path, tree: Path) -> list[str]:
    """Return the folder that is worked in as a path in the tree, nothing for the tree itself or a folder outside."""
    if working_folder == tree or not working_folder.is_relative_to(tree):
        return []
    return [working_folder.relative_to(tree).as_posix()]


def _files_of(tree: Path, working_folder: Path, lesson: LessonText) -> list[str]:
    """Return the paths in the tree of the files that a lesson names, each once and the surest first.

    Those that it was sent with come first, then those in its calls, then those in its words. A file of locked versions
    is none of them: `versions_of` reads it.
    """
    listing = Listing(tree)
    folders = _folder_of(working_folder, tree)
    names = list(lesson.files)
    for text in (*lesson.calls, *lesson.texts):
        names += files_named(text)
    paths: dict[str, None] = {}
    for name in names:
        path = _path_in_tree(tree, folders, name, listing)
        if path is not None and not is_lock(path):
            paths.setdefault(path)
        if len(paths) >= MOST_FILES:
            break
    return list(paths)


def _path_in_tree(tree: Path, folders: Sequence[str], name: str, listing: Listing) -> str | None:
    """Return the path in the tree of a file that a lesson names, None if no file there is meant.

    | the name is                          | example, working in `api`                        |
    |--------------------------------------|--------------------------------------------------|
    | a path from the top of the tree      | `api/app.py` is `api/app.py`                     |
    | a path from the folder worked in     | `app.py` is `api/app.py`                         |
    | the end of one file's path           | `app.py` is `web/app.py`, if no other is so named |
    """
    path = inside(name, tree)
    if path is None:
        return None
    for candidate in (path, *(f"{folder}/{path}" for folder in folders)):
        if is_file_in(tree, candidate):
            return candidate
    only_match = listing.ending_with(path)
    if only_match is None or not is_file_in(tree, only_match):
        return None
    return only_match


def _root(tree: Path, path: str, words: NamingWords, fix_lines: Sequence[str]) -> FileRoot | None:
    """Return a file as a root, None for one that cannot be read.

    | the file                                        | what is kept of it                                             |
    |-------------------------------------------------|----------------------------------------------------------------|
    | may hold secrets, by its name                   | its path: the lesson is doubted where it is gone               |
    | has lines that the lesson touches               | these, of which none may go                                    |
    | the same, and is a file of settings             | also the lesson's words that it does not have                  |
    | is a short file of settings                     | all lines: any change counts                                   |
    | any other                                       | lines from all over it, of which half may go                   |
    """
    name = PurePosixPath(path).name
    if _SECRET.search(name):
        return FileRoot(path=path)
    try:
        content = read_in(tree, path)
    except NotMeasuredError:
        return None
    if content is None:
        return None
    lines = lines_of(content)
    touched = _touched(lines, path, words, fix_lines)
    is_settings = bool(_SETTINGS.search(name)) and not _CHANGES_DAILY.match(name)
    root = FileRoot(path=path, digest=digest_of(content), size=len(content))
    if touched:
        absent = _absent(content, words) if is_settings else ()
        return replace(root, lines=_digests(touched), absent=absent)
    if is_settings and len(lines) <= _MOST_SETTINGS:
        return replace(root, lines=_digests(lines), most_gone=WHOLE)
    sampled = _digests(_sampled(lines))
    return replace(root, lines=sampled, most_gone=int(len(sampled) * _MOST_GONE))


def _touched(
    lines: Sequence[str], path: str, words: NamingWords, fix_lines: Sequence[str]
) -> list[str]:
    """Return the lines of a file that a lesson touches: what its fix wrote, and lines with a word of it.

    A word that many lines have finds none. Words of the file's own path are left out: the lesson has them because it
    names the file.
    """
    lines_of_file = set(lines)
    touched = dict.fromkeys(line for line in map(normalized, fix_lines) if line in lines_of_file)
    words_of_path = {part.casefold() for part in re.split(r"[/.]", path)}
    words_of_path |= {path.casefold(), PurePosixPath(path).name.casefold()}
    for group, most in ((words.telling, _MOST_WITH_TELLING), (words.plain, _MOST_WITH_PLAIN)):
        for word in group:
            if word.casefold() not in words_of_path:
                touched |= dict.fromkeys(_lines_with(lines, word, most))
    return list(touched)[:_MOST_LINES]


def _lines_with(lines: Sequence[str], word: str, most: int) -> list[str]:
    """Return the lines that have a word; none if more than `most` of them have it: then the word tells nothing."""
    whole_word = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    lines_with_word: list[str] = []
    for line in lines:
        if whole_word.search(line):
            lines_with_word.append(line)
            if len(lines_with_word) > most:
                return []
    return lines_with_word


def _absent(content: bytes, words: NamingWords) -> tuple[str, ...]:
    """Return the telling words that a file of settings does not have: one that it gets later changes what was true."""
    text = content.decode("utf-8", "replace").casefold()
    absent = [word.casefold() for word in words.telling if word.casefold() not in text]
    return tuple(absent[:_MOST_ABSENT])


def _sampled(lines: Sequence[str]) -> list[str]:
    """Return lines from all over a file, each once: of 100 different lines every third, as 40 are to stay at most."""
    different = list(dict.fromkeys(lines))
    step = max(1, ceil(len(different) / _MOST_SAMPLED))
    return different[::step]


def _digests(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the digests of some lines, each once."""
    return tuple(dict.fromkeys(map(digest_of_line, lines)))
