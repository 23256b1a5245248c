"""The programs that a command starts: itself, and what it wraps (`sudo`, `npx`, `uv run`, `python -m`, `find -exec`)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from mcp_reflect.shell.bounds import TooMuchError
from mcp_reflect.shell.tables import (
    Wrapper,
    interpreters,
    other_names,
    words_of_table,
    wrapper_subcommands,
    wrappers,
    wrapping_programs,
)

_MOST_WRAPPERS: Final = 12  # that are taken off the words of one command
_MOST_PROGRAMS: Final = 40  # that one command starts
_LONGEST_NAME: Final = 300
_LONGEST_CLUSTER: Final = 12
_MOST_LOOKED_AT: Final = 12  # words in which the subcommands of a wrapper are looked for
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_VERSION: Final = re.compile(r"([A-Za-z+]+?(?:-config)?)-?\d[\d.]*$")
_VERSION_ALONE: Final = re.compile(r"v?\d+(?:\.\d+){0,3}|lts/[\w*]+")
_WITH_EXEC: Final = words_of_table("programs that start others behind an option")
_EXEC: Final = words_of_table("options before a program")
_MANAGERS: Final = words_of_table("package managers that start programs")
_OF_MANAGERS: Final = words_of_table("words of package managers")
VALUED: Final = words_of_table("options with a value")
"""Options of many programs whose value is the next word."""

_PYTHON_PROGRAMS: Final = ("manage.py", "runtests.py")
_OF_USER: Final = frozenset(("-u", "--user"))
_RESERVED: Final = frozenset(("{", "if", "while", "until"))
_LOOKING_UP: Final = ("-v", "-V")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A program that a command starts, with its arguments; `wrappers` start it: `("sudo", "npx")`."""

    program: str
    arguments: tuple[str, ...]
    wrappers: tuple[str, ...] = ()
    name: str = field(init=False)
    """The program without its folder, its version and its ending: `python3.12` is python, `tsc@5` tsc."""

    def __post_init__(self) -> None:
        """Read the name once: it is asked for often."""
        object.__setattr__(self, "name", program_name(self.program))

    @property
    def inner(self) -> tuple[str, ...]:
        """The words of the program that it starts, of the first if they are several; none if it starts none."""
        return _first_started(self).words


@dataclass(frozen=True, slots=True)
class _Started:
    """What a program starts: the words of another one, none if it starts none, and by what."""

    wrapper: str
    words: tuple[str, ...]


def base_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def program_name(program: str) -> str:
    """Return a program's name without its folder, its version and the ending of Windows."""
    if len(program) > _LONGEST_NAME:
        return program
    return _program_name(program)


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
    waiting = [Invocation(words[0], words[1:], started_by)] if words else []
    while waiting:
        if len(found) >= _MOST_PROGRAMS:
            raise TooMuchError(f"one of its commands starts more than {_MOST_PROGRAMS} programs")
        outer = waiting.pop()
        if not outer.program:
            continue
        found.append(outer)
        inner = [
            Invocation(one.words[0], one.words[1:], (*outer.wrappers, one.wrapper))
            for one in _started_by(outer)
            if one.words
        ]
        waiting += reversed(inner)
    return tuple(found)


def _started_by(outer: Invocation) -> list[_Started]:
    """Return what a program starts: of `find` one for each `-exec`."""
    name, words = outer.name, outer.arguments
    if name not in _starting_programs():
        return []
    if name in _WITH_EXEC:
        return [_Started(f"{name} -exec", inner) for inner in _behind_exec(words)]
    if (wrapper := _wrapper_of(name, words)) is not None:
        return [wrapper]
    if name in _MANAGERS:
        is_program = bool(words) and words[0][:1] != "-" and words[0] not in _OF_MANAGERS
        if is_program:
            return [_Started(name, words)]
        return []
    if name in interpreters():
        return [_interpreted(name, words)]
    return []


def _first_started(outer: Invocation) -> _Started:
    return next(iter(_started_by(outer)), _Started("", ()))


@lru_cache(maxsize=1)
def _starting_programs() -> frozenset[str]:
    return wrapping_programs() | _MANAGERS | interpreters().keys() | _WITH_EXEC


