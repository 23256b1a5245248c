"""Who judges a run, and how a decision and a run are scored."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_reflect.analysis import agent_analysis as fields
from mcp_reflect.analysis import reflector as evaluator
from mcp_reflect.analysis.agent_analysis import read_analysis
from mcp_reflect.analysis.assessment import level_of
from mcp_reflect.analysis.decisions import (
    ACCURACY,
    LATENCY,
    Written,
    decision_of,
    fallback,
    markdown,
    measures,
    others,
    write,
)
from mcp_reflect.analysis.reflector import Scorer, installed
from mcp_reflect.analysis.text import trace_text
from mcp_reflect.checkers.evidence.reading import seen as reports_in
from mcp_reflect.checkers.evidence.reports import Kind
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.llm.prompts import Input
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import ClientCapabilities
from mcp_reflect.models.common import HOST, RULES, Json, Scope
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.decision import Decision
from mcp_reflect.models.lesson import Source
from mcp_reflect.models.reflection import Analysis, Assessment, Score
from mcp_reflect.models.run import Diagnosis, EventType, Outcome, Trace
from mcp_reflect.schemas.run import ReflectShape
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context

# How a decision is reflected on: its metrics against what they were before, in the bank or in the call.


_FINDINGS = 2  # sentences on the events that stand beside the trends


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision that passed its checks, and what rules write about it."""

    decision: Decision
    metrics: Mapping[str, Json]
    written: Written

    def fallback(self, message: str) -> str:
        """What is kept where a language model was to reflect on it and failed."""
        return fallback(self.decision, self.metrics, message)


async def decided(context: Context, scope: Scope, run: Mapping[str, Any], seen: Diagnosis) -> Decided | None:
    """What rules write about the decision of a run; null where it has none."""
    if run.get("decision") is None:
        return None
    earlier = await context.bank.reflections.metrics_before(scope, clean(decision_of(run["decision"]).component))
    return written(context.settings, run, seen, earlier)


def written(settings: Settings, run: Mapping[str, Any], seen: Diagnosis, earlier: Mapping[str, Json]) -> Decided | None:
    """The same where what the metrics were before is known already; needs no bank."""
    if run.get("decision") is None:
        return None
    decision = decision_of(run["decision"])
    execution: Mapping[str, Any] = run.get("execution") or {}
    metrics: Mapping[str, Json] = execution.get("metrics") or {}
    found = measures(metrics, earlier, thresholds(settings))
    findings = [finding.text for finding in seen.findings[:_FINDINGS]]
    return Decided(decision=decision, metrics=metrics, written=write(decision, found, others(metrics), findings))


def thresholds(settings: Settings) -> dict[str, float]:
    """The marks that a person set, by metric."""
    latency = {} if settings.latency_threshold is None else {LATENCY: settings.latency_threshold}
    return {ACCURACY: settings.quality_threshold, **latency}


# Who judges a run: the agent by its analysis, a language model, or rules alone, with the reason.


SHOWN_CHARS_JUDGING: Final = 24_000
"""How much of a run a language model is shown: some 6,000 tokens; `trace_text` says what it cuts."""

PROMPTS: Final = {outcome: f"reflect_{outcome.value}" for outcome in Outcome}
"""Each outcome asks another question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Who judged a run, what they said (null: rules alone), and why no higher rung did.

    `failed` says that a language model was asked and gave nothing.
    """

    thinker: str
    source: Source
    analysis: Analysis | None = None
    note: str | None = None
    failed: bool = False


async def judgement(
    context: Context, sent: ReflectShape, trace: Trace, seen: Diagnosis, on: Decided | None, host: ClientCapabilities
) -> Judgement:
    """The analysis that was sent; else a language model's; else rules alone, with the reason."""
    ids = tuple(event.id for event in trace.events)
    if sent.analysis is not None:
        analysis = read_analysis(clean(sent.analysis), ids, context.settings)
        if analysis.source_event_ids and not ids:
            raise InputError("analysis.source_event_ids", "the run has no events", "Send the events, or leave it out.")
        return Judgement(thinker=HOST, source=Source.AGENT, analysis=analysis)
    thought = await context.thinking.ask(
        Role.REFLECTOR,
        PROMPTS[trace.outcome],
        inputs(trace, seen, on),
        host=host,
        read=lambda value: read_analysis(clean(value), ids, context.settings),
        read_text=lambda text: read_analysis(clean(text), ids, context.settings),
    )
    note = clean(thought.note)  # it may quote an endpoint, which may quote what it was sent
    if thought.value is None or thought.thinker is None:
        if thought.note:
            context.log("reflection_generation_failed", "warning", error=note)
        return Judgement(thinker=RULES, source=Source.RULES, note=note, failed=bool(thought.note))
    return Judgement(thinker=thought.thinker, source=Source.MODEL, analysis=thought.value, note=note)


def inputs(trace: Trace, seen: Diagnosis, on: Decided | None) -> dict[str, Input]:
    """What the reflector's prompt is filled with; a success has no error."""
    findings = seen.summary if on is None else f"{markdown(on.written.insights.raw_sections)}\n\n{seen.summary}"
    filled: dict[str, Any] = {
        "task": trace.task,
        "goal": trace.goal,
        "outcome": trace.outcome,
        "error": trace.error.message if trace.error else None,
        "findings": findings,
        "trace": trace_text(trace, SHOWN_CHARS_JUDGING),
    }
    if trace.outcome is Outcome.SUCCESS:
        del filled["error"]
    return filled


