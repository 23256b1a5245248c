"""What every repository has, on any engine: named SQL, rows read as models, and methods that are transactions.

The SQL is in .sql files; values are bound, and redacted before they are written.
"""

import asyncio
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache, partial, wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any, Concatenate, Final, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

from mcp_reflect.clock import DAY, Clock
from mcp_reflect.errors import BankBusyError, BankError, NotFoundError
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, RecordKind, Source, State, Trust, is_kept
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.gate import clean_json
from mcp_reflect.security.redact import clean_text, quoted

_HEAD: Final = re.compile(
    r"^-- name: (\w+)$", re.MULTILINE
)  # then a comment about the query's purpose

# Every field of Lesson is a column, so that a new field needs a migration and no query. These change by other means.
_FIXED: Final = (
    "id",
    "project",
    "kind",
    "source",
    "external_id",
    "reflection_id",
    "created_at",
    "tenant",
)
_COUNTED: Final = ("times_applied", "effectiveness", "wins", "losses", "proof")
LESSON_FIELDS: Final = tuple(field.name for field in fields(Lesson))
_LESSON_COLUMNS: Final = (*LESSON_FIELDS, "tenant", "digest")


def queries_in(folder: Path) -> dict[str, str]:
    """Return the SQL of the queries in a folder by name."""
    text = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.sql"))
    changed = (name for name in _LESSON_COLUMNS if name not in (*_FIXED, *_COUNTED))
    text = text.replace("/*columns*/", ", ".join(_LESSON_COLUMNS))
    text = text.replace("/*values*/", ", ".join(f":{name}" for name in _LESSON_COLUMNS))
    text = text.replace("/*changes*/", ", ".join(f"{name} = :{name}" for name in changed))
    parts = _HEAD.split(text)
    return dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))


@cache
def queries() -> dict[str, str]:
    """Return every query by name in SQLite's SQL; other engines translate them, or have their own."""
    return queries_in(Path(__file__).parent / "sqlite" / "queries")


@cache
def migrations_in(folder: Path) -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first; the version is the file's leading number."""
    files = sorted(folder.glob("[0-9]*.sql"))
    return tuple((int(file.name.split("_")[0]), file.read_text(encoding="utf-8")) for file in files)


Values = Mapping[str, Any]
_STRUCTURES: Final = (dict, list, tuple)
_as_json: Final = json.JSONEncoder(
    ensure_ascii=False
).encode  # `json.dumps` would make an encoder for each value
_UNCHANGED: Final = frozenset({int, float, bool, bytes, type(None)})


class Derived(str):
    """Redacted words out of context, not to be redacted again: a word next to `token` looks like a secret."""

    __slots__ = ()


Written: TypeAlias = Clean | Derived | int | float | bytes | None
"""What is written into a bank: a text only if it passed the gate, or was derived of one that did."""


class Bound(dict[str, Written]):
    """Values as they are written: redacted already."""


def bound(values: Values) -> Bound:
    """Return values to write: every text redacted, structures as JSON."""
    if isinstance(values, Bound):
        return values
    return Bound({name: _bound(value) for name, value in values.items()})


def _bound(value: Any) -> Written:
    if type(value) in _UNCHANGED or isinstance(value, Derived):
        return value
    if isinstance(value, _STRUCTURES):
        return clean_json(value)
    if isinstance(value, str):
        return clean_text(str(value))
    return value


def compared(values: Values) -> dict[str, Any]:
    """Return values that are only compared: structures as JSON, texts unchanged."""
    return {
        name: _as_json(value) if isinstance(value, _STRUCTURES) else value
        for name, value in values.items()
    }


def scoped(scope: Scope, **values: Any) -> dict[str, Any]:
    """Return values to bind with the scope."""
    return {**values, "tenant": scope.tenant, "project": scope.project}


class Row(Protocol):
    """A row of a query: its values in order, or by the name of a column."""

    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def keys(self) -> Sequence[str]: ...


_Record = TypeVar("_Record")
_Result = TypeVar("_Result")

LISTS: Final = (
    "symptoms",
    "keywords",
    "tags",
)  # the fields of a lesson that are tuples, stored as JSON

# A recall reads dozens of records: looking values up in a dict takes half the time of calling the enum.
_ENUMS: Final = {"kind": RecordKind, "state": State, "trust": Trust, "source": Source}
_LESSON_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    **{name: {value.value: value for value in enum}.__getitem__ for name, enum in _ENUMS.items()},
    **dict.fromkeys(LISTS, lambda value: () if value == "[]" else tuple(json.loads(value))),
    "outside": bool,
    "told": bool,
    "guard_mode": lambda value: None if value is None else GuardMode(value),
}