def _behind_exec(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words between each `-exec` and its `;`, or its `+` behind `{}`."""
    start: int | None = None
    before = ""
    for at, word in enumerate(words):
        if start is None:
            start = at + 1 if word in _EXEC else None
        elif word == ";" or (word == "+" and before == "{}"):
            yield tuple(words[start:at])
            start = None
        before = word
    if start is not None:
        yield tuple(words[start:])


def _interpreted(name: str, words: tuple[str, ...]) -> _Started:
    """Return the module or the script that an interpreter runs: `python -W ignore -m pytest`, `node build.js`."""
    known = interpreters()[name]
    at = 0
    while at < len(words) and words[at][:1] == "-":
        option = read_option(words[at], known.module | known.code | known.valued)
        if option.name in known.module:
            behind = words[at + 1 :]
            if option.value:  # `-mpytest`
                behind = (option.value, *behind)
            return _Started(f"{name} {option.name}", behind)
        if option.name in known.code:
            return _Started(name, ())
        at += 2 if option.takes_next else 1
    is_script = at < len(words) and words[at] != "" and " " not in words[at]
    return _Started(name, words[at:] if is_script else ())


@dataclass(frozen=True, slots=True)
class Option:
    """An option that takes a value: the value that stands in its word, or the next word is it. No name: one without."""

    name: str = ""
    value: str = ""
    takes_next: bool = False


def read_option(word: str, valued: frozenset[str]) -> Option:
    """Return the option of a word that takes a value, also behind others in a cluster: `-iu` has `-u`."""
    if word in valued:
        return Option(word, takes_next=True)
    name, equal, value = word.partition("=")
    if word.startswith("--") or name in valued:
        return Option(name, value) if equal and name in valued else Option()
    for at, letter in enumerate(word[1:_LONGEST_CLUSTER], start=1):
        if f"-{letter}" in valued:
            return Option(f"-{letter}", word[at + 1 :], takes_next=at + 1 == len(word))
    return Option()


def _wrapper_of(name: str, words: tuple[str, ...]) -> _Started | None:
    """Return the wrapper that begins here, and the words that it starts; None if there is none."""
    if name not in wrapping_programs():
        return None
    if name == "command" and words[:1] and words[0] in _LOOKING_UP:
        return _Started(name, ())
    if name == "runuser" and _OF_USER.isdisjoint(word.partition("=")[0] for word in words):
        return _Started(name, ())  # it starts a shell
    if name == "coproc" and words[1:2] and words[1] in _RESERVED:  # it is named
        return _Started(name, words[1:])
    if wrapper_subcommands()[name].isdisjoint(words[:_MOST_LOOKED_AT]):
        wrapper = wrappers().get(name)
        if wrapper is None:
            return None
        return _Started(name, _after_options(words, wrapper))
    places = _operand_places(words[:_MOST_LOOKED_AT])
    for taken in range(min(len(places), 2), -1, -1):
        wrapper = wrappers().get(" ".join((name, *(words[at] for at in places[:taken]))))
        if wrapper is not None:
            left = words[places[taken - 1] + 1 :] if taken else words
            return _Started(wrapper.name, _after_options(left, wrapper))
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
    first: tuple[str, ...] = ()
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word[:1] == "-":
            option = read_option(word, wrapper.valued | wrapper.telling)
            if option.name in wrapper.telling:
                return ()
            if option.name == "--entrypoint":
                first = (
                    (option.value, *words[at + 1 : at + 2])[-1:]
                    if option.takes_next
                    else (option.value,)
                )
            at += 1 + option.takes_next + (option.name in wrapper.with_two_values)
        elif _ASSIGNMENT.match(word):
            at += 1
        elif operands:
            operands, at = operands - 1, at + 1
        elif _VERSION_ALONE.fullmatch(word):  # no program is called so: `nvm exec 18 npm`
            at += 1
        else:
            break
    return (*filter(None, first), *words[at:])


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
        started = _first_started(Invocation(rest[0], rest[1:]))
        if not started.words or not _disappears(started.wrapper, started.words):
            break
        rest = started.words
    return [program_name(rest[0]), *rest[1:]]


def _disappears(wrapper: str, inner: Sequence[str]) -> bool:
    if inner[0] == "build":  # `docker compose run build` names a service
        return False
    if wrapper.startswith("python"):
        return wrapper == "python -m" or base_name(inner[0]) in _PYTHON_PROGRAMS
    return wrapper in wrappers()
