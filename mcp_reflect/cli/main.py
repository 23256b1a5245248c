"""`mcp-reflect`: reads the command, and imports no more than it needs: `recall` must answer at once."""

import sys
from collections.abc import Sequence
from importlib import import_module

from mcp_reflect import __version__
from mcp_reflect.errors import InputError, McpReflectError

USAGE = """usage: mcp-reflect [COMMAND] [ARGUMENTS]

Without a command it serves MCP over stdio: register it in your host (docs/hosts.md).

  serve              serve MCP over stdio; --http PORT on this machine's loopback
  install HOST       register it in a host: claude-code, cursor, codex, ... (--print shows the entry)
  recall TASK        the lessons that fit a task
  reflect FILE       reflect on a run, or on each line of a JSONL file (- reads stdin)
  hook [EVENT]       answer a host's hook (docs/hooks.md)
  lessons            browse lessons: search, show, edit, approve, merge, their history
  board              all of it on one page in your browser (docs/board.md)
  dream              look over the lessons at rest: merge, tie, archive; --plan, --undo ID
  stats              what is in the bank, counted
  proof              whether warnings keep failures from coming back
  prompts            list, show and check the prompt templates
  export             lessons as JSONL
  import FILE        lessons from JSONL
  backup FILE        a copy of the bank, taken while servers run
  restore FILE       put a copy in the bank's place, for running servers too
  embed              give every lesson its vector now (docs/embeddings.md)
  doctor             where everything is, and what does not work as it should; --rescue mends
  demo               see it learn: a failing run, a new server, the lesson recalled
  completion SHELL   what bash, zsh, fish or PowerShell needs to complete these words

Begin with: mcp-reflect demo, then mcp-reflect install HOST, then mcp-reflect lessons.
mcp-reflect COMMAND --help tells more, with examples. Tables are for people; --json is for programs.
"""

COMMANDS = {
    "serve": "serve.run",
    "install": "install.run",
    "recall": "recall.run",
    "reflect": "reflect.run",
    "hook": "hook.run",
    "lessons": "lessons.run",
    "board": "dashboard.run",
    "dream": "dream.run",
    "stats": "reports.run_stats",
    "proof": "reports.run_proof",
    "prompts": "prompts.run",
    "export": "files.run_export",
    "import": "files.run_import",
    "backup": "files.run_backup",
    "restore": "files.run_restore",
    "embed": "reports.run_embed",
    "doctor": "doctor.run",
    "demo": "demo.run",
    "completion": "completion.run",
}
"""Commands, and the function in this package that runs each; its module is imported when the command is given."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns 0, 1 where it could not be done, or 2 for words that make no command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given[0] if given else "serve"
    try:
        for place, word in enumerate(given, 1):
            if any("\ud800" <= sign <= "\udfff" for sign in word):  # so Python hands on bytes that are no text
                raise InputError(f"word {place}", "it is not UTF-8", "Give words of UTF-8.")
        match command:
            case "-h" | "--help" | "help":
                sys.stdout.write(USAGE)
                return 0
            case "-V" | "--version":
                sys.stdout.write(f"mcp-reflect {__version__}\n")
                return 0
            case _ if command in COMMANDS:
                module, function = COMMANDS[command].split(".")
                return int(getattr(import_module(f"mcp_reflect.cli.{module}"), function)(given[1:]))
            case _:
                from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

                sys.stderr.write(f"mcp-reflect: there is no command '{quoted(command)}'.\n\n{USAGE}")
                return 2
    except McpReflectError as error:
        from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - only an error needs it

        sys.stderr.write(f"mcp-reflect: {clean_text(str(error))}\n")  # it may repeat what was given
        return 2 if isinstance(error, InputError) else 1
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output left; there is nobody to tell
        return 1
    except KeyboardInterrupt:
        return 130
