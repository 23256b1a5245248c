"""A shell command as a chain of commands: programs, flags and operands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.guards.commands import read_commands
from mcp_reflect.patterns import lazy_compile

COMMAND_LIMIT: Final = 4_000  # characters that are read; the rest is left as it is
_ASSIGNMENT: Final = lazy_compile(r"[A-Za-z_]\w{0,80}=.{0,4000}", re.DOTALL)
_NUMBER: Final = lazy_compile(r"\d{1,12}")
_PREFIXES: Final = frozenset("sudo time nohup command exec env nice doas".split())
_UNREMARKED: Final = frozenset("time command exec env".split())
_SILENT: Final = frozenset("cd pushd popd export set source . true echo".split())
# Programs that, at the end of a pipe, only cut or show what the command before them printed.
_VIEWERS: Final = frozenset("head tail less more cat tee".split())
TELLING_FLAGS: Final = frozenset("--help --version --usage --list --markers --fixtures".split())
"""Flags with which a program only tells about itself."""

_IDLE: Final = TELLING_FLAGS | frozenset("--collect-only --co --dry-run --just-print --fake --list-tests".split())
_IDLE_WITH_N: Final = frozenset(("make", "rsync", "git add", "git clean", "git fetch", "git mv", "git push", "git rm"))
# Programs whose first word after the options says what they do: git push, npm run, docker compose.
WITH_SUBCOMMAND: Final = frozenset(
    (
        "git npm pnpm yarn npx pip pip3 uv poetry cargo go docker podman kubectl helm terraform gh glab aws gcloud az "
        "systemctl apt apt-get brew conda make dotnet mvn gradle bundle gem rustup flutter alembic manage.py"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a chain.

    `flags` are in alphabetical order, each with its value where that cannot be mistaken; `operands` in the order in
    which they were written; `prefix` has assignments and sudo, which can make the difference between failing and
    working.
    """

    program: str
    subcommand: str
    flags: tuple[str, ...]
    operands: tuple[str, ...]
    prefix: tuple[str, ...]

    @property
    def head(self) -> str:
        """The program and what it does: `git push`, `pytest`, `python -m build`."""
        return f"{self.program} {self.subcommand}".strip()

    @property
    def text(self) -> str:
        """The command in one form for all ways to write it; an operand with spaces is quoted, for it is one thing."""
        operands = (f"'{word}'" if not word or " " in word or "\n" in word else word for word in self.operands)
        return " ".join((*self.prefix, self.head, *self.flags, *operands))


def commands_in(text: str) -> tuple[Command, ...]:
    """The commands of a line, in order, without viewers at the end of a pipe."""
    commands = (_command(words) for words in segments(text))
    return tuple(command for command in commands if command is not None)


def head_of(commands: tuple[Command, ...]) -> str:
    """The head of the first command that does more than prepare the others."""
    doing = [command for command in commands if command.program not in _SILENT]
    return (doing or list(commands))[0].head if commands else ""


def line_of(commands: tuple[Command, ...]) -> str:
    """The whole line in one form."""
    return " ; ".join(command.text for command in commands)


def segments(text: str) -> list[list[str]]:
    """The words of each command of a line, without redirections to nowhere and viewers at the end of a pipe."""
    commands = chain(text)
    return [words for at, (before, words) in enumerate(commands) if not (before == "|" and at and is_viewer(words))]


def is_idle(words: Sequence[str]) -> bool:
    """Return whether a command, from its program on, does not do its work: it lists, tells, or only pretends."""
    flags = {word.partition("=")[0] for word in words[1:]}
    dry = "-n" in flags and not _IDLE_WITH_N.isdisjoint((words[0], " ".join(words[:2])))
    return dry or not _IDLE.isdisjoint(flags)


def is_viewer(words: Sequence[str]) -> bool:
    """True for a command that, at the end of a pipe, only cuts or shows what the command before it printed."""
    return bool(words) and words[0] in _VIEWERS


def chain(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a line: the operator before each, and its words without redirections to nowhere."""
    read = read_commands(text[:COMMAND_LIMIT])
    return [(command.before, list(command.line)) for command in read if command.script == 0 and command.line]


def _command(words: list[str]) -> Command | None:
    start = next((at for at, word in enumerate(words) if not (_ASSIGNMENT.fullmatch(word) or word in _PREFIXES)), None)
    prefix = tuple(sorted(word for word in words[:start] if word not in _UNREMARKED))
    if start is None:
        return Command("", "", (), (), prefix) if prefix else None
    program, *rest = words[start:]
    program = program.rsplit("/", 1)[-1] if program.startswith(("/usr/", "/bin/", "/opt/")) else program
    subcommand = ""
    if program.startswith("python") and len(rest) > 1 and rest[0] == "-m":
        subcommand, rest = f"-m {rest[1]}", rest[2:]
    elif program in WITH_SUBCOMMAND:
        place = next((at for at, word in enumerate(rest) if not word.startswith("-")), None)
        if place is not None and (place == 0 or "=" in rest[place - 1] or len(rest[place - 1]) > 2):
            subcommand = rest.pop(place)
    flags = sorted(word for word in rest if word.startswith("-") and not _NUMBER.fullmatch(word[1:]) and len(word) > 1)
    operands = tuple(word for word in rest if word not in flags)
    return Command(program, subcommand, tuple(flags), operands, prefix)
