"""The short results of tools: the fields that an agent acts on, without an echo of the arguments that it sent.

They have no links to resources: Claude Code gives each to its model as one more line before the answer, Codex leaves
them out, and the id of a lesson is in its text.

The module is imported with the first call, so that a host which starts the server need not wait for it.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.evidence.answers import short_claims, short_outputs
from mcp_reflect.models.common import HOST, RULES, compact, plain
from mcp_reflect.models.critique import Critique
from mcp_reflect.models.lesson import Forgotten, Stored
from mcp_reflect.models.lesson_words import ORIGINS, short_id, with_id
from mcp_reflect.models.outcome import OutcomeResult
from mcp_reflect.models.recall import BETWEEN_REASONS, Hit, Recall
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.models.search import SearchPlan

_WHY_CHARS: Final = 80
"""Of a hit: a sentence on another correction of the same mistake is the longest."""
_REFLECTION_CHARS: Final = 900
"""Of the facts of a run."""
_MOST_COUNTED: Final = 3
_STRATEGY_CHARS: Final = 200
_NOTE_CHARS: Final = 280
_NO_LESSON: Final = "no lesson in it: send reflection_id with analysis {mistake, correction}"
_CRITIQUE_DETAILS: Final = frozenset(
    "iterations stopped tokens triggered_by reflection_time_ms other_outputs".split()
)
_PLAN_DETAILS: Final = frozenset(("reasoning", "original_queries", "retry_count"))


def wants_detail(arguments: Mapping[str, Any]) -> bool:
    """True if a call asked for the whole result."""
    return str(arguments.get("detail", "")).strip().lower() in ("true", "1", "yes", "on")


def answer(result: object, *, detail: bool = False) -> dict[str, Any]:
    """Return the answer of a tool for a service's result: in short, or in `detail` as the result is."""
    if detail:
        return plain(result)
    match result:
        case Recall():
            return _short_recall(result)
        case Reflection():
            short = _short_reflection(result)
        case Stored():
            short = _short_stored(result)
        case OutcomeResult():
            short = _short_outcome(result)
        case Forgotten():
            short = _short_forgotten(result)
        case Critique():
            short = _short_critique(result)
        case SearchPlan():
            short = _without(plain(result), _PLAN_DETAILS)
        case _:
            return plain(result)
    return compact({**short, "ignored": getattr(result, "ignored", ())})


def _short_recall(recall: Recall) -> dict[str, Any]:
    """Return the hits: {"recall_id": "rec_…", "lessons": […]}, with an empty list for a recall that found none."""
    short = {"recall_id": recall.recall_id, "lessons": [_short_hit(hit) for hit in recall.lessons]}
    without_empty_fields = compact({**short, "ignored": recall.ignored})
    return {"recall_id": recall.recall_id, "lessons": [], **without_empty_fields}


def _short_hit(hit: Hit) -> dict[str, Any]:
    """Return a lesson with the strongest reason why it fits, and with whose word it is.

    The `why` "same error; same task type; imported from outside" -> "same error; imported from outside".
    """
    strongest, *others = hit.reasons
    origins = [reason for reason in others if reason in ORIGINS.values()]
    why = BETWEEN_REASONS.join((_clipped(strongest, _WHY_CHARS), *origins))
    return {"id": short_id(hit.id), "text": hit.text, "fit": hit.fit, "why": why}


def _short_stored(stored: Stored) -> dict[str, Any]:
    """Return the status of a lesson that was sent, with its text as it is stored."""
    return {
        "lesson_id": short_id(stored.lesson_id),
        "status": stored.status,
        "evidence": stored.evidence,
        "reason": stored.reason,
        "kept": stored.text and with_id(stored.lesson_id, stored.text),
    }


def _short_outcome(outcome: OutcomeResult) -> dict[str, Any]:
    """Return how many lessons an outcome counts for, and how much."""
    return {
        "lessons": len(outcome.updated),
        "evidence": outcome.evidence,
        "reason": outcome.reason,
        "counted": _counted(outcome),
    }


def _counted(outcome: OutcomeResult) -> str | None:
    """Return the effectiveness of the first lessons after an outcome: "as test; effectiveness now les_x7k2m9: 0.65".

    None if it counts for none of them.
    """
    if not outcome.counts:
        return None
    effects = [
        f"{short_id(updated.id)}: {updated.effectiveness:.2f}"
        for updated in outcome.updated[:_MOST_COUNTED]
        if updated.effectiveness is not None
    ]
    if not effects:
        return None
    return f"as {outcome.evidence}; effectiveness now {', '.join(effects)}"


def _short_forgotten(forgotten: Forgotten) -> dict[str, Any]:
    """Return the state of the lesson, and why it stays if it does."""
    return {
        "lesson_id": short_id(forgotten.lesson_id),
        "state": forgotten.state,
        "reason": forgotten.reason,
    }


def _short_critique(critique: Critique) -> dict[str, Any]:
    """Return a critique with short claims and outputs, without the fields on which no agent acts."""
    short = _without(plain(critique), _CRITIQUE_DETAILS)
    short["claims"] = short_claims(critique)
    short["outputs"] = short_outputs(critique)
    short["should_retry"] = None
    if critique.issues:  # each issue has its own fix
        short["suggested_fix"] = None
    return short


def _short_reflection(reflection: Reflection) -> dict[str, Any]:
    """Return what was stored; where the agent sent no analysis of its own, also what rules or a model found."""
    short: dict[str, Any] = {
        "reflection_id": reflection.reflection_id,
        "strategy_id": reflection.strategy_id,
        "lessons": [
            {"id": short_id(lesson.id), "status": lesson.status} for lesson in reflection.lessons
        ],
        "cut": reflection.cut,
    }
    if reflection.thinker != HOST:
        return short | _analysis(reflection)
    if not reflection.lessons:
        short["note"] = _NO_LESSON
    return short


def _analysis(reflection: Reflection) -> dict[str, Any]:
    """Return what rules or a model found. The facts that rules list and the note together have _REFLECTION_CHARS."""
    checks: dict[str, Any] = {}
    validation = reflection.validation
    if validation:
        checks["validation"] = {
            "valid": validation.valid,
            "failed_check": validation.failed_check,
            "detail": [check.detail for check in validation.checks if not check.passed],
        }
    if reflection.assessment:
        checks["assessment"] = plain(reflection.assessment)
    note = _clipped(reflection.note or "", _NOTE_CHARS)
    text = reflection.reflection
    if reflection.thinker == RULES:
        text = _clipped(text, _REFLECTION_CHARS - len(note))
    return {
        **checks,
        "thinker": reflection.thinker,
        "note": note,
        "reflection": text,
        "strategy": _clipped(reflection.strategy or "", _STRATEGY_CHARS),
        "error_category": reflection.error_category,
        "first_failing_event": reflection.first_failing_event,
        "next": reflection.next,
    }


def _without(values: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Return an object without some of its fields."""
    return {name: value for name, value in values.items() if name not in names}


def _clipped(text: str, limit: int) -> str:
    """Return the text, or its first whole sentences within `limit` characters.

    Where they would fill less than a third of these, it ends within a sentence, behind a word: "The build failed in …".
    """
    if len(text) <= limit:
        return text
    sentences = text[: text.rfind(". ", 0, limit) + 1]
    if len(sentences) > limit // 3:
        return sentences
    return f"{text[: limit - 2].rsplit(' ', 1)[0]} …"
