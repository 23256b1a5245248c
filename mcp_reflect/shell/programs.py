"""The programs that a command starts: its own, and those that one starts by another.

Such *wrappers* are `sudo`, `npx`, `uv run`, `python -m`, `find -exec`. In `sudo npx tsc` three programs are started.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import dropwhile
from typing import Final

from mcp_reflect.shell.bounds import TooMuchError
from mcp_reflect.shell.options import VALUED, Option, read_option
from mcp_reflect.shell.program_names import base_name, program_name
from mcp_reflect.shell.substituted import prints_settings
from mcp_reflect.shell.tables import (
    Wrapper,
    interpreters,
    usual_names,
    words_of_table,
    wrapper_subcommands,
    wrappers,
    wrapping_programs,
)

_MOST_WRAPPERS: Final = 12  # that are taken off the words of one command
_MOST_PROGRAMS: Final = 40  # that one command starts
_MOST_LOOKED_AT: Final = 12  # words in which the subcommands of a wrapper are looked for
_MOST_SUBCOMMANDS: Final = 2  # in the name of a wrapper: `docker compose run`
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_VERSION_ALONE: Final = re.compile(r"v?\d+(?:\.\d+){0,3}|lts/[\w*]+")
_WITH_EXEC: Final = words_of_table("programs that start others behind an option")
_EXEC: Final = words_of_table("options before a program")
_MANAGERS: Final = words_of_table("package managers that start programs")
_OF_MANAGERS: Final = words_of_table("words of package managers")

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


def invocations_of(
    words: tuple[str, ...], started_by: tuple[str, ...] = ()
) -> tuple[Invocation, ...]:
    """Return the programs that words start, from the outside to the inside: sudo, npx and tsc for `sudo npx tsc -p web`.

    `started_by` names programs that start the first one, which does not stand in the words. `find` may start several.
    """
    invocations: list[Invocation] = []
    waiting = [Invocation(words[0], words[1:], started_by)] if words else []
    while waiting:
        if len(invocations) >= _MOST_PROGRAMS:
            raise TooMuchError(f"one of its commands starts more than {_MOST_PROGRAMS} programs")
        outer = waiting.pop()
        if not outer.program:
            continue
        invocations.append(outer)
        inner = [
            Invocation(started.words[0], started.words[1:], (*outer.wrappers, started.wrapper))
            for started in _started_by(outer)
            if started.words
        ]
        waiting += reversed(inner)
    return tuple(invocations)


def _started_by(outer: Invocation) -> list[_Started]:
    """Return what a program starts: of `find` one entry for each `-exec`; none for a program that starts no other."""
    name, words = outer.name, outer.arguments
    if name not in _starting_programs():
        return []
    if name in _WITH_EXEC:
        return [_Started(f"{name} -exec", inner) for inner in _behind_exec(words)]
    started = _wrapper_of(name, words)
    if started is not None:
        return [started]
    usual_words = _by_usual_name(name, words)
    if usual_words:
        return [_Started(name, usual_words)]
    if name in _MANAGERS:
        is_program = bool(words) and words[0][:1] != "-" and words[0] not in _OF_MANAGERS
        if is_program:
            return [_Started(name, words)]
        return []
    if name in interpreters():
        return [_interpreted(name, words)]
    return []


def _by_usual_name(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with the program and subcommand that it is mostly called by; nothing for most commands.

    `docker-compose down -v` is `docker compose down -v`, and `docker container run x` is `docker run x`.
    """
    usual = usual_names().get(name)
    if usual is not None:
        return (*usual, *words)
    usual = usual_names().get(" ".join((name, *words[:1])))
    if usual is None:
        return ()
    other_words = words[2:] if words[1:2] == ("--",) else words[1:]
    return (*usual, *other_words)


def _first_started(outer: Invocation) -> _Started:
    """Return the first program that one starts, with no words if it starts none."""
    return next(iter(_started_by(outer)), _Started("", ()))


@lru_cache(maxsize=1)
def _starting_programs() -> frozenset[str]:
    """Return the names of all programs that may start another: most programs are sorted out so."""
    renamed = frozenset(name.partition(" ")[0] for name in usual_names())
    return wrapping_programs() | _MANAGERS | interpreters().keys() | _WITH_EXEC | renamed


