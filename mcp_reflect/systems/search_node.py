"""The search nodes of a graph that answers questions from several tables: they plan again where nothing was found.

`reflect_and_replan` asks a language model why a search came back empty and what to search instead; `relax_and_retry` asks
for less of the same by a fixed ladder. Both return the keys of the state that change; the graph searches.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.clock import Clock
from mcp_reflect.errors import McpReflectError
from mcp_reflect.models.search import (
    CatalogEntry,
    Query,
    SearchPlan,
    SearchRequest,
    SearchState,
    Tried,
)
from mcp_reflect.replan import planner
from mcp_reflect.schemas.search import is_list, is_object, read_catalog, read_queries, read_results
from mcp_reflect.services.engine import Engine
from mcp_reflect.systems import run
from mcp_reflect.text.signature import digest

_MODES: Final = ("faceted", "master")
_TABLES: Final = ("sessions", "exhibitors", "speakers")
"""The search modes and tables of the document, which a graph without a catalog need not name."""


class Gained(dict[str, Any]):
    """The keys that change. A graph may also await them, as the node of the document is a coroutine."""

    def __await__(self) -> Generator[Any, None, "Gained"]:
        """Give the keys at once: nothing is waited for."""
        yield from ()
        return self


def reflect_and_replan(
    state: Mapping[str, Any],
    clock: Clock | None = None,
    *,
    make_engine: Callable[[], Engine] = Engine,
) -> Gained:
    """Plan again for the queries that found nothing: relax, rewrite or pivot.

    The language model of the role `planner` is asked where one is configured, else rules plan; they also check and fill
    what the model proposes. `make_engine` gives the engine to use (default: one over the environment's settings).
    Nothing is stored.

    The state has `messages`, `planned_queries`, `query_results`, `zero_result_tables`, `retry_count` and, where they
    help, `catalog`, `suggestions`, `max_retries` and `search_id`. The result has `planned_queries` (the queries that
    found something, as they were, and then the new ones), `retry_count`, `reflection_reasoning`, `reflection_strategy`,
    `thinking_updates` (the whole list with one more at its end), `original_planned_queries` and `current_node`.
    """

    def plan(request: SearchRequest, attempts: SearchState) -> SearchPlan:
        """Plan with a model if there is one, by rules where the engine cannot be used."""

        async def work() -> SearchPlan:
            """Plan with an engine that is opened and closed here."""
            async with make_engine() as engine:
                return await services.replan.plan_for_graph(engine.context, request, attempts)

        try:
            return run(work)
        except McpReflectError:
            return planner.plan(request, attempts)

    return _advance(state, plan, "reflect_and_replan", clock)


def relax_and_retry(state: Mapping[str, Any], clock: Clock | None = None) -> Gained:
    """Relax by a fixed ladder: lower threshold and double limit first, later the widest mode."""
    return _advance(state, planner.relax_only, "relax_and_retry", clock)


def _advance(
    state: Mapping[str, Any],
    planner: Callable[[SearchRequest, SearchState], SearchPlan],
    node: str,
    clock: Clock | None,
) -> Gained:
    """Return the keys that change by one planning step. Nothing is searched, and the state is left as it is.

    The state has no list of what was tried: it is the first queries, and those in the thoughts of earlier steps.
    """
    planned: list[Mapping[str, Any]] = list(state.get("planned_queries") or ())
    original = list(state.get("original_planned_queries") or planned)
    thoughts = list(state.get("thinking_updates") or ())
    request = _request(state, planned)
    tried = read_queries([*original, *_planned_before(thoughts)], "original_planned_queries")
    attempts = SearchState(
        search_id=request.search_id, tried=tuple(Tried(query=query) for query in tried)
    )
    plan = planner(request, attempts)
    thought = {
        "message": plan.user_message,
        "strategy": plan.strategy.value,
        "retry_count": plan.retry_count,
        "ts": (clock or Clock()).now(),
        # Later retries know by these what was tried.
        "new_queries": [asdict(query) for query in plan.new_queries],
    }
    return Gained(
        planned_queries=_next_queries(plan, planned, request.queries),
        retry_count=plan.retry_count,
        reflection_reasoning=_reasoning(plan),
        reflection_strategy=plan.strategy.value,
        thinking_updates=[*thoughts, thought],
        original_planned_queries=original,
        current_node=node,
    )


def _next_queries(
    plan: SearchPlan, planned: Sequence[Mapping[str, Any]], queries: Sequence[Query]
) -> list[Mapping[str, Any]]:
    """Return the queries that a plan keeps, in the graph's own form, and then its new ones.

    `queries` are the `planned` ones as we read them, one for one.
    """
    pairs = list(zip(planned, queries, strict=True))
    next_queries = [item for item, query in pairs if query in plan.kept_queries]
    for query in plan.new_queries:
        items_of_table = [item for item, other in pairs if other.table == query.table]
        next_queries.append(_in_form_of_graph(query, items_of_table or planned))
    return next_queries


def _planned_before(thoughts: Sequence[Any]) -> list[Any]:
    """Return the queries of earlier plans, which stand in the thoughts of the graph."""
    queries: list[Any] = []
    for thought in thoughts:
        if is_object(thought):
            queries += thought.get("new_queries") or ()
    return queries


def _in_form_of_graph(query: Query, origins: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a query as the graph writes it: with what else the first of its `origins` has under keys of the graph.

    A key of ours that the query left empty, such as a filter that was dropped, is not taken over.
    """
    values = asdict(query)
    stated = {name: value for name, value in values.items() if value}
    if not origins:
        return stated
    values_of_origin = {
        name: value for name, value in origins[0].items() if values.get(name, value)
    }
    return {**values_of_origin, **stated}


def _reasoning(plan: SearchPlan) -> str:
    """Return why, for developers, with what was corrected in the plan of a model: "Fewer words. (table was wrong)"."""
    other_notes = [note for note in plan.notes if note not in plan.reasoning]
    return " ".join((plan.reasoning, *(f"({note})" for note in other_notes)))


def _request(state: Mapping[str, Any], planned: Sequence[Mapping[str, Any]]) -> SearchRequest:
    """Return a state as the request that a planner reads; what the graph does not say has the planner's defaults."""
    message = _last_question(state.get("messages") or ())
    retries = int(state.get("retry_count") or 0)
    queries = read_queries(planned, "planned_queries")
    catalog = read_catalog(list(state.get("catalog") or ()))
    open_tables = None
    if not catalog:
        open_tables = _open_tables(queries)
    if any(query.search_mode in _MODES for query in queries):
        catalog = _with_modes(catalog, queries)
    return SearchRequest(
        search_id=str(state.get("search_id") or digest(message)),
        user_message=message,
        queries=queries,
        results=read_results(state.get("query_results") or {}, "query_results") or None,
        zero_result_tables=tuple(state.get("zero_result_tables") or ()),
        retry_count=retries,
        catalog=catalog,
        suggestions=tuple(str(text) for text in state.get("suggestions") or ()),
        # The graph's own edges decide when to stop: where it comes here with the last retry, that one is planned too.
        max_retries=int(state.get("max_retries") or max(2, retries)) + 1,
        takes_bounds=True,
        open_tables=open_tables,
    )


def _open_tables(queries: Sequence[Query]) -> tuple[str, ...]:
    """Return what a plan may search without a catalog: the document's tables where one of them is searched, else any (())."""
    searched = {query.table for query in queries}
    if searched.isdisjoint(_TABLES):
        return ()
    return _TABLES


def _with_modes(
    catalog: tuple[CatalogEntry, ...], queries: Sequence[Query]
) -> tuple[CatalogEntry, ...]:
    """Return the catalog, else one of the searched tables, with the document's search modes where an entry has none."""
    searched = dict.fromkeys(query.table for query in queries)
    entries = catalog or tuple(CatalogEntry(table=table) for table in searched)
    return tuple(replace(entry, search_modes=entry.search_modes or _MODES) for entry in entries)


def _last_question(messages: Sequence[Any]) -> str:
    """Return the last message of a person, else the last of all; empty where there is none."""
    for message in reversed(messages):
        author = _part(message, "type") or _part(message, "role")
        if author in ("human", "user"):
            return _part(message, "content")
    if messages:
        return _part(messages[-1], "content")
    return ""


def _part(message: Any, name: str) -> str:
    """Return the `type`, `role` or `content` of a message, empty for none; content in parts is joined.

    A message may be a text, an object of JSON, or an object of a framework with such attributes.
    """
    if isinstance(message, str):
        if name == "content":
            return message
        return ""
    value: Any = message.get(name) if is_object(message) else getattr(message, name, None)
    if is_list(value):
        return " ".join(map(_text_of_part, value))
    if isinstance(value, str):
        return value
    return ""


def _text_of_part(part: Any) -> str:
    """Return the text of a part of a message's content; an image has none."""
    if is_object(part):
        return str(part.get("text", ""))
    return str(part)
