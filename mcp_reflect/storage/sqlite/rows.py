"""Rows of the tables as models, and back."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecordKind, Source, State, Trust
from mcp_reflect.storage.content_hash import digest_of
from mcp_reflect.storage.retrieval.features import Features, features_read

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
_LESSON_FIELDS: Final = tuple((field.name, _READERS.get(field.name)) for field in fields(Lesson))
_ENUMS: Final = ("kind", "state", "trust", "source")


def lesson_from(row: sqlite3.Row) -> Lesson:
    """Return a row of `lessons` as the record; every field of `Lesson` is a column of the same name."""
    values: Any = row
    if type(row) is sqlite3.Row:  # a Row searches all of its names for each lookup
        values = dict(zip(row.keys(), row, strict=True))
    return Lesson(**{name: read(values[name]) if read else values[name] for name, read in _LESSON_FIELDS})


def lesson_values(scope: Scope, lesson: Lesson) -> dict[str, Any]:
    """Return the record as values to bind; the project is the record's own, the tenant the scope's."""
    values = {name: getattr(lesson, name) for name, _ in _LESSON_FIELDS}
    values |= {name: values[name].value for name in _ENUMS}
    return {**values, "tenant": scope.tenant, "digest": digest_of(scope, lesson)}


def features_from(row: sqlite3.Row) -> Features:
    """Return a row of `features` as the record."""
    return features_read(row["row"], row["terms"])


def scope_values(scope: Scope) -> dict[str, Any]:
    """Return the scope as values to bind."""
    return {"tenant": scope.tenant, "project": scope.project}
