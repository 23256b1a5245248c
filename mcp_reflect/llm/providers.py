"""From settings to a provider for each role, wrapped in retries and budget."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

from mcp_reflect.clock import Clock
from mcp_reflect.llm import protocol
from mcp_reflect.llm.budget import Account, Budget, UsageStore, read_limits, read_prices
from mcp_reflect.llm.endpoint import OFF, Spec, parse_spec, setting_of
from mcp_reflect.llm.protocol import LLM, LLMError, LLMSettingError, Reply, Request, Role


def open_package(
    group: str, spec: Spec, settings: Mapping[str, str], *, setting: str, ours: Iterable[str]
) -> tuple[Any, str]:
    """Return what another package opens for `spec` by its entry point in `group`, and the name of the package.

    `setting` names the provider. Raises `LLMSettingError`, the package's own or ours, which names all providers.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - only for a provider that is not ours

    points = {point.name: point for point in entry_points(group=group)}
    if spec.provider not in points:
        known = ", ".join(sorted({*ours, *points}))
        raise LLMSettingError(setting, f'there is no provider "{spec.provider}"', f"Write one of: {known}, {OFF}")
    point = points[spec.provider]
    name = point.dist.name if point.dist else point.value.partition(":")[0]
    try:
        return point.load()(spec, settings), name
    except LLMSettingError:
        raise
    except ImportError as error:  # its message names what is missing
        why = str(error)
    except Exception as error:  # noqa: BLE001 - foreign code; its message may hold a key
        why = type(error).__name__
    fault = f'the provider "{spec.provider}" cannot be loaded ({why})'
    raise LLMSettingError(setting, fault, f"Reinstall the package {name}, or write to its authors")


class Foreign:
    """A model of other code, described by `origin`. Whatever it raises becomes an `LLMError`."""

    def __init__(self, llm: LLM, name: str, origin: str) -> None:
        self._llm = llm
        self._name = name
        self._origin = origin

    async def complete(self, request: Request) -> Reply:
        """Return the wrapped model's reply, or raise an `LLMError` that repeats no text: it may hold a key."""
        try:
            reply: object = await self._llm.complete(request)
            fault = f"returned {type(reply).__name__}"
        except LLMError:
            raise
        except (Exception, asyncio.CancelledError, SystemExit) as error:  # foreign code: its bug must not fail the tool
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            reply, fault = None, f"raised {type(error).__name__}"
        if isinstance(reply, Reply):
            return reply
        fix = "Report it to its authors, or bind another provider"
        raise protocol.GarbledReplyError(self._name, f"{self._origin} {fault}", fix)


Sleep = Callable[[float], Awaitable[None]]
_FIRST_PAUSE = 0.5  # seconds
_LONGEST_PAUSE = 8.0


class Retry:
    """Holds a completion to `request.timeout`, and tries up to `attempts` times while the error is retryable.

    Before try n + 1 it pauses a random time between 0 and 0.5 * 2^(n-1) seconds, at most 8, and never less than the
    endpoint asked for. It begins no pause that would reach past the timeout. Each try gets the time that is left.
    """

    def __init__(
        self, llm: LLM, name: str, *, clock: Clock | None = None, sleep: Sleep = asyncio.sleep, attempts: int = 3
    ) -> None:
        self._llm = llm
        self._name = name
        self._clock = clock or Clock()
        self._sleep = sleep
        self._attempts = attempts

    async def complete(self, request: Request) -> Reply:
        """Return the first reply that comes, or raise the error of the last try; never later than the timeout."""
        try:
            async with asyncio.timeout(request.timeout):
                return await self._first_reply(request)
        except TimeoutError:
            fault = f"no reply within {round(request.timeout, 2):g} s"
        raise protocol.TimedOutError(self._name, fault, "Try again, or bind a faster model to this role")

    async def _first_reply(self, request: Request) -> Reply:
        deadline = self._clock.now() + request.timeout

        def left() -> float:
            """Return seconds until the deadline: above 0, and never more than the whole if the clock is set back."""
            return min(request.timeout, max(0.001, deadline - self._clock.now()))

        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._llm.complete(replace(request, timeout=left()))
            except LLMError as error:
                widest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (attempt - 1))
                pause = max(error.retry_after or 0.0, widest * int.from_bytes(self._clock.random(8)) / 2**64)
                if not error.retryable or attempt >= self._attempts or pause >= left():
                    raise
            await self._sleep(pause)


