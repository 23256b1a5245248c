"""The diagnosis of a run: findings, corrections, scores, summary and strategy."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from mcp_reflect.analysis.call_results import Tried, tried_calls
from mcp_reflect.analysis.corrections import (
    Pair,
    confidence_of,
    corrections_from,
    importance_of,
    is_told,
    open_points,
    pairs_in,
    told_lessons,
)
from mcp_reflect.analysis.error_categories import category_of
from mcp_reflect.analysis.known_failures import failure_of, forms_of
from mcp_reflect.analysis.loops import (
    Loop,
    loop_finding,
    loops_in,
    objections,
    repeated_errors,
    repeated_finding,
    unfinished,
    zero_finding,
    zero_runs,
)
from mcp_reflect.analysis.related_calls import names_alike
from mcp_reflect.analysis.text import clip, quote, subject_only, unique
from mcp_reflect.analysis.tools import suggestions_in
from mcp_reflect.models.run import (
    Correction,
    Diagnosis,
    ErrorCategory,
    Event,
    EventType,
    Failure,
    Finding,
    FindingKind,
    Outcome,
    Trace,
    WorkedCall,
)

# A trace as the rules have read it: its calls, and what stands out among them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`first` is the earliest failure, `mattered` the one that says most about the run; None where nothing failed."""

    trace: Trace
    tried: Sequence[Tried]
    loops: Sequence[Loop]
    empties: Sequence[tuple[Tried, ...]]
    pairs: Sequence[Pair]
    first: Tried | None
    mattered: Tried | None

    @property
    def category(self) -> ErrorCategory | None:
        """The caller's word, else the error that mattered, a loop, an empty search; None where nothing was seen."""
        error, fault = self.trace.error, self.mattered.fault if self.mattered else None
        if error is not None and error.category is not None:
            return error.category
        if fault is not None and not fault.empty and fault.category is not ErrorCategory.UNKNOWN:
            return fault.category
        if self.loops:
            return ErrorCategory.LOOP
        if fault is not None:
            return fault.category
        if error is not None and error.message:
            return category_of(clip(error.message, 300), error.message)
        return ErrorCategory.TIMEOUT if self.trace.outcome is Outcome.TIMEOUT else None


def read(trace: Trace) -> Reading:
    """Read the calls of a trace, in one pass for each rule."""
    tried = tried_calls(trace)
    pairs = pairs_in(tried, succeeded=trace.outcome is Outcome.SUCCESS)
    failed = [item for item in tried if item.failed]
    return Reading(
        trace=trace,
        tried=tried,
        loops=loops_in(tried),
        empties=zero_runs(tried),
        pairs=pairs,
        first=_first(failed),
        mattered=_mattered(failed, pairs),
    )


def _first(failed: Sequence[Tried]) -> Tried | None:
    """The earliest error; where there is none, the earliest search that found nothing."""
    return next((item for item in failed if not _empty(item)), failed[0] if failed else None)


def _mattered(failed: Sequence[Tried], pairs: Sequence[Pair]) -> Tried | None:
    """The first error of a known kind not put right, else of any kind, else any error, else an empty search."""
    righted = {pair.failed.index for pair in pairs}
    left = [item for item in failed if item.index not in righted]
    errors = [item for item in left if not _empty(item)]
    known = [item for item in errors if item.fault is not None and item.fault.category is not ErrorCategory.UNKNOWN]
    first = _first(failed)
    if first is not None and not _empty(first) and not errors:
        return first
    return next(iter((*known, *errors, *left)), first)


def _empty(item: Tried) -> bool:
    return item.fault is not None and item.fault.empty


# The summary, the strategy and the strengths of a diagnosis: only what the events show.


SUMMARY_FINDINGS = 4  # sentences of findings in a summary; all of them are in `findings`
STRATEGY_LIMIT = 700  # characters

