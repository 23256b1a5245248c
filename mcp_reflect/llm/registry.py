"""Which language model each role asks: from settings to providers, each imported when it is first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from mcp_reflect.llm.errors import LLMSettingError
from mcp_reflect.llm.foreign import Foreign
from mcp_reflect.llm.protocol import LLM, Reply, Request, Role
from mcp_reflect.llm.spec import OFF, Spec, parse_spec, setting_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
    from importlib.metadata import entry_points  # noqa: PLC0415 - only for a provider that is not ours

    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if provider not in points:
        known = ", ".join(sorted({*_OWN, *points}))
        raise LLMSettingError(setting, f'there is no provider "{provider}"', f"Write one of: {known}, off")
    return _foreign_opener(points[provider], setting)


def _foreign_opener(point: "EntryPoint", setting: str) -> Opener:
    """Opens a provider of another package; what goes wrong in it is a setting that is wrong."""
    package = point.dist.name if point.dist else point.value.partition(":")[0]

    def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
        try:
            opener = cast("Opener", point.load())
            return Foreign(opener(spec, settings), spec.name, package)
        except LLMSettingError:
            raise
        except ImportError as error:  # its message names what is missing
            why = str(error)
        except Exception as error:  # noqa: BLE001 - code that is not ours; its words may hold a key
            why = type(error).__name__
        fault = f'the provider "{spec.provider}" cannot be loaded ({why})'
        raise LLMSettingError(setting, fault, f"Reinstall the package {package}, or write to its makers")

    return open_llm
