"""A shell command as a chain of commands: what each is a call of, and its words."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.guards.commands import VALUED, read_commands, unwrapped
from mcp_reflect.patterns import lazy_compile

COMMAND_LIMIT: Final = 4_000  # characters that are read; the rest is left as it is
MOST_WORDS: Final = 60  # words of a command that are compared
_SUBCOMMAND: Final = lazy_compile(r"[a-z][a-z0-9_:-]{1,30}$")
_NUMBER: Final = re.compile(r"-\d{0,12}")
_UNREMARKED: Final = frozenset("time then do else {".split())
_SILENT: Final = frozenset("cd pushd popd export set source . true echo".split())
# Programs that, at the end of a pipe, only cut or show what the command before them printed.
_VIEWERS: Final = frozenset("head tail less more cat tee".split())
# Subcommands that name what they do only with the next word: npm run build, gh pr create, docker compose up.
_GROUPS: Final = frozenset(
    "run compose pr issue repo tool pip stack config remote stash secret db workspace".split()
)
INTERPRETERS: Final = frozenset(
    "python python3 node ruby perl bash sh zsh deno bun tsx php".split()
)
READING_PROGRAMS: Final = frozenset(
    (
        "cat less more head tail grep egrep rg ag ack zgrep journalctl dmesg man history ls find tree wc stat awk sed "
        "sort uniq diff cut jq bat nl file which type echo pwd env printenv date whoami"
    ).split()
)
TELLING_FLAGS: Final = frozenset("--help --version --usage --list --markers --fixtures".split())
"""Flags with which a program only tells about itself."""

_IDLE: Final = TELLING_FLAGS | frozenset(
    "--collect-only --co --dry-run --just-print --fake --list-tests".split()
)
_IDLE_WITH_N: Final = frozenset(
    ("make", "rsync", "git add", "git clean", "git fetch", "git mv", "git push", "git rm")
)


class Part(NamedTuple):
    """One command of a line: the words before its program, what it is a call of (`git push`), and all its words."""

    runner: tuple[str, ...]
    program: str
    subcommand: str
    words: tuple[str, ...]

    @property
    def head(self) -> str:
        """The program and what it does: `git push`, `pytest`, `npm run build`."""
        return f"{self.program} {self.subcommand}".strip()

    @property
    def text(self) -> str:
        """The command as one line."""
        return line_of(self.words)

    @property
    def own_words(self) -> tuple[str, ...]:
        """The words from the program on."""
        return (self.program, *self.words[len(self.runner) + 1 :])

    @property
    def operands(self) -> tuple[str, ...]:
        """The words after the program that are not flags."""
        return tuple(word for word in self.own_words[1:] if not word.startswith("-"))

    @property
    def form(self) -> str:
        """The command in one form for all ways to write it, its flags in alphabetical order."""
        runner = [word for word in self.runner if word not in _UNREMARKED]
        rest = list(self.own_words[1:])
        for word in self.subcommand.split():
            rest.remove(word)
        flags = sorted(
            word for word in rest if word.startswith("-") and not _NUMBER.fullmatch(word)
        )
        return line_of(
            (*runner, *self.head.split(), *flags, *(word for word in rest if word not in flags))
        )


@lru_cache(maxsize=1_000)
def parts_in(text: str) -> tuple[Part, ...]:
    """The commands of a line, in order, without viewers at the end of a pipe."""
    return tuple(_part(words[:MOST_WORDS]) for words in segments(text))


def _part(words: Sequence[str]) -> Part:
    start = min(len(words) - max(len(unwrapped(words)), 1), len(words) - 1)
    words = [_bare(word) if at <= start else word for at, word in enumerate(words)]
    name, rest = words[start], words[start + 1 :]
    named = [
        word
        for before, word in zip((name, *rest), rest[:4], strict=False)
        if word[:1] != "-" and before not in VALUED
    ]
    subcommand = ""
    if (
        named
        and name.rsplit("/", 1)[-1] not in READING_PROGRAMS | INTERPRETERS
        and _SUBCOMMAND.match(named[0])
    ):
        group = named[0] in _GROUPS and len(named) > 1 and _SUBCOMMAND.match(named[1])
        subcommand = " ".join(named[: 2 if group else 1])
    return Part(tuple(words[:start]), name, subcommand, tuple(words))


def _bare(program: str) -> str:
    return (
        program.rsplit("/", 1)[-1] if program.startswith(("/usr/", "/bin/", "/opt/")) else program
    )


def doing_in(text: str) -> Part | None:
    """The first command of a line that does more than prepare the others."""
    parts = parts_in(text)
    return next((part for part in parts if part.program not in _SILENT), next(iter(parts), None))


def line_of(words: Sequence[str]) -> str:
    """Words as a line; a word with spaces is quoted."""
    return " ".join(
        f"'{word}'" if not word or " " in word or "\n" in word else word for word in words
    )


def segments(text: str) -> list[list[str]]:
    """The words of each command of a line, without redirections to nowhere and viewers at the end of a pipe."""
    commands = chain(text)
    return [
        words
        for at, (before, words) in enumerate(commands)
        if not (before == "|" and at and is_viewer(words))
    ]


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
    return [
        (command.before, list(command.line))
        for command in read
        if command.script == 0 and command.line
    ]
