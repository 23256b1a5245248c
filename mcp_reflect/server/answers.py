"""The short results of tools: what an agent acts on, without an echo of what it sent."""

from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.models.common import HOST, RULES, compact, plain
from mcp_reflect.models.critique import Critique
from mcp_reflect.models.lesson import Forgotten, Hit, OutcomeResult, Recall, Stored
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.models.search import SearchPlan

_WHY_CHARS: Final = 80  # of a hit: a sentence on a lesson that contradicts it is the longest
_REFLECTION_CHARS: Final = 360  # of a reflection by rules: all of its answer fits 1,200 characters
_STRATEGY_CHARS: Final = 200
_NOTE_CHARS: Final = 280
_CRITIQUE_DETAILS: Final = set("verdicts iterations stopped basis tokens triggered_by reflection_time_ms".split())
_PLAN_DETAILS: Final = {"reasoning", "original_queries", "thinking", "retry_count"}


def wants_detail(arguments: Mapping[str, Any]) -> bool:
    """True if a call asked for the whole result, or for scores by criteria of its own."""
    return str(arguments.get("detail", "")).strip().lower() in ("true", "1", "yes", "on") or bool(
        arguments.get("criteria")
    )


def answer(result: object, *, detail: bool = False) -> dict[str, Any]:
    """Return what a tool answers for a service's result."""
    if detail:
        return plain(result)
    match result:
        case Recall():
            hits = [_hit(hit) for hit in result.lessons]
            hidden = {reason: count for reason, count in result.hidden.items() if reason != "over_limit"}
            values = {"recall_id": result.recall_id, "lessons": hits, "hidden": hidden}
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
    """Return a critique without its verdicts and open claims, which `issues` and `next` quote."""
    values = {name: item for name, item in plain(critique).items() if name not in _CRITIQUE_DETAILS}
    values["coverage"] = {"claims": critique.coverage.claims, "checked": critique.coverage.checked}
    fix = None if critique.issues else critique.suggested_fix
    return {**values, "suggested_fix": fix, "should_retry": critique.should_retry or None}


def _hit(hit: Hit) -> dict[str, Any]:
    """Return a hit with its strongest reason."""
    return {"id": hit.id, "text": hit.text, "fit": hit.fit, "why": _clipped(hit.why.partition("; ")[0], _WHY_CHARS)}


def _reflection(reflection: Reflection) -> dict[str, Any]:
    values: dict[str, Any] = {
        "reflection_id": reflection.reflection_id,
        "strategy_id": reflection.strategy_id,
        "lessons": [{"id": lesson.id, "status": lesson.status} for lesson in reflection.lessons],
        "cut": reflection.cut,
    }
    if reflection.thinker == HOST:
        return values
    if validation := reflection.validation:
        failed = [check.detail for check in validation.checks if not check.passed]
        values["validation"] = {"valid": validation.valid, "failed_check": validation.failed_check, "detail": failed}
    if assessment := reflection.assessment:
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
    """Return the text, or its first whole sentences within `limit` characters; a long sentence ends at a word."""
    if len(text) <= limit:
        return text
    sentences = text[: text.rfind(". ", 0, limit) + 1]
    return sentences if len(sentences) > limit // 3 else f"{text[: limit - 2].rsplit(' ', 1)[0]} …"
