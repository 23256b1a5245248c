"""Runs that stopped without an answer, and people who said that it was wrong."""

import re
from collections.abc import Sequence

from mcp_reflect.models.run import EventType, Finding, FindingKind, Outcome, Trace
from mcp_reflect.reflect.rules.react import action_in
from mcp_reflect.reflect.rules.tools import finishes
from mcp_reflect.reflect.rules.tried import Tried
from mcp_reflect.reflect.rules.words import quote

_LIMIT = re.compile(
    r"(?i)\b(?:max(?:imum)?|too many|out of|exceeded|reached)\b.{0,40}\b(?:steps?|iterations?|turns?|rounds?)\b|"
    r"\b(?:step|iteration|turn|recursion) (?:limit|budget)\b"
)
_OBJECTION = re.compile(
    r"(?i)\b(?:(?:that|this|it|which|answer|result|output)(?:'s| is| was|s)? (?:still )?(?:all |completely |totally )?"
    r"(?:wrong|incorrect|not right|not correct|not what|broken|false|failing)|"
    r"not what i (?:asked|wanted|meant)|(?:does|did|is)(?:n[o']t| not) work|"
    r"still (?:fails|failing|broken|wrong|does)|you (?:forgot|missed|ignored)|"
    r"wrong (?:answer|file|result|one))|^\s{0,4}(?:no, |wrong\b|incorrect\b)"
)
LAST_EVENTS = 3  # a step limit is announced in the last events, or it is about something else


def unfinished(trace: Trace, tried: Sequence[Tried]) -> Finding | None:
    """How a run that did not succeed stopped before it gave an answer, where the trace shows it."""
    if trace.outcome is Outcome.SUCCESS or not trace.events:
        return None
    return _limit_reached(trace) or _open_call(trace, tried) or _no_finish(trace, tried)


def objections(trace: Trace) -> list[Finding]:
    """What people said was wrong. Their word is a finding, and no failing call."""
    return [
        Finding(
            kind=FindingKind.USER_OBJECTION,
            event_ids=(event.id,),
            text=f"The user objected ({event.id}): {quote(event.content)}.",
        )
        for event in trace.events
        if event.type is EventType.USER_FEEDBACK and _OBJECTION.search(event.content[:2_000])
    ]


def _limit_reached(trace: Trace) -> Finding | None:
    for event in reversed(trace.events[-LAST_EVENTS:]):
        text = event.error or event.content
        if event.type in (EventType.SYSTEM_EVENT, EventType.ERROR_EVENT) and len(text) <= 500 and _LIMIT.search(text):
            return _no_answer(
                event.id, f"The run reached its limit before an answer was given ({event.id}): {quote(text)}."
            )
    return None


def _open_call(trace: Trace, tried: Sequence[Tried]) -> Finding | None:
    """The last event is a call without an answer, in a trace that has answers."""
    last = trace.events[-1]
    item = tried[-1] if tried else None
    if item is None or item.call.event_id != last.id or item.call.answered or finishes(item.call.tool):
        return None
    if not any(other.call.answered for other in tried):
        return None
    return _no_answer(last.id, f"The run ends with a call that got no answer ({last.id}): {item.text}.")


def _no_finish(trace: Trace, tried: Sequence[Tried]) -> Finding | None:
    """A run of text actions (`Search[x]`) that never came to `Finish[x]`, or one that ends on a failed call."""
    made = [item for item in tried if item.call.made]
    if not made or any(finishes(item.call.tool) for item in made):
        return None
    last = trace.events[-1]
    if last.id != made[-1].failing_event:
        return None
    text_actions = sum(
        event.type is not EventType.OBSERVATION and action_in(event.content) is not None for event in trace.events
    )
    if text_actions >= len(made):
        return _no_answer(
            last.id,
            f"The run stopped after {len(made)} actions without an answer; the last was {made[-1].text} ({last.id}).",
        )
    if made[-1].failed:
        return _no_answer(
            last.id, f"The run ends on a call that failed, without an answer ({last.id}): {made[-1].text}."
        )
    return None


def _no_answer(event_id: str, text: str) -> Finding:
    return Finding(kind=FindingKind.NO_ANSWER, event_ids=(event_id,), text=text)
