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
from mcp_reflect.storage.postgres.database import PostgresDatabase, PostgresTransaction, sent
from mcp_reflect.storage.repository import Writing, lesson_from, readable
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.sqlite import backup, files
from mcp_reflect.storage.sqlite.database import explained

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
_FAILURE: Final = (
    f"coalesce((SELECT row FROM failures WHERE {_FAILURE_KEY} = %(failed)s LIMIT 1), 0)"  # noqa: S608 - same
)


def projects_in(path: Path) -> dict[str, int]:
    """Return the number of a person's active lessons of each project in a file. BankError if it is no bank."""
    if not path.is_file():
        raise BankError(f"There is no bank at {path}. Set MCP_REFLECT_BANK to the file to move.")
    counted = "SELECT project, count(*) FROM lessons WHERE tenant = 'local' AND state = 'active' GROUP BY project"
    with explained(path), closing(files.connect_to_read(path)[0]) as source:
        if not files.version_of(source, path):
            raise NotABankError(f"{path} is not a bank.")
        return dict(source.execute(f"{counted} ORDER BY project").fetchall())


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
        if reason := files.prepare(copy, _SECONDS).read_only:
            raise BankError(f"{path} cannot be moved: {reason}")
        if damaged := backup.unreadable(copy):
            raise BankDamagedError(
                f"{path} has damaged texts: {damaged[0]}. Run: mcp-reflect restore --latest"
            )
        with closing(files.connect(copy)) as source, files.write_lock(source):
            tables = [table for table in backup.tables(source) if table != _VECTORS]
            tenants = _rename(source, tables, tenant, projects)
        moved = Counter[str]()
        for name in tenants:
            moved.update(
                await target.write(name, partial(_put, copy=copy, tables=tables, tenant=name))
            )
        return moved


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
        own = f"UPDATE {table} SET %s = ? WHERE tenant = 'local'"  # noqa: S608 - same
        if source.execute(
            "SELECT 1 FROM pragma_table_info(?) WHERE name = 'project'", (table,)
        ).fetchone():
            changes = [(new, old) for old, new in projects.items()]
            source.executemany(f"{own % 'project'} AND project = ?", changes)
        source.execute(own % "tenant", (tenant,))
        tenants |= {
            name
            for (name,) in source.execute(f"SELECT DISTINCT tenant FROM {table}")  # noqa: S608
            if name
        }
    return sorted(tenants)


def _put(writing: Writing, copy: Path, tables: Sequence[str], tenant: str) -> dict[str, int]:
    """Add the rows of a tenant, and index its lessons; return the number of rows by table."""
    connection = cast("PostgresTransaction", writing).connection
    for table in tables:
        found = f"SELECT 1 FROM {table} WHERE tenant = %s LIMIT 1".encode()  # noqa: S608 - our own schema's names
        if table != "tokens" and connection.execute(found, (tenant,)).fetchone():
            raise BankError(
                f"The database has records of the tenant '{tenant}' already ({table}); none of its records were "
                "moved. Name an empty database."
            )
    counts = Counter[str]()
    with closing(files.connect(copy, read_only=True)) as source:
        for table in tables:
            rows = source.execute(f"SELECT * FROM {table} WHERE tenant = ? ORDER BY 1", (tenant,))  # noqa: S608 - same
            names = [column[0] for column in rows.description if column[0] not in ("row", "failed")]
            values = [_FAILURE if name == "failure" else f"%({name})s" for name in names]
            insert = (
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(values)})".encode()  # noqa: S608
            )
            while batch := rows.fetchmany(_BATCH):
                counts[table] += len(batch)
                sets = ({name: sent(row[name]) for name in row.keys()} for row in batch)  # noqa: SIM118 - not a dict
                connection.cursor().executemany(insert, sets)
                if table == "lessons":
                    lessons = readable(batch, lesson_from, writing.log)
                    entries = [
                        index.entry(Scope(tenant, lesson.project), lesson) for lesson in lessons
                    ]
                    index.add(writing, [entry for entry in entries if entry])
    return counts
