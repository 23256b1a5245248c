"""mcp-reflect: an agent reflects on what it did, and starts its next task with what it learned."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_reflect.config import Settings
    from mcp_reflect.errors import InputError
    from mcp_reflect.models.lesson import Lesson
    from mcp_reflect.models.reflection import Reflection
    from mcp_reflect.services.engine import Engine

__all__ = ["Engine", "InputError", "Lesson", "Reflection", "Settings"]

__version__ = "0.3.0"

_MODULES = {
    "Engine": "mcp_reflect.services.engine",
    "InputError": "mcp_reflect.errors",
    "Lesson": "mcp_reflect.models.lesson",
    "Reflection": "mcp_reflect.models.reflection",
    "Settings": "mcp_reflect.config",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import mcp_reflect` loads nothing else."""
    if name not in _MODULES:
        raise AttributeError(f"module 'mcp_reflect' has no attribute '{name}'")
    from importlib import import_module  # noqa: PLC0415 - see above

    return getattr(import_module(_MODULES[name]), name)
