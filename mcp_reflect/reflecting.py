"""How the engine reflects: the run is read and redacted, judged, and written in one transaction."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, cast

from mcp_reflect.arguments.door import read
from mcp_reflect.arguments.run import ReflectShape
from mcp_reflect.arguments.traces import Limits, plain_run, trace_from
from mcp_reflect.bank.redaction import clean, clean_text
from mcp_reflect.clock import iso
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.records.diagnosis import Diagnosis
from mcp_reflect.records.lesson import Source
from mcp_reflect.records.memory import Link, ReflectionDraft, StoredReflection
from mcp_reflect.records.reflection import Analysis, Insights, LearntLesson, Reflection
from mcp_reflect.records.scope import Scope
from mcp_reflect.records.thinker import HOST, RULES
from mcp_reflect.records.trace import Outcome, Trace
from mcp_reflect.reflect.analysis import read_analysis
from mcp_reflect.reflect.reflector import Judged, face, judge, links, strategy
from mcp_reflect.reflect.rules.diagnose import diagnose
from mcp_reflect.reflect.trace_text import trace_text
from mcp_reflect.results import plain
from mcp_reflect.thinking import Host, Parts

SHOWN_CHARS: Final = 24_000
"""How much of a run a language model is shown: some 6,000 tokens; `trace_text` says what it cuts."""

RULES_BYTES: Final = 2500  # of a result that no model thought about; reflection://ID has all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    """Who judged a run, what they said (null: rules alone), and why no higher rung did."""

    thinker: str
    source: Source
    analysis: Analysis | None = None
    note: str | None = None


async def reflect(parts: Parts, arguments: Mapping[str, Any], host: Host) -> Reflection:
    """Reflect on a run, or put an analysis to a run that is stored."""
    sent = read(ReflectShape, arguments)
    scope = parts.scopes.named(sent.project)
    before = None if sent.reflection_id is None else await parts.bank.reflection(scope, sent.reflection_id)
    settings = parts.settings
    limits = Limits(settings.max_events, settings.max_event_chars, settings.max_trace_chars)
    run: dict[str, Any] = (
        clean(plain_run(sent, limits, clean_text)) if before is None else _same_run(before, sent, limits)
    )
    trace = trace_from(run)
    parts.log(
        "reflection_generation_started",
        tenant=scope.tenant,
        project=scope.project,
        outcome=trace.outcome.value,
        event_count=len(trace.events),
    )
    await _check_related(parts, scope, sent)
    seen = await asyncio.to_thread(diagnose, trace)
    judgement = await _judgement(parts, sent, trace, seen, host)
    draft = _draft(parts, scope, sent, run, trace, seen, judgement)
    stored = await (
        parts.bank.store_reflection(scope, draft) if before is None else parts.bank.next_version(scope, before, draft)
    )
    result = _result(stored)
    parts.log(
        "reflection_generated",
        importance=result.importance,
        confidence=result.confidence,
        has_strategy=result.strategy is not None,
    )
    parts.log("reflection_stored", reflection_id=result.reflection_id, importance=result.importance)
    return result


async def _judgement(parts: Parts, sent: ReflectShape, trace: Trace, seen: Diagnosis, host: Host) -> _Judgement:
    """The analysis that was sent; else a language model's; else rules alone, with the reason."""
    ids = tuple(event.id for event in trace.events)
    if sent.analysis is not None:
        analysis = read_analysis(clean(sent.analysis), ids)
        if analysis.source_event_ids and not ids:
            raise InputError("analysis.source_event_ids", "the run has no events", "Send the events, or leave it out.")
        return _Judgement(thinker=HOST, source=Source.AGENT, analysis=analysis)
    good = trace.outcome is Outcome.SUCCESS
    inputs: dict[str, Any] = {
        "task": trace.task,
        "goal": trace.goal,
        "outcome": trace.outcome,
        "error": trace.error.message if trace.error else None,
        "findings": seen.summary,
        "trace": trace_text(trace, SHOWN_CHARS),
    }
    if good:
        del inputs["error"]
    thought = await parts.thinking.ask(
        Role.REFLECTOR,
        "reflect_success" if good else "reflect_failure",
        inputs,
        host=host,
        read=lambda value: read_analysis(clean(value), ids),
        read_text=lambda text: read_analysis(clean(text), ids),
    )
    note = clean(thought.note)  # it may quote an endpoint, which may quote what it was sent
    if thought.value is None or thought.thinker is None:
        if thought.note:
            parts.log("reflection_generation_failed", "warning", error=note)
        return _Judgement(thinker=RULES, source=Source.RULES, note=note)
    return _Judgement(thinker=thought.thinker, source=Source.MODEL, analysis=thought.value, note=note)


