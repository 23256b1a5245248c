"""Secrets that a command printed, where an object has the command in one field and its output in another.

`$ pass show work/db` with its next line is one text, in which `redact` finds the password. Hosts send the two apart:
`{"command": "pass show work/db", "content": "hK29dsPq1xZ"}`. They are read together here, and the output is cut.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.texts_of_lists import CleanLines, cut_across

_COMMANDS: Final = ("command", "cmd", "script")
_CALLS: Final = ("arguments", "tool_input", "input", "args", "params")
_OUTPUTS: Final = ("content", "stdout", "output", "result", "text", "stderr", "error")
_ANSWERS: Final = ("tool_response", "tool_result", "response", "result", "output")
_FIRST_WORD: Final = lazy_compile(
    r"(?:Exit code \d{1,3}\r?\n)?\s{0,20}(?P<word>\S{4,4000})[ \t\r]{0,80}(?:\n|\Z)"
)
"""The first line of an output that is one word: a program that prints a secret alone prints it so."""


def cut_printed(fields: Mapping[Any, Any], clean_lines: CleanLines) -> dict[Any, Any]:
    """Return an object without the secrets that its own command printed into a field of it.

    | the object                                                      | loses the secret of |
    |-----------------------------------------------------------------|---------------------|
    | {"command": C, "content": "X"}                                  | `content`           |
    | {"arguments": {"command": C}, "output": "X"}                    | `output`            |
    | {"tool_input": {"command": C}, "tool_response": {"stdout": "X"}} | `stdout`            |
    """
    command = _command_of(fields)
    if not command:
        return dict(fields)
    return _cut_outputs(command, fields, clean_lines)


def cut_printed_in_next(items: Sequence[Any], clean_lines: CleanLines) -> list[Any]:
    """Return a list without the secrets that the command of one object printed, and the object behind it has.

    A record has a call and its answer as two: {"arguments": {"command": C}}, {"content": "X"}.
    """
    cut = [*items]
    for index, (call, answer) in enumerate(pairwise(items), 1):
        if not isinstance(call, dict) or not isinstance(answer, dict):
            continue
        fields = cast("dict[Any, Any]", answer)
        command = _command_of(cast("dict[Any, Any]", call))
        if command and not _command_of(fields):
            cut[index] = _cut_outputs(command, fields, clean_lines)
    return cut


def _command_of(fields: Mapping[Any, Any]) -> str:
    """Return the command of an object, its own or that of its call; empty where it has none."""
    calls = [fields, *(fields[name] for name in _CALLS if isinstance(fields.get(name), dict))]
    for call in calls:
        for name in _COMMANDS:
            if isinstance(call.get(name), str):
                return call[name]
    return ""


def _cut_outputs(
    command: str, fields: Mapping[Any, Any], clean_lines: CleanLines
) -> dict[Any, Any]:
    """Return an object with its outputs, and those of an answer in it, read as the lines behind a command."""
    cut = dict(fields)
    for name in _OUTPUTS:
        if isinstance(cut.get(name), str):
            cut[name] = _cut_output(command, cut[name], clean_lines)
    for name in _ANSWERS:
        if isinstance(cut.get(name), dict):
            cut[name] = _cut_outputs(command, cut[name], clean_lines)
    return cut


def _cut_output(command: str, output: str, clean_lines: CleanLines) -> str:
    """Return an output whose first line is cut where it is a secret behind its command."""
    first = _FIRST_WORD.match(output)
    if first is None:
        return output
    word = cut_across([command, first["word"]], clean_lines)[1]
    if word == first["word"]:
        return output
    return output[: first.start("word")] + word + output[first.end("word") :]
