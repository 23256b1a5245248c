"""The table of commands, and how one is loaded: its module, its help, and the parser of its options."""

import argparse
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc
from typing import Any, Final, NamedTuple, NoReturn

from mcp_reflect.errors import InputError, did_you_mean

_UNRECOGNIZED: Final = "unrecognized arguments: "  # as argparse says it


class CliParser(argparse.ArgumentParser):
    """The parser of a command or of one of its actions; `actions` has those of a command by their names."""

    actions: Mapping[str, "CliParser"] = {}

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error to stderr, and exit with status 2."""
        from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - only an error needs it

        super().error(clean_text(message + self._hint(message)))

    def _hint(self, message: str) -> str:
        """Return what to do about an unknown option, ". Did you mean --limit?"; empty for any other error."""
        unknown = message.removeprefix(_UNRECOGNIZED)
        if unknown == message:
            return ""
        option_names: list[str] = []
        for parser in (self, *self.actions.values()):
            option_names += parser.option_names()
        hint = f"{self.prog} --help lists the options."
        for word in unknown.split():
            if word.startswith("-"):
                hint = did_you_mean(word.partition("=")[0], option_names, hint)
                break
        return f". {hint}"

    def option_names(self) -> list[str]:
        """Return the options of this command or action."""
        return list(self._option_string_actions)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise argparse's error for a value that is no choice, with the nearest one: argparse lists them all."""
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            hint = did_you_mean(str(value).lower(), names, f"Choose from {', '.join(names)}.")
            raise argparse.ArgumentError(action, f"invalid choice: '{value}'. {hint}")


def add_actions(parser: CliParser) -> Callable[[str, str, str], CliParser]:
    """Give a command actions, as `lessons` has `list` and `add`; return a function that adds one of them.

    `add("show", "one lesson", "LES")` adds an action by its name, what it does, and the arguments of an example.
    """
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    parser.actions = actions.choices

    def add(name: str, about: str, example: str) -> CliParser:
        """Add an action with this name, what it does (`about`), and the arguments of an example."""
        action = actions.add_parser(
            name,
            help=about,
            description=f"{about[0].upper()}{about[1:]}.",
            epilog=f"example: {parser.prog} {name} {example}",
            allow_abbrev=False,
        )
        action.add_argument("--json", action="store_true", help="print JSON for a program")
        return action

    return add


def add_number(parser: Any, option: str, least: float, most: float, **details: Any) -> None:
    """Add an option that takes a number from `least` to `most`.

    The type of `most` decides: with 50 it takes a whole number, with 1.0 any number. `parser` is a parser or a group of
    one; `details` are further arguments of its `add_argument`.
    """
    number_type = type(most)
    number = "whole number" if number_type is int else "number"

    def parse(text: str) -> float:
        """Return the number in a text; InputError with the range for any other text."""
        with suppress(ValueError):
            value = number_type(text)
            if least <= value <= most:
                return value
        raise InputError(
            option, f"'{text}' is not a {number} from {least} to {most}", "Give such a number."
        )

    parser.add_argument(option, type=parse, **details)


def add_service_arguments(parser: CliParser) -> None:
    """Add the options of commands that can ask a team's service."""
    parser.add_argument(
        "--url", help="ask the service of a team, such as https://lessons.example.com/mcp"
    )
    parser.add_argument(
        "--token-env", metavar="NAME", help="the variable with its token (REFLECT_TOKEN)"
    )
    parser.add_argument("--project", metavar="NAME", help="another project than this directory's")


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """A command's module in this package, its arguments and purpose in the list of commands, and examples.

    The module has `run_NAME(options)`, which returns the exit status (None for 0) and whose docstring is the
    description in the command's help, and `add_NAME_arguments(parser)` if the command takes any. A command with a
    `default` has actions, and this one is done where none is named.
    """

    module: str
    arguments: str
    purpose: str
    examples: tuple[str, ...]
    default: str = ""


