"""Which language model each role asks: from settings to providers, each imported when it is first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from mcp_reflect.llm.errors import LLMSettingError
from mcp_reflect.llm.foreign import Foreign
from mcp_reflect.llm.protocol import LLM, Reply, Request, Role
from mcp_reflect.llm.spec import OFF, Spec, parse_spec, setting_of

ENTRY_POINTS = "mcp_reflect.llm"
_OWN = {"anthropic": "mcp_reflect.llm.anthropic", "openai": "mcp_reflect.llm.openai"}

Opener = Callable[[Spec, Mapping[str, str]], LLM]
"""What an entry point names: from a spec and all settings to a language model, or an `LLMSettingError`."""

Dress = Callable[[LLM, Spec], LLM]
"""Puts the wrappers around a provider."""


class Registry:
    """The language model of each role. Roles with the same spec share one.

    `settings` maps names to texts, as the environment does; nothing else is read, but a key file they
    name. Nothing is imported, opened or looked up before a role is first asked for.
    """

    def __init__(self, settings: Mapping[str, str], dress: Dress | None = None) -> None:
        self._settings = settings
        self._dress = dress
        self._opened: dict[Spec, LLM] = {}

    def llm(self, role: Role) -> LLM | None:
        """The role's language model, null where it is off.

        It never raises: where the settings cannot be used, each completion raises the `LLMSettingError`.
        """
        try:
            spec = self.spec(role)
            return None if spec is None else self._open(spec, setting_of(role, self._settings))
        except LLMSettingError as error:
            return Unusable(error)

    def spec(self, role: Role) -> Spec | None:
        """What the settings bind the role to, null for off. Raises `LLMSettingError`."""
        setting = setting_of(role, self._settings)
        return parse_spec(setting, self._settings.get(setting, ""))

    def describe(self, role: Role) -> str:
        """`provider:model`, with the address where it is not the usual one; `off`; or `unusable`."""
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
        """What is wrong with the settings, each fault once: for the person who runs the server."""
        found = [llm.error for llm in (self.llm(role) for role in Role) if isinstance(llm, Unusable)]
        return list({str(error): error for error in found}.values())

    def _open(self, spec: Spec, setting: str) -> LLM:
        if spec not in self._opened:
            llm = _opener(spec.provider, setting)(spec, self._settings)
            self._opened[spec] = llm if self._dress is None else self._dress(llm, spec)
        return self._opened[spec]


class Unusable:
    """Stands where a setting is wrong, and says so to whoever asks."""

    def __init__(self, error: LLMSettingError) -> None:
        self.error = error

    async def complete(self, request: Request) -> Reply:
        """Raise the error of the setting, afresh each time."""
        del request
        raise LLMSettingError(self.error.setting, self.error.fault, self.error.fix)


def _opener(provider: str, setting: str) -> Opener:
    """The provider's `open_llm`. Our own come first: no package can take their names."""
    if provider in _OWN:
        return cast("Opener", import_module(_OWN[provider]).open_llm)
    from mcp_reflect.llm.packages import find  # noqa: PLC0415 - only for a provider that is not ours

    package = find(ENTRY_POINTS, provider, _OWN, setting)
    return lambda spec, settings: Foreign(cast("LLM", package.opened(spec, settings)), spec.name, package.name)
