"""Register the server and its hooks in a host, or remove them: `mcp-reflect install HOST`.

The change of the host's file is shown, a person agrees, and the file as it was is kept beside it.
"""

import re
import shutil
import sys
from argparse import Namespace
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
        from mcp_reflect.services.promote import FILES  # noqa: PLC0415 - the entry of a host needs no bank

        write_line(AGENT_RULES.rstrip())
        sys.stderr.write(f"Put them into the file that your host reads: {', '.join(FILES)}.\n")
        return 0
    host = HOSTS[options.host]
    command = _server_command(options)
    distil = find_program(options.host) if options.distil else None
    options.hooks = options.hooks or options.distil
    if options.only_print:
        write_line(host.set_entry("", command).rstrip())
        if options.hooks:
            write_line(set_hooks("", find_hooks(options.host), command, distil).rstrip())
        return 0
    changes = _changes(host, command, distil, options)
    if not changes:
        said = f"Nothing to change: it is {'not ' if options.uninstall else ''}there."
        write_result(options, {"changed": [], "backups": []}, said)
        return 0
    if not options.yes:
        sys.stderr.write(
            "".join(diff(change.path, change.before, change.after) for change in changes)
        )
        if not confirm("Make this change?", "it changes the host's file as shown above"):
            return 1
    _apply_all(changes)
    backups = [str(backup) for change in changes if (backup := backup_of(change.path)).exists()]
    report = {"changed": [str(change.path) for change in changes], "backups": backups}
    said = "\n".join(
        (_said(host, options), *(f"The file as it was: {backup}" for backup in backups))
    )
    write_result(options, report, said)
    return 0


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


def _said(host: HostConfig, options: Namespace) -> str:
    if options.uninstall:
        kept = "" if options.url else f" What was learned stays in {Settings.from_env().bank_path}."
        warned = running(options.host)
        return f"Removed from {host.title}.{kept}{f' {warned}' if warned else ''}"
    notes = [f"Registered in {host.title}.", host.restart, _ON_PATH if options.here else ""]
    notes.append(ROWS[options.host].note)
    notes += [_LOADED] if options.host == "claude-code" else []
    if options.hooks:
        can_hold = ROWS[options.host].moments.last_word != "no"
        notes += [HOOK_SETTINGS[options.host].note, _LAST_WORD if can_hold else ""]
    notes += (
        [f"When a session ends, {host.title} reads it once more, on your account."]
        if options.distil
        else []
    )
    notes.append(_missing_program(options.host))
    if options.hooks:
        notes += hooks_switched_off(options.host)
    notes.append(running(options.host) or "")
    return " ".join(filter(None, notes))


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
    if options.here and host.project is None:
        raise InputError("--here", f"{host.title} has no file for a project", "Leave it out.")
    server_file = Path.cwd() / host.project if options.here and host.project else host.file()
    wanted = None if options.uninstall else command
    edits: dict[Path, list[Edit]] = {server_file: [lambda text: host.set_entry(text, wanted)]}
    if options.hooks or (options.uninstall and options.host in HOOK_SETTINGS):
        hooks = find_hooks(options.host)
        place = (
            Path.cwd() / (hooks.project_file or hooks.file)
            if options.here
            else person_file(hooks.file)
        )
        if not (options.uninstall and _others_with(hooks, options.host, here=options.here)):
            edits.setdefault(place, []).append(lambda text: set_hooks(text, hooks, wanted, distil))
    changes = [
        _change(path, its_edits, removes=options.uninstall) for path, its_edits in edits.items()
    ]
    return [change for change in changes if change.before != change.after]


def _others_with(hooks: HookSettings, host: str, *, here: bool) -> list[str]:
    """Return the other hosts that read the same file of hooks, and in which the server is registered as well."""
    others = [
        name for name in HOOK_SETTINGS if name != host and HOOK_SETTINGS[name].file == hooks.file
    ]
    return [name for name in others if is_registered(name, here=here)]


def _change(path: Path, edits: Sequence[Edit], *, removes: bool) -> Change:
    """Return what `edits` make of a file. A file that we created is removed with its last entry."""
    before = read_file(path)
    try:
        after = _edited(before or "", edits)
    except InputError as error:
        raise InputError(f"{path}, {error.field}", error.fault, error.fix) from None
    if not removes or after == (before or ""):
        return Change(path, before, after if after or before is not None else None)
    left = after if _compact(after) else None
    kept = read_file(backup_of(path))
    # A second installation keeps the first copy, so what an earlier one wrote may be in it.
    if kept is None or _compact(first := _edited(kept, edits)) != _compact(after):
        return Change(path, before, left)
    return Change(path, before, kept if first == kept else left, drops_backup=True)


def _edited(text: str, edits: Sequence[Edit]) -> str:
    for edit in edits:
        text = edit(text)
    return text


def _compact(text: str) -> str:
    """Return a text without spaces; nothing if it has no entry."""
    text = "".join(text.split())
    return "" if re.fullmatch(r'\{("\w+":\{\})?\}', text) else text


def _server_command(options: Namespace) -> Command:
    """Return the command of this installation, by its whole path: hosts rarely see a shell's PATH.

    It is started so that the folder of a session, and PYTHONPATH in it, bring no code into it. In a project's file,
    which its people share, it is the name alone.
    """
    settings = {"MCP_REFLECT_PROJECT": options.project, "MCP_REFLECT_BANK": options.bank}
    env = {name: value for name, value in settings.items() if value}
    remote = None
    if options.url:
        checked_address(options.url)
        if options.bank or options.distil:
            option = "--bank" if options.bank else "--distil"
            raise InputError(
                option, "the service has the bank, and reads each session itself", "Leave it out."
            )
        remote = Remote(options.url, checked_variable(options.token_env), options.project)
        if not (options.only_print or options.uninstall):
            _try(remote)
    if options.here:
        return Command("mcp-reflect", (), env, remote)
    if children.is_found_isolated():
        return Command(sys.executable, (*children.ISOLATED, "-m", "mcp_reflect"), env, remote)
    # This Python finds the package by a variable or a wrapper alone, as some distributions have it.
    script = Path(sys.executable).with_name(
        "mcp-reflect.exe" if sys.platform == "win32" else "mcp-reflect"
    )
    if script.exists():
        return Command(str(script), (), env, remote)
    program, *arguments = children.our_command()
    return Command(program, tuple(arguments), env, remote)


def _try(remote: Remote) -> None:
    """Say on stderr whether the service accepts the token of this environment; the host may use another one."""
    try:
        found = ask(remote.url, remote.token_env, "whoami", {}, remote.project)
        said = f"The service answers: you are '{found['name']}' ({found['role']}) of {found['tenant']}."
    except McpReflectError as error:
        said = f"The service could not be used from here: {error}"
    sys.stderr.write(f"{said}\n")
