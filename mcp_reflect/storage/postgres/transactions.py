"""A transaction on a server: named SQL that runs on a connection, the rows that it reads, the values that it sends."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, cast

from psycopg import Connection, Cursor

from mcp_reflect.log import Log
from mcp_reflect.storage.postgres.translation import statements
from mcp_reflect.storage.repository import Writing
from mcp_reflect.storage.rows import Row
from mcp_reflect.storage.values import Bound, Values

_HASH_DIGITS: Final = 16
"""Hex digits of a term's hash; the migrations make the index with as many."""


class PostgresRow:
    """A row: its values in order, or by the name of a column."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: Sequence[Any]) -> None:
        self._places = places
        self._values = values

    def __getitem__(self, key: Any, /) -> Any:
        if isinstance(key, str):
            return self._values[self._places[key]]
        return self._values[key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._places)


def row_factory(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], PostgresRow]:
    """Return the function by which psycopg makes a row of the values that a cursor reads."""
    places = {column.name: place for place, column in enumerate(cursor.description or ())}
    return lambda values: PostgresRow(places, values)


def sent(value: Any) -> Any:
    """Return a value as the schema has it: 0 and 1 for truth, a dict as JSON, a list as an array.

    A text loses its NULs, which PostgreSQL does not take, and its subclass, whose type psycopg does not know.
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return str(value).replace("\0", "")
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return [sent(item) for item in cast("Iterable[Any]", value)]
    return value


class PostgresTransaction(Writing):
    """Runs named SQL on a connection."""

    def __init__(self, connection: Connection[PostgresRow], log: Log) -> None:
        super().__init__(log)
        self.connection = connection

    def rows(self, name: str, values: Values) -> list[Row]:
        """Return the rows of a named query."""
        return list(self._run(name, values).fetchall())

    def execute(self, name: str, values: Bound) -> int:
        """Run a named statement with values that are redacted; return the number of changed rows."""
        return self._run(name, values).rowcount

    def execute_many(self, name: str, rows: Iterable[Bound]) -> None:
        """Run a named statement once for each of `rows`; the server is not asked for none."""
        rows_to_send = [_sent_values(values) for values in rows]
        if rows_to_send:
            self.connection.cursor().executemany(statements()[name], rows_to_send)

    def matching(self, groups: Sequence[Sequence[str]]) -> str:
        """Return the condition that a row has at least one term of each group; the index holds hashes of terms."""
        return " & ".join(_any_of(group) for group in groups)

    def _run(self, name: str, values: Values) -> Cursor[PostgresRow]:
        """Run a named query or statement; return the cursor with its rows or their number."""
        return self.connection.execute(statements()[name], _sent_values(values))


def _sent_values(values: Values) -> dict[str, Any]:
    """Return the values of a statement as the schema has them."""
    return {name: sent(value) for name, value in values.items()}


def _any_of(terms: Sequence[str]) -> str:
    """Return the part of a search that a row has one of these terms, as a `tsquery`: `('1f…' | '9c…')`."""
    hashes = [sha256(term.encode()).hexdigest()[:_HASH_DIGITS] for term in terms]
    return "(" + " | ".join(f"'{term_hash}'" for term_hash in hashes) + ")"
