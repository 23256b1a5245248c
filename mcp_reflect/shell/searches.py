"""What `find` and the like search for, and give to another program: `find dist -name a.js -delete`, `… | xargs rm`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.shell.commands import Command
from mcp_reflect.shell.options import read_option
from mcp_reflect.shell.programs import Invocation

FOUND: Final = "{}"
"""Stands among the arguments of a program for each path that was found."""

_FIND: Final = frozenset(("find", "gfind", "bfs"))
_LISTING: Final = frozenset(("echo", "printf", "ls"))
_BEFORE_START: Final = frozenset(("-L", "-H", "-P"))
_NAMES: Final = frozenset(("-name", "-iname"))
_TYPES: Final = frozenset(("-type", "-xtype"))
_DECIDE_NOTHING: Final = frozenset(
    (
        "-print",
        "-print0",
        "-depth",
        "-d",
        "-follow",
        "-xdev",
        "-mount",
        "(",
        ")",
        "-o",
        "-or",
        "-a",
        "-and",
        "-ls",
    )
)
_ACTIONS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_PLACEHOLDER: Final = frozenset(("-I", "-i", "--replace", "-J"))


@dataclass(frozen=True, slots=True)
class FileSearch:
    """What a search finds: `path` and all below it, or only what has one of `names` there.

    `is_certain` is false where a test decides of which the words say nothing, such as the age of a file. With `deletes`
    the search removes what it finds. With `is_appended` another program gets it behind its own arguments, as by `xargs`.
    `finds_all` is true of a search that finds each file below `path`, whatever its name.
    """

    path: str
    names: tuple[str, ...] = ()
    is_certain: bool = True
    deletes: bool = False
    is_appended: bool = False
    finds_all: bool = False


def search_of(invocation: Invocation) -> list[FileSearch]:
    """Return what `find` finds, one entry for each folder in which it begins; nothing for another program."""
    if invocation.name not in _FIND:
        return []
    words = [word for word in invocation.arguments if word not in _BEFORE_START]
    starts: list[str] = []
    while words and words[0][:1] not in ("-", "(", "!"):
        starts.append(words.pop(0))
    search = _read_tests(words)
    return [replace(search, path=start) for start in starts or ["."]]


def _read_tests(words: Sequence[str]) -> FileSearch:
    """Return what the tests and actions of `find` say, without a path.

    `-name a.js -delete` gives the name `a.js`, and that it deletes; with `-mtime 5` the search is not certain.
    """
    names: list[str] = []
    is_certain = True
    deletes = False
    finds_files = True
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in _NAMES:
            names += words[index : index + 1]
            index += 1
        elif word in _TYPES:
            finds_files = "f" in "".join(words[index : index + 1])
            index += 1
        elif word == "-delete":
            deletes = True
        elif word in _ACTIONS:
            index = _behind_action(words, index)
        elif word not in _DECIDE_NOTHING:
            is_certain = False
    finds_all = is_certain and finds_files and not names
    return FileSearch("", tuple(names), is_certain, deletes, finds_all=finds_all)


def _behind_action(words: Sequence[str], index: int) -> int:
    """Return the index behind the command of `-exec`, which ends with `;`, or with `+` behind `{}`."""
    while index < len(words):
        is_end = words[index] == ";" or (words[index] == "+" and words[index - 1] == FOUND)
        index += 1
        if is_end:
            break
    return index


def searches_before(
    command: Command, earlier: Sequence[Command], xargs: Invocation
) -> list[FileSearch]:
    """Return what the command before gives to `xargs` through a pipe: what `find` found, or the words of `echo`.

    In `find dist -name a.js | xargs rm` it is `a.js` below dist, behind the arguments of rm (`is_appended`); with
    `xargs -I {} rm {}` it stands where the `{}` is.
    """
    options = [word for word in xargs.arguments if word[:1] == "-"]
    has_placeholder = any(read_option(word, _PLACEHOLDER).name for word in options)
    feeding = [other for other in earlier if other.feeds(command)]
    if not feeding:
        return []
    searches = list(_listed_by(feeding[-1]))
    return [replace(search, is_appended=not has_placeholder) for search in searches]


def _listed_by(command: Command) -> Iterator[FileSearch]:
    """Yield what a command prints that lists files."""
    for invocation in command.invocations:
        yield from search_of(invocation)
        operands = [word for word in invocation.arguments if word[:1] != "-" and "%" not in word]
        if invocation.name in _LISTING:
            yield from map(FileSearch, operands)
        elif invocation.name == "git" and operands[:1] == ["ls-files"]:
            yield from (FileSearch(path) for path in operands[1:])
