"""What the server does with a call: the engine is made with the first one, and every fault becomes words.

Nothing of the engine is imported before: a host that only lists the tools does not wait for it.
"""

import json
import traceback
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from mcp.types import CallToolResult, TextContent

from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.settings import Settings
from mcp_reflect.telemetry import Log

if TYPE_CHECKING:
    from mcp_reflect.engine import Engine

_METHODS: Final = {
    "reflect": "reflect",
    "recall_lessons": "recall",
    "store_lesson": "store_lesson",
    "record_outcome": "record_outcome",
    "forget_lesson": "forget_lesson",
}


class Service:
    """The engine behind the server, made when it is first needed. One for each process."""

    def __init__(self, settings: Settings, engine: "Engine | None" = None) -> None:
        self._settings = settings
        self._engine = engine
        self._own_engine = engine is None
        self.log = Log(settings.log_level, settings.log_format)

    def engine(self) -> "Engine":
        """The engine; imported and made with the first call."""
        if self._engine is None:
            from mcp_reflect.engine import Engine  # noqa: PLC0415 - see above

            self._engine = Engine(self._settings)
        return self._engine

    async def close(self) -> None:
        """Close the engine, if this service made one."""
        if self._engine is not None and self._own_engine:
            await self._engine.close()

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool. A fault of the caller or of the bank is told in words; one of ours is logged."""
        if name not in _METHODS:
            return _failure(str(_unknown_tool(name)))
        try:
            from mcp_reflect.results import plain  # noqa: PLC0415 - see above

            result = await getattr(self.engine(), _METHODS[name])(**_keywords(arguments))
            return _result(plain(result))
        except McpReflectError as error:
            return _failure(str(error))
        except Exception as error:  # noqa: BLE001 - the outermost handler: no traceback reaches a model
            self.log("tool_failed", "error", tool=name, error=type(error).__name__, trace=traceback.format_exc())
            return _failure(f"mcp-reflect failed inside {name}; nothing was stored. A person finds more in its log.")


def _keywords(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as keywords. `applied` is the engine's own and no argument of a tool."""
    if "applied" in arguments:
        raise InputError("applied", "there is no such argument", "Leave it out.")
    return arguments


def _unknown_tool(name: str) -> InputError:
    near = get_close_matches(name[:80], _METHODS, n=1)
    fix = f"Did you mean '{near[0]}'?" if near else f"Call one of {', '.join(_METHODS)}."
    return InputError("name", f"there is no tool '{name[:80]}'", fix)


def _result(value: dict[str, Any]) -> CallToolResult:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)


def _failure(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
