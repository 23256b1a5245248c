"""The programs that a command starts: itself, and what it wraps (`sudo`, `npx`, `uv run`, `python -m`, `find -exec`)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mcp_reflect.shell.tables import (
    Wrapper,
    other_names,
    words_of_table,
    wrappers,
    wrapping_programs,
)

_MOST_WRAPPERS: Final = 12
_LONGEST_NAME: Final = 300
_MOST_LOOKED_AT: Final = 12  # words in which the subcommands of a wrapper are looked for
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_VERSION: Final = re.compile(r"([A-Za-z+]+?(?:-config)?)-?\d[\d.]*$")
_INTERPRETERS: Final = words_of_table("interpreters")
_MANAGERS: Final = words_of_table("package managers that start programs")
_OF_MANAGERS: Final = words_of_table("words of package managers")
VALUED: Final = words_of_table("options with a value")
"""Options of many programs whose value is the next word."""

_PYTHON_PROGRAMS: Final = ("manage.py", "runtests.py")
_EXEC: Final = ("-exec", "-execdir", "-ok", "-okdir")
_LOOKING_UP: Final = ("-v", "-V")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A program that a command starts, with its arguments; `wrappers` start it: `("sudo", "npx")`."""

    program: str
    arguments: tuple[str, ...]
    wrappers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The program without its folder, its version and its ending: `python3.12` is python, `tsc@5` tsc."""
        return program_name(self.program)

    @property
    def inner(self) -> tuple[str, ...]:
        """The words of the program that it starts; none if it starts none."""
        return _unwrapped(self)[1]


def base_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def program_name(program: str) -> str:
    """Return a program's name without its folder, its version and the ending of Windows."""
    return _program_name(program) if len(program) <= _LONGEST_NAME else program


@lru_cache(maxsize=1_000)
def _program_name(program: str) -> str:
    bare = base_name(program)
    bare = bare.partition("@")[0] or bare
    for ending in (".exe", ".cmd", ".bat"):
        bare = bare.removesuffix(ending)
    if bare in other_names():
        return other_names()[bare]
    match = _VERSION.fullmatch(bare)
    if match and match[1] in words_of_table("programs with a version in their name"):
        return match[1]
    return bare or program


def invocations_of(
    words: tuple[str, ...], started_by: tuple[str, ...] = ()
) -> tuple[Invocation, ...]:
    """Return the programs that words start, from the outside to the inside: `sudo`, `npx`, `tsc`."""
    found: list[Invocation] = []
    while words and words[0] and len(found) <= _MOST_WRAPPERS:
        outer = Invocation(words[0], words[1:], started_by)
        found.append(outer)
        wrapper, words = _unwrapped(outer)
        started_by = (*started_by, wrapper)
    return tuple(found)


def _unwrapped(outer: Invocation) -> tuple[str, tuple[str, ...]]:
    """Return what starts the inner program, and the words of that; no words where there is none."""
    name, words = outer.name, outer.arguments
    if name not in _starting_programs():
        return "", ()
    if (wrapper := _wrapper_of(name, words)) is not None:
        return wrapper
    if name == "find":
        places = (at for at, word in enumerate(words) if word in _EXEC)
        return "find -exec", words[next(places, len(words)) + 1 :]
    if name in _MANAGERS:
        is_program = bool(words) and words[0][:1] != "-" and words[0] not in _OF_MANAGERS
        return name, words if is_program else ()
    if name in _INTERPRETERS:
        return _interpreted(name, words)
    return "", ()


@lru_cache(maxsize=1)
def _starting_programs() -> frozenset[str]:
    return wrapping_programs() | _MANAGERS | _INTERPRETERS | {"find"}


def _interpreted(name: str, words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the module or the script that an interpreter runs: `python -m pytest`, `node build.js`."""
    for at, word in enumerate(words):
        if word == "-m" and name == "python":
            return f"{name} -m", words[at + 1 :]
        if word in ("-c", "-e"):
            return name, ()
        if word[:1] != "-":
            return name, words[at:] if word and " " not in word else ()
    return name, ()


def _wrapper_of(name: str, words: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """Return the wrapper that begins here, and the words that it starts; None if there is none."""
    if name not in wrapping_programs():
        return None
    if name == "command" and words[:1] and words[0] in _LOOKING_UP:
        return name, ()
    places = _operand_places(words[:_MOST_LOOKED_AT])
    for taken in range(min(len(places), 2), -1, -1):
        wrapper = wrappers().get(" ".join((name, *(words[at] for at in places[:taken]))))
        if wrapper is not None:
            left = words[places[taken - 1] + 1 :] if taken else words
            return wrapper.name, _after_options(left, wrapper)
    return None


def _operand_places(words: Sequence[str]) -> list[int]:
    return [
        at
        for at, word in enumerate(words)
        if word[:1] != "-" and (at == 0 or words[at - 1] not in VALUED)
    ]


def _after_options(words: tuple[str, ...], wrapper: Wrapper) -> tuple[str, ...]:
    """Return the words behind a wrapper's options, settings and operands."""
    at, operands = 0, wrapper.operands
    while at < len(words):
        word = words[at]
        if word == "--":
            return words[at + 1 :]
        if word in wrapper.valued:
            at += 2
        elif word[:1] == "-" or _ASSIGNMENT.match(word):
            at += 1
        elif operands:
            operands, at = operands - 1, at + 1
        else:
            break
    return words[at:]


def unwrapped(words: Sequence[str]) -> list[str]:
    """Return the words of a command without assignments and wrappers, its program by its bare name.

    A script that an interpreter runs stays with it: `node build.js`; `python -m pytest` is `pytest`.
    """
    rest = tuple(words)
    for _ in range(_MOST_WRAPPERS):
        start = next((at for at, word in enumerate(rest) if not _ASSIGNMENT.match(word)), len(rest))
        rest = rest[start:]
        if not rest:
            return []
        wrapper, inner = _unwrapped(Invocation(rest[0], rest[1:]))
        if not inner or not _disappears(wrapper, inner):
            break
        rest = inner
    return [program_name(rest[0]), *rest[1:]]


def _disappears(wrapper: str, inner: Sequence[str]) -> bool:
    if inner[0] == "build":  # `docker compose run build` names a service
        return False
    if wrapper.startswith("python"):
        return wrapper == "python -m" or base_name(inner[0]) in _PYTHON_PROGRAMS
    return wrapper in wrappers()
