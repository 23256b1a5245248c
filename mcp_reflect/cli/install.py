"""Register the server and its hooks in a host, or remove them: `mcp-reflect install HOST`.

The change of the host's file is shown, a person agrees, and the file as it was is kept beside it.
"""

import re
import shutil
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect import children
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.files import replace_file
from mcp_reflect.cli.host_hooks import HookSettings, set_hooks
from mcp_reflect.cli.host_state import hooks_switched_off, is_registered, running
from mcp_reflect.cli.host_table import HOOK_SETTINGS, HOSTS, ROWS, find_hooks, find_program
from mcp_reflect.cli.hosts import AGENT_RULES, Command, HostConfig, Remote, person_file
from mcp_reflect.cli.output import confirm, diff, write_line, write_result
from mcp_reflect.cli.place import ask, checked_address, checked_variable
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError, McpReflectError


@dataclass(frozen=True, slots=True)
class Change:
    """A file's text before and after a change; None means that there is no file.

    `drops_backup`: the file again has everything that the copy from before the first change has, so the copy can go.
    """

    path: Path
    before: str | None
    after: str | None
    drops_backup: bool = False

    def apply(self) -> None:
        """Back the file up and write it, or remove it with its empty folders. InputError if that cannot be done."""
        if read_file(self.path) != self.before:
            raise InputError(str(self.path), "it changed in the meantime", "Run the command again.")
        backup, mode = backup_of(self.path), 0o600
        try:
            if self.before is not None:
                mode = self.path.stat().st_mode & 0o777
                if self.after is not None and not backup.exists():
                    replace_file(backup, self.before, mode)
            if self.after is None:
                self.path.unlink()
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self.path, self.after, mode)
            if self.drops_backup:
                backup.unlink()
            folder, roots = self.path.parent, (Path.home(), Path.cwd())
            while any(root in folder.parents for root in roots) and not any(folder.iterdir()):
                folder.rmdir()
                folder = folder.parent
        except OSError as error:
            fault = f"it cannot be written: {error.strerror}"
            raise InputError(str(self.path), fault, "Nothing was changed.") from None

    def take_back(self, *, had_backup: bool) -> None:
        """Put the file back as it was. Another program that changed it meanwhile has the last word."""
        if read_file(self.path) == self.after:
            Change(self.path, self.after, self.before).apply()
            if not had_backup:
                backup_of(self.path).unlink(missing_ok=True)


def backup_of(path: Path) -> Path:
    """Return the path of the copy of a file that is made before its first change."""
    return path.with_name(f"{path.name}.before-mcp-reflect")


def read_file(path: Path) -> str | None:
    """Return a file's text, or None if there is no file. Raises InputError if it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(str(path), "it is not a regular file", "Nothing was changed.")
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            str(path), f"it cannot be read: {error.strerror}", "Nothing was changed."
        ) from None
    except UnicodeDecodeError:
        raise InputError(
            str(path), "it is not UTF-8", "Write the entry by hand (--print)."
        ) from None


Edit = Callable[[str], str]
"""Returns a file's new text for its present text."""

_LOADED: Final = (
    "Its model sees five of the tools from the start, which takes about 870 tokens of each session (3.5 kB); "
    "MCP_REFLECT_ALWAYS_LOAD=false changes that."
)
_LAST_WORD: Final = (
    "A last message that claims what its session does not show (tests pass, it builds, pushed) is held once; "
    "MCP_REFLECT_LAST_WORD=tell or off changes that."
)

_NO_ENTRY: Final = re.compile(r'\{("\w+":\{\})?\}')
"""A JSON document without an entry, or with one empty block."""

_ON_PATH: Final = (
    "Everybody needs `mcp-reflect` on PATH: the file names the command without a path."
)


def add_install_arguments(parser: CliParser) -> None:
    names = f"{', '.join(HOSTS)}; or rules, for hosts without hooks"
    parser.add_argument("host", metavar="HOST", choices=[*HOSTS, "rules"], help=names)
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


