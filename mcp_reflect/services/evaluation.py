"""The analysis of a run by the agent, a language model or rules, and its scores."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from mcp_reflect.analysis import agent_analysis, reflector
from mcp_reflect.analysis.agent_analysis import read_analysis
from mcp_reflect.analysis.assessment import level_of
from mcp_reflect.analysis.decisions import (
    ACCURACY,
    LATENCY,
    Written,
    decision_of,
    markdown,
    measures,
    others,
    validate,
    write,
)
from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.analysis.text import trace_text
from mcp_reflect.checkers.evidence.reading import Kind
from mcp_reflect.checkers.evidence.reading import seen as reports_in
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.llm.prompts import Input, Rendered
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import ClientCapabilities
from mcp_reflect.models.common import HOST, RULES, Json, Scope
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.decision import ACTIONS, Decision
from mcp_reflect.models.lesson import Source
from mcp_reflect.models.reflection import Analysis, Assessment, Score
from mcp_reflect.models.run import Diagnosis, EventType, Outcome, Trace
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.run import ReflectArguments, plain_run, trace_from
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context

_DECISION_FINDINGS: Final = 2  # sentences on the events, beside the trends of the metrics
_REFLECTOR_CHARS: Final = 24_000  # of a run in the reflector's prompt, some 6,000 tokens; the text says what is cut
_EVALUATOR_CHARS: Final = 16_000
_TEST_RESULTS: Final = 20  # tool results from the end: an earlier report describes an earlier state
_REASON_CHARS: Final = 500

_PROMPTS: Final = {outcome: f"reflect_{outcome.value}" for outcome in Outcome}
_TOOL_OUTPUT: Final = (EventType.TOOL_RESPONSE, EventType.OBSERVATION, EventType.ERROR_EVENT)


class DecisionReview(NamedTuple):
    """A decision that passed its checks, the metrics of its execution, and the reflection that rules wrote on it."""

    decision: Decision
    metrics: Mapping[str, Json]
    written: Written


async def review_decision(
    context: Context, scope: Scope, run: Mapping[str, Any], diagnosis: Diagnosis
) -> DecisionReview | None:
    """Compare the metrics of a run's decision with the component's earlier ones. None where the run has no decision."""
    if run.get("decision") is None:
        return None
    component = clean(decision_of(run["decision"]).component)
    return _review(context.settings, run, diagnosis, await context.bank.reflections.metrics_before(scope, component))


def _review(
    settings: Settings, run: Mapping[str, Any], diagnosis: Diagnosis, earlier: Mapping[str, Json]
) -> DecisionReview:
    decision = decision_of(run["decision"])
    execution: Mapping[str, Any] = run.get("execution") or {}
    metrics: Mapping[str, Json] = execution.get("metrics") or {}
    thresholds = {ACCURACY: settings.quality_threshold}
    if settings.latency_threshold is not None:
        thresholds[LATENCY] = settings.latency_threshold
    findings = [finding.text for finding in diagnosis.findings[:_DECISION_FINDINGS]]
    written = write(decision, measures(metrics, earlier, thresholds), others(metrics), findings)
    return DecisionReview(decision, metrics, written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The analysis of a run and its author.

    `analysis` is None where only rules judged; `note` says why no language model did. `failed` is True where a
    language model was asked and its reply could not be used.
    """

    thinker: str
    source: Source
    analysis: Analysis | None = None
    note: str | None = None
    failed: bool = False


