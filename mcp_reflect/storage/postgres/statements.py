"""PostgreSQL's part of the statements: SQLite's queries in its dialect, and a transaction that runs them."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from psycopg import Connection, Cursor
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper

from mcp_reflect.storage import sql
from mcp_reflect.storage.repository import Bound, Row, Values

_FOLDER: Final = Path(__file__).parent

_COMMENT: Final = re.compile(r"--[^\n]*")
_IN_LIST: Final = re.compile(r"\b(NOT )?IN \(SELECT value FROM json_each\((:\w+)\)\)")
_HINT: Final = re.compile(r"(?<=\s)\+(?=\w+ (?:=|<>|IN)\s)| INDEXED BY \w+")  # for SQLite's planner alone
_PARAMETER: Final = re.compile(r"(?<!:):(\w+)")


def translated(query: str) -> str:
    """Return a query that was written for SQLite as psycopg takes it: its parameters, lists and hints."""
    query = _COMMENT.sub("", query).replace("%", "%%")
    query = _IN_LIST.sub(lambda found: f"<> ALL({found[2]})" if found[1] else f"= ANY({found[2]})", query)
    return _PARAMETER.sub(r"%(\1)s", _HINT.sub("", query)).strip()


@cache
def _queries() -> dict[str, bytes]:
    written = sql.queries() | sql.queries_in(_FOLDER / "queries")
    return {name: translated(text).encode() for name, text in written.items()}


def query(name: str) -> bytes:
    """Return the SQL of a named query; KeyError if there is none."""
    return _queries()[name]


def names() -> set[str]:
    """Return the names of all queries."""
    return set(_queries())


def migrations() -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first."""
    return sql.migrations_in(_FOLDER / "migrations")


class PostgresRow:
    """A row: its values in order, or by the name of a column."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: Sequence[Any]) -> None:
        self._places, self._values = places, values

    def __getitem__(self, key: Any, /) -> Any:
        return self._values[self._places[key] if isinstance(key, str) else key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._places)


def row_factory(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], PostgresRow]:
    """Return what makes a row of the values that a cursor reads."""
    places = {column.name: place for place, column in enumerate(cursor.description or ())}
    return lambda values: PostgresRow(places, values)


def adapt(connection: Connection[Any]) -> None:
    """Send each text and each number as one type, so that a prepared statement serves all calls."""
    connection.adapters.register_dumper(str, StrDumper)
    connection.adapters.register_dumper(int, Int8Dumper)


def sent(value: Any) -> Any:
    """Return a value as the schema has it: 0 and 1 for truth, plain texts without NUL, lists as arrays."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return str(value).replace("\0", "")
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return [sent(one) for one in cast("Iterable[Any]", value)]
    return value


class PostgresExecutor:
    """Runs named SQL on a connection."""

    def __init__(self, connection: Connection[PostgresRow]) -> None:
        self._connection = connection

    def select(self, name: str, values: Values) -> list[Row]:
        """Return the rows of a named query."""
        return list(self._run(name, values).fetchall())

    def execute(self, name: str, values: Bound) -> int:
        """Run a named statement; return the number of changed rows."""
        return self._run(name, values).rowcount

    def execute_many(self, name: str, rows: Iterable[Bound]) -> None:
        """Run a named statement once for each of `rows`."""
        if sets := [{key: sent(value) for key, value in values.items()} for values in rows]:
            self._connection.cursor().executemany(query(name), sets)

    def matching(self, groups: Sequence[Sequence[str]]) -> str:
        """Return a tsquery over the hashes of terms."""
        hashes = [[sha256(term.encode()).hexdigest()[:16] for term in some] for some in groups]
        return " & ".join("(" + " | ".join(f"'{term}'" for term in some) + ")" for some in hashes)

    def _run(self, name: str, values: Values) -> Cursor[PostgresRow]:
        return self._connection.execute(query(name), {key: sent(value) for key, value in values.items()})