# How a run is scored: by rules from its events, by the host or an evaluator, and by scorers of others.
#
# A score that rules took from evidence stands; a model's opinion fills what rules cannot know.


SHOWN_CHARS_EVALUATING = 16_000
_UNKNOWN = "rules cannot know this"
_PRINTS = (EventType.TOOL_RESPONSE, EventType.OBSERVATION, EventType.ERROR_EVENT)


async def scored(
    context: Context,
    criteria: Sequence[str],
    trace: Trace,
    seen: Diagnosis,
    before: Assessment | None,
    told: Mapping[str, Score] | None,
    decided: tuple[Json, Json, Json],
    host: ClientCapabilities,
) -> Assessment | None:
    """`before` with scores: `told` are the host's or reflector's own, null where nobody judged but rules.

    An evaluator is asked where one is configured, or where the call names criteria, and nobody has scored yet.
    """
    own = evaluator.score(seen, _tests(trace))
    asked = dict(told or {})
    assessment = before
    wanted = bool(criteria) or context.settings.llm_evaluator not in ("", "off")
    if not asked and wanted and context.thinking.llm(Role.EVALUATOR, host) is not None:
        assessment, asked = await _asked(context, criteria, trace, before, decided, host)
    foreign = await _foreign(context, trace)
    unknown = {name_of(one): Score(score=None, reason=_UNKNOWN) for one in criteria}
    scores = {**unknown, **asked, **own, **foreign}
    kept = {name: one for name, one in scores.items() if one.score is not None or name in unknown}
    return replace(assessment or Assessment(), scores=kept) if kept else assessment


def _tests(trace: Trace) -> tuple[int, int] | None:
    """How many tests passed and failed in the last report that a tool printed; null for none."""
    results = [
        ToolResult(tool=event.tool, content=event.error or event.content, exit_code=None)
        for event in trace.events
        if event.type in _PRINTS and (event.content or event.error)
    ]
    for one in reversed(reports_in(results[-_LAST:])):
        for report in one.reports:
            broken = report.broken()
            if report.kind is Kind.TESTS and report.passed is not None and broken is not None:
                return report.passed, broken
    return None


_LAST = 20  # tool results from the end: an earlier report tells of an earlier state


async def _asked(
    context: Context,
    criteria: Sequence[str],
    trace: Trace,
    before: Assessment | None,
    decided: tuple[Json, Json, Json],
    host: ClientCapabilities,
) -> tuple[Assessment | None, dict[str, Score]]:
    """The evaluator's scores, and what it makes of the decision where nobody said before."""
    decision, execution, allowed = (None if value is None else str(value)[:SHOWN_CHARS_EVALUATING] for value in decided)
    inputs = {
        "task": trace.task,
        "outcome": trace.outcome,
        "decision": decision,
        "execution": execution,
        "allowed_actions": allowed,
        "criteria": "\n".join((*evaluator.CRITERIA, *criteria)),
        "trace": trace_text(trace, SHOWN_CHARS_EVALUATING),
    }
    thought = await context.thinking.ask(
        Role.EVALUATOR, "evaluate", inputs, host=host, read=lambda value: _read(clean(value))
    )
    if thought.value is None:
        context.log("evaluation_failed", "warning", error=clean(thought.note))
        return before, {}
    said, scores = thought.value
    context.log("evaluation_generated", thinker=thought.thinker, scores=len(scores))
    if decision is None or before is not None:
        return before, scores
    return said, scores


def _read(value: Json) -> tuple[Assessment, dict[str, Score]]:
    if not isinstance(value, dict):
        raise InputError("reply", "it is no object", "Send one object.")
    number = fields.score("reply.confidence", value.get("confidence"))
    said = Assessment(
        decision_appropriate=_truth(value, "decision_appropriate"),
        execution_effective=_truth(value, "execution_effective"),
        confidence=None if number is None else level_of(number),
    )
    return said, fields.scores("reply.scores", value.get("scores"))


def _truth(value: Mapping[str, Json], name: str) -> bool | None:
    said = value.get(name)
    if said is not None and not isinstance(said, bool):
        raise InputError(f"reply.{name}", f"is {fields.kind(said)}", "Send true, false or null.")
    return said


async def _foreign(context: Context, trace: Trace) -> dict[str, Score]:
    """What the scorers of others say; one that fails is left out, and the log says so."""
    scorers: list[tuple[str, Scorer | Exception]] = [*installed()]
    if context.scorer is not None:
        scorers.append(("engine", context.scorer))
    found: dict[str, Score] = {}
    for name, scorer in scorers:
        try:
            if isinstance(scorer, Exception):
                raise scorer  # noqa: TRY301 - told in one place
            given: Any = scorer.score(trace)
            if inspect.isawaitable(given):
                given = await given
            found |= {name_of(str(criterion)): _checked(value) for criterion, value in given.items()}
        except Exception as error:  # noqa: BLE001 - the edge to code that is not ours: its fault is no fault of the run
            context.log("scorer_failed", "warning", scorer=name, error=type(error).__name__)
    return found


def _checked(value: Score | float | None) -> Score:
    given = value if isinstance(value, Score) else Score(score=value, reason="")
    number = fields.score("score", given.score)
    return Score(score=number, reason=clean(given.reason)[:500])


def name_of(criterion: str) -> str:
    """A criterion without what stands behind its colon."""
    return criterion.partition(":")[0].strip()[:60]
