"""The arguments and options that each command takes."""

import argparse
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from mcp_reflect.cli.commands import COMMANDS, load_command
from mcp_reflect.errors import InputError

NUMBERS = ("-1", "0", "0.0009", "0.001", "0.5", "1", "1.01", "2", "50", "51", "100", "101", "1000", "1001", "65535")
"""Numbers around the bounds of options."""


def options() -> dict[str, Any]:
    """Each argument of each command: its field, whether it is required, its default, choices, and bounds."""
    return {
        f"{path} {' '.join(action.option_strings) or action.dest}": _described(action)
        for name in COMMANDS
        for path, action in _actions(name, load_command(name)[0])
    }


def _actions(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    for action in parser._actions:
        yield path, action
        choices: object = action.choices
        if isinstance(choices, dict):  # of subcommands
            for name, inner in cast("dict[str, argparse.ArgumentParser]", choices).items():
                yield from _actions(f"{path} {name}", inner)


def _described(action: argparse.Action) -> dict[str, Any]:
    known = {
        "field": action.dest,
        "required": action.required,
        "default": action.default,
        "const": action.const,
        "count": action.nargs,
        "choices": action.choices and list(action.choices),
        "numbers": [text for text in NUMBERS if _is_taken(action, text)] if action.type else None,
        "kind": type(action).__name__,
    }
    return {
        name: value if isinstance(value, bool | int | float | list) else str(value)
        for name, value in known.items()
        if value not in (None, [], False)
    }


def _is_taken(action: argparse.Action, text: str) -> bool:
    with suppress(InputError, ValueError, TypeError):
        action.type(text)  # pyright: ignore[reportCallIssue, reportOptionalCall]
        return True
    return False
