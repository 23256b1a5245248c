"""What every repository has, on any engine: the bank's database, and methods that are transactions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from mcp_reflect.models.common import Scope
from mcp_reflect.storage.statements import Reading, Row, Values, Writing

if TYPE_CHECKING:
    from types import CoroutineType

    from mcp_reflect.storage.bank import Bank

_Result = TypeVar("_Result")


class Opened(Protocol):
    """The state of an open bank: the schema's version, why it cannot be written, if so, and the engine's versions."""

    @property
    def schema(self) -> int: ...
    @property
    def read_only(self) -> str | None: ...
    @property
    def engine(self) -> str: ...


class Database(ABC):
    """One bank, in a file or on a server. Every method raises BankError if it cannot be used.

    Each transaction belongs to one tenant: on a server it sees and writes that tenant's rows alone.
    """

    def __init__(self) -> None:
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

    @abstractmethod
    async def look(self, tenant: str, work: Callable[[Reading], _Result], *, long: bool = False) -> _Result:
        """Return the result of `work`, which reads as of one moment, outside of the event loop.

        With `long`, recalls do not wait for it.
        """

    @abstractmethod
    async def write(self, tenant: str, work: Callable[[Writing], _Result], *, brief: bool = False) -> _Result:
        """Return the result of `work`, a transaction that is kept then, and undone if it fails.

        Those of a tenant run one after the other, except `brief` ones: a power cut may lose one of them, no caller
        waits for another process for long, and their statements rest on nothing that they read before.
        """

    @abstractmethod
    async def truncate_log(self) -> None:
        """Remove erased bytes from the bank's files, as far as the engine can."""

    def on_commit(self, names: frozenset[str], listener: Callable[[], None]) -> None:
        """Call `listener` after each transaction of this process that ran one of these statements."""
        self._listeners.append((names, listener))

    def _committed(self, ran: set[str]) -> None:
        """Call the listeners to the statements that a transaction ran."""
        for names, listener in self._listeners:
            if names & ran:
                listener()


class Repository:
    """A part of the bank: what is stored on one subject. The scope is always the first argument of its methods."""

    def __init__(self, bank: "Bank") -> None:
        self.bank = bank
        self.db = bank.db
        self.clock = bank.clock


_Owner = TypeVar("_Owner", bound=Repository)
_Arguments = ParamSpec("_Arguments")


def transaction(
    method: Callable[Concatenate[_Owner, Writing, Scope, _Arguments], _Result],
) -> "Callable[Concatenate[_Owner, Scope, _Arguments], CoroutineType[Any, Any, _Result]]":
    """Make a method that gets a transaction one that is awaited, and runs as `Database.write` says."""

    @wraps(method)
    async def run(self: _Owner, scope: Scope, *args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        return await self.db.write(scope.tenant, lambda tx: method(self, tx, scope, *args, **options))

    return run
