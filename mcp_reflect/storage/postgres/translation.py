"""The SQL of the bank in PostgreSQL's dialect: queries that were written for SQLite are translated."""

import re
from functools import cache
from pathlib import Path
from typing import Final

from mcp_reflect.storage.queries import migrations_in, queries, queries_in

_FOLDER: Final = Path(__file__).parent

_COMMENT: Final = re.compile(r"--[^\n]*")
_IN_LIST: Final = re.compile(r"\b(NOT )?IN \(SELECT value FROM json_each\((:\w+)\)\)")
# Hints for SQLite's planner, which PostgreSQL does not know: `+column =` and `INDEXED BY name`.
_HINT: Final = re.compile(r"(?<=\s)\+(?=\w+ (?:=|<>|IN)\s)| INDEXED BY \w+")
_PARAMETER: Final = re.compile(r"(?<!:):(\w+)")


def translated(query: str) -> str:
    """Return a query that was written for SQLite as psycopg takes it.

    Comments and hints go, a list of values is an array, and a parameter `:name` is written `%(name)s`.
    """
    query = _COMMENT.sub("", query).replace("%", "%%")
    query = _IN_LIST.sub(_as_array, query)
    query = _HINT.sub("", query)
    return _PARAMETER.sub(r"%(\1)s", query).strip()


def _as_array(in_list: re.Match[str]) -> str:
    """Return the condition that a value is in a list, or is not, as PostgreSQL has it of an array."""
    is_negated, parameter = in_list.groups()
    if is_negated:
        return f"<> ALL({parameter})"
    return f"= ANY({parameter})"


@cache
def statements() -> dict[str, bytes]:
    """Return the SQL of each named query; those of the folder postgres/queries replace SQLite's."""
    all_queries = queries() | queries_in(_FOLDER / "queries")
    return {name: translated(text).encode() for name, text in all_queries.items()}


def migrations() -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first."""
    return migrations_in(_FOLDER / "migrations")
