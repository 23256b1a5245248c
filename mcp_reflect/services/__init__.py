"""One module a use case, and the Engine that composes them. A module is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_reflect.services import (
        consolidate,
        critique,
        findings,
        guards,
        hooks,
        last_word,
        learn,
        lessons,
        promote,
        reflect,
        replan,
        transcripts,
        triggers,
        warnings,
    )

__all__ = [
    "consolidate",
    "critique",
    "findings",
    "guards",
    "hooks",
    "last_word",
    "learn",
    "lessons",
    "promote",
    "reflect",
    "replan",
    "transcripts",
    "triggers",
    "warnings",
]


def __getattr__(name: str) -> object:
    """Import a service, so that a recall on the command line does not load analysis, checkers or language models."""
    if name not in __all__:
        raise AttributeError(f"there is no service '{name}': add it to __all__")
    return import_module(f"mcp_reflect.services.{name}")
