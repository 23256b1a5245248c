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
        mode: Mode = "read"
        if long:
            mode = "long read"
        return await self._transact(mode, tenant, work)

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

        mode: Mode = "write"
        if brief:
            mode = "brief"
        result, ran = await self._transact(mode, tenant, noted)
        for names, listener in self._listeners:
            if names & ran:
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
