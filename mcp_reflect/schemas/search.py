"""The arguments of replan_search."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, JsonValue, ValidationInfo, WithJsonSchema, model_validator

from mcp_reflect.errors import InputError
from mcp_reflect.schemas.fields import (
    Arguments,
    Count,
    Detail,
    Label,
    Labels,
    Phrases,
    Task,
    as_json,
    as_objects,
    in_all,
    most_items,
    read,
)
from mcp_reflect.schemas.reading import parsed

__all__ = ["ReplanArguments", "read"]

# The description has the fields: a nested schema would cost every client 100 bytes more.
_QUERIES = {
    "type": "array",
    "items": {"type": ["object", "string"]},
    "description": "Texts, or {tool, table, search_mode, query_text, limit, score_threshold, filters}",
}
_TEXT_NAMES = ("query_text", "query", "text", "q", "pattern", "command", "search", "term", "keywords")
_TABLE_NAMES = ("table", "tool", "index", "source", "collection")
_DEFAULT_TABLE = "search"  # where the caller's tool has no tables


def _none() -> list[JsonValue]:
    return []


def _queries(value: Any, info: ValidationInfo) -> Any:
    """Queries as objects with a table and a text; a text is the query of a search without tables."""
    value = as_objects(value, info)
    if not isinstance(value, list | tuple):
        return value
    items: list[Any] = [parsed(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return [_query(item) for item in items if item not in (None, "")]


def _query(item: Any) -> Any:
    if isinstance(item, str):
        return {"table": _DEFAULT_TABLE, "query_text": item}
    if not isinstance(item, dict):
        return item
    query: dict[str, Any] = dict(item)  # pyright: ignore[reportUnknownArgumentType]
    for own, names in (("query_text", _TEXT_NAMES), ("table", _TABLE_NAMES)):
        other = next((name for name in names if query.get(name) is not None), None)
        if own not in query and other is not None:
            query[own] = query[other] if other == "tool" else query.pop(other)
    return query if "table" in query or "query_text" not in query else {"table": _DEFAULT_TABLE, **query}


def _results(value: Any, info: ValidationInfo) -> Any:
    """Counts by table. Zero, an empty list or a text such as "no results" means that every table came back empty."""
    value = as_json(value, info)
    return None if isinstance(value, str) or not value else value


class ReplanArguments(Arguments):
    """Arguments of replan_search. With `search_id` the call may report again or bring an `analysis`."""

    ALIASES: ClassVar[Mapping[str, str]] = {
        "planned_queries": "queries",
        "original_queries": "queries",
        "query_results": "results",
    }
    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("query", "search", "searches", "failed_query", "failed_queries", "tried"), "queries"),
        **dict.fromkeys(("question", "message", "goal", "intent", "task", "user_query", "request"), "user_message"),
        **dict.fromkeys(("result", "counts", "hits"), "results"),
        **dict.fromkeys(("retries", "attempt", "attempts"), "retry_count"),
        **dict.fromkeys(("did_you_mean", "similar"), "suggestions"),
        **dict.fromkeys(("tables", "schema"), "catalog"),
    }

    user_message: Annotated[Task | None, Field(description="What the person asked for")] = None
    queries: Annotated[
        list[JsonValue], most_items("max_queries"), BeforeValidator(_queries), WithJsonSchema(_QUERIES)
    ] = Field(default_factory=_none)
    results: Annotated[
        JsonValue,
        BeforeValidator(_results),
        WithJsonSchema({"type": "object", "description": "Count or list by table"}),
    ] = None
    zero_result_tables: Labels = ()
    retry_count: Annotated[Count, Field(ge=0, le=1000)] = 0
    catalog: Annotated[  # read in full by the planner
        list[Any],
        most_items("max_tables"),
        BeforeValidator(as_objects),
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
        BeforeValidator(as_json),
    ] = None
    search_id: Label | None = None
    detail: Detail = False
    project: Label | None = None

    @model_validator(mode="before")
    @classmethod
    def _message_from_query(cls, values: Any) -> Any:
        """What the person asked for, where only the query was sent: the query's text."""
        if not isinstance(values, dict) or "user_message" in values or "search_id" in values:
            return values  # pyright: ignore[reportUnknownVariableType]
        sent: dict[str, Any] = dict(values)  # pyright: ignore[reportUnknownArgumentType]
        queries = sent.get("queries")
        first = queries[0] if isinstance(queries, list) and queries else queries  # pyright: ignore[reportUnknownVariableType]
        query = _query(first) if first else None  # pyright: ignore[reportUnknownArgumentType]
        text = query.get("query_text") if isinstance(query, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return {**sent, "user_message": text} if isinstance(text, str) and text.strip() else sent

    @model_validator(mode="after")
    def _has_a_search(self) -> "ReplanArguments":
        if self.search_id is None:
            if self.user_message is None:
                raise InputError("user_message", "it is missing", "Send what the person asked for, or a search_id.")
            if not self.queries:
                raise InputError("queries", "it is empty", "Send the queries that were run.")
        return self
