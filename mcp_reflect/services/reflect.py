"""Reflect on a run: analyze it and store the reflection with its strategy, lessons and failures in one transaction."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, cast

from mcp_reflect.analysis.decisions import fallback, validate
from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.analysis.reflector import Judged, face, judge, links, strategy
from mcp_reflect.analysis.text import clip
from mcp_reflect.analysis.transcripts import read_transcript
from mcp_reflect.clock import iso
from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT, ClientCapabilities
from mcp_reflect.models.common import RULES, Scope, from_json
from mcp_reflect.models.decision import ACTIONS, Validation
from mcp_reflect.models.lesson import RecordKind
from mcp_reflect.models.reflection import (
    Analysis,
    Link,
    Reflection,
    ReflectionDraft,
    StoredReflection,
)
from mcp_reflect.schemas.lessons import RecallArguments
from mcp_reflect.schemas.reading import check_values, read
from mcp_reflect.schemas.run import ReflectArguments, plain_run, trace_from
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.evaluation import (
    DecisionReview,
    Judgement,
    criterion_name,
    judge_run,
    review_decision,
    score_run,
)

_UNSTORED: Final = ("reflection_id", "strategy_id", "lessons", "ignored", "next")  # added when it is stored or read
_ABOUT_THE_CALL: Final = {
    *("detail", "reflection_id", "analysis", "project", "recall_id", "trigger", "related_ids", "criteria")
}
_FINDINGS: Final = 2  # of those without a lesson that the text does not tell, in `next`; all are stored
_FINDING_CHARS: Final = 160
_EVENT_NAMES: Final = ("events", "messages", "transcript", "trace", "history")
_ANY_TASK: Final = "any"  # a query without a text is read with this one


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A reflection that is not stored yet, and the draft that stores it.

    `draft` is None where nothing has to be stored: a check of the decision failed, or an equal reflection is stored
    already and `reflection` has its id. `before` is the version that the draft replaces.
    """

    reflection: Reflection
    scope: Scope
    draft: ReflectionDraft | None = None
    before: StoredReflection | None = None


async def reflect(context: Context, arguments: Mapping[str, Any], client: ClientCapabilities) -> Reflection:
    """Reflect on a run, or add an analysis to a stored one."""
    generated = await generate(context, arguments, client)
    return generated.reflection if generated.draft is None else await store(context, generated)


async def store(context: Context, generated: Generated) -> Reflection:
    """Store a generated reflection. The same one again changes nothing. InputError: a check of its decision failed."""
    draft, reflections = generated.draft, context.bank.reflections
    if draft is None:
        if not generated.reflection.reflection_id:
            raise InputError("reflection", "a check of its decision failed", "Store one whose validation is valid.")
        return generated.reflection
    if generated.before is None:
        stored = await reflections.store(generated.scope, draft)
    else:
        stored = await reflections.next_version(generated.scope, generated.before, draft)
    context.log("reflection_stored", reflection_id=stored.id, importance=draft.reflection.importance)
    return replace(from_stored(stored), ignored=draft.reflection.ignored)


async def query(context: Context, arguments: Mapping[str, Any]) -> tuple[Reflection, ...]:
    """Find reflections by the arguments of a recall; without a `task` the most important ones. Counts as no use."""
    task, most = arguments.get("task"), context.settings.max_recalled_chars
    values = {**arguments, "task": _ANY_TASK if task is None else task, "max_chars": most}
    sent = read(RecallArguments, values, context.settings)
    scope, reflections = context.scopes.named(sent.project), context.bank.reflections
    if task is None:
        stored = await reflections.important(
            scope, limit=sent.limit, min_importance=sent.min_importance, tags=sent.tags
        )
    else:
        recall = await context.bank.recalls.recall(
            scope, replace(sent.ask(), kinds=(RecordKind.REFLECTION,)), applied=False
        )
        stored = [await reflections.by_id(scope, hit.id) for hit in recall.lessons]
    return tuple(map(from_stored, stored))


