"""The words of a command line: a parser that repeats no secret of what it refuses. It imports no engine."""

import argparse
from typing import NoReturn


class Words(argparse.ArgumentParser):
    """A parser whose errors pass the door, as everything does that is printed of what was given."""

    def error(self, message: str) -> NoReturn:
        """Print how the command is used and what is wrong, and end with 2."""
        from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - only an error needs it

        super().error(clean_text(message))
