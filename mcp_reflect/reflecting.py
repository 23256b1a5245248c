"""How the engine reflects: the run is read and redacted, judged, and written in one transaction."""

import hashlib
import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final, Protocol, cast

from mcp_reflect.arguments.door import read
from mcp_reflect.arguments.run import ReflectShape
from mcp_reflect.arguments.traces import Limits, plain_run, trace_from
from mcp_reflect.bank.bank import Bank
from mcp_reflect.bank.redaction import clean
from mcp_reflect.clock import Clock
from mcp_reflect.errors import InputError
from mcp_reflect.records.lesson import Source
from mcp_reflect.records.memory import Link, ReflectionDraft, StoredReflection
from mcp_reflect.records.reflection import Analysis, Insights, LearntLesson, Reflection
from mcp_reflect.records.scope import Scope
from mcp_reflect.reflect.analysis import read_analysis
from mcp_reflect.reflect.reflector import Judged, face, judge, links, strategy
from mcp_reflect.reflect.rules.diagnose import diagnose
from mcp_reflect.scopes import Scopes
from mcp_reflect.settings import Settings
from mcp_reflect.telemetry import Log

HOST: Final = "host"
RULES: Final = "rules"


class Parts(Protocol):
    """What reflecting needs of the parts."""

    @property
    def settings(self) -> Settings: ...
    @property
    def scopes(self) -> Scopes: ...
    @property
    def bank(self) -> Bank: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def log(self) -> Log: ...


async def reflect(parts: Parts, arguments: dict[str, Any]) -> Reflection:
    """Reflect on a run, or put an analysis to a run that is stored."""
    sent = read(ReflectShape, arguments)
    scope = parts.scopes.named(sent.project)
    before = None if sent.reflection_id is None else await parts.bank.reflection(scope, sent.reflection_id)
    settings = parts.settings
    limits = Limits(settings.max_events, settings.max_event_chars, settings.max_trace_chars)
    run: dict[str, Any] = clean(plain_run(sent, limits)) if before is None else _same_run(before, sent, limits)
    trace = trace_from(run)
    parts.log(
        "reflection_generation_started",
        tenant=scope.tenant,
        project=scope.project,
        outcome=trace.outcome.value,
        event_count=len(trace.events),
    )
    analysis = None
    if sent.analysis is not None:
        analysis = read_analysis(clean(sent.analysis), tuple(event.id for event in trace.events))
        if analysis.source_event_ids and not trace.events:
            raise InputError("analysis.source_event_ids", "the run has no events", "Send the events, or leave it out.")
    await _check_related(parts, scope, sent)
    draft = _draft(parts, scope, sent, run, analysis)
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


def _draft(
    parts: Parts, scope: Scope, sent: ReflectShape, run: dict[str, Any], analysis: Analysis | None
) -> ReflectionDraft:
    trace = trace_from(run)
    seen = diagnose(trace)
    thinker, source = (RULES, Source.RULES) if analysis is None else (HOST, Source.AGENT)
    judged = judge(trace, seen, analysis, source)
    ties = [Link(relation="related", to_kind="record", to_id=name) for name in sent.related_ids]
    if sent.recall_id:
        ties.append(Link(relation="used", to_kind="recall", to_id=sent.recall_id))
    return ReflectionDraft(
        task=trace.task,
        task_type=trace.task_type,
        outcome=trace.outcome.value,
        run_id=trace.run_id,
        thinker=thinker,
        trace=run,
        body=_body(parts, scope, sent, thinker, run, judged),
        digest=_digest(run, analysis),
        face=face(trace, judged, source),
        strategy=strategy(trace, judged, source),
        lessons=judged.lessons,
        failures=seen.failures,
        links=(*links(seen, judged), *ties),
    )


def _body(
    parts: Parts, scope: Scope, sent: ReflectShape, thinker: str, run: dict[str, Any], judged: Judged
) -> dict[str, Any]:
    """The result as it is stored, without the ids that storing gives."""
    return {
        "thinker": thinker,
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
        "generated_at": datetime.fromtimestamp(parts.clock.now(), UTC).isoformat(timespec="seconds"),
        "cut": run.get("cut", {}),
        "scope": str(scope),
    }


def _result(stored: StoredReflection) -> Reflection:
    """A stored reflection as the tool returns it."""
    assert isinstance(stored.body, dict)  # noqa: S101 - written by `_body`
    body: dict[str, Any] = dict(stored.body)
    insights = body.pop("insights")
    lessons = body.pop("lessons")
    return Reflection(
        **_tuples(body),
        insights=Insights(**_tuples(insights)) if insights else None,
        lessons=tuple(LearntLesson(**item) for item in lessons),
        next=_next(stored) if stored.thinker == RULES else {},
    )


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
    again: dict[str, Any] = clean(plain_run(sent, limits))
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
