"""Copy the bank, and lessons in and out of it: `mcp-reflect backup | restore | export | import | migrate`."""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.files import read_text, write_output
from mcp_reflect.cli.output import (
    confirm,
    counted,
    table,
    write_json,
    write_line,
    write_result,
)
from mcp_reflect.cli.running import Do, with_engine, with_uses
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import json_of, plain
from mcp_reflect.models.lesson import Stored
from mcp_reflect.projects import Scopes, stored_name
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker, refuse_agent, refuse_in_host, speaker_of_process
from mcp_reflect.storage.sqlite import backup
from mcp_reflect.text.one_line import visible

_MOST_SENT: Final = 1_000_000  # characters of lines that a service is sent at once
_EXPORT_MARK: Final = '{"id": "les_'
"""Begins an export, by which a file of ours is known again and may be overwritten."""


def add_backup_arguments(parser: CliParser) -> None:
    """Add the argument of `mcp-reflect backup`."""
    parser.add_argument("file", help="a file that does not exist yet")


def run_backup(options: Namespace) -> None:
    """Copy the bank to one private file (mode 0600), completely or not at all, while servers run."""

    async def copy(engine: Engine) -> None:
        """Copy the bank to the named file, and say so."""
        await engine.bank.open()
        _refuse_server(engine, "pg_dump --schema=mcp_reflect --format=custom --file=FILE")
        file = Path(options.file).absolute()
        size = backup.backup(engine.bank.path, file)
        write_result(
            options, {"file": str(file), "bytes": size}, f"Copied to {file}, {size} bytes."
        )

    with_engine(copy, opens=False)


def _refuse_server(engine: Engine, command: str) -> None:
    """Raise InputError for a bank on a server, with the command of PostgreSQL that does the same."""
    if isinstance(engine.settings.bank, ServerUrl):
        fault = "it is on a server, which has programs of its own for copies"
        raise InputError("MCP_REFLECT_BANK", fault, f"Run as a superuser: {command}")


def add_restore_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect restore`."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", help="a copy that `mcp-reflect backup` or a server made")
    source.add_argument(
        "--latest", action="store_true", help="the newest sound daily copy beside the bank"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_restore(options: Namespace) -> int:
    """Replace all that is in the bank by what a copy holds.

    Servers that run continue with it. What was in the bank is kept as a copy beside it, if it is a file. A bank that
    holds a lesson which a person keeps is replaced in a person's terminal alone; a script may restore any other.
    """
    refuse_in_host("restore", "replace all that is in the bank")

    async def restore(engine: Engine) -> int:
        """Replace the bank, if the person agrees; return the exit status."""
        bank = engine.bank
        _refuse_server(engine, "pg_restore --clean --if-exists --single-transaction FILE")
        speaker = speaker_of_process()
        wait = engine.settings.bank_busy_seconds
        if backup.holds_word_of_person(bank.path, wait):
            refuse_agent(speaker, "restore", "replace a bank that holds their lessons")
        file = backup.latest_copy(bank.path) if options.latest else Path(options.file).absolute()
        question = f"Replace all that is in {bank.place} by {file}?"
        if not options.yes and not confirm(question, "it replaces all that is in the bank"):
            write_line("Nothing was restored.")
            return 1
        by_person = speaker is Speaker.PERSON
        previous = backup.restore(bank.path, file, bank.clock.now(), wait, by_person=by_person)
        text = f"Restored {file}."
        if previous:
            text += f" The previous content is in {previous}."
        write_result(options, {"restored": str(file), "kept": previous and str(previous)}, text)
        return 0

    return with_engine(restore, opens=False)


def add_export_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect export`."""
    parser.add_argument("file", nargs="?", help="the file to write, readable by you alone")
    parser.add_argument(
        "--all-projects", action="store_true", help="the lessons of all projects, not only this one"
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite a file that is not an export"
    )
    about = "the lessons that you approved, into .mcp-reflect/lessons.jsonl of this repository"
    parser.add_argument("--here", action="store_true", help=about)


def run_export(options: Namespace) -> None:
    """Write lessons as JSONL that `import` reads, to stdout unless a file is named.

    With --here only the words of what a person approved, sorted, one lesson a line: commit the file, and others who work
    in the repository are told of it.
    """
    if options.here:
        _export_here(options)
        return
    lessons: list[Any] = with_uses(
        options, lambda do: do("export", {"all_projects": options.all_projects})
    )
    lines = "".join(json.dumps(lesson, ensure_ascii=False) + "\n" for lesson in lessons)
    if options.file is None:
        sys.stdout.write(lines)
        return
    write_output(options.file, "file", lines, mark=_EXPORT_MARK, force=options.force)
    text = f"{counted(len(lessons), 'lesson')} in {options.file}."
    write_result(options, {"lessons": len(lessons), "file": options.file}, text)


def _export_here(options: Namespace) -> None:
    """Write the approved lessons into this repository's file."""
    from mcp_reflect.services.shared import SHARED_FILE, export_here  # noqa: PLC0415 - needed here alone

    refuse_agent(speaker_of_process(), "--here", "write into a project's files")
    if options.file or options.url or options.all_projects:
        fix = "Leave the other options out: it writes this project's file in its repository."
        raise InputError("--here", "it goes with no file, service or other projects", fix)

    async def write(engine: Engine) -> None:
        count = await export_here(engine.context)
        text = f"{counted(count, 'lesson')} in {SHARED_FILE}. Commit it to share them."
        write_result(options, {"lessons": count, "file": SHARED_FILE}, text)

    with_engine(write)


