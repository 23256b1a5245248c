"""`mcp-reflect install`."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from mcp_reflect.cli.common import parser, say, say_json
from mcp_reflect.cli.hosts.file import Change, same_but_for_spaces, text_of
from mcp_reflect.cli.hosts.hooks import HOOKS, hooked, hooks, unhooked
from mcp_reflect.cli.hosts.registry import HOSTS, RULES, Command, Host, Places, System, host
from mcp_reflect.errors import InputError

Edit: TypeAlias = Callable[[str], str]
"""Makes a file's text of the text as it is."""


def run(arguments: list[str]) -> int:
    """Register the server in a host, or take it out again. 1 where the person says no."""
    given = _words().parse_args(arguments)
    if given.host == "rules":
        say(RULES.rstrip())
        return 0
    chosen = host(given.host)
    command = _command(given)
    if given.only_print:
        say(chosen.added("", command).rstrip())
        if given.hooks:
            say(hooked("", hooks(given.host, chosen), command).rstrip())
        return 0
    changes = _changes(chosen, command, given)
    if not changes:
        return _told(given, [], "Nothing to change: " + ("it is not there." if given.uninstall else "it is there."))
    if not given.yes and not _agreed(changes, given):
        return 1
    for change in changes:
        change.apply()
        if given.uninstall:
            change.settled()
    if given.uninstall:
        return _told(given, changes, f"Taken out of {chosen.title}.")
    word = f" {HOOKS[given.host].after}" if given.hooks else ""
    return _told(given, changes, f"Registered in {chosen.title}. {chosen.restart}{word.rstrip()}")


def _words() -> ArgumentParser:
    words = parser("install", "Register mcp-reflect in a host: shows the change, asks, keeps the file as it was.")
    words.add_argument("host", metavar="HOST", help=f"{', '.join(HOSTS)}; or rules, for hosts without hooks")
    words.add_argument("--yes", action="store_true", help="do not ask")
    words.add_argument("--print", action="store_true", dest="only_print", help="print the entry, change nothing")
    words.add_argument("--uninstall", action="store_true", help="take it out again, with the hooks")
    words.add_argument("--hooks", action="store_true", help="and its hooks, where the host has them (docs/hooks.md)")
    words.add_argument("--here", action="store_true", help="for the people of this project alone, where the host can")
    words.add_argument(
        "--project", metavar="NAME", help="the project whose lessons it reads and writes (MCP_REFLECT_PROJECT)"
    )
    words.add_argument("--bank", metavar="FILE", help="the bank it keeps them in (MCP_REFLECT_BANK)")
    return words


def _changes(chosen: Host, command: Command, given: Namespace) -> list[Change]:
    """The files that are to change, each once: a host may keep its servers and its hooks in the same one."""
    edits = [_server(chosen, command, given)]
    if given.hooks or (given.uninstall and given.host in HOOKS):
        edits.append(_hooks(chosen, command, given))
    files: dict[Path, list[Edit]] = {}
    for path, edit in edits:
        files.setdefault(path, []).append(edit)
    return [one for path, its in files.items() if (one := _change(path, its, removes=given.uninstall)).needed]


def _server(chosen: Host, command: Command, given: Namespace) -> tuple[Path, Edit]:
    def edit(text: str) -> str:
        return chosen.removed(text) if given.uninstall else chosen.added(text, command)

    return _file(chosen, here=given.here), edit


def _hooks(chosen: Host, command: Command, given: Namespace) -> tuple[Path, Edit]:
    known = hooks(given.host, chosen)

    def edit(text: str) -> str:
        return unhooked(text, known) if given.uninstall else hooked(text, known, command)

    return (Path.cwd() if given.here else Path.home()) / known.file, edit


def _change(path: Path, edits: Sequence[Edit], *, removes: bool) -> Change:
    """What `edits` make of a file; one that we made goes with the last entry."""
    before = text_of(path)
    after = before or ""
    try:
        for edit in edits:
            after = edit(after)
    except InputError as error:
        raise InputError(f"{path}, {error.field}", error.fault, error.fix) from None
    if after == (before or ""):
        return Change(path, before, before)
    backup = text_of(Change(path, before, after).backup)
    if after.strip() in {"", "{}"} and backup is None:
        return Change(path, before, None)
    if removes and backup is not None and same_but_for_spaces(after, backup):
        return Change(path, before, backup)
    return Change(path, before, after)


def _file(chosen: Host, *, here: bool) -> Path:
    if here and chosen.project is None:
        raise InputError("--here", f"{chosen.title} has no file for a project", "Leave it out.")
    if here and chosen.project:
        return Path.cwd() / chosen.project
    home = Path.home()
    system = System(sys.platform) if sys.platform in set(System) else System.LINUX
    return chosen.file(Places(home, system, Path(os.environ.get("APPDATA", home / "AppData" / "Roaming"))))


def _command(given: Namespace) -> Command:
    """The command beside the Python that runs this, by its whole path: hosts rarely see a shell's PATH."""
    env = {
        name: value
        for name, value in (("MCP_REFLECT_PROJECT", given.project), ("MCP_REFLECT_BANK", given.bank))
        if value
    }
    script = Path(sys.executable).with_name("mcp-reflect.exe" if sys.platform == "win32" else "mcp-reflect")
    if script.exists():
        return Command(str(script), (), env)
    return Command(sys.executable, ("-m", "mcp_reflect"), env)


def _agreed(changes: list[Change], given: Namespace) -> bool:
    for change in changes:
        sys.stderr.write(change.shown())
    if given.json or not sys.stdin.isatty():
        raise InputError("--yes", "nobody is there to ask", "Add --yes to make the change shown above.")
    return input("Make this change? [y/N] ").strip().lower() in {"y", "yes"}


def _told(given: Namespace, changes: list[Change], text: str) -> int:
    files = [str(change.path) for change in changes]
    backups = [str(change.backup) for change in changes if change.backup.exists()]
    if given.json:
        say_json({"changed": files, "backups": backups})
        return 0
    say(text)
    for name in backups:
        say(f"The file as it was: {name}")
    return 0