def run_install(options: Namespace) -> int:
    """Register mcp-reflect in a host, or remove it: shows the change, asks, and keeps a backup."""
    if options.host == "rules":
        _print_rules()
        return 0
    host = HOSTS[options.host]
    command = _server_command(options)
    distil = None
    if options.distil:
        distil = find_program(options.host)
        options.hooks = True
    if options.only_print:
        write_line(host.set_entry("", command).rstrip())
        if options.hooks:
            write_line(set_hooks("", find_hooks(options.host), command, distil).rstrip())
        return 0
    changes = _changes(host, command, distil, options)
    if not changes:
        write_result(options, {"changed": [], "backups": []}, _nothing_text(options))
        return 0
    if not options.yes and not _agreed(changes):
        return 1
    _apply_all(changes)
    _report(host, changes, options)
    return 0


def _print_rules() -> None:
    from mcp_reflect.services.instruction_files import FILES  # noqa: PLC0415 - the entry of a host needs no bank

    write_line(AGENT_RULES.rstrip())
    sys.stderr.write(f"Put them into the file that your host reads: {', '.join(FILES)}.\n")


def _nothing_text(options: Namespace) -> str:
    if options.uninstall:
        return "Nothing to change: it is not there."
    return "Nothing to change: it is there."


def _agreed(changes: Sequence[Change]) -> bool:
    """Show the changes, and return whether the person agrees."""
    for change in changes:
        sys.stderr.write(diff(change.path, change.before, change.after))
    return confirm("Make this change?", "it changes the host's file as shown above")


def _report(host: HostConfig, changes: Sequence[Change], options: Namespace) -> None:
    """Print what was changed, and where the files are as they were."""
    backups = [backup_of(change.path) for change in changes]
    kept = [str(backup) for backup in backups if backup.exists()]
    lines = [_done_text(host, options), *(f"The file as it was: {backup}" for backup in kept)]
    report = {"changed": [str(change.path) for change in changes], "backups": kept}
    write_result(options, report, "\n".join(lines))


def _apply_all(changes: Sequence[Change]) -> None:
    """Make all changes, or none: where one fails, those before it are taken back."""
    made: list[tuple[Change, bool]] = []
    try:
        for change in changes:
            had_backup = backup_of(change.path).exists()
            change.apply()
            made.append((change, had_backup))
    except InputError:
        for change, had_backup in reversed(made):
            change.take_back(had_backup=had_backup)
        raise


def _done_text(host: HostConfig, options: Namespace) -> str:
    """Return what a person is told after the change, in one paragraph."""
    notes_of = _notes_on_entry
    if options.uninstall:
        notes_of = _notes_on_removal
    notes = notes_of(host, options)
    return " ".join(note for note in notes if note)


def _notes_on_removal(host: HostConfig, options: Namespace) -> list[str]:
    notes = [f"Removed from {host.title}."]
    if not options.url:
        notes.append(f"What was learned stays in {Settings.from_env().bank_path}.")
    notes.append(running(options.host) or "")
    return notes


def _notes_on_entry(host: HostConfig, options: Namespace) -> list[str]:
    notes = [f"Registered in {host.title}.", host.restart]
    if options.here:
        notes.append(_ON_PATH)
    notes.append(ROWS[options.host].note)
    if options.host == "claude-code":
        notes.append(_LOADED)
    if options.hooks:
        notes.append(HOOK_SETTINGS[options.host].note)
        if ROWS[options.host].moments.last_word != "no":
            notes.append(_LAST_WORD)
    if options.distil:
        notes.append(f"When a session ends, {host.title} reads it once more, on your account.")
    notes.append(_missing_program(options.host))
    if options.hooks:
        notes += hooks_switched_off(options.host)
    notes.append(running(options.host) or "")
    return notes


def _missing_program(host: str) -> str:
    """Return a sentence where the program of a host is not on PATH; an empty one where it is, or has a window."""
    program = ROWS[host].program
    if program is None or shutil.which(program):
        return ""
    return f"There is no `{program}` on PATH here: {HOSTS[host].title} reads the file once it is installed."


