"""An argument parser that redacts its errors and suggests the nearest choice for a misspelled word."""

import argparse
from collections.abc import Iterable
from typing import Any, NoReturn


class CliParser(argparse.ArgumentParser):
    """The parser of a command, and of each of its actions."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error to stderr, and exit with status 2."""
        from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - only an error needs it

        super().error(clean_text(message))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

            names = [str(choice) for choice in action.choices]
            hint = suggestion(str(value), names) or f"Choose from {', '.join(names)}."
            raise argparse.ArgumentError(action, f"invalid choice: '{quoted(str(value), 40)}'. {hint}")


def suggestion(word: str, names: Iterable[str]) -> str:
    """Return "Did you mean 'NAME'?" for the name nearest to a misspelled word, or an empty string if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only an error needs it

    nearest = get_close_matches(word.lower(), list(names), n=1)
    return f"Did you mean '{nearest[0]}'?" if nearest else ""
