"""Register the server and its hooks in a host, or remove them: `mcp-reflect install HOST`.

The change of the host's file is shown, a person agrees, and the file as it was is kept beside it.
"""

import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_reflect import children
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.file_changes import Edit, FileChange, apply_all, backup_of, change_of
from mcp_reflect.cli.host_hooks import HookSettings, set_hooks
from mcp_reflect.cli.host_state import is_registered
from mcp_reflect.cli.host_table import HOOK_SETTINGS, HOSTS, find_hooks, find_program
from mcp_reflect.cli.hosts import AGENT_RULES, HostConfig, Remote, ServerCommand, person_file
from mcp_reflect.cli.install_text import done_text, nothing_text
from mcp_reflect.cli.kept_entries import refuse_agents_change
from mcp_reflect.cli.leftovers import leftovers
from mcp_reflect.cli.output import confirm, diff, write_json, write_line, write_result
from mcp_reflect.cli.service_client import ask_service, checked_address, checked_variable
from mcp_reflect.errors import InputError, McpReflectError

_DONE, _DECLINED, _WRONG = 0, 1, 2
"""The status of the command."""


def add_install_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect install`."""
    names = f"{', '.join(HOSTS)}; or rules, for hosts without hooks"
    parser.add_argument("host", metavar="HOST", nargs="+", choices=[*HOSTS, "rules"], help=names)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--print", action="store_true", dest="only_print", help="print the entry, change nothing"
    )
    parser.add_argument("--uninstall", action="store_true", help="remove it again, with the hooks")
    parser.add_argument(
        "--hooks",
        action="store_true",
        help="add its hooks too, if the host has them (docs/hooks.md)",
    )
    about = "add hooks, and let your agent program read each finished session in the background (docs/hooks.md)"
    parser.add_argument("--distil", action="store_true", help=about)
    parser.add_argument(
        "--here",
        action="store_true",
        help="in the project's own file, which its people share, if there is one",
    )
    about = "the project whose lessons it reads and writes (MCP_REFLECT_PROJECT)"
    parser.add_argument("--project", metavar="NAME", help=about)
    parser.add_argument(
        "--url", help="register a team's service instead, such as https://lessons.example.com/mcp"
    )
    parser.add_argument(
        "--token-env", metavar="NAME", help="the variable that has its token (REFLECT_TOKEN)"
    )
    parser.add_argument("--bank", metavar="FILE", help="the bank that has them (MCP_REFLECT_BANK)")


@dataclass(frozen=True, slots=True)
class Report:
    """What was done for a host, in words for a person, and the files that were changed and kept."""

    text: str
    changed: Sequence[str] = ()
    backups: Sequence[str] = ()


def run_install(options: Namespace) -> int:
    """Register mcp-reflect in hosts, or remove it: shows each change, asks, and keeps a backup."""
    names = [*dict.fromkeys(options.host)]
    if "rules" in names:
        return _print_rules(names)
    command = _server_command(options)
    hooks = bool(options.hooks or options.distil)
    options_by_host = [
        Namespace(**{**vars(options), "host": name, "hooks": hooks}) for name in names
    ]
    if options.only_print:
        for host_options in options_by_host:
            _print_entry(host_options, command)
        return _DONE
    if len(options_by_host) > 1:
        return _install_each(options_by_host, command, options)
    report = _install(options_by_host[0], command)
    if report is None:
        return _DECLINED
    write_result(options, {"changed": report.changed, "backups": report.backups}, report.text)
    return _DONE


def _install_each(
    options_by_host: Sequence[Namespace], command: ServerCommand, options: Namespace
) -> int:
    """Change one host after the other, each as a whole or not at all; return the worst status.

    | the host                  | is said                        | status    |
    |---------------------------|--------------------------------|-----------|
    | is changed                | what was done                  | _DONE     |
    | is declined by the person | that it is not changed         | _DECLINED |
    | cannot be changed         | the fault; the others are done | _WRONG    |

    Each is looked at when those before it are done, since two hosts may read one file.
    """
    status = _DONE
    done: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for host_options in options_by_host:
        host = host_options.host
        title = HOSTS[host].title
        try:
            report = _install(host_options, command)
        except InputError as error:
            status = _WRONG
            faults[host] = str(error)
            sys.stderr.write(f"{title}: not changed. {error}\n")
            continue
        if report is None:
            status = max(status, _DECLINED)
            sys.stderr.write(f"{title}: not changed, as you said.\n")
            continue
        done[host] = {"changed": report.changed, "backups": report.backups}
        if not options.json:
            write_line(f"{title}: {report.text}")
    if options.json:
        write_json({"hosts": done, "faults": faults})
    return status


def _install(options: Namespace, command: ServerCommand) -> Report | None:
    """Change the files of one host, and return what was done; None if the person does not agree.

    All its files are changed or none: after an InputError they are as they were.
    """
    host = HOSTS[options.host]
    changes = _changes(host, command, options)
    if not changes:
        return Report("\n".join((nothing_text(options), *_leftovers(options))))
    refuse_agents_change(host, changes)
    if not options.yes and not _agreed(changes):
        return None
    apply_all(changes)
    backups = [backup_of(change.path) for change in changes]
    existing_backups = [str(backup) for backup in backups if backup.exists()]
    lines = [done_text(host, options)]
    lines += _leftovers(options) or [f"The file as it was: {file}" for file in existing_backups]
    changed_files = [str(change.path) for change in changes]
    return Report("\n".join(lines), changed_files, existing_backups)


def _leftovers(options: Namespace) -> list[str]:
    """Return a sentence for each thing that a removal leaves for a person to remove; none for an installation."""
    if not options.uninstall:
        return []
    return leftovers(options.host)


def _print_entry(options: Namespace, command: ServerCommand) -> None:
    """Print the entry that would be written, and the hooks."""
    write_line(HOSTS[options.host].set_entry("", command).rstrip())
    if options.hooks:
        hooks = find_hooks(options.host)
        write_line(set_hooks("", hooks, command, _reader_of_sessions(options)).rstrip())


def _reader_of_sessions(options: Namespace) -> str | None:
    """Return the program that reads each finished session, if one was asked for."""
    if not options.distil:
        return None
    return find_program(options.host)


def _print_rules(names: Sequence[str]) -> int:
    """Print the lines for hosts without hooks, which are not written into any file here."""
    if len(names) > 1:
        raise InputError("HOST", "rules are printed by themselves", "Name hosts alone, or rules.")
    from mcp_reflect.services.instruction_files import FILES  # noqa: PLC0415 - the entry of a host needs no bank

    write_line(AGENT_RULES.rstrip())
    sys.stderr.write(f"Put them into the file that your host reads: {', '.join(FILES)}.\n")
    return _DONE


def _agreed(changes: Sequence[FileChange]) -> bool:
    """Show the changes, and return whether the person agrees."""
    for change in changes:
        sys.stderr.write(diff(change.path, change.before, change.after))
    return confirm("Make this change?", "it changes the host's file as shown above")


def _changes(host: HostConfig, command: ServerCommand, options: Namespace) -> list[FileChange]:
    """Return the changes of a host's files that set our server's entry and hooks, or take them out (--uninstall).

    A host may keep its servers and its hooks in one file, which is then changed once. A file that already says what is
    wanted is not among them.
    """
    command_to_set = command
    if options.uninstall:
        command_to_set = None
    edits_by_file: dict[Path, list[Edit]] = defaultdict(list)
    server_file = _server_file(host, options)
    edits_by_file[server_file].append(lambda text: host.set_entry(text, command_to_set))
    if _changes_hooks(options):
        hooks = find_hooks(options.host)
        reader = _reader_of_sessions(options)
        edits_by_file[_hooks_file(hooks, options)].append(
            lambda text: set_hooks(text, hooks, command_to_set, reader)
        )
    changes = [
        change_of(path, edits, removes=options.uninstall) for path, edits in edits_by_file.items()
    ]
    return [change for change in changes if change.before != change.after]


def _server_file(host: HostConfig, options: Namespace) -> Path:
    """Return the file for the server's entry: the person's, or with --here the project's."""
    if not options.here:
        return host.file()
    if host.project is None:
        raise InputError("--here", f"{host.title} has no file for a project", "Leave it out.")
    return _file_of_project(host.project)


def _file_of_project(name: str) -> Path:
    """Return a file of the project that is worked in, by its name below the folder, with no link in its path.

    InputError where a link leads out of the folder: whoever made the repository put it there, and what a person agrees
    to is a change of the project. A link to another file of the project is followed.
    """
    folder = Path.cwd().resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise InputError(
            "--here", f"{name} is a link that leads to {path}", "Remove the link first."
        )
    return path


def _hooks_file(hooks: HookSettings, options: Namespace) -> Path:
    """Return the file for the hooks: the person's, or with --here the project's."""
    if options.here:
        return _file_of_project(hooks.project_file or hooks.file)
    return person_file(hooks.file)


def _changes_hooks(options: Namespace) -> bool:
    """Return whether hooks are written or removed.

    `--uninstall` removes them with the server, without being asked to; but they stay where another host reads the same
    file and has the server too.
    """
    if not options.uninstall:
        return bool(options.hooks)
    if not options.hooks and options.host not in HOOK_SETTINGS:
        return False
    return not _others_with(find_hooks(options.host), options.host, here=options.here)


def _others_with(hooks: HookSettings, host: str, *, here: bool) -> list[str]:
    """Return the other hosts that read the same file of hooks, and in which the server is registered as well."""
    return [
        name
        for name, others in HOOK_SETTINGS.items()
        if name != host and others.file == hooks.file and is_registered(name, here=here)
    ]


def _server_command(options: Namespace) -> ServerCommand:
    """Return how a host starts the server: the words of the command, and the settings or the service of the options."""
    bank = _whole_bank(options.bank)
    settings = {"MCP_REFLECT_PROJECT": options.project, "MCP_REFLECT_BANK": bank}
    env = {name: value for name, value in settings.items() if value}
    remote = _remote(options)
    program, *arguments = _command_line(options)
    return ServerCommand(program, tuple(arguments), env, remote)


def _whole_bank(bank: str | None) -> str | None:
    """Return the bank as the entry names it: a relative path as a whole one, since a host starts us in any folder."""
    if not bank or "://" in bank or bank.startswith(("~", "$", "%")):
        return bank
    return str(Path(bank).absolute())


def _command_line(options: Namespace) -> Sequence[str]:
    """Return the words that start this installation, by its whole path: hosts rarely see a shell's PATH.

    | this installation                                  | the words                           |
    |----------------------------------------------------|-------------------------------------|
    | is named in a project's file, which people share   | `mcp-reflect`, found on their PATH  |
    | is found by Python without the folder of a session | Python, isolated: no code gets in   |
    | has a script beside its Python                     | that script                         |
    | any other                                          | as `children.our_command` starts it |
    """
    if options.here:
        return ["mcp-reflect"]
    if children.is_found_isolated():
        return [sys.executable, *children.ISOLATED, "-m", "mcp_reflect"]
    # This Python finds the package only by a variable or a wrapper, as some distributions have it.
    name = "mcp-reflect"
    if sys.platform == "win32":
        name = "mcp-reflect.exe"
    script = Path(sys.executable).with_name(name)
    if script.exists():
        return [str(script)]
    return children.our_command()


def _remote(options: Namespace) -> Remote | None:
    """Return the service that was named, after trying it where it is about to be registered."""
    if not options.url:
        return None
    checked_address(options.url)
    for option, value in (("--bank", options.bank), ("--distil", options.distil)):
        if value:
            fault = "the service has the bank, and reads each session itself"
            raise InputError(option, fault, "Leave it out.")
    remote = Remote(options.url, checked_variable(options.token_env), options.project)
    if not options.only_print and not options.uninstall:
        _try_service(remote)
    return remote


def _try_service(remote: Remote) -> None:
    """Say on stderr whether the service accepts the token of this environment; the host may use another one."""
    try:
        user = ask_service(remote.url, remote.token_env, "whoami", {}, remote.project)
        line = (
            f"The service answers: you are '{user['name']}' ({user['role']}) of {user['tenant']}."
        )
    except McpReflectError as error:
        line = f"The service could not be used from here: {error}"
    sys.stderr.write(f"{line}\n")
