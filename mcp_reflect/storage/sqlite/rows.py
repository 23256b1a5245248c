"""Rows of the tables as models, and back."""

import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Final, TypeVar

from mcp_reflect.errors import BankError, BankReadOnlyError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecordKind, Source, State, Trust
from mcp_reflect.storage.content_hash import digest_of
from mcp_reflect.storage.sqlite.statements import damaged_record, log_damaged

_Record = TypeVar("_Record")

Row = sqlite3.Row
"""A row, for the modules outside this package: only this package imports sqlite3."""


def _strings(value: str) -> tuple[str, ...]:
    return () if value == "[]" else tuple(json.loads(value))


LISTS: Final = ("symptoms", "keywords", "tags")
"""The fields of a lesson that are tuples of strings, stored as JSON."""

# A recall reads dozens of records: looking values up in a dict takes half the time of calling the enum.
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "kind": {kind.value: kind for kind in RecordKind}.__getitem__,
    "state": {state.value: state for state in State}.__getitem__,
    "trust": {trust.value: trust for trust in Trust}.__getitem__,
    "source": {source.value: source for source in Source}.__getitem__,
    **dict.fromkeys(LISTS, _strings),
}
_LESSON_FIELDS: Final = tuple(field.name for field in fields(Lesson))
_ENUMS: Final = ("kind", "state", "trust", "source")


def lesson_from(row: sqlite3.Row) -> Lesson:
    """Return a row of `lessons` as the record; every field of `Lesson` is a column of the same name.

    BankError if the row is damaged.
    """
    values: Any = row
    if type(row) is sqlite3.Row:  # a Row searches all of its names for each lookup
        values = dict(zip(row.keys(), row, strict=True))
    values = {name: values[name] for name in _LESSON_FIELDS}
    try:
        for name, read in _READERS.items():
            values[name] = read(values[name])
    except (LookupError, TypeError, ValueError) as error:
        raise damaged_record(row) from error
    return Lesson(**values)


def lessons_from(rows: Iterable[sqlite3.Row]) -> list[Lesson]:
    """Return rows of `lessons` as records; a damaged one is logged and left out."""
    return readable(rows, lesson_from)


def readable(rows: Iterable[sqlite3.Row], read: Callable[[sqlite3.Row], _Record]) -> list[_Record]:
    """Return what `read` makes of each row; a damaged row is logged and left out."""
    records: list[_Record] = []
    for row in rows:
        try:
            records.append(read(row))
        except BankReadOnlyError:  # a newer schema without a column that this release needs
            raise
        except (BankError, ValueError):
            log_damaged(row)
    return records


def lesson_values(scope: Scope, lesson: Lesson) -> dict[str, Any]:
    """Return the record as values to bind; the project is the record's own, the tenant the scope's."""
    values = {name: getattr(lesson, name) for name in _LESSON_FIELDS}
    values |= {name: values[name].value for name in _ENUMS}
    return {**values, "tenant": scope.tenant, "digest": digest_of(scope, lesson)}


def scope_values(scope: Scope) -> dict[str, Any]:
    """Return the scope as values to bind."""
    return {"tenant": scope.tenant, "project": scope.project}
