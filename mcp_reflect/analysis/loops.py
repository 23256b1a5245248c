"""Loops, repeated errors, empty searches, the end of a run, and objections of people."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from mcp_reflect.analysis.calls import Call, action_in
from mcp_reflect.analysis.text import names, quote, sentence, times, unique
from mcp_reflect.analysis.tools import finishes, subject_of
from mcp_reflect.models.run import ErrorCategory, EventType, Finding, FindingKind, Outcome, Trace
from mcp_reflect.signature import steady

LONGEST_CYCLE: Final = 4  # calls; what repeats with a longer period is a procedure as often as a loop
# Answers that carry nothing: keys, clicks and writes are rightly made again and again.
BARE_ANSWERS: Final = frozenset({"", "ok", "okay", "done", "true", "success", "none", "null", "{}", "[]", "succeeded"})
KEY_TEXT: Final = 20_000  # characters of an answer that are compared
SHOWN: Final = 4  # queries quoted in a sentence
LAST_EVENTS: Final = 3  # a step limit is announced in the last events, or it is about something else

_LIMIT: Final = re.compile(
    r"(?i)\b(?:max(?:imum)?|too many|out of|exceeded|reached)\b.{0,40}\b(?:steps?|iterations?|turns?|rounds?)\b|"
    r"\b(?:step|iteration|turn|recursion) (?:limit|budget)\b"
)
_OBJECTION: Final = re.compile(
    r"(?i)\b(?:(?:that|this|it|which|answer|result|output)(?:'s| is| was|s)? (?:still )?(?:all |completely |totally )?"
    r"(?:wrong|incorrect|not right|not correct|not what|broken|false|failing)|"
    r"not what i (?:asked|wanted|meant)|(?:does|did|is)(?:n[o']t| not) work|"
    r"still (?:fails|failing|broken|wrong|does)|you (?:forgot|missed|ignored)|"
    r"too (?:long|short|formal|informal|slow|vague|many|much|complicated|detailed|late)|not (?:good|clear) enough|"
    r"should(?:n't| not)? have|wrong (?:answer|file|result|one))|^\s{0,4}(?:no, |wrong\b|incorrect\b)"
)


class Loop(NamedTuple):
    """The same `period` calls with the same answers, made `rounds` times over; `calls` are all of them."""

    period: int
    rounds: int
    calls: tuple[Call, ...]


def loops_in(tried: Sequence[Call]) -> list[Loop]:
    """The loops, in order, none overlapping another. A word from a person in between ends one."""
    keys = [_key(item) for item in tried]
    loops: list[Loop] = []
    start = 0
    while start < len(keys):
        loop = next(filter(None, (_loop_at(tried, keys, start, period + 1) for period in range(LONGEST_CYCLE))), None)
        loops += [loop] if loop else []
        start += len(loop.calls) if loop else 1
    return loops


def _loop_at(tried: Sequence[Call], keys: Sequence[object], start: int, period: int) -> Loop | None:
    end = start + period
    while end < len(keys) and keys[end] is not None and keys[end] == keys[end - period]:
        end += 1
    rounds = (end - start) // period
    calls = tuple(tried[start : start + period * rounds])
    telling = any(item.failed or item.answer.strip().lower() not in BARE_ANSWERS for item in calls[:period])
    varied = period == 1 or len(set(keys[start : start + period])) > 1
    return Loop(period, rounds, calls) if rounds >= 2 and telling and varied else None


def _key(item: Call) -> object:
    """What two equal calls share: tool, arguments, answer, and how much people had said. None for no real call."""
    if not item.made or finishes(item.tool):
        return None
    answer = (item.error or item.answer)[:KEY_TEXT]
    # The same error at another time of day is the same answer.
    return item.exact, item.answered, item.spoken, tuple((steady(answer) if item.failed else answer).split())


def loop_finding(loop: Loop) -> Finding:
    """The loop in a sentence."""
    ids = tuple(item.event_id for item in loop.calls)
    steps = ", then ".join(item.text for item in loop.calls[: loop.period])
    text = f"The same {loop.period} calls were made {times(loop.rounds)} over with the same answers ({names(ids)})"
    if loop.period == 1:
        text = f"The same call was made {times(loop.rounds)} in a row with the same answer ({names(ids)})"
    return Finding(kind=FindingKind.LOOP, event_ids=ids, text=f"{text}: {steps}.", category=ErrorCategory.LOOP)


def empty_searches(tried: Sequence[Call]) -> list[tuple[Call, ...]]:
    """Runs of two or more searches without a result, with no call in between that found something."""
    runs: list[list[Call]] = [[]]
    for item in tried:
        if item.made and item.empty:
            runs[-1].append(item)
        elif item.made and not item.failed:
            runs.append([])
    return [tuple(run) for run in runs if len(run) > 1]


def zero_finding(run: Sequence[Call]) -> Finding:
    """The searches in a sentence: Search found nothing three times in a row (e4, e6, e8): "X", "Y", "Z"."""
    queries = unique(query_of(item, 80) for item in run)
    more = f" and {len(queries) - SHOWN} more" if len(queries) > SHOWN else ""
    tools = " and ".join(unique(item.tool for item in run)[:3]) or "Search"
    ids = tuple(item.failing_event for item in run)
    text = f"{tools} found nothing {times(len(run))} in a row ({names(ids)}): {', '.join(queries[:SHOWN])}{more}."
    return Finding(kind=FindingKind.ZERO_RESULTS, event_ids=ids, text=text, category=ErrorCategory.NO_RESULT)


def query_of(item: Call, limit: int) -> str:
    """The query of a search, quoted; a long one without its end."""
    subject = subject_of(item.arguments)
    return quote(sentence(subject if isinstance(subject, str) else quote(subject, 2 * limit), limit), 2 * limit)


def objections(trace: Trace) -> list[Finding]:
    """The objections of people. Their word is a finding, and no failing call."""
    said = [event for event in trace.events if event.type is EventType.USER_FEEDBACK]
    texts = {e.id: quote(sentence(e.content, 160), 320) for e in said if _OBJECTION.search(e.content[:2_000])}
    return [
        Finding(kind=FindingKind.USER_OBJECTION, event_ids=(name,), text=f"The user objected ({name}): {text}.")
        for name, text in texts.items()
    ]


def unfinished(trace: Trace, calls: Sequence[Call]) -> Finding | None:
    """How a run that did not succeed stopped before it gave an answer, where the trace shows it."""
    if trace.outcome is Outcome.SUCCESS or not trace.events:
        return None
    for event in reversed(trace.events[-LAST_EVENTS:]):
        text = event.error or event.content
        if event.type in (EventType.SYSTEM_EVENT, EventType.ERROR_EVENT) and len(text) <= 500 and _LIMIT.search(text):
            return _no_answer(
                event.id, f"The run reached its limit before an answer was given ({event.id}): {quote(text)}"
            )
    end, made = trace.events[-1].id, [call for call in calls if call.made]
    if not made or finishes(made[-1].tool):
        return None
    last = made[-1]
    if last.event_id == end and not last.answered and any(call.answered for call in calls):
        return _no_answer(end, f"The run ends with a call that got no answer ({end}): {last.text}")
    if end != last.failing_event or any(finishes(call.tool) for call in made):
        return None
    # Actions as text (`Search[x]`) that never came to `Finish[x]`, or a failed call at the end.
    texts = [event.content for event in trace.events if event.type is not EventType.OBSERVATION]
    if sum(action_in(text) is not None for text in texts) >= len(made):
        text = f"The run stopped after {len(made)} actions without an answer; the last was {last.text} ({end})"
        return _no_answer(end, text)
    ended = f"The run ends on a call that failed, without an answer ({end}): {last.text}"
    return _no_answer(end, ended) if last.failed else None


def _no_answer(event_id: str, text: str) -> Finding:
    return Finding(kind=FindingKind.NO_ANSWER, event_ids=(event_id,), text=f"{text}.")
