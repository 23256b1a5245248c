"""Copy the bank, and lessons in and out of it: `mcp-reflect backup | restore | export | import | migrate`."""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from mcp_reflect import services
from mcp_reflect.cli.commands import CliParser, add_service_arguments
from mcp_reflect.cli.files import json_object, read_text, write_output
from mcp_reflect.cli.lesson_files import export_files, import_files, is_folder
from mcp_reflect.cli.output import ask, confirm, is_interactive, table, write_json, write_line, write_result
from mcp_reflect.cli.place import ask_as, settings_of, with_engine
from mcp_reflect.config import ServerUrl, Settings
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import from_json, plain
from mcp_reflect.models.lesson import Stored
from mcp_reflect.projects import Scopes, stored_name
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite import backup

if TYPE_CHECKING:
    from mcp_reflect.storage.postgres.moving import Moved

_MOST_SENT: Final = 1_000_000  # characters of lines that a service is sent at once


def add_backup_arguments(parser: CliParser) -> None:
    parser.add_argument("file", help="a file that does not exist yet")


def run_backup(options: Namespace) -> None:
    """Copy the bank to one private file (mode 0600), completely or not at all, while servers run."""
    file = Path(options.file).absolute()

    async def copy(engine: Engine) -> int:
        await engine.bank.open()
        _refuse_server(engine, "pg_dump --schema=mcp_reflect --format=custom --file=FILE")
        return backup.backup(engine.bank.path, file)

    size = with_engine(copy, opens=False)
    write_result(options, {"file": str(file), "bytes": size}, f"Copied to {file}, {size} bytes.")


def _refuse_server(engine: Engine, command: str) -> None:
    if isinstance(engine.settings.bank, ServerUrl):
        fault = "it is on a server, which has programs of its own for copies"
        raise InputError("MCP_REFLECT_BANK", fault, f"Run as a superuser: {command}")


