"""The arguments of should_reflect."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from mcp_reflect.errors import InputError
from mcp_reflect.schemas.fields import Arguments, Count, Label, Share


class StepArguments(Arguments):
    """Arguments of should_reflect. Without a `run_id` nothing is counted."""

    ALIASES: ClassVar[Mapping[str, str]] = {"session_id": "run_id"}
    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("failures", "errors", "failed_calls", "tool_errors", "failure_count"), "tool_failures"),
        **dict.fromkeys(("step", "steps", "iteration", "turn"), "step_number"),
        **dict.fromkeys(("risk", "stakes"), "risk_level"),
        **dict.fromkeys(("drift",), "goal_drift"),
        **dict.fromkeys(("final", "is_final", "last_step", "final_step"), "is_final_step"),
        **dict.fromkeys(("confidence_level", "confidence_score", "certainty"), "confidence"),
        "tests_failed": "verification_failed",
    }

    confidence: Share = 1
    risk_level: Share = 0
    goal_drift: Share = 0
    tool_failures: Annotated[Count, Field(ge=0, le=1_000_000)] = 0
    step_number: Annotated[Count, Field(ge=0, le=1_000_000_000)] = 0
    is_final_step: bool = False
    verification_failed: bool = False
    run_id: Label | None = None
    project: Label | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "StepArguments":
        if not self.model_fields_set - {"run_id", "project"}:
            raise InputError(
                "confidence", "it is missing", "Send what you know of this step, such as confidence (0..1)."
            )
        return self