_ENDED = {
    Outcome.SUCCESS: "The run succeeded",
    Outcome.FAILURE: "The run failed",
    Outcome.PARTIAL: "The run succeeded in part",
    Outcome.TIMEOUT: "The run timed out",
    Outcome.ERROR: "The run ended in an error",
}
_ORDER = (
    FindingKind.FAILING_EVENT,
    FindingKind.LOOP,
    FindingKind.REPEATED_ERROR,
    FindingKind.ZERO_RESULTS,
    FindingKind.NO_ANSWER,
    FindingKind.USER_OBJECTION,
    FindingKind.RECOVERED,
)
_BUDGET = re.compile(
    r"(?i)\b(?:budget|quota|deadline|time limit|step limit|token limit|cost|elapsed|remaining)\b[^\n]{0,60}\d"
)


def summary_of(reading: Reading, findings: Sequence[Finding]) -> str:
    """How the run ended, what caused it, what was tried, what worked and what is open, in a few sentences."""
    trace = reading.trace
    head = f"{_ENDED[trace.outcome]} after {_count(len(trace.events), 'event')}."
    if not trace.events:
        head = f"{_ENDED[trace.outcome]}; no events were given."
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.kind))
    parts = [head]
    if trace.error and trace.error.message:
        parts.append(f"The caller reports: {quote(trace.error.message, 200)}.")
    parts += [finding.text for finding in ordered[:SUMMARY_FINDINGS]]
    if not findings:
        parts += _what_was_done(reading)
    parts += _feedback(trace, findings)
    parts += _budgets(trace)
    open_end = said_of_outcome(reading)
    righted = bool(findings) and all(finding.kind is FindingKind.RECOVERED for finding in findings)
    if righted and trace.outcome is not Outcome.SUCCESS and open_end is None:
        parts.append("Every failure was put right; what is still open is not in the events.")
    return " ".join(part for part in (*parts, open_end) if part)


def _what_was_done(reading: Reading) -> list[str]:
    """What a run did in which rules find no fault: its calls, and the agent's last words."""
    worked = [item.call.tool for item in reading.tried if item.worked]
    parts = [f"{_count(len(worked), 'call')} worked ({', '.join(unique(worked)[:5])})."] if worked else []
    last = next((event for event in reversed(reading.trace.events) if event.type is EventType.LLM_CALL), None)
    if last is not None and last.content.strip():
        parts.append(f"The agent ended with {quote(last.content, 160)} ({last.id}).")
    return parts


def _feedback(trace: Trace, findings: Sequence[Finding]) -> list[str]:
    """What a person said after the agent had begun, where no finding quotes it; the last word only."""
    begun = next((at for at, event in enumerate(trace.events) if event.type is not EventType.USER_FEEDBACK), None)
    said = [event for event in trace.events[begun or 0 :] if event.type is EventType.USER_FEEDBACK]
    if begun is None:
        said = [event for event in trace.events if event.content.strip() not in trace.task]
    quoted = {name for finding in findings if finding.kind is FindingKind.USER_OBJECTION for name in finding.event_ids}
    if not said or said[-1].id in quoted or not said[-1].content.strip():
        return []
    return [f"The user said ({said[-1].id}): {quote(said[-1].content, 160)}."]


def _budgets(trace: Trace) -> list[str]:
    """The last note of the environment on a budget, a deadline or the time that is left."""
    notes = [event for event in trace.events if event.type is EventType.SYSTEM_EVENT and len(event.content) <= 500]
    last = next((event for event in reversed(notes) if _BUDGET.search(event.content)), None)
    return [] if last is None else [f"The environment noted ({last.id}): {quote(last.content, 160)}."]


