"""Errors, by who must react: `InputError` the caller, `BankError` the person who runs the server.

Every other exception is a fault of this package.
"""

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return "Did you mean 'NAME'?" for the known name nearest to a misspelled one, or `otherwise` if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only an error needs it

    nearest = get_close_matches(name[:80], list(known), n=1)
    if nearest:
        return f"Did you mean '{nearest[0]}'?"
    return otherwise


class McpReflectError(Exception):
    """The base of every error that mcp-reflect raises on purpose."""


class InputError(McpReflectError):
    """The caller sent something that cannot be used. Nothing was stored.

    `field` is the path of the argument (`events[2].type`), `fault` the problem, `fix` what to send instead.
    """

    def __init__(self, field: str, fault: str, fix: str) -> None:
        super().__init__(f"{field}: {fault}. {fix}")
        self.field = field
        self.fault = fault
        self.fix = fix


class NotFoundError(InputError):
    """There is no record with that id in this scope."""


class ChangedError(InputError):
    """What a person decided about has changed since it was shown to them: they have to look again."""


class NotAllowedError(InputError):
    """The role of the caller's token does not allow the act."""


class BankError(McpReflectError):
    """The bank cannot do what was asked; the message says what the person can do about it."""


class BankReadOnlyError(BankError):
    """The bank cannot be written: its file is read-only, or its schema is newer than this release."""


class BankBusyError(BankError):
    """Another process held the bank longer than the busy timeout."""


class NotABankError(BankError):
    """The file is not an SQLite database, or one of another program. It is left as it is."""


class BankDamagedError(BankError):
    """The file of the bank cannot be read. It is set aside, never deleted."""


class PromptError(McpReflectError):
    """A prompt template cannot be used, and the shipped one is. The person who edited `file` must correct it."""

    def __init__(self, file: str, line: int, fault: str, fix: str) -> None:
        super().__init__(f"{file}:{line}: {fault}. {fix}")
        self.file = file
        self.line = line
        self.fault = fault
        self.fix = fix
