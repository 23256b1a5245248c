"""What a command gives to a shell as a script: `bash -c '…'`, `eval …`, a here-document, what is piped into `sh`."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.shell.commands import Command
from mcp_reflect.shell.programs import Invocation
from mcp_reflect.shell.tables import words_of_table

_SHELLS: Final = words_of_table("shells")
_POWERSHELLS: Final = words_of_table("PowerShell and cmd")
_COMMAND_FLAGS: Final = frozenset(("-c", "-command", "--command", "/c", "/k"))
_JOINING: Final = words_of_table("programs that join their words to a script")
_WITH_COMMAND: Final = words_of_table("programs with a script behind -c")
_ARGUMENTS: Final = ":::"  # stands between what parallel runs and what it runs it with
_ECHO: Final = frozenset(("echo", "printf"))
_ECHO_FLAGS: Final = frozenset(("-n", "-e", "-E", "-ne", "-en", "--"))
_PASSING: Final = frozenset(("cat", "tee"))
_SIGNS_OF_SCRIPTS: Final = frozenset(" \t\n;&|<>()$`")


@dataclass(frozen=True, slots=True)
class Output:
    """What a pipeline carries so far: the text, if it is known."""

    text: str


@dataclass(frozen=True, slots=True)
class FedScript:
    """The text that a shell runs, and the programs that start that shell, with it and from the outside to the inside."""

    text: str
    by: tuple[str, ...]
    is_powershell: bool = False


def output_of(command: Command, before: Output | None) -> Output:
    """Return what a command hands on in its pipeline, as far as that can be seen without running it."""
    name = command.invocations[-1].name if command.invocations else ""
    if name in _ECHO:
        words = command.arguments
        while words[:1] and words[0] in _ECHO_FLAGS:
            words = words[1:]
        return Output(" ".join(words).replace("\\n", "\n"))
    if name in _PASSING:
        return Output(command.document or (before.text if before is not None else ""))
    return Output("")


def fed_script(command: Command, piped: Sequence[Output | None]) -> FedScript | None:
    """Return the script that a command gives to a shell; `piped` is what its pipelines carry to it."""
    carried = next((one.text for one in reversed(piped) if one is not None and one.text), "")
    for found in command.invocations:
        by = (*found.wrappers, found.name)
        if found.name in _POWERSHELLS and (text := _behind_command(found.arguments)):
            return FedScript(text, by, is_powershell=True)
        if (text := _script_among_words(found)) is not None:
            return FedScript(text, by)
        if found.name in _SHELLS and _reads_input(found) and (text := command.document or carried):
            return FedScript(text, by)
        if found.name == "xargs" and carried:
            return FedScript(_with_input(found.inner, carried.split()), by)
        if found.name == "parallel" and _ARGUMENTS in found.inner:
            at = found.inner.index(_ARGUMENTS)
            return FedScript(_with_input(found.inner[:at], found.inner[at + 1 :]), by)
    return None


def _script_among_words(found: Invocation) -> str | None:
    name, words = found.name, found.arguments
    if name in _SHELLS or name in _WITH_COMMAND:
        return _behind_option(words)
    if name == "env":
        return next(
            (words[at + 1] for at, word in enumerate(words[:-1]) if word in _SPLITTING), None
        )
    if name == "trap":
        return words[0] if len(words) > 1 and words[0][:1] not in ("", "-") else None
    if name == "eval":
        return " ".join(words) or None
    if name in _JOINING:
        rest = found.inner
        return " ".join(rest) if any(_SIGNS_OF_SCRIPTS & set(word) for word in rest) else None
    # `docker exec web 'the script'`: a program with blanks is none.
    program = found.program
    if found.wrappers and " " in program.strip():
        return " ".join((program, *words))
    return None


_SPLITTING: Final = frozenset(("-S", "--split-string"))


def _behind_option(words: Sequence[str]) -> str | None:
    """Return the word behind `-c`, `-lc`, `--command`."""
    for at, word in enumerate(words[:-1]):
        is_cluster = word[:1] == "-" and word[1:2] != "-" and word.endswith("c") and len(word) < 6
        if is_cluster or word == "--command":
            return words[at + 1]
    return None


def _with_input(words: Sequence[str], given: Sequence[str]) -> str:
    """Return the command that `xargs` or `parallel` makes of its words and of what it is given."""
    if any("{}" in word for word in words):
        return " ".join(shlex.quote(word.replace("{}", " ".join(given))) for word in words)
    command = words[0] if len(words) == 1 else shlex.join(words)  # `parallel 'gzip -9' ::: a b`
    return f"{command} {shlex.join(given)}"


def _behind_command(words: Sequence[str]) -> str:
    """Return the words behind `-Command`, `-c` or `/c` of PowerShell and cmd."""
    place = next(
        (at for at, word in enumerate(words) if word.lower() in _COMMAND_FLAGS), len(words)
    )
    return " ".join(words[place + 1 :])


def _reads_input(found: Invocation) -> bool:
    """Return whether a shell reads its script from the input: it is given no file."""
    operands = [word for word in found.arguments if word[:1] != "-"]
    return not operands or "-s" in found.arguments or found.arguments[:1] == ("-",)