def strategy_of(reading: Reading, corrections: Sequence[Correction]) -> str | None:
    """What to do next time, from what was seen to work and what was seen to be useless; null where neither was."""
    parts = [f"{item.correction}" for item in corrections[:3]]
    put_right = {pair.failed.index for pair in reading.pairs}
    loops = [loop.calls[0] for loop in reading.loops if loop.calls[0].index not in put_right]
    parts += [f"Do not repeat {item.text}: it gives the same answer again." for item in loops[:2]]
    righted = {item.failed_event_id for item in corrections}
    left = [[item for item in run if item.failing_event not in righted] for run in reading.empties]
    for run in [run for run in left if run][:1]:
        queries = unique(quote(subject_only(item.call.arguments), 60) for item in run)[:3]
        parts.append(f"Do not search again for {', '.join(queries)}: nothing was found.{_proposed(run, reading.tried)}")
    text = " ".join(unique(parts))
    return clip(text, STRATEGY_LIMIT) if text else None


def strengths_of(reading: Reading, corrections: Sequence[Correction]) -> tuple[str, ...]:
    """What went well: what a successful run called, and what was put right on the way."""
    found: list[str] = []
    worked = [item for item in reading.tried if item.worked]
    recovered = len(reading.pairs)
    if reading.trace.outcome is Outcome.SUCCESS and worked:
        tools = unique(item.call.tool for item in worked)
        failing = sum(item.failed for item in reading.tried)
        rest = f"{failing} failed" if failing else "none failed"
        found.append(f"{_count(len(worked), 'call')} worked ({', '.join(tools[:5])}); {rest}.")
    found += [f"Put right: {item.mistake} ({item.failed_event_id}, {item.worked_event_id})" for item in corrections[:3]]
    if recovered and not corrections:
        found.append(f"{_count(recovered, 'failing call')} worked later.")
    return tuple(found)


