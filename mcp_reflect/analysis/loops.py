"""Loops, repeated errors, empty searches, and how a run ended."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_reflect.analysis.call_results import Tried
from mcp_reflect.analysis.calls import action_in
from mcp_reflect.analysis.text import names, quote, subject_only, times, unique
from mcp_reflect.analysis.tools import acts_on_screen, finishes
from mcp_reflect.models.run import ErrorCategory, EventType, Finding, FindingKind, Outcome, Trace
from mcp_reflect.signature import steady

# Loops: the same call with the same answer again and again, or a cycle of two to four calls.


LONGEST_CYCLE = 4  # calls; what repeats with a longer period is a procedure as often as a loop
BARE_ANSWERS = frozenset({"", "ok", "okay", "done", "true", "success", "none", "null", "{}", "[]", "succeeded"})
BARE_REPEATS = 3  # an answer that carries nothing must come this often; any other twice
KEY_TEXT = 20_000  # characters of an answer that are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """`period` calls made `rounds` times over; `calls` are all of them."""

    period: int
    rounds: int
    calls: tuple[Tried, ...]


def loops_in(tried: Sequence[Tried]) -> list[Loop]:
    """The loops, in order, none overlapping another. A word from a person in between ends one."""
    keys = [_key(item) for item in tried]
    found: list[Loop] = []
    start = 0
    while start < len(keys):
        loop = _loop_at(tried, keys, start)
        if loop is None:
            start += 1
        else:
            found.append(loop)
            start += len(loop.calls)
    return found


def loop_finding(loop: Loop) -> Finding:
    """The loop in a sentence."""
    ids = tuple(item.call.event_id for item in loop.calls)
    if loop.period == 1:
        how = f"{times(loop.rounds)} in a row with the same answer"
        text = f"The same call was made {how} ({names(ids)}): {loop.calls[0].text}."
    else:
        steps = ", then ".join(item.text for item in loop.calls[: loop.period])
        how = f"{times(loop.rounds)} over with the same answers"
        text = f"The same {loop.period} calls were made {how} ({names(ids)}): {steps}."
    return Finding(kind=FindingKind.LOOP, event_ids=ids, text=text, category=ErrorCategory.LOOP)


def _loop_at(tried: Sequence[Tried], keys: Sequence[bytes | None], start: int) -> Loop | None:
    for period in range(1, LONGEST_CYCLE + 1):
        rounds = _rounds(keys, start, period)
        members = tuple(tried[start : start + period * rounds])
        if (
            rounds >= 2
            and (period == 1 or len(set(keys[start : start + period])) > 1)
            and _counts(members, period, rounds)
        ):
            return Loop(period=period, rounds=rounds, calls=members)
    return None


def _rounds(keys: Sequence[bytes | None], start: int, period: int) -> int:
    if start + 2 * period > len(keys):
        return 1
    same = 0
    while start + period + same < len(keys):
        key = keys[start + same]
        if key is None or key != keys[start + period + same]:
            break
        same += 1
    return 1 + same // period


def _counts(members: Sequence[Tried], period: int, rounds: int) -> bool:
    """Whether what repeats says something: bare acknowledgements must repeat more often, keys may repeat at will."""
    one_round = members[:period]
    if all(item.call.answer.strip().lower() in BARE_ANSWERS and not item.failed for item in one_round):
        return rounds >= BARE_REPEATS and not all(acts_on_screen(item.call.tool) for item in one_round)
    return True


def _key(item: Tried) -> bytes | None:
    """What must be equal for two calls to be the same: tool, arguments, answer, and what people had said."""
    call = item.call
    if not call.made or finishes(call.tool):
        return None
    answer = (call.error or call.answer)[:KEY_TEXT]
    if item.failed:  # the same error at another time of day is the same answer
        answer = steady(answer)
    joined = "\x1f".join((item.exact, str(call.answered), str(call.spoken), " ".join(answer.split())))
    return hashlib.sha256(joined.encode("utf-8", "replace")).digest()


# Searches that find nothing one after another, and errors that come back unchanged.


SHOWN = 4  # queries quoted in a sentence


def zero_runs(tried: Sequence[Tried]) -> list[tuple[Tried, ...]]:
    """Runs of two or more searches without a result, with no call in between that found something."""
    runs: list[tuple[Tried, ...]] = []
    open_run: list[Tried] = []
    for item in tried:
        if not item.call.made:
            continue
        if item.fault is not None and item.fault.empty:
            open_run.append(item)
        elif item.fault is None:
            runs.append(tuple(open_run))
            open_run = []
    runs.append(tuple(open_run))
    return [run for run in runs if len(run) > 1]


def zero_finding(run: Sequence[Tried]) -> Finding:
    """The searches in a sentence: Search found nothing three times in a row (e4, e6, e8): "X", "Y", "Z"."""
    queries = unique(quote(subject_only(item.call.arguments), 80) for item in run)
    more = f" and {len(queries) - SHOWN} more" if len(queries) > SHOWN else ""
    tools = " and ".join(unique(item.call.tool for item in run)[:3]) or "Search"
    ids = tuple(item.failing_event for item in run)
    text = f"{tools} found nothing {times(len(run))} in a row ({names(ids)}): {', '.join(queries[:SHOWN])}{more}."
    return Finding(kind=FindingKind.ZERO_RESULTS, event_ids=ids, text=text, category=ErrorCategory.NO_RESULT)


def repeated_errors(tried: Sequence[Tried]) -> list[tuple[Tried, ...]]:
    """Failures of one tool with the same error, two or more; runs of empty searches are told elsewhere."""
    groups: dict[tuple[str, str], list[Tried]] = {}
    for item in tried:
        if item.fault is not None and not item.fault.empty:
            groups.setdefault((item.call.tool.lower(), item.fingerprint), []).append(item)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def repeated_finding(group: Sequence[Tried]) -> Finding:
    """The error in a sentence, with the events in which it came back."""
    ids = tuple(item.failing_event for item in group)
    fault = group[0].fault
    tool = f"{group[0].call.tool} gave" if group[0].call.tool else "There was"
    said = quote(fault.headline if fault else "", 160)
    text = f"{tool} the same error {times(len(group))} ({names(ids)}): {said}."
    return Finding(
        kind=FindingKind.REPEATED_ERROR,
        event_ids=ids,
        text=text,
        category=fault.category if fault else ErrorCategory.UNKNOWN,
    )


# Runs that stopped without an answer, and people who said that it was wrong.


_LIMIT = re.compile(
    r"(?i)\b(?:max(?:imum)?|too many|out of|exceeded|reached)\b.{0,40}\b(?:steps?|iterations?|turns?|rounds?)\b|"
    r"\b(?:step|iteration|turn|recursion) (?:limit|budget)\b"
)
_OBJECTION = re.compile(
    r"(?i)\b(?:(?:that|this|it|which|answer|result|output)(?:'s| is| was|s)? (?:still )?(?:all |completely |totally )?"
    r"(?:wrong|incorrect|not right|not correct|not what|broken|false|failing)|"
    r"not what i (?:asked|wanted|meant)|(?:does|did|is)(?:n[o']t| not) work|"
    r"still (?:fails|failing|broken|wrong|does)|you (?:forgot|missed|ignored)|"
    r"too (?:long|short|formal|informal|slow|vague|many|much|complicated|detailed|late)|not (?:good|clear) enough|"
    r"should(?:n't| not)? have|wrong (?:answer|file|result|one))|^\s{0,4}(?:no, |wrong\b|incorrect\b)"
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
