"""The answer to a tool call: short by default, the whole result on request.

An answer never repeats what the call sent. `detail: true` returns every field that is not None or empty.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.models.common import HOST, RULES, compact, plain
from mcp_reflect.models.critique import Critique
from mcp_reflect.models.lesson import Forgotten, Hit, OutcomeResult, Recall, Stored
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.models.search import SearchPlan

_WHY_CHARS: Final = 90  # of a hit: three hits and the recall's id fit 500 characters beside the lessons' texts
_REFLECTION_CHARS: Final = 360  # of a reflection by rules: all of its answer fits 1,200 characters
_STRATEGY_CHARS: Final = 200
_NOTE_CHARS: Final = 280
_CRITIQUE_DETAILS: Final = {
    "verdicts",
    "iterations",
    "stopped",
    "basis",
    "tokens",
    "triggered_by",
    "reflection_time_ms",
}
_PLAN_DETAILS: Final = {"reasoning", "original_queries", "thinking", "retry_count"}
_TRUE: Final = frozenset({"true", "1", "yes", "on"})


def wants_detail(arguments: Mapping[str, Any]) -> bool:
    """True if a call asked for the whole result, or for scores by criteria of its own."""
    return str(arguments.get("detail", "")).strip().lower() in _TRUE or bool(arguments.get("criteria"))


def answer(result: object, *, detail: bool = False) -> dict[str, Any]:
    """Return what a tool answers for a service's result."""
    if detail:
        return plain(result)
    match result:
        case Recall():
            values = _recall(result)
        case Reflection():
            values = _reflection(result)
        case Stored():
            values = {"lesson_id": result.lesson_id, "status": result.status, "reason": result.reason}
        case OutcomeResult():
            values = {"lessons": len(result.updated), "evidence": result.evidence, "reason": result.reason}
        case Forgotten():
            values = {"lesson_id": result.lesson_id, "state": result.state}
        case Critique():
            values = _critique(result)
        case SearchPlan():
            values = {name: item for name, item in plain(result).items() if name not in _PLAN_DETAILS}
        case _:
            return plain(result)
    return compact({**values, "ignored": getattr(result, "ignored", ())})


def _critique(critique: Critique) -> dict[str, Any]:
    """The issues tell the verdicts in words, the questions in `next` quote the open claims."""
    values = {name: item for name, item in plain(critique).items() if name not in _CRITIQUE_DETAILS}
    coverage = {"claims": critique.coverage.claims, "checked": critique.coverage.checked}
    fix = None if critique.issues else critique.suggested_fix
    return {**values, "coverage": coverage, "suggested_fix": fix, "should_retry": critique.should_retry or None}


def _recall(recall: Recall) -> dict[str, Any]:
    return {"recall_id": recall.recall_id, "lessons": [_hit(hit) for hit in recall.lessons], "hidden": recall.hidden}


def _hit(hit: Hit) -> dict[str, Any]:
    return {"id": hit.id, "text": hit.text, "fit": hit.fit, "why": _first_clauses(hit.why)}


def _first_clauses(why: str) -> str:
    """The first reasons, as many whole ones as fit; at least one."""
    first, *others = why.split("; ")
    for clause in others:
        if len(first) + len(clause) + 2 > _WHY_CHARS:
            break
        first = f"{first}; {clause}"
    return _clipped(first, _WHY_CHARS)


def _reflection(reflection: Reflection) -> dict[str, Any]:
    values: dict[str, Any] = {
        "reflection_id": reflection.reflection_id,
        "strategy_id": reflection.strategy_id,
        "lessons": [{"id": lesson.id, "status": lesson.status} for lesson in reflection.lessons],
        "cut": reflection.cut,
    }
    if reflection.thinker == HOST:
        return values
    validation = reflection.validation
    if validation is not None:
        failed = [check.detail for check in validation.checks if not check.passed]
        values["validation"] = {"valid": validation.valid, "failed_check": validation.failed_check, "detail": failed}
    assessment = reflection.assessment
    if assessment is not None:
        values["assessment"] = {**plain(assessment), "scores": None}
    note, text = _clipped(reflection.note or "", _NOTE_CHARS), reflection.reflection
    return {
        **values,
        "thinker": reflection.thinker,
        "note": note,
        "reflection": _clipped(text, _REFLECTION_CHARS - len(note)) if reflection.thinker == RULES else text,
        "strategy": _clipped(reflection.strategy or "", _STRATEGY_CHARS),
        "error_category": reflection.error_category,
        "first_failing_event": reflection.first_failing_event,
        "next": reflection.next,
    }


def _clipped(text: str, limit: int) -> str:
    """The text, cut at a word where it is longer than `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 2].rsplit(' ', 1)[0]} …"
