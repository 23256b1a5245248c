"""Plain functions over graph state, for LangGraph and its like. They plan and look back; acting stays the graph's.

Each gives the keys that change, and leaves the state that came in as it is.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_reflect.analysis.decisions import decision_of, fallback, markdown, validate
from mcp_reflect.clock import Clock
from mcp_reflect.errors import McpReflectError
from mcp_reflect.models.common import RULES
from mcp_reflect.models.decision import ACTIONS, Validation
from mcp_reflect.models.reflection import Assessment, Insights, Reflection
from mcp_reflect.models.search import Plan, SearchRequest, SearchState
from mcp_reflect.replan import planner
from mcp_reflect.replan.graph_state import advance

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine

_T = TypeVar("_T")


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
    only `validation_results` and `error`.
    """
    decision, result = state.get(decision_key), state.get(result_key)
    checked = validate(decision, result, allowed_actions)
    if not checked.valid:
        detail = checked.checks[-1].detail if decision is not None or result is not None else "There is no decision."
        return {"validation_results": _validation(checked, success=False), "error": detail}
    about = decision_of(decision)
    sent: dict[str, Any] = {
        "task": f"Decide what becomes of the component '{about.component}'",
        "outcome": "success",
        **{name: state[name] for name in _READ if isinstance(state.get(name), str) and state[name].strip()},
        "decision": decision,
        "execution": result,
        "allowed_actions": list(allowed_actions),
    }

    async def work() -> Reflection:
        from mcp_reflect.services.engine import Engine  # noqa: PLC0415 - relaxing needs none

        async with (make_engine or Engine)() as engine:
            return await engine.reflect(**sent)

    try:
        found = _run(work)
    except McpReflectError as error:
        ran: dict[str, Any] = result or {}  # its structure was checked
        return _failed(state, checked, fallback(about, ran.get("metrics") or {}, str(error)), str(error))
    if found.validation is not None and found.validation.reflection_success is False:
        return _failed(state, checked, found.reflection, found.note or "the language model gave nothing")
    return {
        **_gained(state, checked, _text(found), success=True),
        "reflection_insights": _insights(found),
        "reflection_analysis": _analysis(found.assessment or Assessment()),
    }


reflect_node = reflection_node
"""The name that graphs of older engines use."""

_READ = ("task", "outcome", "goal", "task_type", "run_id")


def _run(work: "Callable[[], Coroutine[Any, Any, _T]]") -> _T:
    """Run a coroutine from plain code, whether or not a loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work()).result()


def _gained(state: Mapping[str, Any], checked: Validation, text: str, *, success: bool) -> dict[str, Any]:
    return {
        "reflection": text,
        "reflections": [*(state.get("reflections") or ()), text],
        "validation_results": _validation(checked, success=success),
    }


def _failed(state: Mapping[str, Any], checked: Validation, text: str, error: str) -> dict[str, Any]:
    """What graphs test for where reflecting failed. The decision itself is valid, so there is no `error`."""
    return {
        **_gained(state, checked, text, success=False),
        "reflection_insights": {
            "summary": "Reflection failed due to error",
            "strengths": [],
            "improvements": ["Fix reflection API integration"],
            "recommendation": f"Debug error: {error}",
            "error": error,
        },
        "reflection_analysis": {
            "decision_appropriate": False,
            "execution_effective": False,
            "confidence": "low",
            "error": True,
        },
    }


def _validation(checked: Validation, *, success: bool) -> dict[str, Any]:
    return {
        "valid": checked.valid,
        "failed_check": checked.failed_check and checked.failed_check.value,
        "checks": [{**asdict(one), "check": one.check.value} for one in checked.checks],
        "reflection_success": success,
    }


def _text(found: Reflection) -> str:
    """The whole reflection: as markdown where it has sections of its own, else its text."""
    if found.insights is None or found.thinker != RULES:
        return found.reflection
    return markdown(found.insights.raw_sections)


def _insights(found: Reflection) -> dict[str, Any]:
    said = found.insights or Insights()
    return {
        "summary": said.summary or found.reflection,
        "strengths": list(said.strengths),
        "improvements": list(said.improvements),
        "recommendation": said.recommendation or found.strategy,
        "raw_sections": dict(said.raw_sections),
    }


def _analysis(said: Assessment) -> dict[str, Any]:
    return {name: getattr(said, name) for name in ("decision_appropriate", "execution_effective", "confidence")}


def reflect_and_replan(
    state: Mapping[str, Any],
    clock: Clock | None = None,
    *,
    make_engine: "Callable[[], Engine] | None" = None,
) -> dict[str, Any]:
    """Plan again for the queries that found nothing: relax, rewrite or pivot.

    The language model of the role `planner` is asked where one is configured, else rules plan; they also check and fill
    what the model proposes. `make_engine` gives the engine to use (default: one over the environment's settings). The
    keys of the state are in `advance`. Nothing is stored.
    """

    def plan(request: SearchRequest, attempts: SearchState) -> Plan:
        async def work() -> Plan:
            from mcp_reflect.services.engine import Engine  # noqa: PLC0415 - relaxing needs none
            from mcp_reflect.services.replan import plan_for_graph  # noqa: PLC0415 - same

            async with (make_engine or Engine)() as engine:
                return await plan_for_graph(engine.context, request, attempts)

        try:
            return _run(work)
        except McpReflectError:
            return planner.plan(request, attempts)

    return advance(state, plan, "reflect_and_replan", _now(clock))


def relax_and_retry(state: Mapping[str, Any], clock: Clock | None = None) -> dict[str, Any]:
    """Relax by a fixed ladder: lower threshold and double limit first, later the widest mode."""
    return advance(state, planner.relax_only, "relax_and_retry", _now(clock))


def _now(clock: Clock | None) -> str:
    """The time as ISO 8601 in UTC."""
    return datetime.fromtimestamp((clock or Clock()).now(), UTC).isoformat()
