"""The arguments of should_reflect."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from mcp_reflect.models.trigger import Signals
from mcp_reflect.schemas.fields import Arguments, Label, Share, read

__all__ = ["StepArguments", "read"]


class StepArguments(Arguments):
    """Arguments of should_reflect. Without a `run_id` nothing is counted."""

    ALIASES: ClassVar[Mapping[str, str]] = {"session_id": "run_id"}

    confidence: Share
    risk_level: Share = 0
    goal_drift: Share = 0
    tool_failures: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    step_number: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    is_final_step: bool = False
    verification_failed: bool = False
    run_id: Label | None = None
    project: Label | None = None

    def signals(self) -> Signals:
        """The step as the record that the triggers read."""
        return Signals(
            **{name: getattr(self, name) for name in type(self).model_fields if name not in ("run_id", "project")}
        )
