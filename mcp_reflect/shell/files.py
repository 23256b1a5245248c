"""The files that a command reads and writes, as far as its words say it."""

import re
from collections.abc import Sequence
from typing import Final

from mcp_reflect.shell.commands import Command
from mcp_reflect.shell.options import values_of
from mcp_reflect.shell.program_names import base_name
from mcp_reflect.shell.programs import Invocation
from mcp_reflect.shell.tables import words_of_table

_MOST_PATCH_CHARS: Final = 60_000  # of a patch that is looked through
IN_PLACE: Final = re.compile(r"--in-?place|-[^-]?[^-]?i")
_OUTPUT_OPTIONS: Final = {
    "curl": frozenset(("-o", "--output")),
    "wget": frozenset(("-O", "--output-document")),
    "sort": frozenset(("-o", "--output")),
}
_COPYING: Final = frozenset(("cp", "mv", "ln", "install"))
_TARGET_OPTIONS: Final = frozenset(("-t", "--target-directory"))
_PATCHED: Final = re.compile(r"(?m)^\*\*\* (?:(?:Update|Delete|Add) File|Move to): (.{1,1000})$")


def patched_files(text: str) -> list[str]:
    """Return the files that a patch of `apply_patch` changes."""
    return _PATCHED.findall(text[:_MOST_PATCH_CHARS])


def written_files(command: Command) -> list[str]:
    """Return the files that a command changes: by a redirect, `sed -i`, `tee`, `cp`, `mv` and similar."""
    files = list(command.writes)
    for invocation in command.invocations:
        files += _written_by(invocation, command)
    return files


def _written_by(invocation: Invocation, command: Command) -> list[str]:
    """Return the files that one program of a command changes, by its name and its operands."""
    name, words = invocation.name.lower(), invocation.arguments
    operands = [word for word in words if word[:1] != "-"]
    if name in words_of_table("programs that write their operands"):
        return operands
    if name in words_of_table("programs that edit in place"):
        if any(IN_PLACE.match(word) for word in words):
            return operands
        return []
    if name in words_of_table("programs that copy"):
        return _last_of_several(operands)
    if name == "ln":
        return _last_of_several(operands)
    if name in _OUTPUT_OPTIONS:
        return [*filter(None, values_of(words, _OUTPUT_OPTIONS[name]))]
    if name == "dd":
        return [word[3:] for word in words if word.startswith("of=")]
    if name == "apply_patch":
        return patched_files("\n".join((*words, command.document)))
    return []


def _last_of_several(operands: Sequence[str]) -> list[str]:
    """Return the last operand as the one that is written, where others come before it: "b" for `cp a b`."""
    return [operands[-1]] if len(operands) > 1 else []


def copied_into(command: Command) -> list[str]:
    """Return the files that `cp`, `mv` or `ln` change if their last operand is a folder, which the words do not say.

    `cp src/a.py b.py web` may change `web/a.py` and `web/b.py`; so does `cp -t web src/a.py b.py` for certain.
    """
    files: list[str] = []
    for invocation in command.invocations:
        if invocation.name not in _COPYING:
            continue
        operands = [word for word in invocation.arguments if word[:1] != "-"]
        sources = operands[:-1]
        folder = "".join(operands[-1:])
        named_folders = [*filter(None, values_of(invocation.arguments, _TARGET_OPTIONS))]
        if named_folders:  # `cp -t folder a b`
            sources = operands
            folder = named_folders[-1]
        if folder:
            files += (f"{folder}/{base_name(source)}" for source in sources if source)
    return files


def read_files(command: Command) -> list[str]:
    """Return the files that a command reads: by `<`, or as operands of a program that prints or searches files."""
    files = [redirection.target for redirection in command.redirections if redirection.is_read]
    for invocation in command.invocations:
        operands = [word for word in invocation.arguments if word[:1] != "-"]
        if invocation.name in words_of_table("programs that read files"):
            files += operands
        elif invocation.name in words_of_table("programs with a pattern first"):
            files += operands[1:]
        elif invocation.name in words_of_table("programs that copy"):
            files += operands[:-1]
    return files