async def generate(context: Context, arguments: Mapping[str, Any], client: ClientCapabilities = NO_CLIENT) -> Generated:
    """Reflect on a run without storing anything."""
    sent = read(ReflectArguments, _with_own_events(arguments, context.settings), context.settings)
    scope = context.scopes.named(sent.project)
    before, validation = None, None
    if sent.reflection_id is not None:
        before = await context.bank.reflections.by_id(scope, sent.reflection_id)
        validation = from_stored(before).validation
        run = _stored_run(before, sent, context.settings)
    else:
        if sent.decision is not None or sent.execution is not None:
            validation = validate(clean(sent.decision), clean(sent.execution), sent.allowed_actions or ACTIONS)
            if not validation.valid:
                context.log("reflection_rejected", failed_check=validation.failed_check)
                rejected = Reflection(
                    thinker=RULES,
                    validation=validation,
                    triggered_by=sent.trigger,
                    generated_at=iso(context.clock.now()),
                    scope=str(scope),
                )
                return Generated(reflection=rejected, scope=scope)
        # In a thread: a long log takes a while, and other calls go on meanwhile.
        run = await asyncio.to_thread(lambda: clean(plain_run(sent, context.settings, clean_text)))
    for place, name in enumerate(sent.related_ids):
        await context.bank.lessons.get(scope, name, f"related_ids[{place}]")
    if sent.recall_id is not None:
        await context.bank.recalls.check(scope, sent.recall_id)
    equal = await _equal_reflection(context, scope, sent, _digest(run, None), client)
    if equal is not None:
        context.log("reflection_found", reflection_id=equal.id, thinker=equal.thinker)
        return Generated(reflection=replace(from_stored(equal), ignored=sent.ignored), scope=scope)
    draft = await _draft(context, scope, sent, run, validation, client)
    return Generated(reflection=draft.reflection, scope=scope, draft=draft, before=before)


