"""SQLite's part of the statements: its .sql files, and a transaction that runs them."""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path

from mcp_reflect.storage.statements import Bound, Row, Values, compared, damaged, migrations_in, queries_in

_FOLDER = Path(__file__).parent


@cache
def queries() -> dict[str, str]:
    """Return the SQL of every query by name; other engines take those that they do not write themselves."""
    return queries_in(_FOLDER / "queries")


def query(name: str) -> str:
    """Return the SQL of a named query; KeyError if there is none."""
    return queries()[name]


def migrations() -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first."""
    return migrations_in(_FOLDER / "migrations")


def statements(script: str) -> list[str]:
    """Return the statements of a migration one by one, so that they can share a transaction."""
    result = [""]
    for line in script.splitlines(keepends=True):
        result[-1] += line
        if sqlite3.complete_statement(result[-1]):
            result.append("")
    return result[:-1]


class SqliteExecutor:
    """Runs named SQL on a connection."""

    searches_vectors = False

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def select(self, name: str, values: Values) -> list[Row]:
        """Return the rows of a named query. A row with a text that is not UTF-8 is logged and left out.

        BankError if a query by id (its name ends with `_by_id`) finds only such a row.
        """
        try:
            return self._select(name, values).fetchall()
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" not in str(error):
                raise
        self._connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            rows = self._select(name, values).fetchall()
        finally:
            self._connection.text_factory = str
        errors = {row: damaged(row) for row in rows if any(isinstance(text, str) and "\ufffd" in text for text in row)}
        if name.endswith("_by_id") and errors:
            raise errors[rows[0]]
        return [row for row in rows if row not in errors]

    def execute(self, name: str, values: Bound) -> int:
        """Run a named statement; return the number of changed rows."""
        return self._connection.execute(query(name), values).rowcount

    def execute_many(self, name: str, rows: Iterable[Bound]) -> None:
        """Run a named statement once for each of `rows`."""
        self._connection.executemany(query(name), rows)

    def matching(self, groups: Sequence[Sequence[str]]) -> str:
        """Return an FTS5 expression."""
        return " AND ".join("(" + " OR ".join(f'"{term}"' for term in some) + ")" for some in groups)

    def _select(self, name: str, values: Values) -> sqlite3.Cursor:
        return self._connection.execute(query(name), compared(values))
