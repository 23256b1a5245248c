"""How a run is scored: by rules from its events, by the host or an evaluator, and by scorers of others.

A score that rules took from evidence stands; a model's opinion fills what rules cannot know.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_reflect.analysis import agent_analysis as fields
from mcp_reflect.analysis import reflector as evaluator
from mcp_reflect.analysis.assessment import level_of
from mcp_reflect.analysis.reflector import Scorer, installed
from mcp_reflect.analysis.text import trace_text
from mcp_reflect.checkers.evidence.reading import seen as reports_in
from mcp_reflect.checkers.evidence.reports import Kind
from mcp_reflect.context_ import Parts
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import Host
from mcp_reflect.models.common import Json
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.reflection import Assessment, Score
from mcp_reflect.models.run import Diagnosis, EventType, Trace
from mcp_reflect.security.redact import clean

SHOWN_CHARS = 16_000
_UNKNOWN = "rules cannot know this"
_PRINTS = (EventType.TOOL_RESPONSE, EventType.OBSERVATION, EventType.ERROR_EVENT)


async def scored(
    parts: Parts,
    criteria: Sequence[str],
    trace: Trace,
    seen: Diagnosis,
    before: Assessment | None,
    told: Mapping[str, Score] | None,
    decided: tuple[Json, Json, Json],
    host: Host,
) -> Assessment | None:
    """`before` with scores: `told` are the host's or reflector's own, null where nobody judged but rules.

    An evaluator is asked where one is configured, or where the call names criteria, and nobody has scored yet.
    """
    own = evaluator.score(seen, _tests(trace))
    asked = dict(told or {})
    assessment = before
    wanted = bool(criteria) or parts.settings.llm_evaluator not in ("", "off")
    if not asked and wanted and parts.thinking.llm(Role.EVALUATOR, host) is not None:
        assessment, asked = await _asked(parts, criteria, trace, before, decided, host)
    foreign = await _foreign(parts, trace)
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
    parts: Parts,
    criteria: Sequence[str],
    trace: Trace,
    before: Assessment | None,
    decided: tuple[Json, Json, Json],
    host: Host,
) -> tuple[Assessment | None, dict[str, Score]]:
    """The evaluator's scores, and what it makes of the decision where nobody said before."""
    decision, execution, allowed = (None if value is None else str(value)[:SHOWN_CHARS] for value in decided)
    inputs = {
        "task": trace.task,
        "outcome": trace.outcome,
        "decision": decision,
        "execution": execution,
        "allowed_actions": allowed,
        "criteria": "\n".join((*evaluator.CRITERIA, *criteria)),
        "trace": trace_text(trace, SHOWN_CHARS),
    }
    thought = await parts.thinking.ask(
        Role.EVALUATOR, "evaluate", inputs, host=host, read=lambda value: _read(clean(value))
    )
    if thought.value is None:
        parts.log("evaluation_failed", "warning", error=clean(thought.note))
        return before, {}
    said, scores = thought.value
    parts.log("evaluation_generated", thinker=thought.thinker, scores=len(scores))
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


async def _foreign(parts: Parts, trace: Trace) -> dict[str, Score]:
    """What the scorers of others say; one that fails is left out, and the log says so."""
    scorers: list[tuple[str, Scorer | Exception]] = [*installed()]
    if parts.scorer is not None:
        scorers.append(("engine", parts.scorer))
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
            parts.log("scorer_failed", "warning", scorer=name, error=type(error).__name__)
    return found


def _checked(value: Score | float | None) -> Score:
    given = value if isinstance(value, Score) else Score(score=value, reason="")
    number = fields.score("score", given.score)
    return Score(score=number, reason=clean(given.reason)[:500])


def name_of(criterion: str) -> str:
    """A criterion without what stands behind its colon."""
    return criterion.partition(":")[0].strip()[:60]