def _import_here(options: Namespace) -> None:
    """Let the new lessons of this repository's file wait for a person, and say what came of it."""
    from mcp_reflect.services.shared import SHARED_FILE, import_here, refuse_missing_here  # noqa: PLC0415 - needed here alone

    if options.file or options.url or options.own:
        fix = "Leave the other options out: it reads this repository's file, which anybody may have written."
        raise InputError("--here", "it goes with no file, service or --own", fix)

    async def read_here(engine: Engine) -> None:
        """Store what is new, and say how much of it waits for the person."""
        await refuse_missing_here(engine.context)
        stored, shared = await import_here(engine.context)
        waiting = sum(lesson.status == "quarantined" for lesson in stored)
        trusted = len(stored) - waiting
        summary = f"{SHARED_FILE}: {waiting} wait for you, {shared.known} are known. mcp-reflect lessons review"
        if trusted:
            summary = f"{SHARED_FILE}: {trusted} stored, as a setting says; {waiting} wait."
        lines = [summary, *(f"not read: {fault}" for fault in shared.faults)]
        value = {
            "quarantined": waiting,
            "stored": trusted,
            "known": shared.known,
            "faults": list(shared.faults),
        }
        write_result(options, value, visible("\n".join(lines)))

    with_engine(read_here)


def add_import_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect import`."""
    parser.add_argument("file", nargs="?", help="the file; - reads stdin")
    about = "this repository's .mcp-reflect/lessons.jsonl: what is new waits for you"
    parser.add_argument("--here", action="store_true", help=about)
    about = "it is your own export: keep ids, dates, trust, history and outcomes"
    parser.add_argument("--own", action="store_true", help=about)


def run_import(options: Namespace) -> None:
    """Read lessons from JSONL: the fields of store_lesson, with an optional external_id and project.

    If a line is bad, the error names it and nothing is stored. Lessons that the bank has are skipped.
    """
    if options.here:
        _import_here(options)
        return
    if options.file is None:
        raise InputError("file", "it is missing", "Name the file, or give --here.")
    lines = _lines_to_import(read_text(options.file, Settings.from_env()))
    parts = [lines]
    if options.url:
        parts = [*_parts(lines)]

    async def import_parts(do: Do) -> list[Stored]:
        """Store the lines, to a service in parts: one request may only be so long."""
        stored: list[Stored] = []
        for part in parts:
            stored += await do("import", {"lines": part, "own": options.own})
        return stored

    stored = with_uses(options, import_parts)
    if options.json:
        for lesson in stored:
            write_json(plain(lesson))
        return
    counts = Counter(lesson.status for lesson in stored)
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    write_line(f"{counted(counts.total(), 'lesson')}: {summary or 'none in the file'}.")


def _lines_to_import(text: str) -> list[tuple[int, Any]]:
    """Return the objects of a JSONL text, each with the number of its line; InputError for another line."""
    lines: list[tuple[int, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        value = json_of(line)
        if not isinstance(value, dict):
            raise InputError(
                f"line {number}", "it is not a JSON object", "Give one JSON object per line."
            )
        lines.append((number, value))
    return lines


def _parts(lines: list[tuple[int, Any]]) -> Iterator[list[tuple[int, Any]]]:
    """Yield the lines in parts of at most about _MOST_SENT characters, for a service takes no more at once."""
    part: list[tuple[int, Any]] = []
    size = 0
    for line in lines:
        if part and size > _MOST_SENT:
            yield part
            part = []
            size = 0
        part.append(line)
        size += len(json.dumps(line))
    yield part


def add_migrate_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect migrate`."""
    parser.add_argument(
        "--to",
        metavar="URL",
        required=True,
        help="postgresql://USER@HOST/DATABASE, an empty database",
    )
    about = "the team, as its tokens name it (mcp-reflect tokens list); 'local' stays your own"
    parser.add_argument("--tenant", metavar="T", required=True, help=about)
    about = "what the tokens call a project of the file; without OLD=, this directory's project. May be repeated"
    parser.add_argument(
        "--project", action="append", default=[], metavar="[OLD=]NEW", dest="projects", help=about
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show tenant and projects, and move nothing"
    )


def _new_names(options: Namespace, counts: Mapping[str, int], own: str) -> dict[str, str]:
    """Return the new name of each project that gets one: of `OLD=NEW`, or of `NEW` for this directory's project `own`.

    `counts` has the projects of the file. InputError for a project that is not there, or a name that two would have.
    """
    new_by_old: dict[str, str] = {}
    for word in options.projects:
        old, equals, new = word.rpartition("=")
        new_by_old[old if equals else own] = new
    names = {old: stored_name(new) for old, new in new_by_old.items() if new != old}
    for old, new in names.items():
        if old not in counts:
            fix = f"It has: {', '.join(counts) or 'none'}."
            raise InputError("--project", f"the file has no lessons of '{old}'", fix)
        if new in counts or [*names.values()].count(new) > 1:
            raise InputError(
                "--project", f"two projects would be called '{new}'", "Choose another name."
            )
    return names


def _refuse_bad_move(settings: Settings, target: str) -> None:
    """Raise an error unless the bank is a file, the target an address of PostgreSQL, and its driver is installed."""
    if not target.startswith(("postgresql://", "postgres://")):
        fix = "Write postgresql://USER@HOST/DATABASE."
        raise InputError("--to", "it is not the address of a PostgreSQL database", fix)
    if isinstance(settings.bank, ServerUrl):
        raise BankError(
            f"The bank {settings.bank} is on a server already. For copies of it, use pg_dump."
        )
    if find_spec("psycopg") is None:
        raise BankError(
            "A bank on PostgreSQL needs psycopg. Run: pip install 'psycopg[binary,pool]'"
        )


def _projects_to_move(
    counts: Mapping[str, int], names: Mapping[str, str]
) -> tuple[str, list[dict[str, str]]]:
    """Return the projects that would be moved, with their lessons and new names: as a table, and for a program."""
    rows: list[tuple[str, ...]] = []
    projects: list[dict[str, str]] = []
    for old, count in counts.items():
        title, new = old or "(global)", names.get(old, old)
        rows.append((title, str(count), new))
        projects.append({"from": title, "lessons": str(count), "to": new})
    return table(rows, ("project", "lessons", "called there"), flexible=0), projects


def run_migrate(options: Namespace) -> None:
    """Copy all that the bank in a file has learned to PostgreSQL. The file stays as it is.

    Start no server on the database before the move is done. Leave the password out of the URL, and give it by
    PGPASSWORD or ~/.pgpass: other users of this machine see arguments.
    """
    settings = Settings.from_env()
    target = ServerUrl(options.to)
    _refuse_bad_move(settings, options.to)
    from mcp_reflect.storage.postgres import moving  # noqa: PLC0415 - psycopg may not be there

    tenant = stored_name(options.tenant.strip())
    if not tenant:
        raise InputError(
            "--tenant", "it is empty", "Name that of your tokens, or local for a bank of your own."
        )
    counts = moving.projects_in(settings.bank_path)
    names = _new_names(options, counts, Scopes.of(settings).own.project)
    if options.dry_run:
        listing, projects = _projects_to_move(counts, names)
        text = f"{listing}\nTenant '{tenant}' of {target}. Nothing was moved."
        write_result(options, {"tenant": tenant, "projects": projects}, text)
        return

    refuse_in_host("migrate", "move a bank to a server")

    async def move(engine: Engine) -> dict[str, int]:
        assert isinstance(engine.bank.db, moving.PostgresDatabase)  # noqa: S101 - as the settings say
        return await moving.move(settings.bank_path, engine.bank.db, tenant, names)

    moved = with_engine(move, replace(settings, bank=target), opens=False)
    lines = [f"{name:<18} {rows:>9}" for name, rows in moved.items()]
    text = "\n".join((*lines, f"Moved {settings.bank_path} to {target}."))
    write_result(options, [{"table": name, "rows": rows} for name, rows in moved.items()], text)
