"""Reflect on a run: analyze it and store the reflection with its strategy, lessons and failures in one transaction."""

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, cast

from mcp_reflect.clock import iso
from mcp_reflect.config import Limits
from mcp_reflect.decisions import checks, figures, telling, verdicts
from mcp_reflect.errors import InputError
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.runs import read_runs
from mcp_reflect.llm.prompts import Input, Rendered
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT, ClientCapabilities, ModelResult
from mcp_reflect.models.common import HOST, RULES, Json, Scope, from_json
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import RecordKind, Source
from mcp_reflect.models.reflection import (
    ACTIONS,
    Analysis,
    Assessment,
    Insights,
    Link,
    Reflection,
    ReflectionDraft,
    Score,
    StoredReflection,
    Validation,
)
from mcp_reflect.models.run import Diagnosis, EventType, Outcome, Trace
from mcp_reflect.schemas.analysis import read_analysis, read_evaluation
from mcp_reflect.schemas.analysis_fields import ScoreArguments
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.lessons import RecallArguments
from mcp_reflect.schemas.run import ReflectArguments, plain_run
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.guards import guarded
from mcp_reflect.services.transcripts import with_own_events
from mcp_reflect.services.triggers import note_task
from mcp_reflect.sessions import reflector
from mcp_reflect.sessions.diagnose import diagnose
from mcp_reflect.sessions.text import error_text, quote, trace_text
from mcp_reflect.text.signature import digest