def _with_own_events(arguments: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """Return the arguments with messages of OpenAI or Anthropic and lines of a session read as events."""
    name = next((name for name in _EVENT_NAMES if arguments.get(name)), "")
    events = arguments.get(name)
    if isinstance(events, list | tuple):
        items = cast("list[Any]", events)
        if not any(map(_is_foreign, items)):
            return arguments
        check_values({name: items}, limits)  # what is too deep or too large has no JSON text
        events = "\n".join(item.strip() if isinstance(item, str) else json.dumps(item, default=str) for item in items)
    if not isinstance(events, str):
        return arguments
    try:
        runs = [run for _, run in read_transcript(events).runs]
    except InputError:
        return arguments
    own = [event for run in runs for event in run.get("events", ()) if run.get("run_id")]
    return {**{key: value for key, value in arguments.items() if key != name}, "events": own} if own else arguments


def _is_foreign(item: Any) -> bool:
    """True for a message of a model's protocol, a line of a host's session, or the JSON text of one."""
    marks = ("role", "sessionId", "payload")
    if isinstance(item, str):
        return item.lstrip().startswith("{") and any(f'"{mark}"' in item for mark in marks)
    return isinstance(item, Mapping) and any(mark in item for mark in marks)


async def _draft(
    context: Context,
    scope: Scope,
    sent: ReflectArguments,
    run: dict[str, Any],
    validation: Validation | None,
    client: ClientCapabilities,
) -> ReflectionDraft:
    """Analyze a run, and put together all that is stored of it."""
    trace = trace_from(run)
    outcome = trace.outcome.value
    event = "reflection_generation_started"
    count = len(trace.events)
    context.log(event, tenant=scope.tenant, project=scope.project, outcome=outcome, event_count=count)
    diagnosis = await asyncio.to_thread(diagnose, trace)
    review = await review_decision(context, scope, run, diagnosis)
    judgement = await judge_run(context, sent, trace, diagnosis, review, client)
    judged = judge(trace, diagnosis, judgement.analysis, judgement.source)
    if review is not None:
        judged = _with_review(judged, judgement, review)
    scores = None if judgement.analysis is None else judgement.analysis.scores
    decision = (run.get("decision"), run.get("execution"), run.get("allowed_actions"))
    assessment = await score_run(context, sent.criteria, trace, diagnosis, judged.assessment, scores, decision, client)
    if validation is not None:
        validation = replace(validation, reflection_success=not judgement.failed)
    reflection = Reflection(
        thinker=judgement.thinker,
        note=judgement.note,
        reflection=judged.reflection,
        strategy=judged.strategy,
        importance=judged.importance,
        confidence=judged.confidence,
        tags=judged.tags,
        error_category=judged.error_category,
        first_failing_event=judged.first_failing_event,
        source_event_ids=judged.source_event_ids,
        insights=judged.insights,
        assessment=assessment,
        validation=validation,
        related=sent.related_ids,
        triggered_by=sent.trigger,
        generated_at=iso(context.clock.now()),
        cut=run.get("cut", {}),
        scope=str(scope),
        ignored=(*sent.ignored, *(judgement.analysis.ignored if judgement.analysis else ())),
    )
    context.log(
        "reflection_generated",
        importance=reflection.importance,
        confidence=reflection.confidence,
        has_strategy=reflection.strategy is not None,
    )
    return ReflectionDraft(
        task=trace.task,
        task_type=trace.task_type,
        outcome=outcome,
        run_id=trace.run_id,
        thinker=judgement.thinker,
        trace=run,
        reflection=reflection,
        body={
            **{name: value for name, value in asdict(reflection).items() if name not in _UNSTORED},
            "findings": [{"events": list(item.event_ids), "text": item.text} for item in diagnosis.without_lesson],
        },
        digest=_digest(run, judgement.analysis, sent.criteria),
        run_digest=_digest(run, None),
        face=face(trace, judged, judgement.source),
        strategy=strategy(trace, judged, judgement.source),
        lessons=judged.lessons,
        failures=diagnosis.failures,
        worked=diagnosis.worked,
        links=(
            *links(diagnosis, judged),
            *(Link(relation="related", to_kind="record", to_id=name) for name in sent.related_ids),
            *(Link(relation="used", to_kind="recall", to_id=name) for name in (sent.recall_id,) if name),
        ),
    )


def _with_review(judged: Judged, judgement: Judgement, review: DecisionReview) -> Judged:
    """Add what rules wrote on the decision, where neither the agent nor a model did."""
    decision, written = review.decision, review.written
    more = (decision.action, decision.component, *(("fallback",) if judgement.failed else ()))
    tags = tuple(dict.fromkeys((*judged.tags, *more)))
    assessment = judged.assessment or written.assessment
    if judgement.analysis is not None:
        return replace(judged, tags=tags, assessment=assessment)
    return replace(
        judged,
        reflection=fallback(review.decision, review.metrics, judgement.note or "")
        if judgement.failed
        else written.text,
        strategy=judged.strategy or written.recommendation,
        tags=tags,
        insights=written.insights,
        assessment=written.assessment,
    )


async def _equal_reflection(
    context: Context, scope: Scope, sent: ReflectArguments, run_digest: str, client: ClientCapabilities
) -> StoredReflection | None:
    """Find a stored reflection of the same run by the same kind of author with a score for every criterion sent.

    Not where an analysis was sent, which is a new judgement. Where a model failed before, it is asked again.
    """
    if sent.analysis is not None or sent.reflection_id is not None:
        return None
    by_model = context.runner.llm(Role.REFLECTOR, client) is not None
    wanted = {criterion_name(name) for name in sent.criteria}
    for stored in await context.bank.reflections.of_same_run(scope, run_digest, by_model=by_model):
        assessment = from_stored(stored).assessment
        if wanted <= set(assessment.scores if assessment else ()):
            return stored
    return None


def _stored_run(before: StoredReflection, sent: ReflectArguments, limits: Limits) -> dict[str, Any]:
    """The stored run. InputError where an argument differs from it."""
    stored = cast("dict[str, Any]", before.trace)
    again: dict[str, Any] = clean(plain_run(sent, limits, clean_text))
    for name in sorted(sent.model_fields_set - _ABOUT_THE_CALL):
        if again.get(name) != stored.get(name):
            fix = "Leave it out, or reflect anew without reflection_id."
            raise InputError(name, f"it differs from what {before.id} holds", fix)
    return stored


def _digest(run: dict[str, Any], analysis: Analysis | None, criteria: Sequence[str] = ()) -> str:
    """Identifies a run with its analysis and criteria: 32 hex digits of SHA-256."""
    judgement = asdict(analysis) if analysis else None
    text = json.dumps([run, judgement, *criteria], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


# Stored reflections as models.


def from_stored(stored: StoredReflection) -> Reflection:
    """Read a stored reflection. One by rules alone says in `next` how the agent can add its own analysis."""
    body = cast("dict[str, Any]", stored.body)
    reflection: Reflection = from_json(Reflection, body)
    if stored.thinker != RULES:
        return reflection
    findings = [item["text"] for item in body.get("findings", ()) if item["text"] not in reflection.reflection]
    return replace(reflection, next=_next(reflection, findings))


def _next(reflection: Reflection, findings: Sequence[str]) -> dict[str, object]:
    """Return the call with which the agent adds its own analysis, and findings that rules made no lesson of."""
    analysis: dict[str, object] = {"reflection": "root cause", "strategy": "what to do next time"}
    if reflection.validation is None:
        analysis = {
            "mistake": "what not to repeat, with the exact input",
            "correction": "what works instead",
            "symptoms": ["exact error text"],
        }
    told = [clip(text, _FINDING_CHARS) for text in findings[:_FINDINGS]] if not reflection.lessons else []
    return {
        "why": "Rules read only the events. You know the cause: send it.",
        **({"findings": told} if told else {}),
        "tool": "reflect",
        "arguments": {"reflection_id": reflection.reflection_id, "analysis": analysis},
    }
