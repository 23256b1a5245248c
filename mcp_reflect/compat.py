"""Names of older engines, for programs that were written for them: each by the names of its document.

Two documents have a `ReflectionResult`, and two a `ReflectionEngine`: of each pair the reflection API's has that name
here. An `import … as …` gives a program the other one: `EngineV2Result as ReflectionResult`, `SelfCorrection as
ReflectionEngine`.
"""

from mcp_reflect.models.run import EventType
from mcp_reflect.models.run import Outcome as OutcomeType
from mcp_reflect.systems.engine_v2 import ActorEvent as Event
from mcp_reflect.systems.engine_v2 import (
    EngineV2Result,
    ErrorInfo,
    ReflectionContext,
    ReflectionEngineV2,
)
from mcp_reflect.systems.engine_v2 import NamedError as ErrorCategory
from mcp_reflect.systems.reflection_api import (
    ReflectionEngine,
    ReflectionLesson,
    ReflectionResult,
    ReflectionTrigger,
)
from mcp_reflect.systems.self_correction import SelfCorrection

__all__ = [
    "EngineV2Result",
    "ErrorCategory",
    "ErrorInfo",
    "Event",
    "EventType",
    "OutcomeType",
    "ReflectionContext",
    "ReflectionEngine",
    "ReflectionEngineV2",
    "ReflectionLesson",
    "ReflectionResult",
    "ReflectionTrigger",
    "SelfCorrection",
]
