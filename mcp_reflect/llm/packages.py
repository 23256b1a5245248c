"""What other packages bring under an entry point; where it cannot be loaded, a setting is wrong."""

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points

from mcp_reflect.llm.errors import LLMSettingError
from mcp_reflect.llm.spec import OFF, Spec


class Package:
    """A provider of another package, found and not yet loaded. `setting` is the one that asked for it."""

    def __init__(self, point: EntryPoint, setting: str) -> None:
        self._point = point
        self._setting = setting
        self.name = point.dist.name if point.dist else point.value.partition(":")[0]

    def opened(self, spec: Spec, settings: Mapping[str, str]) -> object:
        """What its opener makes of `spec`. Raises `LLMSettingError`, its own or ours."""
        try:
            return self._point.load()(spec, settings)
        except LLMSettingError:
            raise
        except ImportError as error:  # its message names what is missing
            why = str(error)
        except Exception as error:  # noqa: BLE001 - code that is not ours; its words may hold a key
            why = type(error).__name__
        fault = f'the provider "{spec.provider}" cannot be loaded ({why})'
        raise LLMSettingError(self._setting, fault, f"Reinstall the package {self.name}, or write to its makers")


def find(group: str, provider: str, ours: Iterable[str], setting: str) -> Package:
    """The package that brings `provider` to `group`. Raises `LLMSettingError`, which names all that there are."""
    points = {point.name: point for point in entry_points(group=group)}
    if provider not in points:
        known = ", ".join(sorted({*ours, *points}))
        raise LLMSettingError(setting, f'there is no provider "{provider}"', f"Write one of: {known}, {OFF}")
    return Package(points[provider], setting)