COMMANDS: Final[Mapping[str, CommandInfo]] = {
    "serve": CommandInfo(
        "serve", "", "serve MCP over stdio; --http PORT to this machine, --http HOST:PORT to a team (docs/team.md)",
        ("", "--http 8765", "--http 0.0.0.0:8765 --public-url https://lessons.example.com/mcp"),
    ),
    "tokens": CommandInfo(
        "tokens", "ACTION", "who may use the service of a team: add, list, revoke (docs/team.md)",
        ("add ada --tenant acme --projects shop,billing --role writer", "list", "revoke ada"), default="list",
    ),
    "install": CommandInfo(
        "install", "HOST...", "register it in hosts: claude-code, cursor, codex, ... (--print shows the entry)",
        ("cursor", "claude-code copilot --hooks", "codex --print", "codex --uninstall"),
    ),
    "recall": CommandInfo(
        "recall", "TASK", "the lessons that fit a task",
        ('"deploy the shop"', '"run the tests" --symptom "No module named shop" --limit 1'),
    ),
    "reflect": CommandInfo(
        "reflect", "FILE", "reflect on a run, or on each line of a JSONL file (- reads stdin)",
        ("run.json", "~/.claude/projects/shop/session.jsonl --outcome failure"),
    ),
    "learn": CommandInfo(
        "learn", "", "find what your past sessions of Claude Code, Codex and Gemini CLI teach (docs/learn.md)",
        ("", "--all --days 30", "--host claude-code --json"),
    ),
    "replay": CommandInfo(
        "replay", "", "walk your past sessions with today's lessons: where they would have spoken (docs/replay.md)",
        ("", "--days 30", "--session 2f6c1a --json"),
    ),
    "lessons": CommandInfo(
        "lessons", "", "list, search, add, show, edit, approve, merge and forget lessons",
        ("", 'add "Run make setup before make test"', "list --tag deploy", 'search "git push" --state all', "edit ID"),
        default="list",
    ),
    "promote": CommandInfo(
        "promote", "[FILE]", "write proven lessons into CLAUDE.md, AGENTS.md, GEMINI.md or a skill (docs/learn.md)",
        ("", "AGENTS.md", "--skill deploy", "--undo"),
    ),
    "projects": CommandInfo(
        "projects", "", "list the projects of the bank; rename or merge them",
        ("", "rename /home/ada/shop shop", "merge shop-old github.com/acme/shop"),
        default="list",
    ),
    "board": CommandInfo(
        "board", "", "lessons and their effect on one page in your browser (docs/board.md)", ("", "--out board.html")
    ),
    "dream": CommandInfo(
        "dream", "", "tidy the lessons up: merge, archive; --plan, --undo ID", ("--plan", "", "--undo ID")
    ),
    "stats": CommandInfo(
        "stats", "", "what is in the bank, counted; --session: what became of one", ("", "--session", "--json")
    ),
    "prompts": CommandInfo(
        "prompts", "", "list and show the prompt templates", ("list", "show critique"), default="list"
    ),
    "export": CommandInfo(
        "export_lessons", "", "lessons as JSONL", ("lessons.jsonl", "--here", "--all-projects | wc -l"),
    ),
    "import": CommandInfo(
        "import_lessons", "FILE", "lessons from JSONL", ("lessons.jsonl", "--here")
    ),
    "backup": CommandInfo("backups", "FILE", "a copy of the bank, taken while servers run", ("~/bank-before.db",)),
    "restore": CommandInfo(
        "backups", "FILE", "replace the bank by a copy, for running servers too", ("~/bank-before.db", "--latest")
    ),
    "migrate": CommandInfo(
        "migrate", "", "move the bank of a file to PostgreSQL (docs/operations.md)",
        ("--to postgresql://mcp_reflect@db.example/team --tenant acme --project shop --dry-run",),
    ),
    "embed": CommandInfo("embed", "", "give every lesson its vector now (docs/embeddings.md)", ("",)),
    "settings": CommandInfo(
        "settings", "", "what is set, to what, and from where (docs/settings.md)", ("", "--all", "--json")
    ),
    "doctor": CommandInfo("doctor", "", "where everything is, and what is wrong", ("", "--json")),
    "demo": CommandInfo("demo", "", "see it learn: a failing run, a new server, the lesson recalled", ("",)),
}  # fmt: skip

