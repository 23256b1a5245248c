"""Move the bank of a file to PostgreSQL: `mcp-reflect migrate`."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import (
    table,
    write_result,
)
from mcp_reflect.cli.running import with_engine
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.projects import Scopes, stored_name
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import refuse_in_host


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
    """Return the new name of each project that gets one, from the words of --project.

    `shop=acme` gives {"shop": "acme"}, and `acme` alone renames `own`, the project of this directory. `counts` has the
    projects of the file. InputError for a project that is not there, or a name that two projects would have.
    """
    new_by_old: dict[str, str] = {}
    for word in options.projects:
        old, equals, new = word.rpartition("=")
        if not equals:
            old = own
        new_by_old[old] = new
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


def _projects_to_move(counts: Mapping[str, int], names: Mapping[str, str]) -> list[dict[str, str]]:
    """Return a record for each project that would be moved: its name, how many lessons it has, and its new name."""
    return [
        {"from": old or "(global)", "lessons": str(count), "to": names.get(old, old)}
        for old, count in counts.items()
    ]


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
        projects = _projects_to_move(counts, names)
        rows = [tuple(project.values()) for project in projects]
        listing = table(rows, ("project", "lessons", "called there"), flexible=0)
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
