"""Plain functions over graph state, for LangGraph and its like: each returns the keys that change."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp_reflect.analysis.decisions import decision_of, fallback, markdown, validate
from mcp_reflect.clock import Clock, iso
from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.log import Log
from mcp_reflect.models.common import RULES
from mcp_reflect.models.decision import ACTIONS, Validation
from mcp_reflect.models.reflection import Assessment, Insights, Reflection
from mcp_reflect.models.search import SearchPlan, SearchRequest, SearchState, Tried
from mcp_reflect.replan import planner
from mcp_reflect.schemas.search import is_list, is_object, read_catalog, read_queries, read_results
from mcp_reflect.signature import digest

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine

_T = TypeVar("_T")
_VERDICTS: Final = ("decision_appropriate", "execution_effective", "confidence")


def reflection_node(
    state: Mapping[str, Any],
    *,
    decision_key: str = "decision",
    result_key: str = "execution",
    allowed_actions: Sequence[str] = ACTIONS,
    make_engine: "Callable[[], Engine] | None" = None,
) -> dict[str, Any]:
    """Reflect on the decision of a state and on how it was carried out.

    The decision `{action, component, error}` and the result `{component, result, error, metrics}` stand under the two
    keys; `task`, `outcome`, `goal`, `task_type` and `run_id` are read where they are texts. `make_engine` gives the
    engine to use (default: one over the environment's settings); it is closed again.

    The state gains `reflection`, `reflections` (the earlier ones and this one), `validation_results` (valid,
    failed_check, checks, reflection_success), `reflection_insights` and `reflection_analysis`; where a check failed
    (an `error` or `error_message` of the state, the decision or the result among them) only `validation_results` and
    `error`, and the log names the check.
    """
    decision, result = state.get(decision_key), state.get(result_key)
    checked = validate(decision, result, allowed_actions, state)
    if not checked.valid:
        Log()("decision_rejected", "warning", failed_check=checked.failed_check)
        detail = checked.checks[-1].detail if decision is not None or result is not None else "There is no decision."
        return {"validation_results": _validation(checked, success=False), "error": detail}
    about = decision_of(decision)
    texts = ("task", "outcome", "goal", "task_type", "run_id")
    sent: dict[str, Any] = {
        "task": f"Decide what becomes of the component '{about.component}'",
        "outcome": "success",
        **{name: state[name] for name in texts if isinstance(state.get(name), str) and state[name].strip()},
        "decision": decision,
        "execution": result,
        "allowed_actions": list(allowed_actions),
    }

    async def work() -> Reflection:
        from mcp_reflect.services.engine import Engine  # noqa: PLC0415 - relaxing needs none

        async with (make_engine or Engine)() as engine:
            return await engine.reflect(**sent)

    try:
        reflection = _run(work)
    except McpReflectError as error:
        ran: dict[str, Any] = result or {}  # its structure was checked
        return _failed(state, checked, fallback(about, ran.get("metrics") or {}, str(error)), str(error))
    if reflection.validation is not None and reflection.validation.reflection_success is False:
        return _failed(state, checked, reflection.reflection, reflection.note or "the language model gave nothing")
    insights, assessment = reflection.insights or Insights(), reflection.assessment or Assessment()
    by_rules = reflection.insights is not None and reflection.thinker == RULES
    text = markdown(insights.raw_sections) if by_rules else reflection.reflection
    return {
        **_gained(state, checked, text, success=True),
        "reflection_insights": {
            "summary": insights.summary or reflection.reflection,
            "strengths": list(insights.strengths),
            "improvements": list(insights.improvements),
            "recommendation": insights.recommendation or reflection.strategy,
            "raw_sections": dict(insights.raw_sections),
        },
        "reflection_analysis": {name: getattr(assessment, name) for name in _VERDICTS},
    }


reflect_node = reflection_node
"""The name that graphs of older engines use."""


def _run(work: "Callable[[], Coroutine[Any, Any, _T]]") -> _T:
    """Run a coroutine from plain code, whether or not a loop runs in this thread."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work()).result()


def _gained(state: Mapping[str, Any], checked: Validation, text: str, *, success: bool) -> dict[str, Any]:
    return {
        "reflection": text,
        "reflections": [*(state.get("reflections") or ()), text],
        "validation_results": _validation(checked, success=success),
    }


def _failed(state: Mapping[str, Any], checked: Validation, text: str, error: str) -> dict[str, Any]:
    """The keys that graphs test where reflecting failed. The decision itself is valid, so there is no `error`."""
    return {
        **_gained(state, checked, text, success=False),
        "reflection_insights": {
            "summary": "Reflection failed due to error",
            "strengths": [],
            "improvements": ["Fix reflection API integration"],
            "recommendation": f"Debug error: {error}",
            "error": error,
        },
        "reflection_analysis": {**dict.fromkeys(_VERDICTS, False), "confidence": "low", "error": True},
    }


def _validation(checked: Validation, *, success: bool) -> dict[str, Any]:
    checks = [{**asdict(check), "check": check.check.value} for check in checked.checks]
    failed = checked.failed_check and checked.failed_check.value
    return {"valid": checked.valid, "failed_check": failed, "checks": checks, "reflection_success": success}


def reflect_and_replan(
    state: Mapping[str, Any], clock: Clock | None = None, *, make_engine: "Callable[[], Engine] | None" = None
) -> dict[str, Any]:
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
        async def work() -> SearchPlan:
            from mcp_reflect.services.engine import Engine  # noqa: PLC0415 - relaxing needs none
            from mcp_reflect.services.replan import plan_for_graph  # noqa: PLC0415 - same

            async with (make_engine or Engine)() as engine:
                return await plan_for_graph(engine.context, request, attempts)

        try:
            return _run(work)
        except McpReflectError:
            return planner.plan(request, attempts)

    return _advance(state, plan, "reflect_and_replan", clock)


def relax_and_retry(state: Mapping[str, Any], clock: Clock | None = None) -> dict[str, Any]:
    """Relax by a fixed ladder: lower threshold and double limit first, later the widest mode."""
    return _advance(state, planner.relax_only, "relax_and_retry", clock)


def _advance(
    state: Mapping[str, Any],
    planner: Callable[[SearchRequest, SearchState], SearchPlan],
    node: str,
    clock: Clock | None,
) -> dict[str, Any]:
    """One planning step over a state. Nothing is searched, and the state that came in is left as it is."""
    planned = _mappings(state.get("planned_queries") or (), "planned_queries")
    original = list(state.get("original_planned_queries") or state.get("planned_queries") or ())
    thoughts = list(state.get("thinking_updates") or ())
    request = _request(state, planned)
    earlier = [query for thought in thoughts if is_object(thought) for query in thought.get("new_queries") or ()]
    tried = read_queries(_mappings([*original, *earlier], "original_planned_queries"), "original_planned_queries")
    attempts = SearchState(search_id=request.search_id, tried=tuple(Tried(query=query) for query in tried))
    plan = planner(request, attempts)
    pairs = list(zip(state.get("planned_queries") or (), planned, request.queries, strict=True))
    thought = {
        "message": plan.user_message,
        "strategy": plan.strategy.value,
        "retry_count": plan.retry_count,
        "ts": iso((clock or Clock()).now(), exact=True),
        "new_queries": [asdict(query) for query in plan.new_queries],  # so that later retries know what was tried
    }
    new: list[Any] = [item for item, _, query in pairs if query in plan.kept_queries]
    for query in plan.new_queries:  # with the graph's own extra keys of the query that it comes from
        origins = [item for _, item, other in pairs if other.table == query.table] or planned
        own = {name: value for name, value in asdict(query).items() if value is not None and (name != "tool" or value)}
        new.append({"score_threshold": None, "limit": None, **(origins[0] if origins else {}), **own})
    return {
        "planned_queries": new,
        "retry_count": plan.retry_count,
        "reflection_reasoning": plan.reasoning,
        "reflection_strategy": plan.strategy.value,
        "thinking_updates": [*thoughts, thought],
        "original_planned_queries": original,
        "current_node": node,
    }


def _request(state: Mapping[str, Any], planned: Sequence[Mapping[str, Any]]) -> SearchRequest:
    message = _last_question(state.get("messages") or ())
    results: Any = state.get("query_results") or {}
    if not is_object(results):  # a list of results that each name their table
        rows: dict[str, int] = {}
        for result in _mappings(results, "query_results"):
            table = str(result.get("table", ""))
            counted = read_results({table: result.get("results", result.get("count", ()))}, "query_results")
            rows[table] = rows.get(table, 0) + counted[table]
        results = rows
    return SearchRequest(
        search_id=str(state.get("search_id") or digest(message)),
        user_message=message,
        queries=read_queries(planned, "planned_queries"),
        results=read_results(results, "query_results") or None,
        zero_result_tables=tuple(state.get("zero_result_tables") or ()),
        retry_count=int(state.get("retry_count") or 0),
        catalog=read_catalog(list(state.get("catalog") or ()))[0],
        suggestions=tuple(str(text) for text in state.get("suggestions") or ()),
        # The graph's own edges decide when to stop: where it comes here with the last retry, that one is planned too.
        max_retries=int(state.get("max_retries", 2)) + 1,
    )


def _last_question(messages: Sequence[Any]) -> str:
    """The last message of a person; the last of all where none is marked as a person's."""
    texts = [(_part(message, "type") or _part(message, "role"), _part(message, "content")) for message in messages]
    of_people = [text for author, text in texts if author in ("human", "user")] or [text for _, text in texts]
    return of_people[-1] if of_people else ""


def _part(message: Any, name: str) -> str:
    """`type`, `role` or `content` of a message; content in parts is joined."""
    if isinstance(message, str):
        return message if name == "content" else ""
    value: Any = message.get(name) if is_object(message) else getattr(message, name, None)
    if is_list(value):
        return " ".join(str(part.get("text", "")) if is_object(part) else str(part) for part in value)
    return value if isinstance(value, str) else ""


def _mappings(items: Any, field: str) -> list[Mapping[str, Any]]:
    """A list of mappings; models and data classes give their fields."""
    if not is_list(items):
        raise InputError(field, "is not a list", "Give a list")
    mappings: list[Mapping[str, Any]] = []
    for place, item in enumerate(items):
        dump = getattr(item, "model_dump", None)
        values: object = dump() if dump else asdict(item) if is_dataclass(item) else item  # pyright: ignore[reportArgumentType]
        if not is_object(values):
            fix = "Give a mapping with the fields of a query"
            raise InputError(f"{field}[{place}]", "is neither an object nor a model", fix)
        mappings.append(values)
    return mappings
