"""Register the server and its hooks in a host, or remove them: `mcp-reflect install HOST`.

A host's own command does the registering where it is on PATH; elsewhere the host's file is edited. Either way the
change is shown, a person agrees, and the file as it was is kept beside it.
"""

import os
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.hosts.change import Change, read_file
from mcp_reflect.cli.hosts.hook_settings import HOOK_SETTINGS, add_hooks, find_hooks, find_program, remove_hooks
from mcp_reflect.cli.hosts.registry import AGENT_RULES, HOSTS, Command, CommandLine, HostConfig, Places, Remote, System
from mcp_reflect.cli.output import confirm, is_interactive, write_line, write_result
from mcp_reflect.errors import InputError

Edit: TypeAlias = Callable[[str], str]
"""Returns a file's new text for its present text."""

_COMMAND_SECONDS: Final = 60
"""The longest that a host's own command may take."""


class Plan(NamedTuple):
    """The changes of an installation: command lines of the host with the file that they change, and other files."""

    commands: tuple[CommandLine, ...]
    registered: Change | None
    changes: tuple[Change, ...]


def add_install_arguments(parser: CliParser) -> None:
    names = f"{', '.join(HOSTS)}; or rules, for hosts without hooks"
    parser.add_argument("host", metavar="HOST", choices=[*HOSTS, "rules"], help=names)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print the entry, change nothing")
    parser.add_argument("--uninstall", action="store_true", help="remove it again, with the hooks")
    parser.add_argument("--hooks", action="store_true", help="add its hooks too, if the host has them (docs/hooks.md)")
    about = "add hooks, and let your agent program read each finished session in the background (docs/hooks.md)"
    parser.add_argument("--distil", action="store_true", help=about)
    parser.add_argument("--here", action="store_true", help="for the people of this project alone, if the host can")
    parser.add_argument(
        "--project", metavar="NAME", help="the project whose lessons it reads and writes (MCP_REFLECT_PROJECT)"
    )
    parser.add_argument("--url", help="register a team's service instead, such as https://lessons.example.com/mcp")
    parser.add_argument("--token-env", metavar="NAME", help="the variable that has its token (REFLECT_TOKEN)")
    parser.add_argument("--bank", metavar="FILE", help="the bank that has them (MCP_REFLECT_BANK)")


def run_install(options: Namespace) -> int:
    """Register mcp-reflect in a host, or remove it: shows the change, asks, and keeps a backup."""
    if options.host == "rules":
        write_line(AGENT_RULES.rstrip())
        return 0
    host = HOSTS[options.host]
    command = _server_command(options)
    distil = find_program(options.host, host) if options.distil else None
    options.hooks = options.hooks or options.distil
    if options.only_print:
        write_line(host.add_entry("", command).rstrip())
        if options.hooks:
            write_line(add_hooks("", find_hooks(options.host, host), command, distil).rstrip())
        return 0
    plan = _plan(host, command, distil, options)
    if not plan.commands and not plan.changes:
        return _report(options, [], f"Nothing to change: it is {'not ' if options.uninstall else ''}there.")
    if not options.yes and not _agrees(plan, options):
        return 1
    for line in plan.commands:
        _run_host_command(host, line, plan)
    for change in plan.changes:
        change.apply()
        if options.uninstall:
            change.drop_backup()
    changes = [*([plan.registered] if plan.registered else []), *plan.changes]
    if options.uninstall:
        return _report(options, changes, f"Removed from {host.title}.")
    notes = [f"Registered in {host.title}.", host.restart, HOOK_SETTINGS[options.host].note if options.hooks else ""]
    read = f"When a session ends, {host.title} reads it once more without a window, on your account."
    return _report(options, changes, " ".join(filter(None, [*notes, read if distil else ""])))


def _plan(host: HostConfig, command: Command, distil: str | None, options: Namespace) -> Plan:
    """Plan the change; a host may keep its servers and its hooks in one file, which is changed once."""
    server_file = _server_file(host, here=options.here)
    edits: dict[Path, list[Edit]] = {}

    def edit_server(text: str) -> str:
        return host.remove_entry(text) if options.uninstall else host.add_entry(text, command)

    registered = _change(server_file, [edit_server], removes=options.uninstall)
    commands = _host_commands(host, command, registered, options) if registered.before != registered.after else ()
    if not commands:
        edits[server_file] = [edit_server]
    if options.hooks or (options.uninstall and options.host in HOOK_SETTINGS):
        hooks = find_hooks(options.host, host)
        hooks_file = (Path.cwd() if options.here else Path.home()) / hooks.file
        edits.setdefault(hooks_file, []).append(
            lambda text: remove_hooks(text, hooks) if options.uninstall else add_hooks(text, hooks, command, distil)
        )
    changes = [_change(path, its_edits, removes=options.uninstall) for path, its_edits in edits.items()]
    return Plan(
        commands, registered if commands else None, tuple(change for change in changes if change.before != change.after)
    )


