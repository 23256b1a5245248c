"""Run the command that was named, and turn its errors into one line and an exit status.

Only the module of that command is imported, because `recall` and hooks must answer at once.
"""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

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

    0: done. 1: it could not be done, or was declined. 2: the arguments are wrong. 130: Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    _speak_utf8()
    try:
        status = _run(words)
        sys.stdout.flush()
    except McpReflectError as error:
        return _fail(str(error), 2 if isinstance(error, InputError) else 1)
    except (BrokenPipeError, ExceptionGroup) as error:  # a task group may wrap it
        if isinstance(error, ExceptionGroup) and error.subgroup(BrokenPipeError) is None:
            raise
        # Python flushes stdout once more when it ends, and its reader is gone.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(f"{error.filename or 'the system'}: {error.strerror or error}.", 1)
    except KeyboardInterrupt:
        return _fail("interrupted.", 130)
    return status


def _speak_utf8() -> None:
    """Read and write UTF-8, whatever the console says: a pipe on Windows has an encoding without most characters."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _run(words: list[str]) -> int:
    """Run the command that the words name, and return its exit status; errors are raised."""
    # Python hands over bytes that are not UTF-8 as these characters.
    if any("\ud800" <= char <= "\udfff" for char in "".join(words)):
        raise InputError("arguments", "they are not UTF-8", "Give them in UTF-8.")
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
    options, run = load_command(name, words[1:])
    return run(options) or 0


def _fail(message: str, status: int) -> int:
    """Print an error on one line of stderr, and return the status."""
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - only an error needs it

    sys.stderr.write(f"mcp-reflect: {clean_text(message)}\n")  # it may repeat what was typed
    return status
