"""The arguments of replan_search."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, JsonValue, WithJsonSchema, model_validator

from mcp_reflect.errors import InputError
from mcp_reflect.schemas.fields import Arguments, Detail, Label, Labels, Phrases, Task, in_all, most_items, read

__all__ = ["ReplanArguments", "read"]

# What is inside is in the words: listing it as a schema would cost every client 100 bytes more.
_QUERIES = {
    "type": "array",
    "items": {"type": "object"},
    "description": "[{table, search_mode, query_text, limit, score_threshold, filters}]",
}


def _none() -> list[JsonValue]:
    return []


class ReplanArguments(Arguments):
    """Arguments of replan_search. With `search_id` the call may report again or bring an `analysis`."""

    ALIASES: ClassVar[Mapping[str, str]] = {
        "planned_queries": "queries",
        "original_queries": "queries",
        "query_results": "results",
    }

    user_message: Annotated[Task | None, Field(description="What the person asked for")] = None
    queries: Annotated[list[JsonValue], most_items("max_queries"), WithJsonSchema(_QUERIES)] = Field(
        default_factory=_none
    )
    results: Annotated[JsonValue, WithJsonSchema({"type": "object", "description": "Count or list by table"})] = None
    zero_result_tables: Labels = ()
    retry_count: Annotated[int, Field(ge=0, le=1000)] = 0
    catalog: Annotated[  # its words have passed the door, and `replan.reading` reads them: once is enough
        list[Any],
        most_items("max_tables"),
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "object"},
                "description": "[{table, description, search_modes, fields, vocabulary}]",
            }
        ),
    ] = Field(default_factory=list[Any])
    suggestions: Annotated[Phrases, Field(description="What the search tool proposed")] = ()
    analysis: Annotated[
        JsonValue,
        Field(description="Your own plan: {reasoning, strategy, user_message, new_queries}"),
        in_all("max_analysis_chars"),
    ] = None
    search_id: Label | None = None
    detail: Detail = False
    project: Label | None = None

    @model_validator(mode="after")
    def _has_a_search(self) -> "ReplanArguments":
        if self.search_id is None:
            if self.user_message is None:
                raise InputError("user_message", "it is missing", "Send what the person asked for, or a search_id.")
            if not self.queries:
                raise InputError("queries", "it is empty", "Send the queries that were run.")
        return self
