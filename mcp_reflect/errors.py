"""Errors, in words that say what to do about them.

An error's class says who has to react: `InputError` the caller (send something else), `BankError`
the person who runs the server (a path, a permission, a full disk). Anything else is our own fault.
"""

HALF_CHARACTER = "\ufdd0"
TOO_DEEP = "\ufdd1"
"""Marks for what a transport could not pass on: Unicode keeps both for a program's own use."""


class McpReflectError(Exception):
    """The base of every error that mcp-reflect raises on purpose."""


class InputError(McpReflectError):
    """The caller sent something that cannot be used. Nothing was stored.

    `field` is the path of the argument (`events[2].type`), `fault` what is wrong with it, `fix` what
    to send instead. The three together are the message.
    """

    def __init__(self, field: str, fault: str, fix: str) -> None:
        super().__init__(f"{field}: {fault}. {fix}")
        self.field = field
        self.fault = fault
        self.fix = fix


class NotFoundError(InputError):
    """An id that names nothing in this scope; one in another project is not there either."""


class BankError(McpReflectError):
    """The bank cannot do what was asked; the message says what the person can do about it."""


class DreamBusyError(McpReflectError):
    """Another process dreams over the project, and only one may at a time."""


class BankReadOnlyError(BankError):
    """The bank can be read and not written: its file is read-only, or its schema is newer than ours."""


class BankBusyError(BankError):
    """Another process held the bank longer than the busy timeout."""


class NotABankError(BankError):
    """The file is not an SQLite database, or a database of another program. It is left as it is."""


class BankDamagedError(BankError):
    """The file was a bank, or was to be one, and cannot be read as one. It is set aside, never deleted."""


class PromptError(McpReflectError):
    """A prompt template cannot be used. The person who edited `file` has to react; the shipped one serves.

    `line` counts from 1. `fault` is what is wrong there, `fix` what to write instead.
    """

    def __init__(self, file: str, line: int, fault: str, fix: str) -> None:
        super().__init__(f"{file}:{line}: {fault}. {fix}")
        self.file = file
        self.line = line
        self.fault = fault
        self.fix = fix


class MissingInputError(McpReflectError):
    """A prompt was asked for without all its inputs, or with others: our own fault, and all of them are named."""