def add_restore_arguments(parser: CliParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", help="a copy that `mcp-reflect backup` or a server made")
    source.add_argument("--latest", action="store_true", help="the newest sound daily copy beside the bank")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_restore(options: Namespace) -> int:
    """Replace all that is in the bank by what a copy holds.

    Servers that run continue with it. What was in the bank is kept as a copy beside it, if it is a file.
    """

    async def restore(engine: Engine) -> tuple[Path, Path | None] | None:
        bank = engine.bank
        _refuse_server(engine, "pg_restore --clean --if-exists --single-transaction FILE")
        file = backup.latest_copy(bank.path) if options.latest else Path(options.file).absolute()
        question = f"Replace all that is in {bank.place} by {file}?"
        if not options.yes and not confirm(question, "it replaces all that is in the bank"):
            return None
        return file, backup.restore(bank.path, file, bank.clock.now(), engine.settings.bank_busy_seconds)

    restored = with_engine(restore, opens=False)
    if restored is None:
        write_line("Nothing was restored.")
        return 1
    file, previous = restored
    text = f"Restored {file}." + ("" if previous is None else f" The previous content is in {previous}.")
    write_result(options, {"restored": str(file), "kept": previous and str(previous)}, text)
    return 0


def add_export_arguments(parser: CliParser) -> None:
    parser.add_argument("file", nargs="?", help="the file to write, readable by you alone; DIR/: Markdown")
    parser.add_argument("--all-projects", action="store_true", help="the lessons of all projects, not only this one")
    parser.add_argument("--force", action="store_true", help="overwrite a file that is not an export")
    add_service_arguments(parser)


def run_export(options: Namespace) -> None:
    """Write lessons as JSONL that `import` reads, to stdout unless a file is named.

    Into a folder (lessons/), each lesson is written as a Markdown file, for git and for editors; `import` reads the
    folder back. These files have the words of the lessons; trust, outcomes and history are in JSONL alone.
    """
    if options.file is not None and is_folder(options.file):
        _refuse_options_of_jsonl(options, "all_projects", "force", "url")
        count = with_engine(lambda engine: export_files(engine, Path(options.file)), settings_of(options))
        write_result(options, {"lessons": count, "file": options.file}, f"{count} lessons in {options.file}.")
        return

    async def write(engine: Engine, file: TextIO) -> int:
        own = engine.scopes.own
        count = 0
        async for line in engine.bank.transfer.export(own.tenant, None if options.all_projects else own.project):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
        return count

    def export(file: TextIO) -> int:
        if not options.url:
            return with_engine(lambda engine: write(engine, file), settings_of(options))
        if options.all_projects:
            raise InputError("--all-projects", "a service writes one project at a time", "Give --project NAME.")
        lines = ask_as(options, "export", {})
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        return len(lines)

    if options.file is None:
        export(sys.stdout)
        return
    with write_output(options.file, "file", mark='{"id": "les_', force=options.force) as file:
        count = export(file)
    write_result(options, {"lessons": count, "file": options.file}, f"{count} lessons in {options.file}.")


def _refuse_options_of_jsonl(options: Namespace, *names: str) -> None:
    for name in names:
        if getattr(options, name):
            raise InputError(f"--{name.replace('_', '-')}", "it is for JSONL, and a folder was named", "Leave it out.")


def add_import_arguments(parser: CliParser) -> None:
    parser.add_argument("file", help="the file; - reads stdin; a folder: its Markdown files")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--merge", action="store_true", help="strengthen near-duplicates instead of storing each line")
    how.add_argument(
        "--own", action="store_true", help="it is your own export: keep ids, dates, trust, history and outcomes"
    )
    add_service_arguments(parser)


def run_import(options: Namespace) -> None:
    """Read lessons from JSONL: the fields of store_lesson, with an optional external_id and project.

    If a line is bad, the error names it and nothing is stored. Lessons that the bank has are skipped.
    From a folder, a new Markdown file becomes a lesson, and a changed one edits its lesson (see `export`).
    """
    if is_folder(options.file):
        _import_folder(options)
        return
    text = read_text(options.file, Settings.from_env())
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    lines = ((number, json_object(line, f"line {number}")) for number, line in numbered)

    counts: Counter[str] = Counter()

    def count(batch: Sequence[Stored]) -> None:
        counts.update(stored.status for stored in batch)
        if options.json:
            for stored in batch:
                write_json(plain(stored))

    async def work(engine: Engine) -> None:
        if options.own:
            count(await services.lessons.import_own(engine.context, lines))
        else:
            async for batch in engine.import_lessons(lines, merge=options.merge):
                count(batch)

    if options.url:
        _send(options, [*lines], count)
    else:
        with_engine(work, settings_of(options))
    if not options.json:
        summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        write_line(f"{counts.total()} lessons: {summary or 'none in the file'}.")


def _import_folder(options: Namespace) -> None:
    _refuse_options_of_jsonl(options, "merge", "own", "url")
    changes = with_engine(lambda engine: import_files(engine, Path(options.file)), settings_of(options))
    lines = [f"{name}: {item}" for name, items in changes.items() for item in items]
    write_result(options, changes, "\n".join(lines) or "Nothing has changed.")


def _send(options: Namespace, lines: list[tuple[int, Any]], count: Callable[[Sequence[Stored]], None]) -> None:
    """Send the lines to a service, in parts that it takes at once."""
    while lines:
        part, size = 1, len(json.dumps(lines[0]))
        while part < len(lines) and (size := size + len(json.dumps(lines[part]))) <= _MOST_SENT:
            part += 1
        sent = {"lines": lines[:part], "own": options.own, "merge": options.merge}
        count(from_json(tuple[Stored, ...], ask_as(options, "import", sent)))
        lines = lines[part:]


def add_migrate_arguments(parser: CliParser) -> None:
    parser.add_argument("--to", metavar="URL", required=True, help="postgresql://USER@HOST/DATABASE, an empty database")
    parser.add_argument("--tenant", metavar="T", help="the team, as its tokens name it; 'local' stays your own")
    about = "what the tokens call a project of the file; without OLD=, this directory's project. May be repeated"
    parser.add_argument("--project", action="append", default=[], metavar="[OLD=]NEW", dest="projects", help=about)
    parser.add_argument("--dry-run", action="store_true", help="show tenant and projects, and move nothing")


def _tenant_of(options: Namespace) -> str:
    """Return the tenant that the records get; a person is asked, if there is one."""
    given = options.tenant or (ask("The team, as its tokens name it (tenant): ") if is_interactive() else None)
    if not given or not given.strip():
        fix = "Name that of your tokens (mcp-reflect tokens list), or local for a bank of your own."
        raise InputError("--tenant", "it is missing, and without it the team would not find the lessons", fix)
    return stored_name(given.strip())


def _new_names(options: Namespace, counts: Mapping[str, int], own: str) -> dict[str, str]:
    """Return the new name of each project that gets one; a person is asked where no option says it."""
    names = dict((word if "=" in word else f"{own}={word}").rsplit("=", 1) for word in options.projects)
    if not options.projects and is_interactive():
        for old, count in counts.items() if options.tenant != "local" else ():
            names[old] = (
                ask(f"Project {old or '(global)'} ({count} lessons) is called there (Enter: the same): ") or old
            )
    names = {old: stored_name(new) for old, new in names.items() if new != old}
    for old, new in names.items():
        if old not in counts:
            known = ", ".join(counts) or "none"
            raise InputError("--project", f"the file has no lessons of '{old}'", f"It has: {known}.")
        if new in counts or [*names.values()].count(new) > 1:
            raise InputError("--project", f"two projects would be called '{new}'", "Choose another name.")
    return names


def run_migrate(options: Namespace) -> None:
    """Copy all that the bank in a file has learned to PostgreSQL. The file stays as it is.

    Let no server use the database before the move is done. Leave
    the password out of the URL, and give it by PGPASSWORD or ~/.pgpass: other users of this machine see arguments.
    """
    settings, target = Settings.from_env(), ServerUrl(options.to)
    if not options.to.startswith(("postgresql://", "postgres://")):
        fix = "Write postgresql://USER@HOST/DATABASE."
        raise InputError("--to", "it is not the address of a PostgreSQL database", fix)
    if isinstance(settings.bank, ServerUrl):
        raise BankError(f"The bank {settings.bank} is on a server already. For copies of it, use pg_dump.")

    if find_spec("psycopg") is None:
        raise BankError("A bank on PostgreSQL needs psycopg. Run: pip install 'mcp-reflect-server[postgres]'")
    from mcp_reflect.storage.postgres import moving  # noqa: PLC0415 - psycopg may not be there

    counts = moving.projects_in(settings.bank_path)
    names = moving.Names(_tenant_of(options), _new_names(options, counts, Scopes.of(settings).own.project))
    if options.dry_run:
        rows = [(old or "(global)", str(count), names.projects.get(old, old)) for old, count in counts.items()]
        shown = table(rows, ("PROJECT", "LESSONS", "CALLED THERE"), flexible=0)
        projects = [dict(zip(("from", "lessons", "to"), row, strict=True)) for row in rows]
        text = f"{shown}\nTenant '{names.tenant}' of {target}. Nothing was moved."
        write_result(options, {"tenant": names.tenant, "projects": projects}, text)
        return

    async def work(engine: Engine) -> "list[Moved]":
        assert isinstance(engine.bank.db, moving.Database)  # noqa: S101 - as the settings say
        return await moving.move(settings.bank_path, engine.bank.db, names)

    moved = with_engine(work, replace(settings, bank=target), opens=False)
    lines = [f"{item.table:<18} {item.rows:>9}" for item in moved]
    text = "\n".join((*lines, f"Moved {settings.bank_path} to {target}."))
    write_result(options, [item._asdict() for item in moved], text)