_REFLECTOR_CHARS: Final = (
    24_000  # of a run in the reflector's prompt, some 6,000 tokens; the text says what is cut
)
_EVALUATOR_CHARS: Final = 16_000
_TEST_RESULTS: Final = 20  # tool results from the end: an earlier report describes an earlier state
_TOOL_OUTPUT: Final = (EventType.TOOL_RESPONSE, EventType.OBSERVATION, EventType.ERROR_EVENT)
_MORE_FACTS: Final = 2  # beside those in the reflection; all are stored
_UNSTORED: Final = (
    "reflection_id",
    "strategy_id",
    "lessons",
    "ignored",
    "next",
)  # added when it is stored or read
_FROM_THE_BANK: Final = (
    "The bank already had a reflection on the same run; no model was asked again."
)
_ABOUT_THE_CALL: Final = set(
    "detail reflection_id analysis project recall_id trigger related_ids criteria".split()
)
_VERDICTS: Final = ("decision_appropriate", "execution_effective", "confidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A reflection that is not stored yet, and the draft that stores it.

    `draft` is None if nothing has to be stored: a check of the decision failed, or an equal reflection is stored
    already and `reflection` has its id. `before` is the version that the draft replaces.
    """

    reflection: Reflection
    scope: Scope
    draft: ReflectionDraft | None = None
    before: StoredReflection | None = None


async def reflect(
    context: Context, arguments: Mapping[str, Any], client: ClientCapabilities = NO_CLIENT
) -> Reflection:
    """Reflect on a run, or add an analysis to a stored one."""
    generated = await generate(context, arguments, client)
    return generated.reflection if generated.draft is None else await store(context, generated)


async def store(context: Context, generated: Generated) -> Reflection:
    """Store a generated reflection. The same one again changes nothing. InputError: a check of its decision failed."""
    draft, reflections = generated.draft, context.bank.reflections
    if draft is None:
        if not generated.reflection.reflection_id:
            raise InputError(
                "reflection",
                "a check of its decision failed",
                "Store one whose validation is valid.",
            )
        return generated.reflection
    if generated.before is None:
        stored = await reflections.store(generated.scope, draft)
    else:
        stored = await reflections.next_version(generated.scope, generated.before, draft)
    context.log.info(
        "reflection_stored", reflection_id=stored.id, importance=draft.reflection.importance
    )
    return replace(from_stored(stored), ignored=draft.reflection.ignored)


async def query(context: Context, arguments: Mapping[str, Any]) -> tuple[Reflection, ...]:
    """Find reflections by the arguments of a recall: those that fit the `task` first, then the most important ones."""
    values = {
        "max_chars": context.settings.max_recalled_chars,
        **arguments,
        "task": arguments.get("task") or "any",
    }
    sent = read(RecallArguments, values, context.settings)
    scope, reflections, found = (
        context.scopes.named(sent.project),
        context.bank.reflections,
        list[StoredReflection](),
    )
    if arguments.get("task"):
        asked = replace(sent.ask(), kinds=(RecordKind.REFLECTION,))
        recall = await context.bank.recalls.recall(scope, asked, applied=False)
        found = [await reflections.by_id(scope, hit.id) for hit in recall.lessons]
    important: dict[str, Any] = {
        "limit": sent.limit,
        "min_importance": sent.min_importance,
        "tags": sent.tags,
    }
    found += await reflections.important(scope, **important)
    return tuple(map(from_stored, {item.id: item for item in found}.values()))[: sent.limit]


async def generate(
    context: Context, arguments: Mapping[str, Any], client: ClientCapabilities = NO_CLIENT
) -> Generated:
    """Reflect on a run without storing anything."""
    # In a thread: a long run takes a while, and other calls go on meanwhile.
    sent = await asyncio.to_thread(
        lambda: read(
            ReflectArguments, with_own_events(arguments, context.settings), context.settings
        )
    )
    scope = context.scopes.named(sent.project)
    if sent.task:
        note_task(context, "reflect", sent.task)
    before, validation = None, None
    if sent.reflection_id is not None:
        before = await context.bank.reflections.by_id(scope, sent.reflection_id)
        validation = from_stored(before).validation
        run = _stored_run(before, sent, context.settings)
    else:
        validation = _validation(sent)
        if validation is not None and not validation.valid:
            context.log.info("reflection_rejected", failed_check=validation.failed_check)
            values: dict[str, Any] = {"generated_at": iso(context.clock.now()), "scope": str(scope)}
            rejected = Reflection(
                thinker=RULES, validation=validation, triggered_by=sent.trigger, **values
            )
            return Generated(reflection=rejected, scope=scope)
        # In a thread: a long log takes a while, and other calls go on meanwhile.
        run = await asyncio.to_thread(plain_run, sent, context.settings)
    for place, name in enumerate(sent.related_ids):
        await context.bank.lessons.get(scope, name, f"related_ids[{place}]")
    if sent.recall_id is not None:
        await context.bank.recalls.lessons_of(
            scope, sent.recall_id
        )  # NotFoundError for an unknown recall
    equal = await _equal_reflection(context, scope, sent, _digest(run, None), client)
    if equal is not None:
        context.log.info("reflection_found", reflection_id=equal.id, thinker=equal.thinker)
        found = replace(from_stored(equal), ignored=sent.ignored)
        if (
            validation is not None
        ):  # a graph that names another model wants to know that it was not asked
            found = replace(found, note=_FROM_THE_BANK)
        return Generated(reflection=found, scope=scope)
    draft = await _draft(context, scope, sent, run, validation, client)
    return Generated(reflection=draft.reflection, scope=scope, draft=draft, before=before)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run that is analyzed: its JSON, its events, its facts, and what rules wrote on its decision."""

    context: Context
    run: Mapping[str, Any]
    trace: Trace
    diagnosis: Diagnosis
    review: telling.Told | None
    client: ClientCapabilities = NO_CLIENT
    tokens: dict[str, int] = field(default_factory=dict[str, int])

    async def judge(self, sent: ReflectArguments) -> ModelResult[Analysis]:
        """Use the agent's analysis if it sent one, else ask a language model.

        Without a value the judgment is left to rules; a note says then why a model gave none.
        """
        settings, ids = self.context.settings, tuple(event.id for event in self.trace.events)
        if sent.analysis is not None:
            analysis = await asyncio.to_thread(
                lambda: read_analysis(clean(sent.analysis), ids, settings, lenient=True)
            )
            return ModelResult(thinker=HOST, value=analysis)

        def read_reply(reply: Json) -> Analysis:
            return read_analysis(clean(reply), ids, settings)

        prompt, inputs = self.reflector_prompt()
        result = await self.context.runner.generate(
            Role.REFLECTOR, prompt, inputs, host=self.client, read=read_reply, reads_text=True
        )
        self._count(result)
        result = replace(
            result, note=clean(result.note)
        )  # may quote an endpoint's message, which may quote the request
        if result.failed:
            self.context.log.warning("reflection_generation_failed", error=result.note)
        return result

    def _count(self, result: ModelResult[Any]) -> None:
        for name, tokens in (("input", result.input_tokens), ("output", result.output_tokens)):
            if tokens:
                self.tokens[name] = self.tokens.get(name, 0) + tokens

    def reflector_prompt(self) -> tuple[str, dict[str, Input]]:
        """Return the name and inputs of the reflector's prompt."""
        trace, facts = self.trace, reflector.facts_text(self.diagnosis)
        name = f"reflect_{trace.outcome.value}"
        decided: dict[str, str] = {}
        if self.review is not None:  # what was decided is judged by its own words and figures alone
            facts = facts if trace.events else ""
            name = "reflect_decision"
            decided = {
                key: quote(self.run.get(key), _EVALUATOR_CHARS) for key in ("decision", "execution")
            }
        inputs: dict[str, Any] = {
            "task": trace.task,
            "goal": trace.goal,
            # That of a decision without events was not sent: nobody said how it ended.
            "outcome": None if decided and not trace.events else trace.outcome,
            "findings": facts or None,
            "trace": trace_text(trace, _REFLECTOR_CHARS),
            **decided,
        }
        if decided or trace.outcome is not Outcome.SUCCESS:
            inputs["error"] = error_text(trace.error, _EVALUATOR_CHARS) if trace.error else None
        return name, inputs

    async def score(
        self,
        criteria: Sequence[str],
        assessment: Assessment | None,
        given: Mapping[str, Score] | None,
    ) -> Assessment | None:
        """Return `assessment` with scores by criterion, `given` being those of the analysis.

        Scores that rules compute from evidence take precedence over a model's, and the engine's scorer over both. An
        evaluator is asked only where nobody has scored yet and either one is configured or the call names criteria.
        """
        scores, context = dict(given or {}), self.context
        wanted = bool(criteria) or context.settings.llm_evaluator not in ("", "off")
        if not scores and wanted and context.runner.llm(Role.EVALUATOR, self.client) is not None:
            evaluation = await self._ask_evaluator(criteria)
            scores = dict(evaluation.scores)
            if self.run.get("decision") is not None:
                # The verdict of an analysis comes first, then the evaluator's, then that of rules.
                judges = (assessment, evaluation) if given is None else (evaluation, assessment)
                pairs = [
                    (name, getattr(judge, name, None)) for judge in judges for name in _VERDICTS
                ]
                assessment = Assessment(
                    **{name: value for name, value in pairs if value is not None}
                )
        unknown = {
            criterion_name(name): Score(score=None, reason="rules cannot know this")
            for name in criteria
        }
        computed = reflector.score(self.diagnosis, _last_test_report(self.trace))
        scores = {**unknown, **scores, **computed, **await self._scorer_scores()}
        scores = {
            name: score
            for name, score in scores.items()
            if score.score is not None or name in unknown
        }
        return replace(assessment or Assessment(), scores=scores) if scores else assessment

    async def _ask_evaluator(self, criteria: Sequence[str]) -> Assessment:
        """Return the evaluator's assessment of the decision with its scores, empty if it gave none."""
        sent = {name: self.run.get(name) for name in ("decision", "execution", "allowed_actions")}
        inputs = {
            **{name: value and str(value)[:_EVALUATOR_CHARS] for name, value in sent.items()},
            "task": self.trace.task,
            "outcome": self.trace.outcome,
            "criteria": "\n".join((*reflector.CRITERIA, *criteria)),
            "trace": trace_text(self.trace, _EVALUATOR_CHARS),
        }
        result = await self.context.runner.generate(
            Role.EVALUATOR,
            "evaluate",
            clean_inputs(inputs),
            host=self.client,
            read=lambda value: read_evaluation(clean(value)),
            same_call=bool(self.tokens),
        )
        self._count(result)
        if result.value is None:
            self.context.log.warning("evaluation_failed", error=clean(result.note))
            return Assessment()
        self.context.log.info(
            "evaluation_generated", thinker=result.thinker, scores=len(result.value.scores)
        )
        return result.value

    async def _scorer_scores(self) -> dict[str, Score]:
        """Return the scores of the engine's scorer, empty if there is none or it fails."""
        if self.context.scorer is None:
            return {}
        try:
            result: Any = self.context.scorer.score(self.trace)
            if inspect.isawaitable(result):
                result = await result
            return {
                criterion_name(str(criterion)): _checked(value)
                for criterion, value in result.items()
            }
        except Exception as error:  # noqa: BLE001 - the caller's code: its fault must not fail the call
            self.context.log.warning("scorer_failed", error=type(error).__name__)
            return {}


def _last_test_report(trace: Trace) -> tuple[int, int] | None:
    """Return the numbers of passed and failed tests in the last report that a tool printed, or None."""
    printed = [
        event
        for event in trace.events
        if event.type in _TOOL_OUTPUT and (event.content or event.error)
    ]
    results = [
        ToolResult(tool=e.tool, content=e.error or e.content, exit_code=None)
        for e in printed[-_TEST_RESULTS:]
    ]
    reports = [run for run in read_runs(results) if run.kind is ProofKind.TESTS]
    counts = [(run.first("passed"), run.first("failed")) for run in reports]
    known = [
        (passed or 0, failed or 0) for passed, failed in counts if (passed, failed) != (None, None)
    ]
    return known[-1] if known else None


def _checked(value: Score | float | None) -> Score:
    score = value if isinstance(value, Score) else Score(score=value, reason="")
    sent = read(ScoreArguments, {"score": score.score, "reason": clean(score.reason)[:500]})
    return Score(score=sent.score, reason=sent.reason)


def criterion_name(criterion: str) -> str:
    """Return the name of a criterion, without the description after its colon."""
    return criterion.partition(":")[0].strip()[:60]


async def _draft(
    context: Context,
    scope: Scope,
    sent: ReflectArguments,
    run: dict[str, Any],
    validation: Validation | None,
    client: ClientCapabilities,
) -> ReflectionDraft:
    """Analyze a run, and put together all that is stored of it."""
    trace: Trace = from_json(Trace, run)
    keys: dict[str, Any] = {"outcome": trace.outcome.value, "event_count": len(trace.events)}
    context.log.info(
        "reflection_generation_started", tenant=scope.tenant, project=scope.project, **keys
    )
    diagnosis = await asyncio.to_thread(diagnose, trace)
    earlier: Mapping[str, Json] = {}
    if run.get("decision") is not None:
        component = clean(checks.decision_of(run["decision"]).component)
        earlier = await context.bank.reflections.metrics_before(scope, component)
    review = _review(run, diagnosis, earlier)
    analyzed = _Run(
        context=context, run=run, trace=trace, diagnosis=diagnosis, review=review, client=client
    )
    judgment = await analyzed.judge(sent)
    analysis, thinker = judgment.value, judgment.thinker or RULES
    source = {HOST: Source.AGENT, RULES: Source.RULES}.get(thinker, Source.MODEL)
    about: dict[str, Any] = {"generated_at": iso(context.clock.now()), "scope": str(scope)}
    reflection, lessons = reflector.judge(
        trace, diagnosis, analysis, source, thinker=thinker, **about
    )
    lessons = tuple([(await guarded(context, scope, lesson))[0] for lesson in lessons])
    if review is not None:
        reflection = _with_review(reflection, judgment, review, run)
    assessment = await analyzed.score(
        sent.criteria, reflection.assessment, analysis.scores if analysis else None
    )
    for name, score in assessment.scores.items() if assessment else ():  # a scorer may set them
        reflection = (
            replace(reflection, **{name: score.score})
            if name in ("importance", "confidence")
            else reflection
        )
    if validation is not None:
        validation = replace(validation, reflection_success=not judgment.failed)
    reflection = replace(
        reflection,
        note=judgment.note,
        assessment=assessment,
        validation=validation,
        related=sent.related_ids,
        triggered_by=sent.trigger,
        cut=run.get("cut", {}),
        tokens=analyzed.tokens,
        ignored=(*sent.ignored, *(analysis.ignored if analysis else ())),
    )
    keys = {"importance": reflection.importance, "confidence": reflection.confidence}
    context.log.info("reflection_generated", **keys, has_strategy=reflection.strategy is not None)
    return ReflectionDraft(
        run=run,
        reflection=reflection,
        body={
            **{name: value for name, value in asdict(reflection).items() if name not in _UNSTORED},
            "findings": [
                {"events": list(fact.event_ids), "text": fact.text} for fact in diagnosis.facts
            ],
        },
        digest=_digest(run, analysis, sent.criteria),
        run_digest=_digest(run, None),
        face=reflector.reflection_draft(trace, reflection, source),
        strategy=reflector.strategy_draft(trace, reflection, source),
        lessons=lessons,
        failures=diagnosis.failures,
        worked=diagnosis.worked,
        links=(
            *reflector.links(diagnosis, reflection),
            *(Link(relation="related", to_kind="record", to_id=name) for name in sent.related_ids),
            *(
                Link(relation="used", to_kind="recall", to_id=name)
                for name in (sent.recall_id,)
                if name
            ),
        ),
    )


def _review(
    run: Mapping[str, Any], diagnosis: Diagnosis, earlier: Mapping[str, Json]
) -> telling.Told | None:
    """Put the figures of a run's decision beside the marks that it names. None if the run has no decision."""
    decision, execution = run.get("decision"), run.get("execution")
    if decision is None:
        return None
    metrics = telling.metrics_of(execution)
    others = telling.others_of(decision, execution)
    reason, result = telling.said_of(decision, execution)
    return telling.tell(
        checks.decision_of(decision),
        reason=reason,
        result=result,
        metrics=figures.metrics_with_marks(metrics, others, earlier),
        findings=[fact.text for fact in diagnosis.facts[:2]],
    )


def _with_review(
    judged: Reflection,
    judgment: ModelResult[Analysis],
    told: telling.Told,
    run: Mapping[str, Any],
) -> Reflection:
    """Add the facts of the decision where nobody judged it, else the verdict in the words of who did."""
    decision = checks.decision_of(run["decision"])
    added = (decision.action, decision.component, *(("fallback",) if judgment.failed else ()))
    judged = replace(judged, tags=tuple(dict.fromkeys((*judged.tags, *added))))
    if judgment.value is not None:
        return replace(judged, assessment=_verdict_of(judgment.value))
    failed = None
    if judgment.failed:
        metrics = telling.metrics_of(run.get("execution"))
        failed = telling.fallback(decision, metrics, judgment.note or "")
    return replace(judged, reflection=failed or told.text, insights=told.insights)


def _verdict_of(analysis: Analysis) -> Assessment | None:
    """The verdict of an analysis: its fields, and what its plain words say where a field says nothing."""
    insights = analysis.insights or Insights()
    sections = {**insights.raw_sections, **analysis.raw_sections}
    said = verdicts.read_verdict(analysis.reflection, sections)
    given = analysis.assessment or Assessment()
    if said is None:
        return analysis.assessment
    values = {name: getattr(given, name) for name in _VERDICTS}
    known = {name: value for name, value in values.items() if value is not None}
    return replace(said, **known, scores=given.scores)


def reflection_prompt(context: Context, arguments: Mapping[str, Any]) -> Rendered:
    """Build the reflector's prompt for a run. It opens no bank, so metrics have no earlier values."""
    sent = read(ReflectArguments, arguments, context.settings)
    if sent.reflection_id is not None:
        raise InputError(
            "reflection_id", "a prompt is built without the bank", "Send the run itself."
        )
    validation = _validation(sent)
    if validation is not None and not validation.valid:
        raise InputError(
            "decision", validation.checks[-1].detail or "", "Correct it, or leave it out."
        )
    run: dict[str, Any] = plain_run(sent, context.settings)
    trace: Trace = from_json(Trace, run)
    diagnosis = diagnose(trace)
    review = _review(run, diagnosis, earlier={})
    prompt, inputs = _Run(
        context=context, run=run, trace=trace, diagnosis=diagnosis, review=review
    ).reflector_prompt()
    return context.runner.render(prompt, inputs)


def _validation(sent: ReflectArguments) -> Validation | None:
    if sent.decision is None and sent.execution is None:
        return None
    return checks.validate(
        clean(sent.decision), clean(sent.execution), sent.allowed_actions or ACTIONS
    )


async def _equal_reflection(
    context: Context,
    scope: Scope,
    sent: ReflectArguments,
    run_digest: str,
    client: ClientCapabilities,
) -> StoredReflection | None:
    """Find a stored reflection of the same run by the same kind of author with a score for every criterion sent."""
    if sent.analysis is not None:  # a new judgment
        return None
    by_model = context.runner.llm(Role.REFLECTOR, client) is not None
    wanted = {criterion_name(name) for name in sent.criteria}
    for stored in await context.bank.reflections.of_same_run(scope, run_digest, by_model=by_model):
        assessment = from_stored(stored).assessment
        if wanted <= set(assessment.scores if assessment else ()):
            return stored
    return None


def _stored_run(before: StoredReflection, sent: ReflectArguments, limits: Limits) -> dict[str, Any]:
    """Return the stored run. InputError if an argument differs from it."""
    stored = cast("dict[str, Any]", before.trace)
    again: dict[str, Any] = plain_run(sent, limits)
    for name in sorted(sent.model_fields_set - _ABOUT_THE_CALL):
        if again.get(name) != stored.get(name):
            fix = "Leave it out, or call reflect without reflection_id."
            raise InputError(name, f"it differs from what {before.id} holds", fix)
    return stored


def _digest(run: dict[str, Any], analysis: Analysis | None, criteria: Sequence[str] = ()) -> str:
    """Identify a run with its analysis and criteria by 32 hex digits of SHA-256."""
    judgment = asdict(analysis) if analysis else None
    text = json.dumps([run, judgment, *criteria], sort_keys=True, ensure_ascii=False)
    return digest(text, 32)


def from_stored(stored: StoredReflection) -> Reflection:
    """Read a stored reflection. One with facts alone says in `next` how the agent adds its own analysis."""
    body = cast("dict[str, Any]", stored.body)
    reflection: Reflection = from_json(Reflection, body)
    if stored.thinker != RULES:
        return reflection
    facts = [fact["text"] for fact in body.get("findings", ())]
    return replace(reflection, next=_next(reflection, facts))


def _next(reflection: Reflection, facts: Sequence[str]) -> dict[str, object]:
    """Return the request for an analysis, and the facts that the reflection had no room for."""
    asked = (
        "{mistake, correction, strategy}"
        if reflection.validation is None
        else "{reflection, decision_appropriate, execution_effective, strategy}"
    )
    more = [text for text in facts if text not in reflection.reflection][:_MORE_FACTS]
    send = f"reflection_id with analysis {asked}: these are facts, you know what they mean"
    return {**({"facts": more} if more else {}), "send": send}