async def judge_run(
    context: Context,
    sent: ReflectArguments,
    trace: Trace,
    diagnosis: Diagnosis,
    review: DecisionReview | None,
    client: ClientCapabilities,
) -> Judgement:
    """Use the agent's analysis if it sent one, else ask a language model, else leave the judgement to rules."""
    ids = tuple(event.id for event in trace.events)
    if sent.analysis is not None:
        analysis = read_analysis(clean(sent.analysis), ids, context.settings, lenient=True)
        if analysis.source_event_ids and not ids:
            raise InputError("analysis.source_event_ids", "the run has no events", "Send the events, or leave it out.")
        return Judgement(thinker=HOST, source=Source.AGENT, analysis=analysis)

    def read_reply(reply: Json) -> Analysis:
        return read_analysis(clean(reply), ids, context.settings)

    inputs = _reflector_inputs(trace, diagnosis, review)
    result = await context.runner.generate(
        Role.REFLECTOR, _PROMPTS[trace.outcome], inputs, host=client, read=read_reply, read_text=read_reply
    )
    note = clean(result.note)  # may quote an endpoint's message, which may quote the request
    if result.value is None or result.thinker is None:
        if note:
            context.log("reflection_generation_failed", "warning", error=note)
        return Judgement(thinker=RULES, source=Source.RULES, note=note, failed=bool(note))
    return Judgement(thinker=result.thinker, source=Source.MODEL, analysis=result.value, note=note)


def _reflector_inputs(trace: Trace, diagnosis: Diagnosis, review: DecisionReview | None) -> dict[str, Input]:
    findings = diagnosis.summary
    if review is not None:
        findings = f"{markdown(review.written.insights.raw_sections)}\n\n{findings}"
    inputs: dict[str, Any] = {
        "task": trace.task,
        "goal": trace.goal,
        "outcome": trace.outcome,
        "findings": findings,
        "trace": trace_text(trace, _REFLECTOR_CHARS),
    }
    if trace.outcome is not Outcome.SUCCESS:
        inputs["error"] = trace.error.message if trace.error else None
    return inputs


async def score_run(
    context: Context,
    criteria: Sequence[str],
    trace: Trace,
    diagnosis: Diagnosis,
    assessment: Assessment | None,
    analysis_scores: Mapping[str, Score] | None,
    decision: tuple[Json, Json, Json],
    client: ClientCapabilities,
) -> Assessment | None:
    """Return `assessment` with scores by criterion.

    Scores that rules compute from evidence take precedence over a model's, and installed scorers over both. An
    evaluator is asked only where nobody has scored yet and either one is configured or the call names criteria.

    Args:
        context: The engine's dependencies.
        criteria: Names of criteria, or `name: description`.
        trace: The run.
        diagnosis: Findings of the rules.
        assessment: The judgement so far.
        analysis_scores: Scores in the agent's or reflector's analysis; None where there is no analysis.
        decision: The decision, its execution and the allowed actions, for the evaluator.
        client: May offer a language model.
    """
    scores = dict(analysis_scores or {})
    wanted = bool(criteria) or context.settings.llm_evaluator not in ("", "off")
    if not scores and wanted and context.runner.llm(Role.EVALUATOR, client) is not None:
        evaluation = await _ask_evaluator(context, criteria, trace, decision, client)
        scores = dict(evaluation.scores)
        if decision[0] is not None and assessment is None:
            assessment = evaluation
    unknown = {criterion_name(name): Score(score=None, reason="rules cannot know this") for name in criteria}
    computed = reflector.score(diagnosis, _last_test_report(trace))
    scores = {**unknown, **scores, **computed, **await _installed_scores(context, trace)}
    scores = {name: score for name, score in scores.items() if score.score is not None or name in unknown}
    return replace(assessment or Assessment(), scores=scores) if scores else assessment


def _last_test_report(trace: Trace) -> tuple[int, int] | None:
    """Return the numbers of passed and failed tests in the last report that a tool printed, or None."""
    results = [
        ToolResult(tool=event.tool, content=event.error or event.content, exit_code=None)
        for event in trace.events
        if event.type in _TOOL_OUTPUT and (event.content or event.error)
    ]
    for result in reversed(reports_in(results[-_TEST_RESULTS:])):
        for report in result.reports:
            broken = report.broken()
            if report.kind is Kind.TESTS and report.passed is not None and broken is not None:
                return report.passed, broken
    return None


