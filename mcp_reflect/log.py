"""Log events on stderr, by structlog; stdout belongs to the protocol.

structlog takes .1 s to import, so the first event imports it.
"""

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final, Self

from mcp_reflect.config import Settings

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_CALL: Final = ContextVar[Mapping[str, Any]]("call", default=MappingProxyType({}))
"""The keys that every event of the current call of a tool has (`logged_with`)."""


@contextmanager
def logged_with(**keys: Any) -> Generator[None]:
    """Add keys to all events that are logged inside of the `with`: a call's request, tool, session and project."""
    token = _CALL.set({**_CALL.get(), **keys})
    try:
        yield
    finally:
        _CALL.reset(token)


class Log:
    """A logger of structlog for events at or above a level. Keys are fixed by each caller."""

    def __init__(self, level: str = "warning", style: str = "json") -> None:
        self._least = _LEVELS[level]
        self._style = style

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return a logger with the level and the format of the settings."""
        return cls(settings.log_level, settings.log_format)

    def debug(self, event: str, **keys: Any) -> None:
        """Log what only somebody who looks for a fault reads."""
        self._write("debug", event, keys)

    def info(self, event: str, **keys: Any) -> None:
        """Log what was done."""
        self._write("info", event, keys)

    def warning(self, event: str, **keys: Any) -> None:
        """Log what the person who runs this should look at."""
        self._write("warning", event, keys)

    def error(self, event: str, **keys: Any) -> None:
        """Log what failed."""
        self._write("error", event, keys)

    def _write(self, level: str, event: str, keys: Mapping[str, Any]) -> None:
        """Write an event of at least the logger's level, without secrets, with its own keys and the call's."""
        if _LEVELS[level] < self._least:
            return
        from mcp_reflect.security.redact import clean  # noqa: PLC0415 - only an event needs it

        logger = self._logger().bind(**clean(dict(_CALL.get())))
        write = getattr(logger, level)
        write(event, **clean(dict(keys)))

    def _logger(self) -> Any:
        """Return a logger on what stderr is now: it may be another one later."""
        import structlog  # noqa: PLC0415 - takes .1 s

        form = structlog.processors.KeyValueRenderer
        if self._style == "json":
            form = structlog.processors.JSONRenderer
        stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
        return structlog.wrap_logger(
            structlog.WriteLogger(sys.stderr),
            processors=[structlog.processors.add_log_level, stamp, form()],
        )
