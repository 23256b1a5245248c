"""Rows of queries, read as records, and records as values for a row; a damaged row is told, not guessed."""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final, Protocol, TypeVar

from mcp_reflect.errors import BankError
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, RecordKind, Source, State, Trust, is_kept
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.queries import LESSON_FIELDS


class Row(Protocol):
    """A row of a query: its values in order, or by the name of a column."""

    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def keys(self) -> Sequence[str]: ...


_Record = TypeVar("_Record")

LISTS: Final = ("symptoms", "keywords", "tags")
"""The fields of a lesson that are tuples, stored as JSON."""


def _list_from(text: str) -> tuple[Any, ...]:
    """Return a column of JSON as a tuple; most are empty, and those are not parsed."""
    if text == "[]":
        return ()
    return tuple(json.loads(text))


def _guard_mode_from(text: str | None) -> GuardMode | None:
    """Return what a guard does where its call is made, None for a lesson without one."""
    if text is None:
        return None
    return GuardMode(text)


# A recall reads dozens of records: looking values up in a dict takes half the time of calling the enum.
_ENUMS: Final = {"kind": RecordKind, "state": State, "trust": Trust, "source": Source}
_LESSON_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    **{name: {value.value: value for value in enum}.__getitem__ for name, enum in _ENUMS.items()},
    **dict.fromkeys(LISTS, _list_from),
    "outside": bool,
    "told": bool,
    "guard_mode": _guard_mode_from,
}


_UNREADABLE: Final = (AttributeError, LookupError, TypeError, ValueError)
"""What is raised where the values of a row do not make a record."""


def record_from(
    row: Row, model: type[_Record], readers: Mapping[str, Callable[[Any], Any]]
) -> _Record:
    """Return a row as a dataclass whose fields are columns; `readers` convert the columns that SQL has in another type.

    BankError if the row is damaged.
    """
    fields_of_model: Any = model
    # A dict, because a Row searches all of its names for each lookup.
    values = dict(zip(row.keys(), row, strict=True))
    try:
        for name, read in readers.items():
            values[name] = read(values[name])
        return model(**{name: values[name] for name in fields_of_model.__dataclass_fields__})
    except _UNREADABLE as error:
        raise damaged(row) from error


@contextmanager
def damage_told(row: Row) -> Generator[None]:
    """Raise BankError where the block cannot make a record of a row: its JSON is none, or lacks a field."""
    try:
        yield
    except _UNREADABLE as error:
        raise damaged(row) from error


def lesson_from(row: Row) -> Lesson:
    """Return a row of `lessons` as the record; BankError if the row is damaged."""
    return record_from(row, Lesson, _LESSON_READERS)


def keeps(row: Row) -> bool:
    """Return whether a person keeps the lesson of a row (see `is_kept`), which has the four columns that tell."""
    return is_kept(
        Trust(row["trust"]),
        Source(row["source"]),
        _guard_mode_from(row["guard_mode"]),
        row["pinned_at"],
    )


def lessons_from(rows: Iterable[Row], log: Log) -> list[Lesson]:
    """Return rows of `lessons` as records; a damaged one is logged and left out."""
    return readable(rows, lesson_from, log)


def readable(rows: Iterable[Row], read: Callable[[Row], _Record], log: Log) -> list[_Record]:
    """Return the result of `read` for each row; a damaged row is logged and left out."""
    records: list[_Record] = []
    for row in rows:
        try:
            records.append(read(row))
        except (BankError, ValueError):
            log.warning("bank_record_damaged", record=name_of(row))
    return records


def lesson_values(scope: Scope, lesson: Lesson) -> dict[str, Any]:
    """Return the record as values to bind; the project is the record's own, the tenant the scope's."""
    values = {name: getattr(lesson, name) for name in LESSON_FIELDS}
    digest: int | None = None
    if lesson.kind is RecordKind.LESSON:
        digest = _digest_of(scope.tenant, lesson)
    return {**values, "tenant": scope.tenant, "digest": digest}


def _digest_of(tenant: str, lesson: Lesson) -> int:
    """Return 64 bits of a hash of a lesson's words, by which an equal one of the same project is found.

    The words are redacted first: whoever guesses a secret could check the guess against a hash of it.
    """
    wording = [clean_text(part or "") for part in _wording(lesson)]
    words = "\0".join((tenant, lesson.project, *wording))
    return int.from_bytes(blake2b(words.encode(), digest_size=8).digest(), signed=True)


def says_nothing_new(lesson: Lesson, stored: Lesson) -> bool:
    """Return whether a stored lesson of the same project has the words of a lesson and all that its lists have."""
    if _wording(lesson) != _wording(stored):
        return False
    return all(set(getattr(lesson, name)) <= set(getattr(stored, name)) for name in LISTS)


def _wording(lesson: Lesson) -> tuple[str | None, ...]:
    """Return the fields that make a lesson the same as another one of its project, whatever its outcomes."""
    return (
        lesson.mistake,
        lesson.correction,
        lesson.why,
        lesson.task_type,
        lesson.context,
        lesson.external_id,
    )


def damaged(row: Row) -> BankError:
    """Return the error that a row is damaged."""
    return BankError(
        f"The record {name_of(row)} is damaged. "
        "`mcp-reflect restore --latest` brings back the daily copy."
    )


def name_of(row: Row) -> str:
    """Return the name of a row for an error or a log: its id, or what its first column has."""
    if "id" in row.keys():  # noqa: SIM118 - a Row iterates its values
        return str(row["id"])
    return f"of {row[0]}"
