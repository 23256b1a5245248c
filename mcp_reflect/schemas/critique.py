"""The arguments of critique."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, JsonValue, ValidationInfo, WithJsonSchema, model_validator

from mcp_reflect.errors import InputError
from mcp_reflect.schemas.fields import (
    Arguments,
    Detail,
    Label,
    Labels,
    Phrase,
    Task,
    in_all,
    limits_of,
    most,
    most_items,
    named_criteria,
    read,
)
from mcp_reflect.schemas.lessons import Results

__all__ = ["CritiqueArguments", "read"]


class CritiqueArguments(Arguments):
    """Arguments of critique. With `critique_id` the work and its evidence are the stored ones."""

    ALIASES: ClassVar[Mapping[str, str]] = {"query": "goal", "answer": "response"}

    goal: Annotated[Task | None, Field(description="What the work is for")] = None
    response: Annotated[
        str | None, Field(description="The answer to check, or send `steps`", min_length=1), most("max_work_chars")
    ] = None
    steps: Annotated[tuple[str, ...], most_items("max_steps")] = ()
    step_description: Phrase | None = None
    decided: Annotated[Label | None, Field(description="The component or tool that was decided on")] = None
    executed: Annotated[Label | None, Field(description="The one that ran")] = None
    tool_results: Results = ()
    criteria: Annotated[
        Labels, BeforeValidator(named_criteria), WithJsonSchema({"type": "array", "items": {"type": "string"}})
    ] = ()
    max_iterations: Annotated[int | None, Field(ge=0, le=5)] = None
    recall_id: Label | None = None
    critique_id: Label | None = None
    analysis: Annotated[
        JsonValue,
        Field(description="Your critique: {quality_score, issues, suggested_fix, criteria, corrected_steps}"),
        in_all("max_analysis_chars"),
    ] = None
    trigger: Label | None = None
    detail: Detail = False
    project: Label | None = None

    @model_validator(mode="after")
    def _has_work(self, info: ValidationInfo) -> "CritiqueArguments":
        if self.response is not None and self.steps:
            raise InputError("steps", "response is there too", "Send one of them.")
        if self.critique_id is None:
            if self.response is None and not self.steps:
                raise InputError("response", "neither it nor steps is there", "Send the work to check.")
            if self.goal is None:
                raise InputError("goal", "it is missing", "Say what the work is for.")
        elif self.analysis is None:
            raise InputError("analysis", "it is missing beside critique_id", "Send your critique of that work.")
        if any(not step.strip() for step in self.steps) or (self.response is not None and not self.response.strip()):
            raise InputError("steps" if self.steps else "response", "it is empty", "Send text.")
        limits_of(info).refuse_more("max_work_chars", "steps", sum(map(len, self.steps)))
        return self
