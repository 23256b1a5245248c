"""The entry of the command line: the command that was typed is run, and its errors become one line and a status.

Only the module of that command is imported, because `recall` and hooks must answer at once.
"""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final, cast

from mcp_reflect import __version__
from mcp_reflect.errors import InputError, McpReflectError, did_you_mean

_WELCOME: Final = """\
mcp-reflect is a server that AI agents talk to (MCP over stdio); a host starts it, so you do not run it yourself.

  mcp-reflect demo            see it learn, in half a minute
  mcp-reflect install HOST    register it: claude-code, claude-desktop, vscode, cursor, codex, gemini, goose, windsurf
  mcp-reflect lessons         what it has learned
  mcp-reflect --help          all commands

To serve in this terminal anyway: mcp-reflect serve. Ctrl-C ends it.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    | status | the command                                                       |
    |--------|-------------------------------------------------------------------|
    | 0      | is done                                                           |
    | 1      | could not be done, was declined, or whoever reads its output left |
    | 2      | was typed wrong                                                   |
    | 130    | was ended with Ctrl-C                                             |

    A fault of this package is none of these: it ends in a traceback, which a report of it needs.
    """
    if arguments is None:
        arguments = sys.argv[1:]
    _speak_utf8()
    try:
        status = _run(list(arguments))
        sys.stdout.flush()  # a pipe whose reader has left is an error of this command
    except (McpReflectError, OSError, ExceptionGroup) as error:
        return status_after(error)
    except KeyboardInterrupt:
        return _fail("interrupted.", 130)
    return status


def status_after(error: Exception) -> int:
    """Say what went wrong in one line, and return the exit status; a fault of this package is raised again.

    | the error                                     | is said | status |
    |-----------------------------------------------|---------|--------|
    | InputError: the command was typed wrong       | yes     | 2      |
    | any other of ours, or of the system (OSError) | yes     | 1      |
    | the reader of the output has left             | no      | 1      |
    """
    expected = _expected_in(error)
    if isinstance(expected, InputError):
        return _fail(str(expected), 2)
    if isinstance(expected, McpReflectError):
        return _fail(str(expected), 1)
    if isinstance(expected, BrokenPipeError):
        _write_to_nowhere()
        return 1
    if isinstance(expected, OSError):
        return _fail(f"{expected.filename or 'the system'}: {expected.strerror or expected}.", 1)
    raise error


def _expected_in(error: Exception) -> Exception | None:
    """Return the error to report: the error itself, or one of a group, as tasks that run together raise it.

    None stands for a fault of this package, which no command expects.

    | the group has                    | the error to report                                |
    |----------------------------------|----------------------------------------------------|
    | a pipe that broke                | that one: the tasks beside it failed because of it |
    | a fault of this package          | None, so that the fault is seen                    |
    | errors of ours (McpReflectError) | the first of them, which says what to do           |
    | errors of the system alone       | the first one                                      |
    """
    causes = _causes_of(error)
    for cause in causes:
        if isinstance(cause, BrokenPipeError):
            return cause
    if not all(isinstance(cause, (McpReflectError, OSError)) for cause in causes):
        return None
    for cause in causes:
        if isinstance(cause, McpReflectError):
            return cause
    return causes[0]


def _causes_of(error: Exception) -> list[Exception]:
    """Return the errors of a group and of the groups in it, in order; an error that is no group is its own cause."""
    if not isinstance(error, ExceptionGroup):
        return [error]
    causes: list[Exception] = []
    for inner in cast("ExceptionGroup[Exception]", error).exceptions:
        causes += _causes_of(inner)
    return causes


def _write_to_nowhere() -> None:
    """Lead stdout to nowhere: Python flushes it once more when it ends, and its reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _speak_utf8() -> None:
    """Read and write UTF-8, whatever the console says: a pipe on Windows has an encoding without most characters."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _run(words: list[str]) -> int:
    """Run the command that the words name, and return its exit status; errors are raised.

    | words                         | what is done                                         |
    |-------------------------------|------------------------------------------------------|
    | none, typed in a terminal     | says what this program is                            |
    | none, or `serve`              | serves MCP over stdio, as hosts start it             |
    | `hook`                        | answers a hook, without argparse                     |
    | `--version`, `--help`, `help` | prints it                                            |
    | any other                     | runs the command of that name in `commands.COMMANDS` |
    """
    _refuse_other_bytes(words)
    if not words and sys.stdin.isatty() and sys.stdout.isatty():
        sys.stdout.write(_WELCOME)
        return 0
    if words in ([], ["serve"]):
        from mcp_reflect.cli.serve import run_serve  # noqa: PLC0415 - as hosts start it: without argparse

        run_serve()
        return 0
    name = words[0]
    if name in ("-V", "--version"):
        sys.stdout.write(f"mcp-reflect {__version__}\n")
        return 0
    if name == "hook":
        from mcp_reflect.cli.quick_hook import run_hook  # noqa: PLC0415 - only hosts run it

        return run_hook(words[1:])
    return _run_command(name, words[1:])


def _refuse_other_bytes(words: list[str]) -> None:
    """Raise InputError for arguments that are not UTF-8: Python hands over their bytes as half surrogates."""
    if any("\ud800" <= char <= "\udfff" for char in "".join(words)):
        raise InputError("arguments", "they are not UTF-8", "Give them in UTF-8.")


def _run_command(name: str, words: list[str]) -> int:
    """Run a command of the table with the words that follow it, or print the help; return the exit status."""
    from mcp_reflect.cli.commands import COMMANDS, HOOK, load_command, usage  # noqa: PLC0415 - a hook needs no argparse

    if name in ("-h", "--help", "help"):
        from mcp_reflect.cli.output import folded  # noqa: PLC0415 - a hook needs none of it

        sys.stdout.write(folded(usage()))
        return 0
    if name not in COMMANDS:
        hint = did_you_mean(
            name.lower(), [*COMMANDS, HOOK], "`mcp-reflect --help` lists the commands."
        )
        raise InputError("command", f"there is no command '{name}'", hint)
    command = load_command(name, words)
    return command.run(command.options) or 0


def _fail(message: str, status: int) -> int:
    """Print an error on one line of stderr, and return the status."""
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - only an error needs it

    sys.stderr.write(f"mcp-reflect: {clean_text(message)}\n")  # it may repeat what was typed
    return status