def _changes(
    host: HostConfig, command: Command, distil: str | None, options: Namespace
) -> list[Change]:
    """Return the changes; a host may keep its servers and its hooks in one file, which is changed once."""
    wanted = command
    if options.uninstall:
        wanted = None
    edits: dict[Path, list[Edit]] = defaultdict(list)
    edits[_server_file(host, options)].append(lambda text: host.set_entry(text, wanted))
    if _changes_hooks(options):
        hooks = find_hooks(options.host)
        edits[_hooks_file(hooks, options)].append(
            lambda text: set_hooks(text, hooks, wanted, distil)
        )
    changes = [
        _change(path, its_edits, removes=options.uninstall) for path, its_edits in edits.items()
    ]
    return [change for change in changes if change.before != change.after]


def _server_file(host: HostConfig, options: Namespace) -> Path:
    if not options.here:
        return host.file()
    if host.project is None:
        raise InputError("--here", f"{host.title} has no file for a project", "Leave it out.")
    return Path.cwd() / host.project


def _hooks_file(hooks: HookSettings, options: Namespace) -> Path:
    if options.here:
        return Path.cwd() / (hooks.project_file or hooks.file)
    return person_file(hooks.file)


def _changes_hooks(options: Namespace) -> bool:
    """Return whether hooks are written or removed.

    They go with the server, wanted or not; but stay where another host reads the same file and has the server too.
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


def _change(path: Path, edits: Sequence[Edit], *, removes: bool) -> Change:
    """Return what `edits` make of a file."""
    before = read_file(path)
    text = before or ""
    try:
        after = _edited(text, edits)
    except InputError as error:
        raise InputError(f"{path}, {error.field}", error.fault, error.fix) from None
    if after == text:
        return Change(path, before, before)
    if not removes:
        return Change(path, before, after)
    return _removal(path, before, after, edits)


def _removal(path: Path, before: str | None, after: str, edits: Sequence[Edit]) -> Change:
    """Return the change that takes our entries out of a file.

    A file that we created is removed with its last entry. The copy from before the first change comes back if the file
    has nothing else than that copy by now: then it is again as it was, to the last blank. A second installation keeps
    the first copy, so what an earlier one wrote may be in it, and is taken out of it first.
    """
    left = None
    if _compact(after):
        left = after
    copy = read_file(backup_of(path))
    if copy is None:
        return Change(path, before, left)
    copy_without_us = _edited(copy, edits)
    if _compact(copy_without_us) != _compact(after):
        return Change(path, before, left)
    if copy_without_us == copy:
        left = copy
    return Change(path, before, left, drops_backup=True)


def _edited(text: str, edits: Sequence[Edit]) -> str:
    for edit in edits:
        text = edit(text)
    return text


def _compact(text: str) -> str:
    """Return a text without spaces; nothing if it has no entry."""
    compact = "".join(text.split())
    if _NO_ENTRY.fullmatch(compact):
        return ""
    return compact


def _server_command(options: Namespace) -> Command:
    """Return the command of this installation, by its whole path: hosts rarely see a shell's PATH.

    It is started so that the folder of a session, and PYTHONPATH in it, bring no code into it. In a project's file,
    which its people share, it is the name alone.
    """
    settings = {"MCP_REFLECT_PROJECT": options.project, "MCP_REFLECT_BANK": options.bank}
    env = {name: value for name, value in settings.items() if value}
    remote = _remote(options)
    program, *arguments = _command_line(options)
    return Command(program, tuple(arguments), env, remote)


def _command_line(options: Namespace) -> Sequence[str]:
    if options.here:
        return ["mcp-reflect"]
    if children.is_found_isolated():
        return [sys.executable, *children.ISOLATED, "-m", "mcp_reflect"]
    # This Python finds the package by a variable or a wrapper alone, as some distributions have it.
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
    for option, is_given in (("--bank", options.bank), ("--distil", options.distil)):
        if is_given:
            fault = "the service has the bank, and reads each session itself"
            raise InputError(option, fault, "Leave it out.")
    remote = Remote(options.url, checked_variable(options.token_env), options.project)
    if not options.only_print and not options.uninstall:
        _try(remote)
    return remote


def _try(remote: Remote) -> None:
    """Say on stderr whether the service accepts the token of this environment; the host may use another one."""
    try:
        found = ask(remote.url, remote.token_env, "whoami", {}, remote.project)
        said = f"The service answers: you are '{found['name']}' ({found['role']}) of {found['tenant']}."
    except McpReflectError as error:
        said = f"The service could not be used from here: {error}"
    sys.stderr.write(f"{said}\n")
