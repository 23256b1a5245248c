"""The judgment of a run: by the agent's analysis, else by a language model, each with scores for criteria.

Rules see the facts of a run (`sessions/diagnose.py`); what they mean, an agent or a model has to say.
"""

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcp_reflect.decisions import telling
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.runs import read_runs
from mcp_reflect.llm.prompts import Input
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT, ClientCapabilities, ModelResult
from mcp_reflect.models.common import HOST, Json
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.reflection import Analysis, Assessment, Score
from mcp_reflect.models.run import Diagnosis, Event, EventType, Outcome, Trace
from mcp_reflect.schemas.analysis import read_analysis, read_evaluation
from mcp_reflect.schemas.analysis_fields import ScoreArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.sessions import reflector
from mcp_reflect.sessions.text import quote
from mcp_reflect.sessions.trace_text import error_text, trace_text

VERDICTS: Final = ("decision_appropriate", "execution_effective", "confidence")
"""The fields of an assessment that judge a decision."""

_REFLECTOR_CHARS: Final = 24_000
"""Of a run in the reflector's prompt, some 6,000 tokens; the text says what is cut."""

_EVALUATOR_CHARS: Final = 16_000
"""Of a run in the evaluator's prompt, and of each other long input."""

_LATEST_OUTPUTS: Final = 20  # that are searched for test reports: an earlier one is out of date
_OUTPUT_TYPES: Final = (EventType.TOOL_RESPONSE, EventType.OBSERVATION, EventType.ERROR_EVENT)
_MAX_REASON_CHARS: Final = 500  # of why a scorer gave a score
_MAX_CRITERION_CHARS: Final = 60  # of a criterion's name
_REFLECTOR_DECISION_FIELDS: Final = ("decision", "execution")
"""The fields of a run, about its decision, that the reflector's prompt shows."""

_EVALUATOR_DECISION_FIELDS: Final = ("decision", "execution", "allowed_actions")
"""The same for the evaluator's prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzedRun:
    """A run that is judged: its facts, and the questions about it to language models."""

    context: Context
    run: Mapping[str, Any]  # its JSON
    trace: Trace  # the same as objects
    diagnosis: Diagnosis  # the facts that rules see in it
    review: telling.DecisionFacts | None  # those of its decision, None without one
    client: ClientCapabilities = NO_CLIENT
    # The tokens that models used, by "input" and "output".
    tokens: dict[str, int] = field(default_factory=dict[str, int])

    async def judge(self, sent: ReflectArguments) -> ModelResult[Analysis]:
        """Return the agent's analysis if it sent one, else that of a language model.

        A result without a value leaves the judgment to rules; its note says then why a model gave none.
        """
        if sent.analysis is not None:
            return await self._agent_analysis(sent.analysis)
        settings = self.context.settings
        event_ids = self._event_ids()

        def read_reply(reply: Json) -> Analysis:
            return read_analysis(clean(reply), event_ids, settings)

        prompt, inputs = self.reflector_prompt()
        result = await self.context.runner.generate(
            Role.REFLECTOR, prompt, inputs, host=self.client, read=read_reply, reads_text=True
        )
        self._count(result)
        # A note may quote an endpoint's message, which may quote the request.
        result = replace(result, note=clean(result.note))
        if result.failed:
            self.context.log.warning("reflection_generation_failed", error=result.note)
        return result

    async def _agent_analysis(self, sent: Json) -> ModelResult[Analysis]:
        """Read the agent's analysis in a thread: a long one takes a while, and other calls go on meanwhile."""
        settings = self.context.settings
        event_ids = self._event_ids()

        def read_sent() -> Analysis:
            return read_analysis(clean(sent), event_ids, settings, lenient=True)

        return ModelResult(thinker=HOST, value=await asyncio.to_thread(read_sent))

    def _event_ids(self) -> tuple[str, ...]:
        """Return the ids of the run's events: an analysis may refer to these alone."""
        return tuple(event.id for event in self.trace.events)

    def _count(self, result: ModelResult[Any]) -> None:
        """Add the tokens that a model used to `tokens`, which stays empty where none were."""
        for name, tokens in (("input", result.input_tokens), ("output", result.output_tokens)):
            if tokens:
                self.tokens[name] = self.tokens.get(name, 0) + tokens

    def reflector_prompt(self) -> tuple[str, dict[str, Input]]:
        """Return the name and inputs of the reflector's prompt.

        | the run         | the prompt                                                 |
        |-----------------|------------------------------------------------------------|
        | has a decision  | `reflect_decision`                                         |
        | any other       | `reflect_failure`, `reflect_success` …, by its outcome     |

        The prompt of a run that succeeded has no error: failures on the way are among the findings, and were put right.
        """
        if self.review is not None:
            return "reflect_decision", clean_inputs(self._decision_inputs())
        trace = self.trace
        inputs: dict[str, Any] = {
            "task": trace.task,
            "goal": trace.goal,
            "outcome": trace.outcome,
            "findings": reflector.facts_text(self.diagnosis) or None,
            "trace": trace_text(trace, _REFLECTOR_CHARS),
        }
        if trace.outcome is not Outcome.SUCCESS:
            inputs["error"] = self._error()
        return f"reflect_{trace.outcome.value}", clean_inputs(inputs)

    def _decision_inputs(self) -> dict[str, Any]:
        """Return the inputs for a run's decision, which is judged by its own words and figures alone.

        Without events nobody said how the run ended, and there are no facts of it.
        """
        trace = self.trace
        outcome: Outcome | None = None
        facts = ""
        if trace.events:
            outcome = trace.outcome
            facts = reflector.facts_text(self.diagnosis)
        decision_fields = {
            name: quote(self.run.get(name), _EVALUATOR_CHARS) for name in _REFLECTOR_DECISION_FIELDS
        }
        return {
            "task": trace.task,
            "goal": trace.goal,
            "outcome": outcome,
            "findings": facts or None,
            "trace": trace_text(trace, _REFLECTOR_CHARS),
            "error": self._error(),
            **decision_fields,
        }

    def _error(self) -> str | None:
        """Return the error with which the run ended, shortened; None without one."""
        if not self.trace.error:
            return None
        return error_text(self.trace.error, _EVALUATOR_CHARS)

    async def score(
        self,
        criteria: Sequence[str],
        assessment: Assessment | None,
        sent_scores: Mapping[str, Score] | None,
    ) -> Assessment | None:
        """Return `assessment` with a score for each criterion that anybody scored.

        `sent_scores` are those of the analysis, None without an analysis. Where several score one criterion, the
        strongest counts; from the weakest to the strongest:

        | a score is by              | that is                                                             |
        |----------------------------|---------------------------------------------------------------------|
        | nobody                     | None, for a criterion that the call names                           |
        | the analysis               | as it was sent                                                      |
        | the evaluator (a model)    | asked where the analysis has none, if wanted (`_has_evaluator`)     |
        | rules                      | computed from evidence                                              |
        | the engine's scorer        | the caller's own                                                    |
        """
        by_model = dict(sent_scores or {})
        if not by_model and self._has_evaluator(criteria):
            evaluation = await self._ask_evaluator(criteria)
            by_model = dict(evaluation.scores)
            if self.run.get("decision") is not None:
                is_by_rules = sent_scores is None
                assessment = _verdict_of(assessment, evaluation, is_by_rules=is_by_rules)
        unscored = {
            criterion_name(name): Score(score=None, reason="rules cannot know this")
            for name in criteria
        }
        by_rules = reflector.score(self.diagnosis, _last_test_report(self.trace))
        by_scorer = await self._scorer_scores()
        strongest_by_name = {**unscored, **by_model, **by_rules, **by_scorer}
        scores = {
            name: score
            for name, score in strongest_by_name.items()
            if score.score is not None or name in unscored
        }
        if not scores:
            return assessment
        return replace(assessment or Assessment(), scores=scores)

    def _has_evaluator(self, criteria: Sequence[str]) -> bool:
        """Return whether an evaluator is wanted, by a setting or since the call names criteria, and can be asked."""
        is_configured = self.context.settings.llm_evaluator not in ("", "off")
        if not criteria and not is_configured:
            return False
        return self.context.runner.llm(Role.EVALUATOR, self.client) is not None

    async def _ask_evaluator(self, criteria: Sequence[str]) -> Assessment:
        """Return the evaluator's assessment of the decision with its scores, empty if it gave none."""
        inputs: dict[str, Any] = {
            **{name: _shortened(self.run.get(name)) for name in _EVALUATOR_DECISION_FIELDS},
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
                criterion_name(str(criterion)): _checked_score(value)
                for criterion, value in result.items()
            }
        except Exception as error:  # noqa: BLE001 - the caller's code: its fault must not fail the call
            self.context.log.warning("scorer_failed", error=type(error).__name__)
            return {}