def _host_commands(
    host: HostConfig, command: Command, registered: Change, options: Namespace
) -> tuple[CommandLine, ...]:
    """Return the host's own command lines for the change; none if it has no such command, or is not on PATH."""
    program = host.command and shutil.which(host.command.program)
    if command.remote or host.command is None or program is None or (options.here and not host.command.for_project):
        return ()
    before = registered.before or ""
    removes = options.uninstall or host.remove_entry(before) != before
    if removes and not host.command.remove:
        return ()
    lines = [host.command.remove] if removes else []
    lines += [] if options.uninstall else [host.command.add]
    return tuple((program, *host.command.words(line, command, here=options.here)) for line in lines)


def _run_host_command(host: HostConfig, line: CommandLine, plan: Plan) -> None:
    """Run a host's command, after a backup of its file. Raises InputError with what it printed if it fails."""
    if plan.registered:
        plan.registered.keep_backup()
    shown = shlex.join(line)
    try:
        result = subprocess.run(  # noqa: S603 - shown to the person, who agreed
            line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        fault = f"`{shown}` could not be run: {error}"
        raise InputError(host.title, fault, "Add the entry by hand (--print).") from None
    if result.returncode != 0:
        output = " ".join((result.stderr or result.stdout).split())[:300]
        raise InputError(host.title, f"`{shown}` failed: {output}", "Add the entry by hand (--print).")


def _change(path: Path, edits: Sequence[Edit], *, removes: bool) -> Change:
    """Return what `edits` make of a file. A file that we created is removed with its last entry."""
    before = read_file(path)
    after = before or ""
    try:
        for edit in edits:
            after = edit(after)
    except InputError as error:
        raise InputError(f"{path}, {error.field}", error.fault, error.fix) from None
    if after == (before or ""):
        return Change(path, before, before)
    backup = read_file(Change(path, before, after).backup)
    if after.strip() in {"", "{}"} and backup is None:
        return Change(path, before, None)
    if removes and backup is not None and "".join(after.split()) == "".join(backup.split()):
        after = backup  # editors of TOML and YAML may leave other spaces
    return Change(path, before, after)


def _server_file(host: HostConfig, *, here: bool) -> Path:
    if here and host.project is None:
        raise InputError("--here", f"{host.title} has no file for a project", "Leave it out.")
    if here and host.project:
        return Path.cwd() / host.project
    home = Path.home()
    system = System(sys.platform) if sys.platform in set(System) else System.LINUX
    return host.file(Places(home, system, Path(os.environ.get("APPDATA", home / "AppData" / "Roaming"))))


def _server_command(options: Namespace) -> Command:
    """Return the command beside the Python that runs this, by its whole path: hosts rarely see a shell's PATH."""
    settings = {"MCP_REFLECT_PROJECT": options.project, "MCP_REFLECT_BANK": options.bank}
    env = {name: value for name, value in settings.items() if value}
    remote = None
    if options.url:
        from mcp_reflect.cli.remote import checked_address, checked_variable  # noqa: PLC0415 - a client of HTTP

        checked_address(options.url)
        if options.bank or options.distil:
            option = "--bank" if options.bank else "--distil"
            raise InputError(option, "the service has the bank, and reads each session itself", "Leave it out.")
        remote = Remote(options.url, checked_variable(options.token_env), options.project)
    script = Path(sys.executable).with_name("mcp-reflect.exe" if sys.platform == "win32" else "mcp-reflect")
    if script.exists():
        return Command(str(script), (), env, remote)
    return Command(sys.executable, ("-m", "mcp_reflect"), env, remote)


def _agrees(plan: Plan, options: Namespace) -> bool:
    """Show the plan on stderr, and ask. Raises InputError if nobody can be asked."""
    lines = [f"run: {shlex.join(line)}\n" for line in plan.commands]
    lines += [f"which changes {plan.registered.path}\n"] if plan.registered else []
    sys.stderr.write("".join([*lines, *(change.diff() for change in plan.changes)]))
    if options.json or not is_interactive():
        raise InputError("--yes", "nobody is there to ask", "Add --yes to make the change shown above.")
    return confirm("Make this change?", "the host's file would change")


def _report(options: Namespace, changes: Sequence[Change], text: str) -> int:
    files = [str(change.path) for change in changes]
    backups = [str(change.backup) for change in changes if change.backup.exists()]
    lines = [text, *(f"The file as it was: {backup}" for backup in backups)]
    write_result(options, {"changed": files, "backups": backups}, "\n".join(lines))
    return 0