async def _ask_evaluator(
    context: Context,
    criteria: Sequence[str],
    trace: Trace,
    decision: tuple[Json, Json, Json],
    client: ClientCapabilities,
) -> Assessment:
    """Return the evaluator's assessment of the decision with its scores, empty where it gave none."""
    decided, execution, allowed = (None if value is None else str(value)[:_EVALUATOR_CHARS] for value in decision)
    inputs = {
        "task": trace.task,
        "outcome": trace.outcome,
        "decision": decided,
        "execution": execution,
        "allowed_actions": allowed,
        "criteria": "\n".join((*reflector.CRITERIA, *criteria)),
        "trace": trace_text(trace, _EVALUATOR_CHARS),
    }
    result = await context.runner.generate(
        Role.EVALUATOR, "evaluate", inputs, host=client, read=lambda value: _read_evaluation(clean(value))
    )
    if result.value is None:
        context.log("evaluation_failed", "warning", error=clean(result.note))
        return Assessment()
    context.log("evaluation_generated", thinker=result.thinker, scores=len(result.value.scores))
    return result.value


def _read_evaluation(value: Json) -> Assessment:
    if not isinstance(value, dict):
        raise InputError("reply", "it is not an object", "Send one object.")
    for name in ("decision_appropriate", "execution_effective"):
        if not isinstance(value.get(name), bool | None):
            raise InputError(f"reply.{name}", f"is {agent_analysis.kind(value[name])}", "Send true, false or null.")
    confidence = agent_analysis.score("reply.confidence", value.get("confidence"))
    verdicts: Any = {name: value.get(name) for name in ("decision_appropriate", "execution_effective")}
    return Assessment(
        **verdicts,
        confidence=None if confidence is None else level_of(confidence),
        scores=agent_analysis.scores("reply.scores", value.get("scores")),
    )


async def _installed_scores(context: Context, trace: Trace) -> dict[str, Score]:
    """Return the scores of installed scorers. One that fails is skipped and logged."""
    scorers: list[tuple[str, reflector.Scorer | Exception]] = [*reflector.installed()]
    if context.scorer is not None:
        scorers.append(("engine", context.scorer))
    scores: dict[str, Score] = {}
    for name, scorer in scorers:
        try:
            if isinstance(scorer, Exception):
                raise scorer  # noqa: TRY301 - logged in one place
            result: Any = scorer.score(trace)
            if inspect.isawaitable(result):
                result = await result
            scores |= {criterion_name(str(criterion)): _checked(value) for criterion, value in result.items()}
        except Exception as error:  # noqa: BLE001 - code of other packages: its fault must not fail the call
            context.log("scorer_failed", "warning", scorer=name, error=type(error).__name__)
    return scores


def _checked(value: Score | float | None) -> Score:
    score = value if isinstance(value, Score) else Score(score=value, reason="")
    return Score(score=agent_analysis.score("score", score.score), reason=clean(score.reason)[:_REASON_CHARS])


def criterion_name(criterion: str) -> str:
    """Return the name of a criterion, without the description after its colon."""
    return criterion.partition(":")[0].strip()[:60]


def reflection_prompt(context: Context, arguments: Mapping[str, Any]) -> Rendered:
    """Build the reflector's prompt for a run. Metrics of a decision are not compared with those in the bank."""
    sent = read(ReflectArguments, arguments, context.settings)
    if sent.reflection_id is not None:
        raise InputError("reflection_id", "a prompt is built without the bank", "Send the run itself.")
    run: dict[str, Any] = clean(plain_run(sent, context.settings, clean_text))
    if sent.decision is not None or sent.execution is not None:
        validation = validate(run.get("decision"), run.get("execution"), sent.allowed_actions or ACTIONS)
        if not validation.valid:
            raise InputError("decision", validation.checks[-1].detail or "", "Correct it, or leave it out.")
    trace = trace_from(run)
    diagnosis = diagnose(trace)
    review = None if run.get("decision") is None else _review(context.settings, run, diagnosis, earlier={})
    return context.runner.render(_PROMPTS[trace.outcome], _reflector_inputs(trace, diagnosis, review))