def _draft(
    parts: Parts,
    scope: Scope,
    sent: ReflectShape,
    run: dict[str, Any],
    trace: Trace,
    seen: Diagnosis,
    judgement: _Judgement,
) -> ReflectionDraft:
    source = judgement.source
    judged = judge(trace, seen, judgement.analysis, source)
    ties = [Link(relation="related", to_kind="record", to_id=name) for name in sent.related_ids]
    if sent.recall_id:
        ties.append(Link(relation="used", to_kind="recall", to_id=sent.recall_id))
    return ReflectionDraft(
        task=trace.task,
        task_type=trace.task_type,
        outcome=trace.outcome.value,
        run_id=trace.run_id,
        thinker=judgement.thinker,
        trace=run,
        body=_body(parts, scope, sent, judgement, run, judged),
        digest=_digest(run, judgement.analysis),
        face=face(trace, judged, source),
        strategy=strategy(trace, judged, source),
        lessons=judged.lessons,
        failures=seen.failures,
        worked=seen.worked,
        links=(*links(seen, judged), *ties),
    )


def _body(
    parts: Parts, scope: Scope, sent: ReflectShape, judgement: _Judgement, run: dict[str, Any], judged: Judged
) -> dict[str, Any]:
    """The result as it is stored, without the ids that storing gives."""
    return {
        "thinker": judgement.thinker,
        "note": judgement.note,
        "reflection": judged.reflection,
        "strategy": judged.strategy,
        "importance": judged.importance,
        "confidence": judged.confidence,
        "tags": list(judged.tags),
        "error_category": judged.error_category,
        "first_failing_event": judged.first_failing_event,
        "source_event_ids": list(judged.source_event_ids),
        "insights": asdict(judged.insights) if judged.insights else None,
        "related": list(sent.related_ids),
        "triggered_by": sent.trigger,
        "generated_at": iso(parts.clock.now()),
        "cut": run.get("cut", {}),
        "scope": str(scope),
    }


def _result(stored: StoredReflection) -> Reflection:
    """A stored reflection as the tool returns it."""
    assert isinstance(stored.body, dict)  # noqa: S101 - written by `_body`
    body: dict[str, Any] = dict(stored.body)
    insights = body.pop("insights")
    lessons = body.pop("lessons")
    found = Reflection(
        **_tuples(body),
        insights=Insights(**_tuples(insights)) if insights else None,
        lessons=tuple(LearntLesson(**item) for item in lessons),
        next=_next(stored) if stored.thinker == RULES else {},
    )
    return _slim(found) if stored.thinker == RULES else found


def _slim(found: Reflection) -> Reflection:
    """A result of rules within RULES_BYTES, as far as it says what is stored in full and what the agent knows."""
    steps: tuple[Callable[[Reflection], Reflection], ...] = (
        lambda one: replace(one, source_event_ids=one.source_event_ids[:5]),
        lambda one: replace(one, insights=None),
        lambda one: replace(
            one, reflection=f"{one.reflection[:700]} …" if len(one.reflection) > 700 else one.reflection
        ),
    )
    for step in steps:
        if len(json.dumps(plain(found), ensure_ascii=False).encode()) <= RULES_BYTES:
            return found
        found = step(found)
    return found


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """A JSON object with its lists as tuples, as records have them."""
    return {name: tuple(cast("list[Any]", item)) if isinstance(item, list) else item for name, item in values.items()}


def _next(stored: StoredReflection) -> dict[str, object]:
    """What the agent can add, for it has seen more than rules can read off the events."""
    return {
        "why": "Rules read only what the events show. You know why it happened: send your analysis.",
        "tool": "reflect",
        "arguments": {
            "reflection_id": stored.id,
            "analysis": {
                "reflection": "root cause, in two or three sentences",
                "strategy": "one specific thing to do next time",
                "mistake": "what not to repeat, with the exact input",
                "correction": "what works instead",
                "symptoms": ["error text that shows it"],
                "keywords": ["words to find it by"],
                "importance": "0..1",
                "confidence": "0..1",
                "tags": [],
            },
        },
    }


def _same_run(before: StoredReflection, sent: ReflectShape, limits: Limits) -> dict[str, Any]:
    """The stored run; InputError where an argument says something else than what is stored."""
    assert isinstance(before.trace, dict)  # noqa: S101 - written by `plain_run`
    stored: dict[str, Any] = dict(before.trace)
    again: dict[str, Any] = clean(plain_run(sent, limits, clean_text))
    given = sent.model_fields_set - {"reflection_id", "analysis", "project", "recall_id", "trigger", "related_ids"}
    for name in sorted(given):
        if again.get(name) != stored.get(name):
            raise InputError(
                name, f"it differs from what {before.id} holds", "Leave it out, or reflect anew without reflection_id."
            )
    return stored


async def _check_related(parts: Parts, scope: Scope, sent: ReflectShape) -> None:
    for place, name in enumerate(sent.related_ids):
        await parts.bank.lesson(scope, name, f"related_ids[{place}]")
    if sent.recall_id is not None:
        await parts.bank.check_recall(scope, sent.recall_id)


def _digest(run: dict[str, Any], analysis: Analysis | None) -> str:
    """What names a run and its judgement: 32 hex digits of SHA-256."""
    judgement = asdict(analysis) if analysis else None
    text = json.dumps([run, judgement], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
