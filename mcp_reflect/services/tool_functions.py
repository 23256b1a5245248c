"""The service function of each tool, with the shape of its arguments; the Engine calls it by the tool's name."""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mcp_reflect import services

if TYPE_CHECKING:
    from mcp_reflect.schemas.fields import Arguments

ToolFunction: TypeAlias = Callable[..., Awaitable[Any]]
"""Takes a context, the checked arguments of a call and, for ASKING_A_MODEL, the client; returns the answer."""

TOOL_FUNCTIONS: Final[Mapping[str, Callable[[], ToolFunction]]] = {
    "reflect": lambda: services.reflect.reflect,
    "critique": lambda: services.critique.critique,
    "replan_search": lambda: services.replan.replan,
    "should_reflect": lambda: services.triggers.should_reflect,
    "recall_lessons": lambda: services.lessons.recall,
    "store_lesson": lambda: services.lessons.store,
    "record_outcome": lambda: services.outcomes.record_outcome,
    "forget_lesson": lambda: services.lessons.forget,
}
"""The function of each tool. Naming a service imports it, so each is in a lambda."""

ASKING_A_MODEL: Final = ("reflect", "critique", "replan_search")
"""The tools whose functions take the client as well, since they may ask its language model."""

CONFIRMED_TOOLS: Final = ("store_lesson", "forget_lesson")
"""The tools that may want to change what a person keeps: the person is asked where the host can."""


def function_of(tool: str) -> ToolFunction:
    """Return the function of a tool, whose service is imported now; KeyError if there is no such tool."""
    return TOOL_FUNCTIONS[tool]()


_SHAPES: Final[Mapping[str, tuple[str, str]]] = {
    "reflect": ("run", "ReflectArguments"),
    "critique": ("critique", "CritiqueArguments"),
    "replan_search": ("search", "ReplanArguments"),
    "should_reflect": ("step", "StepArguments"),
    "recall_lessons": ("lessons", "RecallArguments"),
    "store_lesson": ("lessons", "LessonArguments"),
    "record_outcome": ("lessons", "OutcomeArguments"),
    "forget_lesson": ("lessons", "ForgetArguments"),
}
"""The module of `schemas` and the class of the arguments of each tool, which its service imports."""


def shape_of(tool: str) -> "type[Arguments]":
    """Return the shape of a tool's arguments; KeyError if there is no such tool."""
    module, name = _SHAPES[tool]
    return getattr(import_module(f"mcp_reflect.schemas.{module}"), name)