def _behind_exec(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words between each `-exec` of `find` and its end, which is `;`, or `+` behind `{}`.

    `. -exec rm {} ; -exec echo {} +` has `rm {}` and `echo {}`.
    """
    start: int | None = None  # of the command that is read, None outside of one
    previous_word = ""
    for index, word in enumerate(words):
        if start is None:
            start = index + 1 if word in _EXEC else None
        elif word == ";" or (word == "+" and previous_word == "{}"):
            yield tuple(words[start:index])
            start = None
        previous_word = word
    if start is not None:
        yield tuple(words[start:])


def _interpreted(name: str, words: tuple[str, ...]) -> _Started:
    """Return the module or the script that an interpreter runs.

    | the words                   | start                               |
    |-----------------------------|-------------------------------------|
    | `-W ignore -m pytest tests` | the module `pytest`, by `python -m` |
    | `build.js --fast`           | the script `build.js`               |
    | `-c 'print(1)'`             | nothing that is known               |
    """
    interpreter = interpreters()[name]
    valued = interpreter.module | interpreter.code | interpreter.valued
    index = 0
    while index < len(words) and words[index][:1] == "-":
        option = read_option(words[index], valued)
        if option.name in interpreter.module:
            module = words[index + 1 :]
            if option.value:  # `-mpytest`
                module = (option.value, *module)
            return _Started(f"{name} {option.name}", module)
        if option.name in interpreter.code:
            return _Started(name, ())
        index += 2 if option.takes_next else 1
    script = words[index:]
    if not script or script[0] == "" or " " in script[0]:
        return _Started(name, ())
    return _Started(name, script)


def _wrapper_of(name: str, words: tuple[str, ...]) -> _Started | None:
    """Return what a program starts if it is a wrapper; None if it is none, with these subcommands.

    `sudo -u root make all` starts `make all`, and `docker ps` starts nothing that is known: `docker exec` is a wrapper,
    `docker` is none. Of several wrappers the one with the longest name counts: `docker compose run` before `docker`.
    """
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
    indexes = _operand_indexes(words[:_MOST_LOOKED_AT])
    for count in range(min(len(indexes), _MOST_SUBCOMMANDS), -1, -1):
        subcommands = [words[index] for index in indexes[:count]]
        wrapper = wrappers().get(" ".join((name, *subcommands)))
        if wrapper is not None:
            start = indexes[count - 1] + 1 if count else 0
            return _Started(wrapper.name, _after_options(words[start:], wrapper))
    return None


def _operand_indexes(words: Sequence[str]) -> list[int]:
    """Return the indexes of the words that are neither an option nor the value of one: 1 and 4 for `-v a -f x b`."""
    return [
        index
        for index, word in enumerate(words)
        if word[:1] != "-" and (index == 0 or words[index - 1] not in VALUED)
    ]


def _after_options(words: tuple[str, ...], wrapper: Wrapper) -> tuple[str, ...]:
    """Return the words of the program that a wrapper starts, none if an option keeps it from starting one.

    | the next word                                        | what is done                                    |
    |------------------------------------------------------|-------------------------------------------------|
    | `--`                                                 | is left out, and the program follows            |
    | an option with which the wrapper only tells          | there is no program                             |
    | `--entrypoint X`                                     | is left out, and X comes before the other words |
    | another option, with its values                      | is left out                                     |
    | `NAME=value`                                         | is left out                                     |
    | `$(cat .env)` behind `env`                           | is left out: it prints such settings            |
    | an operand of the wrapper: the image of `docker run` | is left out, as many as the wrapper has         |
    | a version, `18` of `nvm exec 18 npm`                 | is left out: no program is called so            |
    | any other                                            | is the program                                  |

    Behind `docker run`, the words `-e X=1 image make all` start `make all`.
    """
    index = 0
    operands_left = wrapper.operands
    entrypoint = ""
    while index < len(words):
        word = words[index]
        if word == "--":
            index += 1
            break
        if word[:1] == "-":
            option = read_option(word, wrapper.valued | wrapper.only_tells_with)
            if option.name in wrapper.only_tells_with:
                return ()
            if option.name == "--entrypoint":
                entrypoint = _value_of(option, words[index + 1 :])
            next_values = int(option.takes_next) + int(option.name in wrapper.with_two_values)
            index += 1 + next_values
        elif _ASSIGNMENT.match(word) or (wrapper.name == "env" and prints_settings(word)):
            index += 1
        elif operands_left:
            operands_left -= 1
            index += 1
        elif _VERSION_ALONE.fullmatch(word):
            index += 1
        else:
            break
    if entrypoint:
        return (entrypoint, *words[index:])
    return words[index:]


def _value_of(option: Option, next_words: Sequence[str]) -> str:
    """Return the value of an option, from its own word or the next one; empty where there is none."""
    if option.takes_next and next_words:
        return next_words[0]
    return option.value


def unwrapped(words: Sequence[str]) -> list[str]:
    """Return the words of a command without assignments and wrappers, its program by its bare name.

    A script that an interpreter runs stays with it: `node build.js`; `python -m pytest` is `pytest`.
    """
    remaining = tuple(words)
    for _ in range(_MOST_WRAPPERS):
        remaining = tuple(dropwhile(_ASSIGNMENT.match, remaining))
        if not remaining:
            return []
        started = _first_started(Invocation(remaining[0], remaining[1:]))
        if not started.words or not _names_the_command(started.words, started.wrapper):
            break
        remaining = started.words
    return [program_name(remaining[0]), *remaining[1:]]


def _names_the_command(inner: Sequence[str], wrapper: str) -> bool:
    """Return whether a command is named after the program that it starts rather than after the wrapper.

    `sudo make` is make, and `python -m pytest` pytest; `python build.py` stays a call of python, and so does a package
    manager that runs a program by its name. Behind any wrapper `build` names a task or a module and no program:
    `poetry run build` and `python -m build` are told by their wrapper.
    """
    if inner[0] == "build":
        return False
    if wrapper.startswith("python"):
        return wrapper == "python -m" or base_name(inner[0]) in _PYTHON_PROGRAMS
    return wrapper in wrappers()
