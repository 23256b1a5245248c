"""The bank on any engine: transactions that run named SQL, and repositories whose methods are transactions."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeAlias, TypeVar

from mcp_reflect.clock import DAY, Clock
from mcp_reflect.errors import BankBusyError, BankError, NotFoundError
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.rows import Row, lessons_from
from mcp_reflect.storage.values import Bound, Values, bound, scoped

_Result = TypeVar("_Result")

_MAX_DROPPED: Final = 40
"""Old rows of a kind that one write drops: far more than it adds, and quickly done."""

_RANDOM_VALUES: Final = 256  # of the byte that makes a pause random


class Reading(ABC):
    """A transaction that reads: it runs queries by the names that they have in the .sql files."""

    def __init__(self, log: Log) -> None:
        self.log = log

    @abstractmethod
    def rows(self, name: str, values: Values) -> list[Row]:
        """Return the rows of a named query; BankError if a query by id (`_by_id`) finds a damaged row."""

    @abstractmethod
    def matching(self, groups: Sequence[Sequence[str]]) -> str:
        """Return the condition that a row of the text index has at least one term of each group.

        It is the parameter of the query `index_search`, in the syntax of the engine's text search.
        """

    def row(self, name: str, values: Values) -> Row | None:
        """Return the first row of a named query, None if there is none."""
        return next(iter(self.rows(name, values)), None)

    def lessons(self, name: str, scope: Scope, **values: Any) -> list[Lesson]:
        """Return the records of a named query; a damaged one is logged and left out."""
        return lessons_from(self.rows(name, scoped(scope, **values)), self.log)

    def existing(self, name: str, scope: Scope, field: str, record_id: str, fix: str) -> Row:
        """Return the row with an id; NotFoundError names `field`, the argument that had the id, and has the `fix`."""
        row = self.row(name, scoped(scope, id=record_id))
        if row is None:
            raise NotFoundError(field, f"there is no '{quoted(record_id)}' in {scope}", fix)
        return row


class Writing(Reading):
    """A transaction that also writes. Every text is redacted when it is bound; `ran` has the names of what was run."""

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
        mode: Mode = "read"
        if long:
            mode = "long read"
        return await self._transact(mode, tenant, work)

    async def write(
        self, tenant: str, work: Callable[[Writing], _Result], *, brief: bool = False
    ) -> _Result:
        """Run `work` in a transaction that writes, and return its result; the transaction is undone if `work` fails.

        The writes of a tenant run one after the other. A `brief` one does not wait: a power cut may lose it, it is given
        up after a moment if another process writes, and it must not depend on what it read. `work` runs outside of the
        event loop, and again after a conflict. If the caller is cancelled, all of it is written or nothing.
        """

        def with_names(tx: Writing) -> tuple[_Result, set[str]]:
            return work(tx), tx.ran

        mode: Mode = "write"
        if brief:
            mode = "brief"
        result, names_run = await self._transact(mode, tenant, with_names)
        for names, listener in self._listeners:
            if names & names_run:
                listener()
        return result

    @abstractmethod
    async def _transact(
        self, mode: Mode, tenant: str, work: Callable[[Writing], _Result]
    ) -> _Result:
        """Return the result of `work` in a transaction of the engine, which `Mode` describes."""

    @abstractmethod
    async def truncate_log(self) -> None:
        """Remove erased bytes from the bank's files, as far as the engine can."""

    def on_commit(self, names: frozenset[str], listener: Callable[[], None]) -> None:
        """Call `listener` after each transaction of this process that ran one of these statements."""
        self._listeners.append((names, listener))

    async def _pause(self, longest: float) -> None:
        """Wait for a random time of at most `longest` seconds, so that the same processes do not collide again."""
        (random_byte,) = Clock().random(1)
        await asyncio.sleep(longest * (1 + random_byte) / _RANDOM_VALUES)

    def _refuse_fork(self, place: object, opened_by: int) -> None:
        """Raise BankError unless the process `opened_by`, which opened the bank, is this one: it may be its parent."""
        if opened_by != os.getpid():
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
    """Decorate a method of a repository that takes a transaction: its callers await it without one.

    It runs as `Database.write` says; a `brief` one that does not get its turn at once waits for it like any other.
    """

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
"""Decorate such a method so that its caller does not wait for the disk: a power cut may lose what it writes."""
