"""Move the bank of a file to a server: every table as it is with a new index, each tenant in one transaction."""

import glob
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.errors import BankDamagedError, BankError, NotABankError
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.postgres.database import PostgresDatabase
from mcp_reflect.storage.postgres.transactions import PostgresTransaction, sent
from mcp_reflect.storage.repository import Writing
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.rows import Row, lesson_from, readable
from mcp_reflect.storage.sqlite import backup, file_access, files
from mcp_reflect.storage.sqlite.faults import explained

_BATCH: Final = 200  # rows that are sent at once
_SECONDS: Final = 10.0  # to wait for the copy, which nobody else uses
_VECTORS: Final = "embedders"  # of an embedding model, which `mcp-reflect embed` makes anew
# A file's tables without a tenant belong to that of the record in this column.
_OWNERS: Final = {
    "outcomes": "lesson_id",
    "task_outcomes": "recall_id",
    "versions": "record_id",
    "links": "from_id",
}
_RECORDS: Final = " UNION ALL ".join(
    f"SELECT id, tenant FROM {name}"  # noqa: S608
    for name in ("lessons", "reflections", "recalls")
)
# Failures get other row numbers on the server: a warning's failure is named by what is unique of it.
_FAILURE_KEY: Final = "project || ' ' || signature || ' ' || exact"
_SOUGHT_FAILURE: Final = f"SELECT row FROM failures WHERE {_FAILURE_KEY} = %(failed)s LIMIT 1"  # noqa: S608 - same
_FAILURE: Final = f"coalesce(({_SOUGHT_FAILURE}), 0)"
_NOT_COPIED: Final = ("row", "failed")  # the server numbers its rows; `failed` only finds them
_PERSONS_PROJECTS: Final = """
SELECT project, count(*) FROM lessons WHERE tenant = 'local' AND state = 'active'
GROUP BY project ORDER BY project
"""


def projects_in(path: Path) -> dict[str, int]:
    """Return the number of a person's active lessons of each project in a file. BankError if it is no bank."""
    if not path.is_file():
        raise BankError(f"There is no bank at {path}. Set MCP_REFLECT_BANK to the file to move.")
    with explained(path), closing(file_access.connect_to_read(path).connection) as source:
        if not files.version_of(source, path):
            raise NotABankError(f"{path} is not a bank.")
        return dict(source.execute(_PERSONS_PROJECTS).fetchall())


async def move(
    path: Path, target: PostgresDatabase, tenant: str, projects: Mapping[str, str]
) -> dict[str, int]:
    """Copy all of the bank at `path` to a bank without records; return the number of rows that were moved by table.

    A person's own records get the `tenant`, and `projects` has the new names of their projects by the old ones.
    BankError if the target has records: nothing is moved then. The file is not changed: a copy of it is read.
    """
    for left in path.parent.glob(f"{glob.escape(path.name)}.moving-*"):
        shutil.rmtree(left, ignore_errors=True)  # the copy of a run that was killed
    with (
        explained(path),
        tempfile.TemporaryDirectory(prefix=f"{path.name}.moving-", dir=path.parent) as folder,
    ):
        copy = Path(folder) / "bank.db"
        files.copy_to(path, copy)
        _refuse_unmovable(path, copy)
        with closing(file_access.connect(copy)) as source, file_access.write_lock(source):
            tables = [table for table in backup.tables(source) if table != _VECTORS]
            tenants = _rename(source, tables, tenant, projects)
        moved_rows = Counter[str]()  # by table
        for name in tenants:
            put = partial(_put, copy=copy, tables=tables, tenant=name)
            moved_rows.update(await target.write(name, put))
        return moved_rows


def _refuse_unmovable(path: Path, copy: Path) -> None:
    """Upgrade the copy of a bank to this release; BankError if that cannot be done, or if a text of it is damaged."""
    reason = files.prepare(copy, _SECONDS).read_only
    if reason:
        raise BankError(f"{path} cannot be moved: {reason}")
    damaged = backup.unreadable(copy)
    if damaged:
        raise BankDamagedError(
            f"{path} has damaged texts: {damaged[0]}. Run: mcp-reflect restore --latest"
        )


