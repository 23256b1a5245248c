"""The arguments of should_reflect: what an agent knows of the step that it is at."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from mcp_reflect.errors import InputError
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.fields import Arguments


class StepArguments(Arguments):
    """Arguments of should_reflect. Without a `run_id` the steps of the session are counted."""

    ALIASES: ClassVar = {"session_id": "run_id"}
    SYNONYMS: ClassVar = {
        "tool_failures": "failures errors failed_calls tool_errors failure_count recent_failures failed_attempts",
        "step_number": "step steps iteration turn",
        "risk_level": "risk stakes",
        "goal_drift": "drift",
        "is_final_step": "final is_final last_step final_step",
        "confidence": "confidence_level confidence_score certainty",
        "verification_failed": "tests_failed",
    }

    confidence: fields.Share = 1
    risk_level: fields.Share = 0
    goal_drift: fields.Share = 0
    tool_failures: Annotated[fields.Count, Field(ge=0, le=1_000_000)] = 0
    step_number: Annotated[fields.Count, Field(ge=0, le=1_000_000_000)] = 0
    is_final_step: bool = False
    verification_failed: bool = False
    run_id: fields.Label | None = None
    project: fields.Label | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "StepArguments":
        """Refuse a call that says nothing of the step."""
        if not self.model_fields_set - {"run_id", "project"}:
            fix = "Send what you know of this step, such as confidence (0..1)."
            raise InputError("confidence", "it is missing", fix)
        return self
