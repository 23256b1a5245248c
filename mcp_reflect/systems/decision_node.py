"""The reflection node: the last node of a graph that decides to keep, kill or marry a component and carries it out.

It checks the decision, reflects on it and on its execution, and returns the keys of the state that change.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from mcp_reflect.decisions.checks import decision_of, validate
from mcp_reflect.decisions.telling import fallback, markdown
from mcp_reflect.errors import McpReflectError
from mcp_reflect.models.common import RULES
from mcp_reflect.models.reflection import ACTIONS, Assessment, Insights, Reflection, Validation
from mcp_reflect.schemas.search import is_object
from mcp_reflect.services.engine import Engine
from mcp_reflect.systems import run

_TEXTS: Final = ("task", "outcome", "goal", "task_type", "run_id")
_KEYS_READ_ELSEWHERE: Final = frozenset(_TEXTS) - {"outcome"}
"""The keys of a state that `reflect` is sent by name. `outcome` is shown beside the decision as well: a graph may keep
more in it than the word that `reflect` takes."""

_GAINED_KEYS: Final = (
    "reflection reflections validation_results reflection_insights reflection_analysis"
)
_NOT_SHOWN: Final = {"messages", "error", "error_message", *_GAINED_KEYS.split()}
"""The keys of a state that say nothing of the decision: what the node itself wrote, and what has a place of its own."""

_MOST_CHARS: Final = 2000  # of a value of the state that is shown to a model
_VERDICTS: Final = ("decision_appropriate", "execution_effective", "confidence")


def reflection_node(
    state: Mapping[str, Any],
    *,
    decision_key: str = "decision",
    result_key: str = "execution",
    allowed_actions: Sequence[str] = ACTIONS,
    make_engine: Callable[[], Engine] = Engine,
) -> dict[str, Any]:
    """Reflect on the decision of a state and on how it was carried out.

    The decision `{action, component, error}` and the result `{component, result, error, metrics}` stand under the two
    keys; a result without a component has the `active_component` of the state. `task`, `outcome`, `goal`, `task_type`
    and `run_id` are read where they are texts. What else the state says goes with the decision, as its `state`.
    `make_engine` gives the engine to use (default: one over the environment's settings); it is closed again.

    The state gains `reflection`, `reflections` (the earlier ones and this one), `validation_results` (valid,
    failed_check, checks, reflection_success), `reflection_insights` and `reflection_analysis`; where a check failed
    (an `error` or `error_message` of the state, the decision or the result among them) only `validation_results` and
    `error`, and the log names the check.
    """
    decision = state.get(decision_key)
    result = _with_component(state.get(result_key), state)
    checked = validate(decision, result, allowed_actions, state)
    if not checked.valid:
        run(partial(_log_rejected, make_engine, checked))
        return {
            "validation_results": _validation(checked, success=False),
            "error": checked.checks[-1].detail,
        }
    rest_of_state = _rest_of(state, {decision_key, result_key} | _KEYS_READ_ELSEWHERE)
    decision_with_state: Any = decision
    if rest_of_state:
        decided: dict[str, Any] = decision or {}
        decision_with_state = {**decided, "state": rest_of_state}

    async def work() -> Reflection:
        """Reflect with an engine that is opened and closed here."""
        async with make_engine() as engine:
            return await engine.reflect(
                **_texts_of(state),
                decision=decision_with_state,
                execution=result,
                allowed_actions=list(allowed_actions),
            )

    try:
        reflection = run(work)
    except McpReflectError as error:
        execution: dict[str, Any] = result or {}  # its structure was checked
        text = fallback(decision_of(decision), execution.get("metrics") or {}, str(error))
        return _failed(state, checked, text, str(error))
    if reflection.validation is not None and reflection.validation.reflection_success is False:
        fault = reflection.note or "the language model gave nothing"
        return _failed(state, checked, reflection.reflection, fault)
    return _reflected(state, checked, reflection)


async def _log_rejected(make_engine: Callable[[], Engine], checked: Validation) -> None:
    """Say in the log which check failed, by an engine that is closed again and never opens its bank."""
    engine = make_engine()
    try:
        engine.log.warning("decision_rejected", failed_check=checked.failed_check)
    finally:
        await engine.close()


def _with_component(result: Any, state: Mapping[str, Any]) -> Any:
    """Return a result with the component that the state works on, where it names none itself."""
    active = state.get("active_component")
    if not active or not (result is None or is_object(result)):
        return result
    return {"component": active, **(result or {})}


def _texts_of(state: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a state that say in words what the run was: task, outcome and the like, where they are texts."""
    texts: dict[str, str] = {}
    for name in _TEXTS:
        value = state.get(name)
        if isinstance(value, str) and value.strip():
            texts[name] = value
    return texts


def _reflected(
    state: Mapping[str, Any], checked: Validation, reflection: Reflection
) -> dict[str, Any]:
    """Return the keys that a state gains by a reflection."""
    insights = reflection.insights or Insights()
    assessment = reflection.assessment or Assessment()
    text = reflection.reflection
    if reflection.insights is not None and reflection.thinker == RULES:
        text = markdown(insights.raw_sections)
    return {
        **_keys_in_any_case(state, checked, text, success=True, note=reflection.note),
        "reflection_insights": {
            "summary": _title(text) or insights.summary or reflection.reflection,
            "strengths": list(insights.strengths),
            "improvements": list(insights.improvements),
            "recommendation": insights.recommendation or reflection.strategy,
            "raw_sections": dict(insights.raw_sections),
        },
        "reflection_analysis": {name: getattr(assessment, name) for name in _VERDICTS},
    }


def _rest_of(state: Mapping[str, Any], read_keys: set[str]) -> dict[str, Any]:
    """Return what a state says beside the keys that were read, in plain and short values, sorted by key.

    A model is shown it beside the decision. Messages and other objects of a graph are left out.
    """
    rest: dict[str, Any] = {}
    for name in state.keys() - read_keys - _NOT_SHOWN:
        with suppress(TypeError, ValueError):  # it is no JSON
            if state[name] and len(json.dumps(state[name], ensure_ascii=False)) <= _MOST_CHARS:
                rest[name] = state[name]
    return dict(sorted(rest.items()))


def _title(text: str) -> str | None:
    """Return the heading that a text begins with, None where it has none: "# Keep it" -> "Keep it"."""
    line = text.lstrip().partition("\n")[0]
    if not line.startswith("#"):
        return None
    return line.lstrip("#").strip(" *") or None


def _keys_in_any_case(
    state: Mapping[str, Any],
    checked: Validation,
    text: str,
    *,
    success: bool,
    note: str | None = None,
) -> dict[str, Any]:
    """Return the keys that a state gains whether or not a model failed: the text, also behind earlier ones, and the checks."""
    validation = _validation(checked, success=success)
    if note:
        validation["note"] = note
    return {
        "reflection": text,
        "reflections": [*(state.get("reflections") or ()), text],
        "validation_results": validation,
    }


def _failed(state: Mapping[str, Any], checked: Validation, text: str, error: str) -> dict[str, Any]:
    """Return the keys that graphs test where reflecting failed. The decision itself is valid, so there is no `error`."""
    return {
        **_keys_in_any_case(state, checked, text, success=False),
        "reflection_insights": {
            "summary": "Reflection failed due to error",
            "strengths": [],
            "improvements": ["Fix reflection API integration"],
            "recommendation": f"Debug error: {error}",
            "error": error,
        },
        "reflection_analysis": {
            **dict.fromkeys(_VERDICTS, False),
            "confidence": "low",
            "error": True,
        },
    }


def _validation(checked: Validation, *, success: bool) -> dict[str, Any]:
    """Return the checks of a decision as plain values, and whether there is a reflection on it."""
    return {
        **asdict(checked),
        "checks": [*map(asdict, checked.checks)],
        "reflection_success": success,
    }


reflect_node = reflection_node
"""The name that graphs of older engines use."""
