"""Who judges a run: the agent by its analysis, a language model, or rules alone, with the reason."""

from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.analysis.agent_analysis import read_analysis
from mcp_reflect.analysis.decisions import markdown
from mcp_reflect.analysis.text import trace_text
from mcp_reflect.arguments.run import ReflectShape
from mcp_reflect.context_ import Parts
from mcp_reflect.errors import InputError
from mcp_reflect.llm.prompts import Input
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import Host
from mcp_reflect.models.common import HOST, RULES
from mcp_reflect.models.lesson import Source
from mcp_reflect.models.reflection import Analysis
from mcp_reflect.models.run import Diagnosis, Outcome, Trace
from mcp_reflect.reflecting.deciding import Decided
from mcp_reflect.security.redact import clean

SHOWN_CHARS: Final = 24_000
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
    parts: Parts, sent: ReflectShape, trace: Trace, seen: Diagnosis, on: Decided | None, host: Host
) -> Judgement:
    """The analysis that was sent; else a language model's; else rules alone, with the reason."""
    ids = tuple(event.id for event in trace.events)
    if sent.analysis is not None:
        analysis = read_analysis(clean(sent.analysis), ids, parts.settings)
        if analysis.source_event_ids and not ids:
            raise InputError("analysis.source_event_ids", "the run has no events", "Send the events, or leave it out.")
        return Judgement(thinker=HOST, source=Source.AGENT, analysis=analysis)
    thought = await parts.thinking.ask(
        Role.REFLECTOR,
        PROMPTS[trace.outcome],
        inputs(trace, seen, on),
        host=host,
        read=lambda value: read_analysis(clean(value), ids, parts.settings),
        read_text=lambda text: read_analysis(clean(text), ids, parts.settings),
    )
    note = clean(thought.note)  # it may quote an endpoint, which may quote what it was sent
    if thought.value is None or thought.thinker is None:
        if thought.note:
            parts.log("reflection_generation_failed", "warning", error=note)
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
        "trace": trace_text(trace, SHOWN_CHARS),
    }
    if trace.outcome is Outcome.SUCCESS:
        del filled["error"]
    return filled
