"""The draft of a reflection: all that the bank stores of a run, put together in steps that build on each other."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from mcp_reflect.clock import iso
from mcp_reflect.decisions import checks, figures, telling, verdicts
from mcp_reflect.llm.runner import ClientCapabilities, ModelResult
from mcp_reflect.models.common import HOST, RULES, Json, Scope, from_json
from mcp_reflect.models.lesson import LessonDraft, Source
from mcp_reflect.models.reflection import (
    Analysis,
    Assessment,
    Insights,
    Link,
    Reflection,
    ReflectionDraft,
    Validation,
)
from mcp_reflect.models.run import Diagnosis, Trace
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.guards import guarded
from mcp_reflect.services.run_judgment import VERDICTS, AnalyzedRun
from mcp_reflect.sessions import reflector
from mcp_reflect.sessions.diagnose import diagnose
from mcp_reflect.text.signature import digest

_FIELDS_ADDED_LATER: Final = ("reflection_id", "strategy_id", "lessons", "ignored", "next")
"""Fields of a reflection that are added when it is stored or read."""

_SOURCE_BY_THINKER: Final = {HOST: Source.AGENT, RULES: Source.RULES}
"""The source of lessons, by the thinker who judged the run; any other thinker is a model."""

_MOST_FACTS: Final = 2  # of the run, in the words on its decision
_DIGEST_LENGTH: Final = 32  # hex digits


async def draft_of(
    context: Context,
    scope: Scope,
    sent: ReflectArguments,
    run: dict[str, Any],
    validation: Validation | None,
    client: ClientCapabilities,
) -> ReflectionDraft:
    """Analyze a run, and return all that the bank stores of it.

    Its reflection grows in steps, of which each may read the one before:

    | step         | it adds                                                         |
    |--------------|-----------------------------------------------------------------|
    | `judged`     | the judgment of the analysis, else of rules                     |
    | `reviewed`   | the review of its decision, if it has one                       |
    | `assessed`   | scores                                                          |
    | `completed`  | the records and the trigger that the call named, and its notes  |

    `run` is the run's JSON, `validation` are the checks of its decision (None without one), and `client` may lend its
    language model.
    """
    trace: Trace = from_json(Trace, run)
    context.log.info(
        "reflection_generation_started",
        tenant=scope.tenant,
        project=scope.project,
        outcome=trace.outcome.value,
        event_count=len(trace.events),
    )
    diagnosis = await asyncio.to_thread(diagnose, trace)
    review = review_of(run, diagnosis, await _earlier_metrics(context, scope, run))
    analyzed = AnalyzedRun(
        context=context, run=run, trace=trace, diagnosis=diagnosis, review=review, client=client
    )
    judgment = await analyzed.judge(sent)
    analysis = judgment.value
    thinker = judgment.thinker or RULES
    source = _SOURCE_BY_THINKER.get(thinker, Source.MODEL)
    judged, lessons = reflector.judge(
        trace,
        diagnosis,
        analysis,
        source,
        thinker=thinker,
        generated_at=iso(context.clock.now()),
        scope=str(scope),
    )
    lessons = await _with_guards(context, scope, lessons)
    reviewed = judged
    if review is not None:
        reviewed = _with_review(judged, judgment, review, run)
    sent_scores = None if analysis is None else analysis.scores
    assessment = await analyzed.score(sent.criteria, reviewed.assessment, sent_scores)
    assessed = _with_assessment(reviewed, assessment)
    completed = _with_call(assessed, sent, judgment, validation)
    reflection = replace(completed, cut=run.get("cut", {}), tokens=analyzed.tokens)
    context.log.info(
        "reflection_generated",
        importance=reflection.importance,
        confidence=reflection.confidence,
        has_strategy=reflection.strategy is not None,
    )
    return ReflectionDraft(
        run=run,
        reflection=reflection,
        body=_body_of(reflection, diagnosis),
        digest=digest_of(run, analysis, sent.criteria),
        run_digest=digest_of(run, None),
        face=reflector.reflection_draft(trace, reflection, source),
        strategy=reflector.strategy_draft(trace, reflection, source),
        lessons=lessons,
        failures=diagnosis.failures,
        worked=diagnosis.worked,
        links=(*reflector.links(diagnosis, reflection), *_links_of(sent)),
    )


def _with_call(
    reflection: Reflection,
    sent: ReflectArguments,
    judgment: ModelResult[Analysis],
    validation: Validation | None,
) -> Reflection:
    """Return the reflection with the records and the trigger that the call named, and with notes on its judgment."""
    ignored = sent.ignored
    if judgment.value is not None:
        ignored = (*ignored, *judgment.value.ignored)
    if validation is not None:
        validation = replace(validation, reflection_success=not judgment.failed)
    return replace(
        reflection,
        note=judgment.note,
        validation=validation,
        related=sent.related_ids,
        triggered_by=sent.trigger,
        ignored=ignored,
    )


async def _earlier_metrics(
    context: Context, scope: Scope, run: Mapping[str, Any]
) -> Mapping[str, Json]:
    """Return the metrics of the last reflection on the same component, for a comparison; empty without a decision."""
    if run.get("decision") is None:
        return {}
    component = clean(checks.decision_of(run["decision"]).component)
    return await context.bank.reflections.metrics_before(scope, component)


async def _with_guards(
    context: Context, scope: Scope, lessons: Sequence[LessonDraft]
) -> tuple[LessonDraft, ...]:
    """Return the lessons, each with the guard that its two calls make."""
    drafts: list[LessonDraft] = []
    for lesson in lessons:
        draft, _ = await guarded(context, scope, lesson)
        drafts.append(draft)
    return tuple(drafts)


def _with_assessment(reflection: Reflection, assessment: Assessment | None) -> Reflection:
    """Return the reflection with an assessment, whose scores may say how important the reflection is, and how sure."""
    assessed = replace(reflection, assessment=assessment)
    if assessment is None:
        return assessed
    for name in ("importance", "confidence"):
        if name in assessment.scores:
            assessed = replace(assessed, **{name: assessment.scores[name].score})
    return assessed


def _body_of(reflection: Reflection, diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the JSON of a reflection with all facts of its run."""
    body = asdict(reflection)
    for name in _FIELDS_ADDED_LATER:
        del body[name]
    body["findings"] = [
        {"events": list(fact.event_ids), "text": fact.text} for fact in diagnosis.facts
    ]
    return body


