"""How the engine reflects: the run is read and redacted, judged, and written in one transaction."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mcp_reflect.analysis.decisions import validate
from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.analysis.reflector import Judged, face, judge, links, strategy
from mcp_reflect.arguments.door import read
from mcp_reflect.arguments.run import ReflectShape
from mcp_reflect.arguments.traces import plain_run, trace_from
from mcp_reflect.clock import iso
from mcp_reflect.config import Limits
from mcp_reflect.context_ import Parts
from mcp_reflect.errors import InputError
from mcp_reflect.llm.runner import Host
from mcp_reflect.models.common import Scope
from mcp_reflect.models.decision import ACTIONS, Validation
from mcp_reflect.models.reflection import Analysis, Link, Reflection, ReflectionDraft, StoredReflection
from mcp_reflect.reflecting.deciding import Decided, decided
from mcp_reflect.reflecting.equal import equal
from mcp_reflect.reflecting.evaluating import scored
from mcp_reflect.reflecting.judging import Judgement, judgement
from mcp_reflect.reflecting.results import from_body, from_stored, rejected, stored_form
from mcp_reflect.security.redact import clean, clean_text


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


async def reflect(parts: Parts, arguments: Mapping[str, Any], host: Host) -> Reflection:
    """Reflect on a run, or put an analysis to a run that is stored."""
    generated = await generate(parts, arguments, host)
    return generated.reflection if generated.draft is None else await _stored(parts, generated, generated.draft)


async def store(parts: Parts, generated: Generated) -> Kept:
    """Store what `generate` made; the same reflection again writes nothing. InputError where there is nothing."""
    if generated.draft is None and generated.reflection.reflection_id:
        return Kept(reflection_id=generated.reflection.reflection_id, strategy_id=generated.reflection.strategy_id)
    if generated.draft is None:
        raise InputError("reflection", "a check of its decision failed", "Store one whose validation is valid.")
    found = await _stored(parts, generated, generated.draft)
    return Kept(reflection_id=found.reflection_id, strategy_id=found.strategy_id)


async def generate(parts: Parts, arguments: Mapping[str, Any], host: Host) -> Generated:
    """Reflect on a run without storing anything."""
    sent = read(ReflectShape, arguments, parts.settings)
    scope = parts.scopes.named(sent.project)
    validation = None
    if sent.reflection_id is None and (sent.decision is not None or sent.execution is not None):
        validation = validate(clean(sent.decision), clean(sent.execution), sent.allowed_actions or ACTIONS)
        if not validation.valid:
            assert validation.failed_check is not None  # noqa: S101 - it is not valid
            parts.log("reflection_rejected", failed_check=validation.failed_check.value)
            return Generated(
                reflection=rejected(parts, scope, validation, sent.trigger), scope=scope, draft=None, before=None
            )
    before = None if sent.reflection_id is None else await parts.bank.reflections.by_id(scope, sent.reflection_id)
    if before is not None:
        validation = from_stored(before).validation
    run: dict[str, Any] = (
        clean(plain_run(sent, parts.settings, clean_text))
        if before is None
        else _same_run(before, sent, parts.settings)
    )
    trace = trace_from(run)
    await _check_related(parts, scope, sent)
    known = await equal(parts, scope, sent, _digest(run, None), host)
    if known is not None:
        parts.log("reflection_found", reflection_id=known.id, thinker=known.thinker)
        return Generated(reflection=from_stored(known), scope=scope, draft=None)
    parts.log(
        "reflection_generation_started",
        tenant=scope.tenant,
        project=scope.project,
        outcome=trace.outcome.value,
        event_count=len(trace.events),
    )
    seen = await asyncio.to_thread(diagnose, trace)
    on = await decided(parts, scope, run, seen)
    judging = await judgement(parts, sent, trace, seen, on, host)
    judged = _judged(judge(trace, seen, judging.analysis, judging.source), judging, on)
    told = None if judging.analysis is None else judging.analysis.scores
    about = (run.get("decision"), run.get("execution"), run.get("allowed_actions"))
    assessment = await scored(parts, sent.criteria, trace, seen, judged.assessment, told, about, host)
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
        body=_body(parts, scope, sent, judging, run, judged, validation),
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
    parts.log(
        "reflection_generated",
        importance=found.importance,
        confidence=found.confidence,
        has_strategy=found.strategy is not None,
    )
    return Generated(reflection=found, scope=scope, draft=draft, before=before)


async def _stored(parts: Parts, generated: Generated, draft: ReflectionDraft) -> Reflection:
    scope, before = generated.scope, generated.before
    stored = await (
        parts.bank.reflections.store(scope, draft)
        if before is None
        else parts.bank.reflections.next_version(scope, before, draft)
    )
    result = from_stored(stored)
    parts.log("reflection_stored", reflection_id=result.reflection_id, importance=result.importance)
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
    parts: Parts,
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
        "generated_at": iso(parts.clock.now()),
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


async def _check_related(parts: Parts, scope: Scope, sent: ReflectShape) -> None:
    for place, name in enumerate(sent.related_ids):
        await parts.bank.lesson(scope, name, f"related_ids[{place}]")
    if sent.recall_id is not None:
        await parts.bank.check_recall(scope, sent.recall_id)


def _digest(run: dict[str, Any], analysis: Analysis | None, criteria: Sequence[str] = ()) -> str:
    """What names a run, its judgement, and by what it was scored: 32 hex digits of SHA-256."""
    judgement = asdict(analysis) if analysis else None
    text = json.dumps([run, judgement, *criteria], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


__all__ = ["Generated", "Kept", "generate", "reflect", "store"]