def improvements_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The findings that cost the run something, in order of weight."""
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.kind))
    return tuple(finding.text for finding in ordered if finding.kind is not FindingKind.RECOVERED)[:5]


def failing_text(item: Tried) -> str:
    """A failing call in a sentence: `e4: bash "pytest" failed (assertion): "1 failed"`."""
    fault = item.fault
    if fault is None:
        return ""
    if fault.empty:
        return f"{item.text} found nothing ({item.failing_event})."
    what = item.text if item.call.tool else "An event"
    kind = _article(fault.category.short)
    return f"{what} failed with {kind} error ({item.failing_event}): {quote(fault.headline, 200)}."


def recovered_text(failed: Tried, worked: Tried) -> str:
    """A failure that was put right, in a sentence."""
    fault = failed.fault
    if fault is not None and fault.empty:
        found = f"{worked.text} found something ({worked.failing_event})"
        return f"{failed.text} found nothing ({failed.failing_event}); {found}."
    what = f"{failed.text} failed ({failed.failing_event}): {quote(fault.headline if fault else '', 160)}"
    if failed.exact == worked.exact:
        return f"{what}. The same call worked later ({worked.failing_event})."
    return f"{what}. It worked later as {worked.text} ({worked.failing_event})."


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _article(word: str) -> str:
    word = word.replace("_", " ")
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _proposed(run: Sequence[Tried], tried: Sequence[Tried]) -> str:
    """What the searches themselves proposed and nobody sent, those closest to a query first."""
    sent = {str(subject_only(item.call.arguments)) for item in tried}
    queries = [str(subject_only(item.call.arguments)) for item in run]
    found = unique(item for empty in run for item in suggestions_in(empty.call.answer) if item not in sent)
    near = [item for item in found if any(names_alike(item, query) for query in queries)]
    proposals = unique([*near, *found])[:3]
    return f" The search itself proposed {', '.join(quote(item, 60) for item in proposals)}." if proposals else ""


# What each way of ending asks of a trace: where the time went, what was left undone, what the run ended on.


LEAST_GAP = 1.0
"""Seconds between two events that are worth telling."""


def said_of_outcome(reading: Reading) -> str | None:
    """A sentence on how this run ended, where the events show more than its first failure; else null."""
    match reading.trace.outcome:
        case Outcome.TIMEOUT:
            return _longest_wait(reading.trace.events)
        case Outcome.PARTIAL:
            return _left_undone(reading)
        case Outcome.ERROR:
            return _last_error(reading)
        case Outcome.SUCCESS | Outcome.FAILURE:
            return None  # strengths tell of the one, the findings of the other


def _longest_wait(events: Sequence[Event]) -> str | None:
    """The longest time between two events that say when they were."""
    timed = [(event, at) for event in events if (at := _seconds(event.timestamp)) is not None]
    gaps = [(later - at, event, after) for (event, at), (after, later) in pairwise(timed)]
    if not gaps:
        return None
    gap, event, after = max(gaps, key=lambda one: one[0])
    whole = timed[-1][1] - timed[0][1]
    if gap < LEAST_GAP or whole <= 0:
        return None
    return f"The longest wait was {gap:.0f} s of {whole:.0f} s, between {event.id} and {after.id}."


def _left_undone(reading: Reading) -> str | None:
    """How many calls worked, and how many failed that no later one put right."""
    righted = {pair.failed.index for pair in reading.pairs}
    open_ = [item for item in reading.tried if item.failed and item.index not in righted]
    worked = sum(item.worked for item in reading.tried)
    if not open_ or not worked:
        return None
    calls = "call" if worked == 1 else "calls"
    return f"{worked} {calls} worked; {len(open_)} failed and no later call put that right, the last {open_[-1].text}."


def _last_error(reading: Reading) -> str | None:
    """The failure that the run ended on, where it is not its first."""
    failed = [item for item in reading.tried if item.fault is not None]
    if len(failed) < 2 or failed[-1].fault is None:
        return None
    last = failed[-1]
    headline = failed[-1].fault.headline
    return f"The last error before the end was {quote(headline, 120)} ({last.failing_event})."


def _seconds(timestamp: str | float | None) -> float | None:
    """Seconds, from a number or an ISO 8601 text; null for anything else."""
    if isinstance(timestamp, int | float):
        return float(timestamp)
    if timestamp is None:
        return None
    try:
        return datetime.fromisoformat(timestamp.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


# The findings of a reading, in the order in which the rules are asked.


MAX_FINDINGS = 12  # of one kind; a run with more repeats itself


def findings_of(reading: Reading) -> tuple[Finding, ...]:
    """Failing events, what was put right, loops, empty searches, repeated errors, the end, the user's word."""
    stopped = unfinished(reading.trace, reading.tried)
    return (
        *_failing(reading),
        *_recovered(reading),
        *(loop_finding(loop) for loop in reading.loops[:MAX_FINDINGS]),
        *(zero_finding(run) for run in reading.empties[:MAX_FINDINGS]),
        *(repeated_finding(group) for group in repeated_errors(reading.tried)[:MAX_FINDINGS]),
        *([stopped] if stopped else []),
        *objections(reading.trace)[:MAX_FINDINGS],
    )


def _failing(reading: Reading) -> list[Finding]:
    """The first failure and the one that mattered, where no other finding tells of them."""
    told = {item.index for run in reading.empties for item in run} | {pair.failed.index for pair in reading.pairs}
    shown: dict[int, Tried] = {}
    for item in (reading.first, reading.mattered):
        if item is not None and item.index not in told:
            shown[item.index] = item
    return [
        Finding(
            kind=FindingKind.FAILING_EVENT,
            event_ids=item.call.event_ids,
            text=failing_text(item),
            category=item.fault.category if item.fault else None,
        )
        for _, item in sorted(shown.items())
    ]


def _recovered(reading: Reading) -> list[Finding]:
    """What was put right, told once for each error and each call that put it right."""
    once: dict[tuple[int, str, str], Pair] = {}
    for pair in reading.pairs:
        once.setdefault((pair.worked.index, pair.failed.exact, pair.failed.fingerprint), pair)
    return [
        Finding(
            kind=FindingKind.RECOVERED,
            event_ids=(pair.failed.failing_event, pair.worked.failing_event),
            text=recovered_text(pair.failed, pair.worked),
            category=pair.failed.fault.category if pair.failed.fault else None,
        )
        for pair in list(once.values())[:MAX_FINDINGS]
    ]