def _links_of(sent: ReflectArguments) -> list[Link]:
    """Return the links that the call names: to records of its own choice, and to the recall that it used."""
    links = [Link(relation="related", to_kind="record", to_id=name) for name in sent.related_ids]
    if sent.recall_id:
        links.append(Link(relation="used", to_kind="recall", to_id=sent.recall_id))
    return links


def review_of(
    run: Mapping[str, Any], diagnosis: Diagnosis, earlier: Mapping[str, Json]
) -> telling.DecisionFacts | None:
    """Return the facts of a run's decision: its figures beside the marks that it names, such as "below 200 ms".

    `earlier` are the figures of the last reflection on the same component. None if the run has no decision.
    """
    decision = run.get("decision")
    execution = run.get("execution")
    if decision is None:
        return None
    metrics = telling.metrics_of(execution)
    others = telling.others_of(decision, execution)
    reason, result = telling.reason_and_result(decision, execution)
    return telling.tell(
        checks.decision_of(decision),
        reason=reason,
        result=result,
        metrics=figures.metrics_with_marks(metrics, others, earlier),
        findings=[fact.text for fact in diagnosis.facts[:_MOST_FACTS]],
    )


def _with_review(
    judged: Reflection,
    judgment: ModelResult[Analysis],
    decision_facts: telling.DecisionFacts,
    run: Mapping[str, Any],
) -> Reflection:
    """Return the reflection with what is known of the run's decision.

    | the decision               | its text                                    | added                                      |
    |----------------------------|---------------------------------------------|--------------------------------------------|
    | was judged                 | stays                                       | the verdict of the analysis                |
    | was not judged             | the facts of the decision                   | what is to be learned of these facts       |
    | a model failed to judge it | which model failed, and the metrics         | the same, and the tag "fallback"           |
    """
    decision = checks.decision_of(run["decision"])
    tags = [*judged.tags, decision.action, decision.component]
    if judgment.failed:
        tags.append("fallback")
    tagged = replace(judged, tags=tuple(dict.fromkeys(tags)))
    if judgment.value is not None:
        return replace(tagged, assessment=_verdict_of(judgment.value))
    text = decision_facts.text
    if judgment.failed:
        metrics = telling.metrics_of(run.get("execution"))
        text = telling.fallback(decision, metrics, judgment.note or "")
    return replace(tagged, reflection=text, insights=decision_facts.insights)


def _verdict_of(analysis: Analysis) -> Assessment | None:
    """Return the verdict of an analysis on a decision: by its fields, and where one is missing by its plain words.

    A model may write "The decision was appropriate." in a section, and leave the field `decision_appropriate` out.
    """
    insights = analysis.insights or Insights()
    sections = {**insights.raw_sections, **analysis.raw_sections}
    in_words = verdicts.read_verdict(analysis.reflection, sections)
    if in_words is None:
        return analysis.assessment
    in_fields = analysis.assessment or Assessment()
    values = {name: getattr(in_fields, name) for name in VERDICTS}
    set_values = {name: value for name, value in values.items() if value is not None}
    return replace(in_words, **set_values, scores=in_fields.scores)


def digest_of(run: dict[str, Any], analysis: Analysis | None, criteria: Sequence[str] = ()) -> str:
    """Return hex digits of SHA-256 that identify a run with its analysis and criteria."""
    judgment = asdict(analysis) if analysis else None
    text = json.dumps([run, judgment, *criteria], sort_keys=True, ensure_ascii=False)
    return digest(text, _DIGEST_LENGTH)
