"""Between a graph's state and the planner."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, Final, TypeAlias

from mcp_reflect.errors import InputError
from mcp_reflect.models.search import Plan, Query, SearchRequest, SearchState, Tried
from mcp_reflect.replan.requests import is_list, is_object, read_catalog, read_queries, read_results

State: TypeAlias = Mapping[str, Any]
Planner: TypeAlias = Callable[[SearchRequest, SearchState], Plan]

MAX_RETRIES: Final = 2
_HUMAN = frozenset({"human", "user"})


def advance(state: State, planner: Planner, node: str, timestamp: str) -> dict[str, Any]:
    """One planning step over a state. Nothing is searched, and the state that came in is left as it is.

    `planned_queries` holds the queries that found something, as they were, and then the new ones.
    `thinking_updates` is the whole list with one more at its end, for a key without a reducer.
    """
    planned = list(state.get("planned_queries") or ())
    request = _request(state, planned)
    original = list(state.get("original_planned_queries") or planned)
    tried = tuple(
        Tried(query=query)
        for query in read_queries(_mappings(original, "original_planned_queries"), "original_planned_queries")
    )
    plan = planner(request, SearchState(search_id=request.search_id, tried=tried))
    thought = {
        "message": plan.user_message,
        "strategy": plan.strategy.value,
        "retry_count": plan.retry_count,
        "ts": timestamp,
    }
    kept = [item for item, query in zip(planned, request.queries, strict=True) if query in plan.kept]
    return {
        "planned_queries": kept + [_like(planned, request.queries, query) for query in plan.new_queries],
        "retry_count": plan.retry_count,
        "reflection_reasoning": plan.reasoning,
        "reflection_strategy": plan.strategy.value,
        "thinking_updates": [*(state.get("thinking_updates") or ()), thought],
        "original_planned_queries": original,
        "current_node": node,
    }


def _request(state: State, planned: Sequence[Any]) -> SearchRequest:
    results = state.get("query_results")
    message = _last_question(state.get("messages") or ())
    return SearchRequest(
        search_id=str(state.get("search_id") or hashlib.sha256(message.encode()).hexdigest()[:16]),
        user_message=message,
        queries=read_queries(_mappings(planned, "planned_queries"), "planned_queries"),
        results=None if results is None else _counts(results),
        zero_result_tables=tuple(state.get("zero_result_tables") or ()),
        retry_count=int(state.get("retry_count") or 0),
        catalog=read_catalog(state.get("catalog") or ()),
        suggestions=tuple(str(text) for text in state.get("suggestions") or ()),
        # The graph's own edges decide when to stop: where it comes here with the last retry, that one is planned too.
        max_retries=int(state.get("max_retries", MAX_RETRIES)) + 1,
    )


def _counts(results: Any) -> dict[str, int] | None:
    """Rows by table: from counts or rows by table, or from a list of results that each name their table.

    Null where nothing was reported at all: then everything came back empty.
    """
    if is_object(results):
        return read_results(results, "query_results") or None
    counts: dict[str, int] = {}
    for result in _mappings(results, "query_results"):
        table = str(result.get("table", ""))
        rows = result.get("results", result.get("count", ()))
        counts[table] = counts.get(table, 0) + read_results({table: rows}, "query_results")[table]
    return counts or None


def _last_question(messages: Sequence[Any]) -> str:
    """What the person said last; the last message of all where nobody is marked as a person."""
    texts = [(_part(message, "type") or _part(message, "role"), _part(message, "content")) for message in messages]
    said = [text for who, text in texts if who in _HUMAN] or [text for _, text in texts]
    return said[-1] if said else ""


def _part(message: object, name: str) -> str:
    """`type`, `role` or `content` of a message; content in parts is joined."""
    if isinstance(message, str):
        return message if name == "content" else ""
    value: object = message.get(name) if is_object(message) else getattr(message, name, None)
    if is_list(value):
        return " ".join(str(part.get("text", "")) if is_object(part) else str(part) for part in value)
    return value if isinstance(value, str) else ""


def _mappings(items: object, field: str) -> list[Mapping[str, Any]]:
    if not is_list(items):
        raise InputError(field, "is not a list", "Give a list")
    return [_mapping(item, f"{field}[{place}]") for place, item in enumerate(items)]


def _mapping(item: object, field: str) -> Mapping[str, Any]:
    """An item as a mapping; models and data classes give their fields."""
    if is_object(item):
        return item
    if is_dataclass(item) and not isinstance(item, type):
        return asdict(item)
    dump = getattr(item, "model_dump", None)
    if callable(dump):
        dumped = dump()
        return dumped if is_object(dumped) else {}
    raise InputError(field, "is neither an object nor a model", "Give a mapping with the fields of a query")


def _like(planned: Sequence[Any], queries: tuple[Query, ...], new: Query) -> dict[str, Any]:
    """The new query as a mapping, with the graph's own extra keys of the query it comes from."""
    ours = {name: value for name, value in asdict(new).items() if value is not None and (name != "tool" or value)}
    items = list(zip(_mappings(planned, "planned_queries"), queries, strict=True))
    origin = next((item for item, query in items if query.table == new.table), items[0][0] if items else {})
    return {"score_threshold": None, "limit": None, **origin, **ours}
