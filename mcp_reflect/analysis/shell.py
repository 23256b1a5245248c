"""A shell command as a chain of commands: programs, flags and operands."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.patterns import lazy_compile

COMMAND_LIMIT: Final = 4_000  # characters that are read; what follows is left as it is
_PUNCTUATION: Final = "();<>|&\n"
_ASSIGNMENT: Final = lazy_compile(r"[A-Za-z_]\w{0,80}=.{0,4000}", re.DOTALL)
_NUMBER: Final = lazy_compile(r"\d{1,12}")
_PREFIXES: Final = frozenset({"sudo", "time", "nohup", "command", "exec", "env", "nice", "doas"})
_SILENT: Final = frozenset({"cd", "pushd", "popd", "export", "set", "source", ".", "true", "echo"})
# Where a pipe only cuts or shows what the command before it printed.
_VIEWERS: Final = frozenset({"head", "tail", "less", "more", "cat", "tee"})
# Programs whose first word after the options says what they do: git push, npm run, docker compose.
_WITH_SUBCOMMAND: Final = frozenset(
    (
        *("git", "npm", "pnpm", "yarn", "npx", "pip", "pip3", "uv", "poetry", "cargo", "go", "docker", "podman"),
        *("kubectl", "helm", "terraform", "gh", "glab", "aws", "gcloud", "az", "systemctl", "apt", "apt-get", "brew"),
        *("conda", "make", "dotnet", "mvn", "gradle", "bundle", "gem", "rustup", "flutter", "alembic", "manage.py"),
    )
)


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a chain.

    `flags` are in order of the alphabet, each with its value where that cannot be mistaken; `operands` in
    the order in which they were written; `prefix` holds assignments and sudo, which can make the
    difference between failing and working.
    """

    program: str
    subcommand: str
    flags: tuple[str, ...]
    operands: tuple[str, ...]
    prefix: tuple[str, ...]

    @property
    def head(self) -> str:
        """What runs: `git push`, `pytest`, `python -m build`."""
        return f"{self.program} {self.subcommand}".strip()

    @property
    def text(self) -> str:
        """The command in one form for all ways to write it."""
        return " ".join((*self.prefix, self.head, *self.flags, *(_spaced(word) for word in self.operands)))


def commands_in(text: str) -> tuple[Command, ...]:
    """The commands of a line, in order; viewers at the end of a pipe are left out, for they change no failure."""
    found: list[Command] = []
    for words, piped in _segments(text[:COMMAND_LIMIT]):
        command = _command(words)
        if command is not None and not (piped and found and command.program in _VIEWERS):
            found.append(command)
    return tuple(found)


def segments(text: str) -> list[list[str]]:
    """The words of each command of a line, without redirections and without viewers at the end of a pipe."""
    parts = _segments(text[:COMMAND_LIMIT])
    return [words for place, (words, piped) in enumerate(parts) if not (piped and place and words[0] in _VIEWERS)]


def head_of(commands: tuple[Command, ...]) -> str:
    """What the line is run for: its first command that does more than prepare the others."""
    doing = [command for command in commands if command.program not in _SILENT]
    return (doing or list(commands))[0].head if commands else ""


def line_of(commands: tuple[Command, ...]) -> str:
    """The whole line in one form."""
    return " ; ".join(command.text for command in commands)


def unwrapped(words: Sequence[str]) -> str:
    """A command given as a list: what `bash -lc` is to run, else the words as a line."""
    shell = len(words) == 3 and words[0].rsplit("/", 1)[-1] in {"bash", "sh", "zsh"} and words[1] in {"-c", "-lc"}
    return words[2] if shell else shlex.join(words)


def _spaced(word: str) -> str:
    """A word in quotes where it holds spaces: `a b` is one thing, and other than a and b."""
    return f"'{word}'" if not word or " " in word or "\n" in word else word


def _segments(text: str) -> list[tuple[list[str], bool]]:
    """The words of each command, and whether a pipe leads into it."""
    found: list[tuple[list[str], bool]] = [([], False)]
    skip = False
    tokens = _tokens(text)
    for place, word in enumerate(tokens):
        operator = bool(word) and all(sign in _PUNCTUATION for sign in word)
        if skip and not operator:
            skip = False
            continue
        if not operator:
            found[-1][0].append(word)
        elif "<" in word or ">" in word:
            words = found[-1][0]
            if words and words[-1] in {"1", "2"}:
                words.pop()
            target = tokens[place + 1] if place + 1 < len(tokens) else ""
            skip = target == "/dev/null" or target in {"1", "2"} or word == "<<<"
            if not skip:
                words.append(word)
        else:
            found.append(([], word == "|"))
            skip = False
    return [(words, piped) for words, piped in found if words]


def _tokens(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote
        return text.split()


def _command(words: list[str]) -> Command | None:
    prefix: list[str] = []
    rest = list(words)
    while rest and (_ASSIGNMENT.fullmatch(rest[0]) or rest[0] in _PREFIXES):
        word = rest.pop(0)
        if word not in {"time", "command", "exec", "env"}:
            prefix.append(word)
    if not rest:
        return Command("", "", (), (), tuple(sorted(prefix))) if prefix else None
    program = rest.pop(0)
    program = program.rsplit("/", 1)[-1] if program.startswith(("/usr/", "/bin/", "/opt/")) else program
    subcommand = ""
    if program.startswith("python") and len(rest) > 1 and rest[0] == "-m":
        subcommand = f"-m {rest[1]}"
        rest = rest[2:]
    elif program in _WITH_SUBCOMMAND:
        place = next((at for at, word in enumerate(rest) if not word.startswith("-")), None)
        if place is not None and (place == 0 or "=" in rest[place - 1] or len(rest[place - 1]) > 2):
            subcommand = rest.pop(place)
    flags, operands = _flags(rest)
    return Command(program, subcommand, tuple(sorted(flags)), tuple(operands), tuple(sorted(prefix)))


def _flags(words: list[str]) -> tuple[list[str], list[str]]:
    """Flags with the number that follows a short one, and everything else in its order."""
    flags: list[str] = []
    operands: list[str] = []
    taken = False
    for place, word in enumerate(words):
        if taken:
            taken = False
        elif word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word[1:]):
            following = words[place + 1] if place + 1 < len(words) else ""
            taken = len(word) == 2 and bool(_NUMBER.fullmatch(following))
            flags.append(f"{word} {following}" if taken else word)
        else:
            operands.append(word)
    return flags, operands
