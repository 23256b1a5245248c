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
_OUTPUTS: Final = frozenset(
    "content stdout output result text stderr error response tool_response tool_result".split()
)
_MOST_WORDS: Final = 200  # of a command that stands as a list
_MOST_DEPTH: Final = 3  # of answers in answers: {"result": {"content": [{"text": "X"}]}}
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
            command = _as_line(call.get(name), call.get("args"))
            if command:
                return command
    return ""


def _as_line(command: Any, arguments: Any) -> str:
    """Return a command as a line, also one that stands as a list (`["bash", "-lc", "pass show db"]`), or with one behind it."""
    words = [command]
    if isinstance(command, list):
        words = cast("list[Any]", command)
    if isinstance(arguments, list):
        words = [*words, *cast("list[Any]", arguments)]
    return " ".join(word for word in words[:_MOST_WORDS] if isinstance(word, str))


def _cut_outputs(
    command: str, fields: Mapping[Any, Any], clean_lines: CleanLines, depth: int = 0
) -> dict[Any, Any]:
    """Return an object with its outputs, and those of the answers in it, read as the lines behind a command."""
    cut = dict(fields)
    for name in _OUTPUTS & cut.keys():
        match cut[name]:
            case str(output):
                cut[name] = _cut_output(command, output, clean_lines)
            case dict() if depth < _MOST_DEPTH:
                answer = cast("dict[Any, Any]", cut[name])
                cut[name] = _cut_outputs(command, answer, clean_lines, depth + 1)
            case [dict(), *others] if depth < _MOST_DEPTH:
                first = cast("dict[Any, Any]", cut[name][0])
                cut[name] = [_cut_outputs(command, first, clean_lines, depth + 1), *others]
            case _:
                continue
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