def criterion_name(criterion: str) -> str:
    """Return the name of a criterion: "tone" for "tone: is it friendly?"."""
    return criterion.partition(":")[0].strip()[:_MAX_CRITERION_CHARS]


def _shortened(value: Json) -> Json:
    """Return the text of a value as far as the evaluator's prompt has room; an empty value stays as it is."""
    if not value:
        return value
    return str(value)[:_EVALUATOR_CHARS]


def _verdict_of(
    assessment: Assessment | None, evaluation: Assessment, *, is_by_rules: bool
) -> Assessment:
    """Return the verdict on a decision, each field by the strongest judge who says something of it.

    `assessment` is by an agent's analysis, which overrules the evaluator, or by rules, which the evaluator overrules.
    """
    weaker, stronger = evaluation, assessment
    if is_by_rules:
        weaker, stronger = assessment, evaluation
    verdict: dict[str, Any] = {}
    for judgment in (weaker, stronger):
        for name in VERDICTS:
            value = getattr(judgment, name, None)
            if value is not None:
                verdict[name] = value
    return Assessment(**verdict)


def _last_test_report(trace: Trace) -> tuple[int, int] | None:
    """Return the numbers of passed and failed tests in the last report that a tool printed, None without a report.

    The output "1 failed, 11 passed" -> (11, 1)
    """
    events_with_output = [event for event in trace.events if _has_output(event)]
    results = [
        ToolResult(tool=event.tool, content=event.error or event.content, exit_code=None)
        for event in events_with_output[-_LATEST_OUTPUTS:]
    ]
    for run in reversed(read_runs(results)):
        if run.kind is not ProofKind.TESTS:
            continue
        passed, failed = run.total("passed"), run.total("failed")
        if passed is not None or failed is not None:
            return passed or 0, failed or 0
    return None


def _has_output(event: Event) -> bool:
    """Return whether an event has something that a tool printed."""
    return event.type in _OUTPUT_TYPES and bool(event.content or event.error)


def _checked_score(value: Score | float | None) -> Score:
    """Read a score of the caller's scorer, without secrets. InputError where it is none from 0 to 1."""
    score = value if isinstance(value, Score) else Score(score=value, reason="")
    sent = read(
        ScoreArguments, {"score": score.score, "reason": clean(score.reason)[:_MAX_REASON_CHARS]}
    )
    return Score(score=sent.score, reason=sent.reason)
