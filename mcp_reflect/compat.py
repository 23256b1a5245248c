"""The reflection API by the names of its document."""

from mcp_reflect.systems.reflection_api import (
    ReflectionEngine,
    ReflectionLesson,
    ReflectionResult,
    ReflectionTrigger,
)

__all__ = ["ReflectionEngine", "ReflectionLesson", "ReflectionResult", "ReflectionTrigger"]
