"""Errors of a PostgreSQL server in plain words, with what a person can do about each."""

from typing import Final

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.errors import BankBusyError, BankError, BankReadOnlyError

MOST_CONNECTIONS: Final = 10
"""Of one process."""

# psycopg's errors by SQLSTATE → ours, and what to do about it.
_MEANINGS: Final[tuple[tuple[type[psycopg.Error], type[BankError], str], ...]] = (
    (
        errors.LockNotAvailable,
        BankBusyError,
        "has a table or a tenant that another transaction holds. Try again, or end that one (pg_locks names it)",
    ),
    (
        errors.ReadOnlySqlTransaction,
        BankReadOnlyError,
        "is read-only: it is a replica, or set so. Name the primary",
    ),
    (
        errors.DiskFull,
        BankError,
        "cannot grow: the server's disk is full. Free some space and try again",
    ),
    (
        errors.TooManyConnections,
        BankBusyError,
        "has no connection left for this process. Try again, or raise max_connections",
    ),
    (errors.InvalidPassword, BankError, "refuses the password. Correct it in MCP_REFLECT_BANK"),
    (
        errors.InvalidAuthorizationSpecification,
        BankError,
        "refuses this user. Correct it in MCP_REFLECT_BANK",
    ),
    (errors.InvalidCatalogName, BankError, "does not exist. Make it: createdb"),
    (
        errors.UndefinedTable,
        BankReadOnlyError,
        "lacks a table of this release. Upgrade mcp-reflect-server",
    ),
    (
        errors.UndefinedColumn,
        BankReadOnlyError,
        "lacks a column of this release. Upgrade mcp-reflect-server",
    ),
)
_NO_CONNECTION: Final = (
    "has no connection left for this process. Try again, or raise max_connections"
)
_TOO_MANY: Final = ("too many clients", "too many connections", "remaining connection slots")
_DOWN: Final = "does not answer. Start the server, or correct MCP_REFLECT_BANK; nothing of this call was stored"


def meaning_of(error: psycopg.Error, url: ServerUrl, password: str | None) -> Exception:
    """Return an error of the server as ours; one that only a fault of our own SQL can cause stays as it is.

    The server's own words end the message; the password is taken out of them.
    """
    for kind, own, meaning in _MEANINGS:
        if isinstance(error, kind):
            return own(f"The bank {url} {meaning}.")
    if not isinstance(error, psycopg.OperationalError):
        return error
    if isinstance(error, PoolTimeout):
        fix = (
            f"All {MOST_CONNECTIONS} are in use by this process. Try again, or end what holds them"
        )
        return BankBusyError(f"The bank {url} has no connection left for this call. {fix}.")
    if any(sign in str(error) for sign in _TOO_MANY):
        return BankBusyError(f"The bank {url} {_NO_CONNECTION}.")
    reason = _last_line(str(error))
    if password:
        reason = reason.replace(password, "***")
    return BankError(f"The bank {url} {_DOWN}. ({reason})")


def _last_line(message: str) -> str:
    """Return the last line of a server's message that is no advice: lines of advice begin with a tab."""
    lines = [line for line in message.strip().splitlines() if not line.startswith("\t")]
    if not lines:
        return ""
    return lines[-1]


def is_down(error: psycopg.Error) -> bool:
    """Return whether an error says that the server cannot be reached: it has no more exact meaning here."""
    if any(isinstance(error, kind) for kind, _own, _meaning in _MEANINGS):
        return False
    if not isinstance(error, psycopg.OperationalError) or isinstance(error, PoolTimeout):
        return False
    return not any(sign in str(error) for sign in _TOO_MANY)


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is lost or refused for now, so that another try may help.

    SQLSTATE tells where there is one: class 08 is a lost connection, 57P a server that stops or starts. Before a
    connection is made there is none, and a "FATAL" message is final unless it says that the server stops or starts.
    """
    if isinstance(error, errors.ConnectionTimeout):
        return False
    if not isinstance(error, psycopg.OperationalError):
        return False
    if error.sqlstate is not None:
        return error.sqlstate.startswith(("08", "57P"))
    message = str(error)
    if "FATAL" not in message:
        return True
    return "the database system is" in message or "terminating connection" in message
