"""Structured log events on stderr; stdout belongs to the protocol."""

import sys
from functools import cache
from typing import Any, Final, Literal, TextIO, cast

Level = Literal["debug", "info", "warning", "error"]

_ORDER: Final[dict[str, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class Log:
    """Writes events at or above a level. Keys are fixed by each caller, and documented with the setting."""

    def __init__(self, level: str = "warning", style: str = "json") -> None:
        self._least = _ORDER[level]
        self._style = style

    def __call__(self, event: str, level: Level = "info", **keys: Any) -> None:
        """Write one event with its keys, where the level asks for it."""
        if _ORDER[level] >= self._least:
            _writer(self._style).bind().log(_ORDER[level], event, **keys)


class _Stderr:
    """Whatever stderr is when an event is written, for it may be another one than at the first."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


@cache
def _writer(style: str) -> Any:
    import structlog  # noqa: PLC0415 - see above

    last = structlog.processors.JSONRenderer() if style == "json" else structlog.processors.KeyValueRenderer()
    return structlog.wrap_logger(
        structlog.WriteLogger(cast("TextIO", _Stderr())),
        wrapper_class=structlog.make_filtering_bound_logger(0),
        processors=[structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt="iso", utc=True), last],
    )