def record_from(
    row: Row, model: type[_Record], readers: Mapping[str, Callable[[Any], Any]]
) -> _Record:
    """Return a row as a dataclass whose fields are columns; a reader makes the value of a field from its column's.

    BankError if the row is damaged.
    """
    kind: Any = model
    values = dict(
        zip(row.keys(), row, strict=True)
    )  # a Row searches all of its names for each lookup
    try:
        for name, read in readers.items():
            values[name] = read(values[name])
        return model(**{field: values[field] for field in kind.__dataclass_fields__})
    except (LookupError, TypeError, ValueError) as error:
        raise damaged(row) from error


def lesson_from(row: Row) -> Lesson:
    """Return a row of `lessons` as the record; BankError if the row is damaged."""
    return record_from(row, Lesson, _LESSON_READERS)


def keeps(row: Row) -> bool:
    """Return whether a person keeps the lesson of a row, which has the columns that tell."""
    mode = row["guard_mode"]
    return is_kept(
        Trust(row["trust"]),
        Source(row["source"]),
        None if mode is None else GuardMode(mode),
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
    """Return the record as values to bind; the project is the record's own, the tenant the scope's.

    A digest of 64 bits tells whether a lesson with the same words is in the project. It is made of the redacted words,
    because a hash of a secret confirms a guess.
    """
    values = {name: getattr(lesson, name) for name in LESSON_FIELDS}
    digest = None
    if lesson.kind is RecordKind.LESSON:
        words = "\0".join(
            (scope.tenant, lesson.project, *(clean_text(part or "") for part in _wording(lesson)))
        )
        digest = int.from_bytes(blake2b(words.encode(), digest_size=8).digest(), signed=True)
    return {**values, "tenant": scope.tenant, "digest": digest}


def says_nothing_new(lesson: Lesson, stored: Lesson) -> bool:
    """True if a stored lesson of the same project says all that a lesson says."""
    return _wording(lesson) == _wording(stored) and all(
        set(getattr(lesson, name)) <= set(getattr(stored, name)) for name in LISTS
    )


def _wording(lesson: Lesson) -> tuple[str | None, ...]:
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
        f"The record {name_of(row)} is damaged. `mcp-reflect restore --latest` brings back the daily copy."
    )


def name_of(row: Row) -> str:
    """Return the name of a row for a person."""
    return str(row["id"]) if "id" in row.keys() else f"of {row[0]}"  # noqa: SIM118 - a Row iterates its values


_MAX_DROPPED: Final = (
    40  # rows of a kind that one write drops: far more than it adds, and quickly done
)


class Reading(ABC):
    """Named queries in one transaction of an engine."""

    def __init__(self, log: Log) -> None:
        self.log = log

    @abstractmethod
    def rows(self, name: str, values: Values) -> list[Row]:
        """Return the rows of a named query; BankError if a query by id (`_by_id`) finds a damaged row."""

    @abstractmethod
    def matching(self, groups: Sequence[Sequence[str]]) -> str:
        """Return the condition of `index_search` that a row has at least one term of each group."""

    def row(self, name: str, values: Values) -> Row | None:
        """Return the first row of a named query, None if there is none."""
        return next(iter(self.rows(name, values)), None)

    def lessons(self, name: str, scope: Scope, **values: Any) -> list[Lesson]:
        """Return the records of a named query; a damaged one is logged and left out."""
        return lessons_from(self.rows(name, scoped(scope, **values)), self.log)

    def existing(self, name: str, scope: Scope, field: str, record_id: str, fix: str) -> Row:
        """Return the row of a query by id; NotFoundError names `field`, and says how to `fix` it."""
        row = self.row(name, scoped(scope, id=record_id))
        if row is None:
            raise NotFoundError(field, f"there is no '{quoted(record_id)}' in {scope}", fix)
        return row


class Writing(Reading):
    """A transaction: the same, and named statements that write. Every text is redacted when it is bound."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.ran: set[str] = set()

    @abstractmethod
    def execute(self, name: str, values: Bound) -> int:
        """Run a named statement with values that are redacted; return the number of changed rows."""

    @abstractmethod
    def execute_many(self, name: str, rows: Iterable[Bound]) -> None:
        """Run a named statement once for each of `rows`."""

    def run(self, name: str, values: Values) -> int:
        """Run a named statement; return the number of changed rows."""
        self.ran.add(name)
        return self.execute(name, bound(values))

    def run_many(self, name: str, rows: Iterable[Values]) -> None:
        """Run a named statement once for each of `rows`."""
        self.ran.add(name)
        self.execute_many(name, map(bound, rows))

    def drop_old(self, kind: str, now: float, keep_days: float) -> None:
        """Drop some rows of a kind that no call has used for `keep_days` (0: never); `now` is in seconds since 1970.

        Every write that adds rows calls it, so that no single write has much to drop.
        """
        if keep_days:
            self.run(f"{kind}_drop_old", {"before": now - keep_days * DAY, "most": _MAX_DROPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The state of an open bank: its schema, the engine with its version, and why it cannot be written, if so."""

    schema: int
    engine: str
    read_only: str | None = None


Mode: TypeAlias = Literal["read", "long read", "write", "brief"]
READS: Final = ("read", "long read")
"""How a transaction runs, see `Database`."""