_WITH_URL: Final = frozenset("recall board stats export import doctor".split())
"""The commands without actions that can ask a team's service; those with actions add the options themselves."""

HOOK: Final = "hook"
"""The command that hosts run. It parses its arguments without argparse, to start faster."""

_HOOK_INFO: Final = CommandInfo("", "[EVENT]", "answer a host's hook (docs/hooks.md)", ())

GROUPS: Final[Mapping[str, str]] = {
    "Begin": "demo install doctor settings",
    "Lessons": "recall lessons learn replay reflect promote board stats dream projects",
    "The bank": "export import backup restore migrate embed",
    "Hosts and services run": f"serve tokens {HOOK} prompts",
}
"""The commands in the help, by what they are for."""


def usage() -> str:
    """Return the help of `mcp-reflect` itself, which fits a screen of 40 lines.

    Each command is a line under the title of its group: `  recall TASK        the lessons that fit a task`.
    """
    info_by_name = {**COMMANDS, HOOK: _HOOK_INFO}
    lines: list[str] = []
    for title, names in GROUPS.items():
        lines.append(f"{title}:")
        for name in names.split():
            info = info_by_name[name]
            command = f"{name} {info.arguments}"
            lines.append(f"  {command:<18} {info.purpose}")
    listing = "\n".join(lines)
    return f"""usage: mcp-reflect [COMMAND] [ARGUMENTS]

Without a command it serves MCP over stdio, as a host starts it (docs/hosts.md).

{listing}

mcp-reflect COMMAND --help tells more, with examples. Tables are for people; --json is for programs.
"""


class LoadedCommand(NamedTuple):
    """A command that is ready to run: `run(options)` does it, and returns the exit status (None for 0)."""

    options: argparse.Namespace
    run: Callable[[argparse.Namespace], int | None]


def load_command(name: str, words: list[str]) -> LoadedCommand:
    """Import a command's module, and parse the words that follow its name; wrong ones end the process."""
    info = COMMANDS[name]
    module = import_module(f"mcp_reflect.cli.{info.module}")
    run: Callable[[argparse.Namespace], int | None] = getattr(module, f"run_{name}")
    examples = "\n".join(f"  mcp-reflect {name} {example}".rstrip() for example in info.examples)
    parser = CliParser(
        prog=f"mcp-reflect {name}",
        description=cleandoc(run.__doc__ or ""),
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if name in _WITH_URL:
        add_service_arguments(parser)
    if not info.default and name != "serve":  # actions have their own
        parser.add_argument("--json", action="store_true", help="print JSON for a program")
    add_arguments: Callable[[CliParser], None] | None = getattr(
        module, f"add_{name}_arguments", None
    )
    if add_arguments:
        add_arguments(parser)
    if parser.actions:
        words = _with_action_first(words, parser.actions, info.default)
    return LoadedCommand(parser.parse_args(words), run)


def _with_action_first(
    words: list[str], actions: Mapping[str, CliParser], default: str
) -> list[str]:
    """Return the words after a command with its action first, as argparse wants it: options may stand before it.

    | words             | become                      |
    |-------------------|-----------------------------|
    | `--json list`     | `list --json`               |
    | none, or `--json` | the default action first    |
    | `--help`          | the same: help of all       |
    | `lst` (no action) | the same: argparse names it |
    """
    asks_for_help = words[:1] in (["-h"], ["--help"])
    if asks_for_help or (words and not words[0].startswith("-")):
        return words
    for index, word in enumerate(words):
        if word in actions:
            return [word, *words[:index], *words[index + 1 :]]
    return [default, *words]
