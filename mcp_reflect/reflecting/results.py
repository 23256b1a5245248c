"""A reflection as it is stored, and as the tool returns it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final, cast

from mcp_reflect.clock import iso
from mcp_reflect.context_ import Parts
from mcp_reflect.models.common import RULES, Scope
from mcp_reflect.models.decision import Check, Checked, Validation
from mcp_reflect.models.plain import plain
from mcp_reflect.models.reflection import Assessment, Insights, LearntLesson, Reflection, Score, StoredReflection

RULES_BYTES: Final = 2500
"""Of a result that no model thought about; reflection://ID has all of it."""


def from_stored(stored: StoredReflection) -> Reflection:
    """A stored reflection as the tool returns it."""
    assert isinstance(stored.body, dict)  # noqa: S101 - written by the engine
    found = from_body(dict(stored.body))
    return slim(replace(found, next=_next(found)) if stored.thinker == RULES else found)


def from_body(body: dict[str, Any]) -> Reflection:
    """The stored JSON object as the record."""
    insights, assessment = body.pop("insights", None), body.pop("assessment", None)
    validation, lessons = body.pop("validation", None), body.pop("lessons", ())
    return Reflection(
        **_tuples(body),
        insights=Insights(**_tuples(insights)) if insights else None,
        assessment=_assessment(assessment) if assessment else None,
        validation=_validation(validation) if validation else None,
        lessons=tuple(LearntLesson(**item) for item in lessons),
    )


def rejected(parts: Parts, scope: Scope, validation: Validation, trigger: str | None) -> Reflection:
    """What a failed check comes to: nothing is stored."""
    return Reflection(
        thinker=RULES,
        validation=validation,
        triggered_by=trigger,
        generated_at=iso(parts.clock.now()),
        scope=str(scope),
    )


def slim(found: Reflection) -> Reflection:
    """A result of rules within RULES_BYTES, as far as it says what is stored in full and what the agent knows."""
    if found.thinker != RULES:
        return found
    for step in _STEPS:
        if len(json.dumps(plain(found), ensure_ascii=False).encode()) <= RULES_BYTES:
            return found
        found = step(found)
    return found


def _fewer_checks(one: Reflection) -> Reflection:
    short = tuple(replace(check, detail=None) for check in one.validation.checks) if one.validation else ()
    return replace(one, validation=one.validation and replace(one.validation, checks=short))


def _sections_alone(one: Reflection) -> Reflection:
    return replace(one, insights=one.insights and Insights(raw_sections=one.insights.raw_sections))


_STEPS: Final[tuple[Callable[[Reflection], Reflection], ...]] = (
    lambda one: replace(one, source_event_ids=one.source_event_ids[:5]),
    lambda one: replace(one, assessment=one.assessment and replace(one.assessment, scores={})),
    _sections_alone,
    _fewer_checks,
    lambda one: replace(one, insights=None),
    lambda one: replace(one, reflection=f"{one.reflection[:700]} …" if len(one.reflection) > 700 else one.reflection),
)


def _assessment(value: Mapping[str, Any]) -> Assessment:
    scores = {name: Score(**score) for name, score in value.get("scores", {}).items()}
    values: dict[str, Any] = {**value, "scores": scores}
    return Assessment(**values)


def _validation(value: Mapping[str, Any]) -> Validation:
    checks = tuple(
        Checked(check=Check(one["check"]), passed=one["passed"], detail=one["detail"]) for one in value["checks"]
    )
    failed = value["failed_check"]
    values: dict[str, Any] = {**value, "checks": checks, "failed_check": Check(failed) if failed else None}
    return Validation(**values)


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """A JSON object with its lists as tuples, as records have them."""
    return {name: tuple(cast("list[Any]", item)) if isinstance(item, list) else item for name, item in values.items()}


def _next(found: Reflection) -> dict[str, object]:
    """What the agent can add, for it has seen more than rules can read off the events."""
    analysis: dict[str, object] = {
        "reflection": "root cause, in two or three sentences",
        "strategy": "one specific thing to do next time",
    }
    if found.validation is None:
        analysis |= {
            "mistake": "what not to repeat, with the exact input",
            "correction": "what works instead",
            "symptoms": ["error text that shows it"],
            "keywords": ["words to find it by"],
            "importance": "0..1",
            "confidence": "0..1",
            "tags": [],
        }
    return {
        "why": "Rules read only what the events show. You know why it happened: send your analysis.",
        "tool": "reflect",
        "arguments": {"reflection_id": found.reflection_id, "analysis": analysis},
    }


def stored_form(value: Assessment | Insights | Validation | None) -> Any:
    """A part of the result as JSON values."""
    return None if value is None else asdict(value)
