"""Copy the bank, and lessons in and out of it: `mcp-reflect backup | restore | export | import | migrate`."""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mcp_reflect import services
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.files import json_object, read_text, write_output
from mcp_reflect.cli.output import confirm, write_json, write_line, write_result
from mcp_reflect.config import ServerUrl, Settings
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import plain
from mcp_reflect.models.lesson import Stored
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite import backup

if TYPE_CHECKING:
    from mcp_reflect.storage.postgres.moving import Moved


def add_backup_arguments(parser: CliParser) -> None:
    parser.add_argument("file", help="a file that does not exist yet")


def run_backup(options: Namespace) -> None:
    """Copy the bank to one private file (mode 0600), completely or not at all, while servers run."""
    file = Path(options.file).absolute()

    async def copy(engine: Engine) -> int:
        await engine.bank.open()
        if isinstance(engine.settings.bank, ServerUrl):
            from mcp_reflect.storage.postgres import copies  # noqa: PLC0415 - psycopg may not be there

            return copies.backup(engine.settings.bank, file)
        return backup.backup(engine.bank.path, file)

    size = with_engine(copy)
    write_result(options, {"file": str(file), "bytes": size}, f"Copied to {file}, {size} bytes.")


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
        bank, on_server = engine.bank, engine.settings.bank
        if options.latest and isinstance(on_server, ServerUrl):
            raise InputError("--latest", "a bank on a server has no daily copies", "Name a file.")
        file = backup.latest_copy(bank.path) if options.latest else Path(options.file).absolute()
        question = f"Replace all that is in {bank.place} by {file}?"
        if not options.yes and not confirm(question, "it replaces all that is in the bank"):
            return None
        if isinstance(on_server, ServerUrl):
            from mcp_reflect.storage.postgres import copies  # noqa: PLC0415 - psycopg may not be there

            copies.restore(on_server, file)
            return file, None
        return file, backup.restore(bank.path, file, bank.clock.now(), engine.settings.bank_busy_seconds)

    restored = with_engine(restore)
    if restored is None:
        write_line("Nothing was restored.")
        return 1
    file, previous = restored
    text = f"Restored {file}." + ("" if previous is None else f" The previous content is in {previous}.")
    write_result(options, {"restored": str(file), "kept": previous and str(previous)}, text)
    return 0


def add_export_arguments(parser: CliParser) -> None:
    parser.add_argument("file", nargs="?", help="the file to write, readable by you alone")
    parser.add_argument("--all-projects", action="store_true", help="the lessons of all projects, not only this one")
    parser.add_argument("--force", action="store_true", help="overwrite a file that is not an export")


def run_export(options: Namespace) -> None:
    """Write lessons as JSONL that `import` reads, to stdout unless a file is named."""

    async def write(engine: Engine, file: TextIO) -> int:
        own = engine.scopes.own
        count = 0
        async for line in engine.bank.transfer.export(own.tenant, None if options.all_projects else own.project):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
        return count

    if options.file is None:
        with_engine(lambda engine: write(engine, sys.stdout))
        return
    with write_output(options.file, "file", mark='{"id": "les_', force=options.force) as file:
        count = with_engine(lambda engine: write(engine, file))
    write_result(options, {"lessons": count, "file": options.file}, f"{count} lessons in {options.file}.")


def add_import_arguments(parser: CliParser) -> None:
    parser.add_argument("file", help="the file; - reads stdin")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--merge", action="store_true", help="strengthen near-duplicates instead of storing each line")
    how.add_argument(
        "--own", action="store_true", help="it is your own export: keep ids, dates, trust, history and outcomes"
    )


def run_import(options: Namespace) -> None:
    """Read lessons from JSONL: the fields of store_lesson, with an optional external_id and project.

    If a line is bad, the error names it and nothing is stored. Lessons that the bank has are skipped.
    """
    text = read_text(options.file, Settings.from_env())
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    lines = ((number, json_object(line, f"line {number}")) for number, line in numbered)

    async def work(engine: Engine) -> Counter[str]:
        counts: Counter[str] = Counter()

        def count(batch: Sequence[Stored]) -> None:
            counts.update(stored.status for stored in batch)
            if options.json:
                for stored in batch:
                    write_json(plain(stored))

        if options.own:
            count(await services.lessons.import_own(engine.context, lines))
        else:
            async for batch in engine.import_lessons(lines, merge=options.merge):
                count(batch)
        return counts

    counts = with_engine(work)
    if not options.json:
        summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        write_line(f"{counts.total()} lessons: {summary or 'none in the file'}.")


def add_migrate_arguments(parser: CliParser) -> None:
    parser.add_argument("--to", metavar="URL", required=True, help="postgresql://USER@HOST/DATABASE, an empty database")
    parser.add_argument("--anew", action="store_true", help="remove an unfinished move of an earlier state first")


def run_migrate(options: Namespace) -> None:
    """Copy all that the bank in a file has learned to PostgreSQL, and compare both. The file stays as it is.

    A run that was killed is continued by the next one. Let no server use the database before the move is done. Leave
    the password out of the URL, and give it by PGPASSWORD or ~/.pgpass: other users of this machine see arguments.
    """
    settings, target = Settings.from_env(), ServerUrl(options.to)
    if not options.to.startswith(("postgresql://", "postgres://")):
        fix = "Write postgresql://USER@HOST/DATABASE."
        raise InputError("--to", "it is not the address of a PostgreSQL database", fix)
    if isinstance(settings.bank, ServerUrl):
        raise BankError(f"The bank {settings.bank} is on a server already. For copies of it, use pg_dump.")

    async def work(engine: Engine) -> "list[Moved]":
        from mcp_reflect.storage.postgres import moving  # noqa: PLC0415 - psycopg may not be there

        assert isinstance(engine.bank.db, moving.Database)  # noqa: S101 - as the settings say
        return await moving.move(settings.bank_path, engine.bank.db, anew=options.anew)

    moved = with_engine(work, replace(settings, bank=target))
    lines = [f"{item.table:<18} {item.rows:>9}  {item.added:>9} added now" for item in moved]
    text = "\n".join((*lines, f"Moved {settings.bank_path} to {target}: every table has the same rows in both."))
    write_result(options, [item._asdict() for item in moved], text)
