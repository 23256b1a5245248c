"""Move the bank of a file to a server: every table as it is, indexed anew, each tenant in one transaction."""

import glob
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from mcp_reflect.errors import BankDamagedError, BankError, NotABankError
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.postgres.database import Database, PostgresRow, PostgresTransaction, sent
from mcp_reflect.storage.repository import Writing, lesson_from, readable
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.sqlite import backup, files
from mcp_reflect.storage.sqlite.database import explained

_BATCH: Final = 200  # rows that are sent at once
# The index is made anew; vectors of an embedding model are made by `mcp-reflect embed`.
_LEFT_OUT: Final = (*backup.DERIVED, "embedders")
# A file's tables without a tenant belong to that of the record in this column.
_OWNERS: Final = {"outcomes": "lesson_id", "task_outcomes": "recall_id", "versions": "record_id", "links": "from_id"}
# A record that is there no more belongs to the first tenant: most files have one.
_TENANT: Final = """coalesce(
    (SELECT tenant FROM lessons WHERE id = {0}), (SELECT tenant FROM reflections WHERE id = {0}),
    (SELECT tenant FROM recalls WHERE id = {0}), :first)"""
# Failures get other row numbers on the server: a warning's failure is named by what is unique of it.
_FAILURE_KEY: Final = "project || ' ' || signature || ' ' || exact"


class Moved(NamedTuple):
    """The number of rows of a table that were moved."""

    table: str
    rows: int


def _sql(table: backup.Table) -> tuple[list[str], str, bytes]:
    """Return a table's columns without the tenant and row numbers, and the SQL that reads its rows and adds them."""
    columns = [name for name in table.columns if name not in ("tenant", "row")]
    read = {"failure": f"(SELECT {_FAILURE_KEY} FROM failures WHERE failures.row = {table.name}.failure)"}  # noqa: S608 - our own schema's names
    added = {"failure": f"coalesce((SELECT row FROM failures WHERE {_FAILURE_KEY} = %(failure)s LIMIT 1), 0)"}  # noqa: S608 - same
    names = ", ".join(read.get(name, f'"{name}"') for name in columns)
    values = ", ".join(added.get(name, f"%({name})s") for name in ("tenant", *columns))
    targets = ", ".join(f'"{name}"' for name in ("tenant", *columns))
    insert = f'INSERT INTO "{table.name}" ({targets}) VALUES ({values})'  # noqa: S608 - same
    return columns, f'SELECT {names} FROM "{table.name}"', insert.encode()  # noqa: S608 - same


class Names(NamedTuple):
    """What a person's own records are called on the server: their tenant, and projects by their old name."""

    tenant: str
    projects: Mapping[str, str]


def projects_in(path: Path) -> dict[str, int]:
    """Return the number of a person's active lessons of each project in a file."""
    if not path.is_file():
        raise BankError(f"There is no bank at {path}. Set MCP_REFLECT_BANK to the file to move.")
    counted = "SELECT project, count(*) FROM lessons WHERE tenant = 'local' AND state = 'active' GROUP BY project"
    with explained(path), closing(files.connect_to_read(path)[0]) as source:
        return {project: count for project, count in source.execute(f"{counted} ORDER BY project")}  # noqa: C416


def _rename(source: Any, names: Names) -> None:
    with files.write_lock(source):
        for table in backup.tables(source):
            own = f"UPDATE \"{table.name}\" SET %s = ? WHERE tenant = 'local'"  # noqa: S608 - our own schema's names
            if "project" in table.columns:
                changes = [(new, old) for old, new in names.projects.items()]
                source.executemany(f"{own % 'project'} AND project = ?", changes)
            if "tenant" in table.columns:
                source.execute(own % "tenant", (names.tenant,))


async def move(path: Path, target: Database, names: Names | None = None) -> list[Moved]:
    """Copy all of the bank at `path` to a bank without records. BankError if it has some: nothing is moved then.

    The file is not changed: a copy of it is read, so that servers may go on.
    """
    if not path.is_file():
        raise BankError(f"There is no bank at {path}. Set MCP_REFLECT_BANK to the file to move.")
    for left in path.parent.glob(f"{glob.escape(path.name)}.moving-*"):
        shutil.rmtree(left, ignore_errors=True)  # the copy of a run that was killed
    with explained(path), tempfile.TemporaryDirectory(prefix=f"{path.name}.moving-", dir=path.parent) as folder:
        copy = Path(folder) / "bank.db"
        files.copy_to(path, copy)
        with closing(files.connect(copy)) as source:
            if (version := files.version_of(source, path)) == 0:
                raise NotABankError(f"{path} is not a bank.")
            if version > files.newest():
                raise BankError(f"{path} cannot be moved: {files.newer(version)}")
            files.upgrade(source, None)
            if damaged := backup.unreadable(source):
                raise BankDamagedError(f"{path} has damaged texts: {damaged[0]}. Run: mcp-reflect restore --latest")
            source.text_factory = str
            if names:
                _rename(source, names)
            tables = [table for table in backup.tables(source) if table.name not in _LEFT_OUT]
            held = [table.name for table in tables if "tenant" in table.columns]
            every = " UNION ".join(f'SELECT tenant FROM "{name}"' for name in held)  # noqa: S608 - our own schema's names
            tenants: list[str] = [row[0] for row in source.execute(f"{every} ORDER BY tenant")]
        moved = Counter[str]()
        for tenant in tenants:
            put = partial(_put_tenant, copy=copy, tables=tables, tenant=tenant, first=tenants[0])
            moved.update(await target.write(tenant, put))
        return [Moved(name, rows) for name, rows in moved.items() if rows]


def _put_tenant(
    writing: Writing,
    copy: Path,
    tables: Sequence[backup.Table],
    tenant: str,
    first: str,
) -> dict[str, int]:
    """Add the rows of a tenant, and index its lessons; return the number of rows by table."""
    connection = cast("PostgresTransaction", writing).connection
    for table in tables:
        found = f'SELECT 1 FROM "{table.name}" WHERE tenant = %s LIMIT 1'.encode()  # noqa: S608 - our own schema's names
        if table.name != "tokens" and connection.execute(found, (tenant,)).fetchone():
            raise BankError(
                f"The database has records of the tenant '{tenant}' already ({table.name}); none of its records were "
                "moved. Name an empty database."
            )
    counts: dict[str, int] = {}
    with closing(files.connect(copy, read_only=True)) as source:
        for table in tables:
            columns, select, insert = _sql(table)
            held = _TENANT.format(f'"{table.name}"."{_OWNERS[table.name]}"') if table.name in _OWNERS else "tenant"
            order = table.rowid or ", ".join(table.key)
            own = {"tenant": tenant, "first": first}
            rows = source.execute(f"{select} WHERE {held} = :tenant ORDER BY {order}", own)
            counts[table.name] = 0
            while batch := [tuple(map(sent, row)) for row in rows.fetchmany(_BATCH)]:
                counts[table.name] += len(batch)
                values = ({"tenant": tenant, **dict(zip(columns, row, strict=True))} for row in batch)
                connection.cursor().executemany(insert, values)
                if table.name == "lessons":
                    _index(writing, tenant, columns, batch)
    return counts


def _index(writing: Writing, tenant: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    places = {name: place for place, name in enumerate(columns)}
    lessons = readable((PostgresRow(places, row) for row in rows), lesson_from, writing.log)
    entries = [index.entry(Scope(tenant, lesson.project), lesson) for lesson in lessons]
    index.add(writing, [entry for entry in entries if entry])
