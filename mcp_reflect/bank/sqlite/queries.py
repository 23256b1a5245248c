"""Named queries, kept in .sql files beside this one.

A query starts with `-- name: NAME` and a comment that says what it is for. SQL is never put together
from strings: a query is looked up by its name, and values are bound.
"""

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_HEAD = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def _all() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted((_FOLDER / "queries").glob("*.sql")):
        parts = _HEAD.split(file.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise RuntimeError(f"{file.name} defines the query {name} a second time")
            found[name] = body.strip()
    return found


def query(name: str) -> str:
    """The SQL text of a named query; `KeyError` where there is none."""
    return _all()[name]


@cache
def reads(name: str) -> bool:
    """Whether a named query only reads."""
    return re.match(r"(?:--.*\n)*SELECT\b", query(name)) is not None


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Every migration as (version, SQL), oldest first; the version is the file's leading number."""
    files = sorted((_FOLDER / "migrations").glob("[0-9]*.sql"))
    return tuple((int(file.name.split("_")[0]), file.read_text(encoding="utf-8")) for file in files)


def statements(script: str) -> list[str]:
    """A migration's statements, one by one, so that they can share one transaction."""
    import sqlite3  # noqa: PLC0415 - already there by the time a migration runs

    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