class Database(ABC):
    """One bank, in a file or on a server. Every method raises BankError if it cannot be used.

    Each transaction belongs to one tenant: on a server it sees and writes that tenant's rows alone.
    """

    def __init__(self, busy_seconds: float, log: Log | None) -> None:
        self.busy_seconds = busy_seconds
        self._log = log or Log()
        self._opening = asyncio.Lock()
        self._listeners: list[tuple[frozenset[str], Callable[[], None]]] = []

    @abstractmethod
    async def opened(self) -> Opened:
        """Open the bank (make it, upgrade it); return its state."""

    @abstractmethod
    async def close(self) -> None:
        """Close every connection; what was acknowledged is kept already."""

    async def rows(self, name: str, values: Values) -> list[Row]:
        """Return the rows of a named query; `values` name the tenant."""
        return await self.look(values["tenant"], lambda reading: reading.rows(name, values))

    async def row(self, name: str, values: Values) -> Row | None:
        """Return the first row of a named query, None if there is none."""
        return await self.look(values["tenant"], lambda reading: reading.row(name, values))

    async def look(
        self, tenant: str, work: Callable[[Reading], _Result], *, long: bool = False
    ) -> _Result:
        """Return the result of `work`, which reads as of one moment, outside of the event loop.

        With `long`, recalls do not wait for it.
        """
        return await self._transact("long read" if long else "read", tenant, work)

    async def write(
        self, tenant: str, work: Callable[[Writing], _Result], *, brief: bool = False
    ) -> _Result:
        """Return the result of `work`, a transaction that is kept then, and undone if it fails.

        Those of a tenant run one after the other, except `brief` ones: a power cut may lose one of them, no caller
        waits for another process for long, and their statements rest on nothing that they read before. `work` runs
        outside of the event loop, and again after a conflict. If the caller is cancelled, it is written whole or not.
        """

        def noted(tx: Writing) -> tuple[_Result, set[str]]:
            return work(tx), tx.ran

        result, ran = await self._transact("brief" if brief else "write", tenant, noted)
        for names, listener in self._listeners:
            if names & ran:
                listener()
        return result

    @abstractmethod
    async def _transact(
        self, mode: Mode, tenant: str, work: Callable[[Writing], _Result]
    ) -> _Result: ...

    @abstractmethod
    async def truncate_log(self) -> None:
        """Remove erased bytes from the bank's files, as far as the engine can."""

    def on_commit(self, names: frozenset[str], listener: Callable[[], None]) -> None:
        """Call `listener` after each transaction of this process that ran one of these statements."""
        self._listeners.append((names, listener))

    async def _pause(self, longest: float) -> None:
        """Wait for a random time before another try, so that the same processes do not collide again."""
        await asyncio.sleep(longest * (1 + Clock().random(1)[0]) / 256)

    def _refuse_fork(self, place: object, process: int) -> None:
        """Raise BankError unless `process`, which opened the bank, is this one."""
        if process != os.getpid():
            raise BankError(
                f"The bank {place} was open when this process was forked, and cannot be used in it. "
                "Open it after the fork, or start a new process (spawn)."
            )


@dataclass(frozen=True, slots=True)
class BankContext:
    """What the repositories of a bank share. `size` is the limit of active records of a kind, None for no limit.

    Records that no call has used for `keep_days` are dropped; 0 keeps them.
    """

    db: Database
    clock: Clock
    log: Log
    size: int | None
    keep_days: float


class Repository:
    """A part of the bank: what is stored on one subject. The scope is always the first argument of its methods."""

    def __init__(self, context: BankContext) -> None:
        self.context = context
        self.db = context.db
        self.clock = context.clock

    async def lessons(self, name: str, scope: Scope, **values: Any) -> list[Lesson]:
        """Return the records of a named query; a damaged one is logged and left out."""
        return await self.db.look(
            scope.tenant, lambda reading: reading.lessons(name, scope, **values)
        )


_Owner = TypeVar("_Owner", bound=Repository)
_Arguments = ParamSpec("_Arguments")


def transaction(
    method: Callable[Concatenate[_Owner, Writing, Scope, _Arguments], _Result],
    *,
    brief: bool = False,
) -> Callable[Concatenate[_Owner, Scope, _Arguments], Coroutine[Any, Any, _Result]]:
    """Make a method that gets a transaction one that is awaited, and runs as `Database.write` says."""

    @wraps(method)
    async def run(
        self: _Owner, scope: Scope, *args: _Arguments.args, **options: _Arguments.kwargs
    ) -> _Result:
        def work(tx: Writing) -> _Result:
            return method(self, tx, scope, *args, **options)

        if brief:
            with suppress(BankBusyError):
                return await self.db.write(scope.tenant, work, brief=True)
        return await self.db.write(scope.tenant, work)

    return run


brief_transaction = partial(transaction, brief=True)
"""Make such a method whose caller does not wait for the disk: a power cut may lose what it writes."""