class Unusable:
    """A model whose setting is wrong: each completion raises the error of the setting."""

    def __init__(self, error: LLMSettingError) -> None:
        self.error = error

    async def complete(self, request: Request) -> Reply:
        """Raise the error of the setting, a new one each time."""
        del request
        raise LLMSettingError(self.error.setting, self.error.fault, self.error.fix)


ENTRY_POINTS = "mcp_reflect.llm"
_OWN = {
    "anthropic": "mcp_reflect.llm.anthropic",
    "openai": "mcp_reflect.llm.openai",
    **dict.fromkeys(("claude-code", "codex", "gemini"), "mcp_reflect.llm.programs"),
}

Opener = Callable[[Spec, Mapping[str, str]], LLM]
"""The function that an entry point names: from a spec and all settings to a language model."""


class Registry:
    """The language model of each role, held to the limits of the settings. Roles with the same spec share one.

    `settings` maps names to texts, as the environment does; nothing else is read but a key file that they
    name. Nothing is imported, opened or looked up before a role is first needed.

    From outside in, the budget refuses, and retries share the request's time; without a `store` there are no such
    wrappers.
    """

    def __init__(
        self, settings: Mapping[str, str], store: UsageStore | None = None, clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._store = store
        self._clock = clock
        self._account: Account | None = None
        self._opened: dict[Spec, LLM] = {}

    def llm(self, role: Role) -> LLM | None:
        """Return the role's language model, None where it is off.

        It never raises: where the settings cannot be used, each completion raises the `LLMSettingError`.
        """
        try:
            spec = self.spec(role)
            return None if spec is None else self._open(spec, setting_of(role, self._settings))
        except LLMSettingError as error:
            return Unusable(error)

    def spec(self, role: Role) -> Spec | None:
        """Return the spec that the settings name for the role, None for off. Raises `LLMSettingError`."""
        setting = setting_of(role, self._settings)
        return parse_spec(setting, self._settings.get(setting, ""))

    def describe(self, role: Role) -> str:
        """Return `provider:model`, with the address where it is not the usual one; `off`; or `unusable`."""
        try:
            spec = self.spec(role)
        except LLMSettingError:
            return "unusable"
        if spec is None:
            return OFF
        if isinstance(self.llm(role), Unusable):
            return f"{spec.name} (unusable)"
        return f"{spec.name} at {spec.base_url}" if spec.base_url else spec.name

    def problems(self) -> list[LLMSettingError]:
        """Return the errors of the settings, each once, for the person who runs the server."""
        errors = [llm.error for llm in map(self.llm, Role) if isinstance(llm, Unusable)]
        return list({str(error): error for error in errors}.values())

    def _open(self, spec: Spec, setting: str) -> LLM:
        if spec in self._opened:
            return self._opened[spec]
        if spec.provider in _OWN:  # no package can take the name of one of ours
            llm = cast("Opener", import_module(_OWN[spec.provider]).open_llm)(spec, self._settings)
        else:
            theirs, package = open_package(ENTRY_POINTS, spec, self._settings, setting=setting, ours=_OWN)
            llm = Foreign(theirs, spec.name, f"the package {package}")
        if self._store is not None:
            price = read_prices(self._settings).get(spec.name)
            self._account = self._account or Account(read_limits(self._settings), self._store)
            llm = Budget(Retry(llm, spec.name, clock=self._clock), spec.name, self._account, price)
        self._opened[spec] = llm
        return llm
