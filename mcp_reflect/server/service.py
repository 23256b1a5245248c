"""Calls of tools: the engine is opened with the first one, and every error becomes text."""

import json
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp.types import CallToolResult, InputRequiredResult, TextContent

from mcp_reflect.config import PREFIX, Settings
from mcp_reflect.errors import InputError, McpReflectError, NotFoundError
from mcp_reflect.log import Log
from mcp_reflect.server.idle import Idle

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from mcp_reflect.llm.runner import ClientCapabilities
    from mcp_reflect.services.engine import Engine


# How many calls a server takes: so many a minute, and so many at the same time. What is more is refused at once.


_MINUTE: Final = 60.0  # seconds


class Admission:
    """A bucket of calls that fills up evenly over a minute, and a count of those at work.

    `now` gives seconds of a clock that never goes back.
    """

    def __init__(self, settings: Settings, now: Callable[[], float] = time.monotonic) -> None:
        self._a_minute = settings.max_calls_per_minute
        self._at_once = settings.max_calls_at_once
        self._now = now
        self._left = float(self._a_minute)
        self._filled = now()
        self._at_work = 0

    @contextmanager
    def call(self, error: Callable[[str], Exception] | None = None) -> Generator[None]:
        """One call. Where there is no room for it, InputError, or the `error` that the protocol wants for it."""
        try:
            self._take()
        except InputError as refused:
            raise (error(str(refused)) if error else refused) from None
        self._at_work += 1
        try:
            yield
        finally:
            self._at_work -= 1

    def _take(self) -> None:
        if self._at_once and self._at_work >= self._at_once:
            fault = f"{self._at_work} are being worked on already"
            raise InputError("calls", fault, "Wait for one to be answered.")
        if not self._a_minute:
            return
        now = self._now()
        self._left = min(self._left + (now - self._filled) * self._a_minute / _MINUTE, self._a_minute)
        self._filled = now
        if self._left < 1:
            seconds = (1 - self._left) * _MINUTE / self._a_minute
            fault = f"there were more than {self._a_minute} in a minute"
            raise InputError("calls", fault, f"Wait {seconds:.1f} s ({PREFIX}MAX_CALLS_PER_MINUTE).")
        self._left -= 1


# What the server does with a call: the engine is made with the first one, and every fault becomes words.
#
# Nothing of the engine is imported before: a host that only lists the tools does not wait for it.


_LIST: Final = Path(__file__).parent / "tools.json"


@cache
def tools() -> list[dict[str, Any]]:
    """The tools as the generated file lists them."""
    return json.loads(_LIST.read_text(encoding="utf-8"))


class Service:
    """The engine behind the server, made when it is first needed. One for each process."""

    def __init__(self, settings: Settings, engine: "Engine | None" = None) -> None:
        self.settings = settings
        self._engine = engine
        self._own_engine = engine is None
        self.idle = Idle(self.engine, settings.dream_idle_minutes * 60 if settings.mode == "full" else 0)
        self.admission = Admission(settings)
        self.log = Log(settings.log_level, settings.log_format)
        for problem in settings.misspelt() if settings.unknown else ():
            self.log("setting_unknown", "warning", problem=problem)

    def engine(self) -> "Engine":
        """The engine; imported and made with the first call."""
        if self._engine is None:
            from mcp_reflect.services.engine import Engine  # noqa: PLC0415 - see above

            self._engine = Engine(self.settings)
        return self._engine

    async def close(self) -> None:
        """Give up dreaming, and close the engine, if this service made one."""
        await self.idle.close()
        if self._engine is not None and self._own_engine:
            await self._engine.close()

    async def call(
        self, name: str, arguments: dict[str, Any], context: "Context[Any, Any] | None" = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; the client of `context` may be asked for its model.

        A fault of the caller or of the bank is told in words; one of ours is logged.
        """
        if name not in _names():
            return _failure(str(_unknown_tool(name)))
        from mcp_reflect.server.answers import answer, wants_detail  # noqa: PLC0415 - see above
        from mcp_reflect.server.sampling import InputNeeded  # noqa: PLC0415 - see above

        self.idle.call_began()
        try:
            with self.admission.call():
                result = await self.engine().call(name, arguments, _host(context))
                return _result(answer(result, detail=wants_detail(arguments)))
        except InputNeeded as needed:
            return needed.result
        except InputError as error:
            return _failure(f"{error}{_example(name, error)}")
        except McpReflectError as error:
            return _failure(str(error))
        except Exception as error:  # noqa: BLE001 - the outermost handler: no traceback reaches a model
            from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - see above

            trace = clean_text(traceback.format_exc())  # a message may quote what was sent
            self.log("tool_failed", "error", tool=name, error=type(error).__name__, trace=trace)
            return _failure(f"mcp-reflect failed inside {name}; nothing was stored. A person finds more in its log.")
        finally:
            self.idle.call_ended()


def _example(tool: str, error: InputError) -> str:
    """A call that works, for an error about the form of one."""
    if isinstance(error, NotFoundError) or error.field in ("calls", "project"):
        return ""
    from mcp_reflect.server.catalog import TOOLS  # noqa: PLC0415 - only an error needs it

    return f" Example: {next(spec.example for spec in TOOLS if spec.name == tool)}"


def _host(context: "Context[Any, Any] | None") -> "ClientCapabilities":
    """What the client of a call offers: its model, where it declares one, and an ear for progress."""
    from mcp_reflect.llm.runner import NO_CLIENT, ClientCapabilities  # noqa: PLC0415 - see above
    from mcp_reflect.server.sampling import sampling_of  # noqa: PLC0415 - see above

    if context is None:
        return NO_CLIENT

    async def progress(step: float, text: str) -> None:
        await context.report_progress(step, message=text)

    return ClientCapabilities(llm=sampling_of(context), progress=progress)


def _names() -> list[str]:
    return [tool["name"] for tool in tools()]


def _unknown_tool(name: str) -> InputError:
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - see above

    near = get_close_matches(name[:80], _names(), n=1)
    fix = f"Did you mean '{near[0]}'?" if near else f"Call one of {', '.join(_names())}."
    return InputError("name", f"there is no tool '{quoted(name)}'", fix)


def _result(value: dict[str, Any]) -> CallToolResult:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value)


def _failure(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