# What the rules say of a run, put together.


MAX_FAILURES = 1_000  # failing calls that are kept with their signatures
MAX_WORKED = 500  # working calls, the last ones, that can clear a failure which is known


def diagnose(trace: Trace) -> Diagnosis:
    """Read a trace by rule: what failed, what looped, what found nothing, what was put right, how it stopped."""
    reading = read(trace)
    told = told_lessons(trace)
    corrections = tuple(one for one in corrections_from(reading.tried) if not is_told(one, told))
    findings = findings_of(reading)
    strategy = strategy_of(reading, corrections)
    fault = reading.mattered.fault if reading.mattered else None
    return Diagnosis(
        summary=summary_of(reading, findings),
        category=reading.category,
        first_failing_event=reading.first.failing_event if reading.first else None,
        findings=findings,
        corrections=corrections,
        importance=importance_of(trace.outcome, findings, corrections, run_error=trace.error is not None),
        confidence=confidence_of(
            findings, corrections, marked=fault is not None and fault.marked, category=reading.category
        ),
        source_event_ids=unique(event_id for finding in findings for event_id in finding.event_ids),
        strategy=strategy,
        strengths=strengths_of(reading, corrections),
        improvements=improvements_of(findings),
        recommendation=corrections[0].correction if corrections else strategy,
        failures=_failures(reading),
        worked=_worked(reading),
        calls=sum(item.call.made for item in reading.tried),
        wasted=_wasted(reading),
        without_lesson=_without_lesson(reading, corrections),
        open_points=() if told else open_points(reading.tried, reading.pairs, corrections),
    )


def _without_lesson(reading: Reading, corrections: Sequence[Correction]) -> tuple[Finding, ...]:
    """What was put right or stayed open and no rule made a lesson of: what somebody who can write is asked about."""
    told = {name for lesson in corrections for name in (lesson.failed_event_id, *lesson.also)}
    righted = {pair.failed.index for pair in reading.pairs}
    open_ = [
        Finding(
            kind=FindingKind.FAILING_EVENT,
            event_ids=item.call.event_ids,
            text=failing_text(item),
            category=item.fault.category if item.fault else None,
        )
        for item in reading.tried
        if item.failed and not _empty(item) and item.index not in righted and item.failing_event not in told
    ]
    recovered = [finding for finding in _recovered(reading) if finding.event_ids[0] not in told]
    return (*recovered, *open_)[:MAX_FINDINGS]


def failures(trace: Trace) -> tuple[Failure, ...]:
    """The failing calls of a trace with their signatures, and the arguments that later worked."""
    return _failures(read(trace))


def _wasted(reading: Reading) -> int:
    """Calls that brought nothing: those that failed, and every round of a loop after its first."""
    again = {item.index for loop in reading.loops for item in loop.calls[loop.period :]}
    return sum(item.call.made and (item.failed or item.index in again) for item in reading.tried)


def _failures(reading: Reading) -> tuple[Failure, ...]:
    """An error that belongs to no tool is left out: there is no call before which it could be remembered."""
    worked = {
        pair.failed.index: pair.worked.call.arguments
        for pair in reading.pairs
        if pair.changes and pair.changes[0].path != "(tool)"
    }
    failed = [item for item in reading.tried if item.fault is not None and item.call.tool][:MAX_FAILURES]
    return tuple(
        failure_of(item.call.tool, item.call.arguments, item.fault, item.failing_event, worked=worked.get(item.index))
        for item in failed
        if item.fault is not None
    )


def _worked(reading: Reading) -> tuple[WorkedCall, ...]:
    """The calls that worked when they were last made: none of them is known to fail any more."""
    last = {item.exact: item for item in reading.tried if item.call.made and item.call.answered}
    forms = [forms_of(item.call.tool, item.call.arguments) for item in [*last.values()][-MAX_WORKED:] if item.worked]
    return tuple(dict.fromkeys(WorkedCall(bare=form.bare_key, exact=form.exact_key) for form in forms))
