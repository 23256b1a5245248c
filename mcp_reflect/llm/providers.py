"""From settings to the language model of each role."""

import asyncio
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, cast

from mcp_reflect.llm.budget import Account, UsageStore, read_limits
from mcp_reflect.llm.protocol import (
    LLM,
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    Reply,
    Request,
    Role,
    TimedOutError,
)
from mcp_reflect.llm.settings import OFF, Spec, parse_spec, setting_of


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


class Model:
    """A model that is held to the time of each request and to the limits. Whatever it raises becomes an `LLMError`.

    `origin` says whose code the model is. Without an account its tokens are not counted.
    """

    def __init__(self, llm: LLM, name: str, origin: str, account: Account | None = None) -> None:
        self.llm = llm
        self._name = name
        self._origin = origin
        self._account = account

    async def complete(self, request: Request) -> Reply:
        """Return the reply in time. Raises an `LLMError` that repeats no text of a bug: it may hold a key."""
        if self._account is None:
            return await self._ask(request)
        return await self._account.complete(self._name, self._ask, request)

    async def _ask(self, request: Request) -> Reply:
        limit = asyncio.timeout(request.timeout)
        late = ""
        try:
            async with limit:
                reply = cast("object", await self.llm.complete(request))
            if isinstance(reply, Reply):
                return reply
            fault = f"returned {type(reply).__name__}"
        except LLMError:
            raise
        except TimeoutError:
            fault = late = (
                f"no reply within {round(request.timeout, 2):g} s" if limit.expired() else "raised TimeoutError"
            )
        except Exception as error:  # noqa: BLE001 - code of other packages: a bug in it must not fail the tool
            fault = f"raised {type(error).__name__}"
        if late:  # raised here, not above: the model's own error may hold a key
            raise TimedOutError(self._name, late, "Try again, or bind a faster model to this role")
        fix = "Report it to its authors, or bind another provider"
        raise GarbledReplyError(self._name, f"{self._origin} {fault}", fix)


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


class Registry:
    """The language model of each role, held to the limits of the settings. Roles with the same spec share one.

    `settings` maps names to texts, as the environment does; nothing else is read but a key file that they
    name. Nothing is imported, opened or looked up before a role is first needed. Without a `store` no tokens are
    counted.
    """

    def __init__(self, settings: Mapping[str, str], store: UsageStore | None = None) -> None:
        self._settings = settings
        self._store = store
        self._account: Account | None = None
        self._opened: dict[Spec, Model] = {}

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
        unusable = (llm for llm in map(self.llm, Role) if isinstance(llm, Unusable))
        return list({str(llm.error): llm.error for llm in unusable}.values())

    def _open(self, spec: Spec, setting: str) -> LLM:
        if spec in self._opened:
            return self._opened[spec]
        if spec.provider in _OWN:  # no package can take the name of one of ours
            llm: LLM = import_module(_OWN[spec.provider]).open_llm(spec, self._settings)
            origin = "the server"
        else:
            llm, package = open_package(ENTRY_POINTS, spec, self._settings, setting=setting, ours=_OWN)
            origin = f"the package {package}"
        if self._store is not None:
            self._account = self._account or Account(read_limits(self._settings), self._store)
        self._opened[spec] = Model(llm, spec.name, origin, self._account)
        return self._opened[spec]