def _rename(
    source: Any, tables: Sequence[str], tenant: str, projects: Mapping[str, str]
) -> list[str]:
    """Give each row of the copy the tenant and the project of its record on the server; return the tenants."""
    for table, owner in _OWNERS.items():
        source.execute(f"ALTER TABLE {table} ADD COLUMN tenant TEXT")
        source.execute(
            f"UPDATE {table} SET tenant = (SELECT tenant FROM ({_RECORDS}) WHERE id = {owner})"  # noqa: S608
        )
    source.execute("ALTER TABLE warnings ADD COLUMN failed TEXT")
    source.execute(
        f"UPDATE warnings SET failed = (SELECT {_FAILURE_KEY} FROM failures WHERE row = failure)"  # noqa: S608
    )
    tenants: set[str] = set()
    for table in tables:
        change = f"UPDATE {table} SET %s = ? WHERE tenant = 'local'"  # noqa: S608 - same
        if _has_project(source, table):
            new_and_old = [(new, old) for old, new in projects.items()]
            source.executemany(f"{change % 'project'} AND project = ?", new_and_old)
        source.execute(change % "tenant", (tenant,))
        of_table = source.execute(f"SELECT DISTINCT tenant FROM {table}").fetchall()  # noqa: S608
        tenants.update(name for (name,) in of_table if name)
    return sorted(tenants)


def _has_project(source: Any, table: str) -> bool:
    """Return whether the rows of a table belong to projects."""
    column = "SELECT 1 FROM pragma_table_info(?) WHERE name = 'project'"
    return source.execute(column, (table,)).fetchone() is not None


def _put(writing: Writing, copy: Path, tables: Sequence[str], tenant: str) -> dict[str, int]:
    """Add the rows of a tenant, and index its lessons; return the number of rows by table."""
    connection = cast("PostgresTransaction", writing).connection
    _refuse_records(connection, tables, tenant)
    counts = Counter[str]()
    with closing(file_access.connect(copy, read_only=True)) as source:
        for table in tables:
            rows = source.execute(f"SELECT * FROM {table} WHERE tenant = ? ORDER BY 1", (tenant,))  # noqa: S608 - same
            names = [column[0] for column in rows.description if column[0] not in _NOT_COPIED]
            insert = _insert(table, names)
            while batch := rows.fetchmany(_BATCH):
                counts[table] += len(batch)
                connection.cursor().executemany(insert, map(_values_to_send, batch))
                if table == "lessons":
                    _add_to_index(writing, tenant, batch)
    return counts


def _refuse_records(connection: Any, tables: Sequence[str], tenant: str) -> None:
    """Raise BankError if the tenant has records on the server; its token is there before its bank."""
    for table in tables:
        if table == "tokens":
            continue
        first = f"SELECT 1 FROM {table} WHERE tenant = %s LIMIT 1".encode()  # noqa: S608 - our own schema's names
        if connection.execute(first, (tenant,)).fetchone():
            raise BankError(
                f"The database has records of the tenant '{tenant}' already ({table}); none of its records were "
                "moved. Name an empty database."
            )


def _insert(table: str, names: Sequence[str]) -> bytes:
    """Return the statement that adds a row with these columns; a warning's failure is looked up on the server."""
    sources = {name: f"%({name})s" for name in names}
    if "failure" in sources:
        sources["failure"] = _FAILURE
    columns = ", ".join(sources)
    values = ", ".join(sources.values())
    return f"INSERT INTO {table} ({columns}) VALUES ({values})".encode()  # noqa: S608 - same


def _values_to_send(row: Row) -> dict[str, Any]:
    """Return the values of a row of the file by column, as the server's schema has them."""
    return {name: sent(value) for name, value in zip(row.keys(), row, strict=True)}


def _add_to_index(writing: Writing, tenant: str, rows: Sequence[Row]) -> None:
    """Index the lessons of some rows; a damaged one is logged, and is moved without an entry."""
    lessons = readable(rows, lesson_from, writing.log)
    entries = [index.entry(Scope(tenant, lesson.project), lesson) for lesson in lessons]
    index.add(writing, [entry for entry in entries if entry is not None])
