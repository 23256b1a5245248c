"""Reflect on a run: analysis by rules and by the agent or a model, stored in one transaction."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, cast

from mcp_reflect.analysis.decisions import validate
from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.analysis.reflector import Judged, face, judge, links, strategy
from mcp_reflect.clock import iso
from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import ClientCapabilities
from mcp_reflect.models.common import RULES, Scope
from mcp_reflect.models.decision import ACTIONS, Check, Checked, Validation
from mcp_reflect.models.lesson import Kind
from mcp_reflect.models.reflection import (
    Analysis,
    Assessment,
    Insights,
    LearntLesson,
    Link,
    Reflection,
    ReflectionDraft,
    Score,
    StoredReflection,
)
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.lessons import RecallShape
from mcp_reflect.schemas.run import ReflectShape, plain_run, trace_from
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.evaluation import Decided, Judgement, decided, judgement, name_of, scored
from mcp_reflect.services.results import plain

# A reflection as it is stored, and as the tool returns it.


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


def rejected(context: Context, scope: Scope, validation: Validation, trigger: str | None) -> Reflection:
    """What a failed check comes to: nothing is stored."""
    return Reflection(
        thinker=RULES,
        validation=validation,
        triggered_by=trigger,
        generated_at=iso(context.clock.now()),
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


# An equal reflection that exists is found before anybody is asked to make it anew.


async def equal(
    context: Context, scope: Scope, sent: ReflectShape, run_digest: str, host: ClientCapabilities
) -> StoredReflection | None:
    """What the same kind of thinker said of the same run, scored by all criteria that are asked for; null for none.

    An analysis is a new judgement, and a run by its id asks for the next version: neither is looked for. What rules
    wrote because a model failed is no model's word: with a model at hand, it is asked again.
    """
    if sent.analysis is not None or sent.reflection_id is not None:
        return None
    by_model = context.thinking.llm(Role.REFLECTOR, host) is not None
    wanted = {name_of(one) for one in sent.criteria}
    for stored in await context.bank.reflections.of_same_run(scope, run_digest, by_model=by_model):
        body = stored.body
        assert isinstance(body, dict)  # noqa: S101 - written by the engine
        assessment = from_body(dict(body)).assessment
        if wanted <= set(assessment.scores if assessment else ()):
            return stored
    return None


# Finding reflections again: by what they say, or by how much they matter.


_ANY = "any"  # what stands in the place of a text that is not given, so that the rest is read as ever


async def query(context: Context, asked: Mapping[str, Any]) -> tuple[Reflection, ...]:
    """Reflections by the words of `asked`, as recall reads them; without a text by importance. Counts as no use."""
    given, most = asked.get("task"), context.settings.max_recalled_chars
    sent = read(RecallShape, {**asked, "task": _ANY if given is None else given, "max_chars": most}, context.settings)
    scope = context.scopes.named(sent.project)
    if given is None:
        stored = await context.bank.reflections.important(
            scope, limit=sent.limit, min_importance=sent.min_importance, tags=sent.tags
        )
        return tuple(from_stored(one) for one in stored)
    found = await context.bank.recall(scope, replace(sent.ask(), kinds=(Kind.REFLECTION,)), applied=False)
    return tuple([from_stored(await context.bank.reflections.by_id(scope, hit.id)) for hit in found.lessons])


# How the engine reflects: the run is read and redacted, judged, and written in one transaction.


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A reflection that is not stored yet: what it says, and what storing it writes.

    `draft` is null where there is nothing to store: a check of the decision failed, or the same reflection is
    stored already and `reflection` has its id.
    """

    reflection: Reflection
    scope: Scope
    draft: ReflectionDraft | None
    before: StoredReflection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The ids that storing a reflection gave; `strategy_id` is null where it has no strategy."""

    reflection_id: str
    strategy_id: str | None


async def reflect(context: Context, arguments: Mapping[str, Any], host: ClientCapabilities) -> Reflection:
    """Reflect on a run, or put an analysis to a run that is stored."""
    generated = await generate(context, arguments, host)
    return generated.reflection if generated.draft is None else await _stored(context, generated, generated.draft)


async def store(context: Context, generated: Generated) -> Kept:
    """Store what `generate` made; the same reflection again writes nothing. InputError where there is nothing."""
    if generated.draft is None and generated.reflection.reflection_id:
        return Kept(reflection_id=generated.reflection.reflection_id, strategy_id=generated.reflection.strategy_id)
    if generated.draft is None:
        raise InputError("reflection", "a check of its decision failed", "Store one whose validation is valid.")
    found = await _stored(context, generated, generated.draft)
    return Kept(reflection_id=found.reflection_id, strategy_id=found.strategy_id)


async def generate(context: Context, arguments: Mapping[str, Any], host: ClientCapabilities) -> Generated:
    """Reflect on a run without storing anything."""
    sent = read(ReflectShape, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    validation = None
    if sent.reflection_id is None and (sent.decision is not None or sent.execution is not None):
        validation = validate(clean(sent.decision), clean(sent.execution), sent.allowed_actions or ACTIONS)
        if not validation.valid:
            assert validation.failed_check is not None  # noqa: S101 - it is not valid
            context.log("reflection_rejected", failed_check=validation.failed_check.value)
            return Generated(
                reflection=rejected(context, scope, validation, sent.trigger), scope=scope, draft=None, before=None
            )
    before = None if sent.reflection_id is None else await context.bank.reflections.by_id(scope, sent.reflection_id)
    if before is not None:
        validation = from_stored(before).validation
    run: dict[str, Any] = (
        clean(plain_run(sent, context.settings, clean_text))
        if before is None
        else _same_run(before, sent, context.settings)
    )
    trace = trace_from(run)
    await _check_related(context, scope, sent)
    known = await equal(context, scope, sent, _digest(run, None), host)
    if known is not None:
        context.log("reflection_found", reflection_id=known.id, thinker=known.thinker)
        return Generated(reflection=from_stored(known), scope=scope, draft=None)
    context.log(
        "reflection_generation_started",
        tenant=scope.tenant,
        project=scope.project,
        outcome=trace.outcome.value,
        event_count=len(trace.events),
    )
    seen = await asyncio.to_thread(diagnose, trace)
    on = await decided(context, scope, run, seen)
    judging = await judgement(context, sent, trace, seen, on, host)
    judged = _judged(judge(trace, seen, judging.analysis, judging.source), judging, on)
    told = None if judging.analysis is None else judging.analysis.scores
    about = (run.get("decision"), run.get("execution"), run.get("allowed_actions"))
    assessment = await scored(context, sent.criteria, trace, seen, judged.assessment, told, about, host)
    judged = replace(judged, assessment=assessment)
    if validation is not None:
        validation = replace(validation, reflection_success=not judging.failed)
    source = judging.source
    ties = [Link(relation="related", to_kind="record", to_id=name) for name in sent.related_ids]
    if sent.recall_id:
        ties.append(Link(relation="used", to_kind="recall", to_id=sent.recall_id))
    draft = ReflectionDraft(
        task=trace.task,
        task_type=trace.task_type,
        outcome=trace.outcome.value,
        run_id=trace.run_id,
        thinker=judging.thinker,
        trace=run,
        body=_body(context, scope, sent, judging, run, judged, validation),
        digest=_digest(run, judging.analysis, sent.criteria),
        run_digest=_digest(run, None),
        face=face(trace, judged, source),
        strategy=strategy(trace, judged, source),
        lessons=judged.lessons,
        failures=seen.failures,
        worked=seen.worked,
        links=(*links(seen, judged), *ties),
    )
    assert isinstance(draft.body, dict)  # noqa: S101 - made above
    found = from_body(dict(draft.body))
    context.log(
        "reflection_generated",
        importance=found.importance,
        confidence=found.confidence,
        has_strategy=found.strategy is not None,
    )
    return Generated(reflection=found, scope=scope, draft=draft, before=before)


async def _stored(context: Context, generated: Generated, draft: ReflectionDraft) -> Reflection:
    scope, before = generated.scope, generated.before
    stored = await (
        context.bank.reflections.store(scope, draft)
        if before is None
        else context.bank.reflections.next_version(scope, before, draft)
    )
    result = from_stored(stored)
    context.log("reflection_stored", reflection_id=result.reflection_id, importance=result.importance)
    return result


def _judged(judged: Judged, judging: Judgement, on: Decided | None) -> Judged:
    """What was judged of the run, with what rules wrote about its decision where nobody else did."""
    if on is None:
        return judged
    written = on.written
    about = (on.decision.action, on.decision.component, *(("fallback",) if judging.failed else ()))
    tags = tuple(dict.fromkeys((*judged.tags, *about)))
    if judging.analysis is not None:
        return replace(judged, tags=tags, assessment=judged.assessment or written.assessment)
    text = on.fallback(judging.note or "") if judging.failed else written.text
    return replace(
        judged,
        reflection=text,
        strategy=judged.strategy or written.recommendation,
        tags=tags,
        insights=written.insights,
        assessment=written.assessment,
    )


def _body(
    context: Context,
    scope: Scope,
    sent: ReflectShape,
    judging: Judgement,
    run: dict[str, Any],
    judged: Judged,
    validation: Validation | None,
) -> dict[str, Any]:
    """The result as it is stored, without the ids that storing gives."""
    return {
        "thinker": judging.thinker,
        "note": judging.note,
        "reflection": judged.reflection,
        "strategy": judged.strategy,
        "importance": judged.importance,
        "confidence": judged.confidence,
        "tags": list(judged.tags),
        "error_category": judged.error_category,
        "first_failing_event": judged.first_failing_event,
        "source_event_ids": list(judged.source_event_ids),
        "insights": stored_form(judged.insights),
        "assessment": stored_form(judged.assessment),
        "validation": stored_form(validation),
        "related": list(sent.related_ids),
        "triggered_by": sent.trigger,
        "generated_at": iso(context.clock.now()),
        "cut": run.get("cut", {}),
        "scope": str(scope),
    }


def _same_run(before: StoredReflection, sent: ReflectShape, limits: Limits) -> dict[str, Any]:
    """The stored run; InputError where an argument says something else than what is stored."""
    assert isinstance(before.trace, dict)  # noqa: S101 - written by `plain_run`
    stored: dict[str, Any] = dict(before.trace)
    again: dict[str, Any] = clean(plain_run(sent, limits, clean_text))
    own = {"reflection_id", "analysis", "project", "recall_id", "trigger", "related_ids", "criteria"}
    for name in sorted(sent.model_fields_set - own):
        if again.get(name) != stored.get(name):
            raise InputError(
                name, f"it differs from what {before.id} holds", "Leave it out, or reflect anew without reflection_id."
            )
    return stored


async def _check_related(context: Context, scope: Scope, sent: ReflectShape) -> None:
    for place, name in enumerate(sent.related_ids):
        await context.bank.lesson(scope, name, f"related_ids[{place}]")
    if sent.recall_id is not None:
        await context.bank.check_recall(scope, sent.recall_id)


def _digest(run: dict[str, Any], analysis: Analysis | None, criteria: Sequence[str] = ()) -> str:
    """What names a run, its judgement, and by what it was scored: 32 hex digits of SHA-256."""
    judgement = asdict(analysis) if analysis else None
    text = json.dumps([run, judgement, *criteria], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


__all__ = ["Generated", "Kept", "generate", "reflect", "store"]
