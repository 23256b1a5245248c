"""The diagnosis of a run: findings, corrections, scores, summary and strategy. All texts say only what events show."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from mcp_reflect.analysis.call_results import Fault, Tried, tried_calls
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
    empty_searches,
    loop_finding,
    loops_in,
    new_finding,
    objections,
    repeated_errors,
    unfinished,
    zero_finding,
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

MAX_FINDINGS: Final = 12  # of one kind; a run with more repeats itself
MAX_FAILURES: Final = 1_000  # failing calls that are kept with their signatures
MAX_WORKED: Final = 500  # working calls, the last ones, that can clear a failure that is known
SUMMARY_FINDINGS: Final = 4  # sentences of findings in a summary
STRATEGY_LIMIT: Final = 700  # characters
LEAST_GAP: Final = 1.0  # seconds between two events from which on a wait is told

_ENDED: Final = {
    Outcome.SUCCESS: "The run succeeded",
    Outcome.FAILURE: "The run failed",
    Outcome.PARTIAL: "The run succeeded in part",
    Outcome.TIMEOUT: "The run timed out",
    Outcome.ERROR: "The run ended in an error",
}
_ORDER: Final = (
    FindingKind.FAILING_EVENT,
    FindingKind.LOOP,
    FindingKind.REPEATED_ERROR,
    FindingKind.ZERO_RESULTS,
    FindingKind.NO_ANSWER,
    FindingKind.USER_OBJECTION,
    FindingKind.RECOVERED,
)
_BUDGET: Final = re.compile(
    r"(?i)\b(?:budget|quota|deadline|time limit|step limit|token limit|cost|elapsed|remaining)\b[^\n]{0,60}\d"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The calls of a trace and what stands out among them.

    `failed` has the calls and faults of all failures, `open` those of errors that no later call put right; `first` is
    the earliest failure, `mattered` the one that says most about the run.
    """

    trace: Trace
    tried: Sequence[Tried]
    failed: Sequence[tuple[Tried, Fault]]
    open: Sequence[tuple[Tried, Fault]]
    loops: Sequence[Loop]
    empties: Sequence[tuple[Tried, ...]]
    pairs: Sequence[Pair]
    first: tuple[Tried, Fault] | None
    mattered: tuple[Tried, Fault] | None

    @property
    def category(self) -> ErrorCategory | None:
        """The caller's word, else the error that mattered, a loop, an empty search; None where nothing was seen."""
        error, fault = self.trace.error, self.mattered[1] if self.mattered else None
        if error is not None and error.category is not None:
            return error.category
        if self.loops and (fault is None or fault.empty or fault.category is ErrorCategory.UNKNOWN):
            return ErrorCategory.LOOP
        if fault is not None:
            return fault.category
        if error is not None and error.message:
            return category_of(clip(error.message, 300), error.message)
        return ErrorCategory.TIMEOUT if self.trace.outcome is Outcome.TIMEOUT else None


def diagnose(trace: Trace) -> Diagnosis:
    """Read a trace by rule: what failed, what looped, what found nothing, what was put right, how it stopped."""
    reading = _read(trace)
    told = told_lessons(trace)
    corrections = tuple(lesson for lesson in corrections_from(reading.tried) if not is_told(lesson, told))
    findings = _findings(reading)
    strategy = _strategy(reading, corrections)
    again = {item.index for loop in reading.loops for item in loop.calls[loop.period :]}
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.kind))
    return Diagnosis(
        summary=_summary(reading, ordered),
        category=reading.category,
        first_failing_event=reading.first[0].failing_event if reading.first else None,
        findings=findings,
        corrections=corrections,
        importance=importance_of(trace.outcome, findings, corrections, run_error=trace.error is not None),
        confidence=confidence_of(
            findings,
            corrections,
            marked=reading.mattered is not None and reading.mattered[1].marked,
            category=reading.category,
        ),
        source_event_ids=unique(event_id for finding in findings for event_id in finding.event_ids),
        strategy=strategy,
        strengths=_strengths(reading, corrections),
        improvements=tuple(finding.text for finding in ordered if finding.kind is not FindingKind.RECOVERED)[:5],
        recommendation=corrections[0].correction if corrections else strategy,
        failures=_failures(reading),
        worked=_worked(reading),
        calls=sum(item.call.made for item in reading.tried),
        wasted=sum(item.call.made and (item.failed or item.index in again) for item in reading.tried),
        without_lesson=_without_lesson(reading, corrections),
        open_points=() if told else open_points(reading.tried, reading.pairs, corrections),
    )


def failures(trace: Trace) -> tuple[Failure, ...]:
    """The failing calls of a trace with their signatures, and the arguments that later worked."""
    return _failures(_read(trace))


def _read(trace: Trace) -> Reading:
    tried = tried_calls(trace)
    pairs = pairs_in(tried, succeeded=trace.outcome is Outcome.SUCCESS)
    righted = {pair.failed.index for pair in pairs}
    failed = [(item, item.fault) for item in tried if item.fault is not None]
    left = [one for one in failed if one[0].index not in righted]
    errors = [one for one in left if not one[1].empty]
    known = [one for one in errors if one[1].category is not ErrorCategory.UNKNOWN]
    first = next((one for one in failed if not one[1].empty), failed[0] if failed else None)
    only_empty = [] if first is not None and not first[1].empty else left
    return Reading(
        trace=trace,
        tried=tried,
        failed=failed,
        open=errors,
        loops=loops_in(tried),
        empties=empty_searches(tried),
        pairs=pairs,
        first=first,
        mattered=next(iter((*known, *errors, *only_empty)), first),
    )


def _findings(reading: Reading) -> tuple[Finding, ...]:
    """Failing events, what was put right, loops, empty searches, repeated errors, the end, the user's word."""
    told = {item.index for run in reading.empties for item in run} | {pair.failed.index for pair in reading.pairs}
    main = {item.index: (item, fault) for item, fault in filter(None, (reading.first, reading.mattered))}
    end = unfinished(reading.trace, reading.tried)
    return (
        *(_failing(item, fault) for index, (item, fault) in sorted(main.items()) if index not in told),
        *_recovered(reading)[:MAX_FINDINGS],
        *(loop_finding(loop) for loop in reading.loops[:MAX_FINDINGS]),
        *(zero_finding(run) for run in reading.empties[:MAX_FINDINGS]),
        *repeated_errors(reading.failed)[:MAX_FINDINGS],
        *([end] if end else ()),
        *objections(reading.trace)[:MAX_FINDINGS],
    )


def _failing(item: Tried, fault: Fault) -> Finding:
    """A failing call in a sentence: `bash "pytest" failed with an assertion error (e4): "1 failed"`."""
    short = fault.category.short.replace("_", " ")
    kind = f"an {short}" if short[0] in "aeiou" else f"a {short}"
    call = item.text if item.call.tool else "An event"
    text = f"{call} failed with {kind} error ({item.failing_event}): {quote(fault.headline, 200)}."
    if fault.empty:
        text = f"{item.text} found nothing ({item.failing_event})."
    return new_finding(FindingKind.FAILING_EVENT, item.call.event_ids, text, fault.category)


def _recovered(reading: Reading) -> list[Finding]:
    """The failures that were put right, once for each error and each call that put it right."""
    once: dict[tuple[int, str, str], Finding] = {}
    for pair in reading.pairs:
        failed, worked, fault = pair.failed, pair.worked, pair.failed.fault
        if fault is None:
            continue
        if fault.empty:
            text = f"{failed.text} found nothing ({failed.failing_event}); {worked.text} found something"
            text = f"{text} ({worked.failing_event})."
        else:
            how = "The same call worked later" if failed.exact == worked.exact else f"It worked later as {worked.text}"
            error = quote(fault.headline, 160)
            text = f"{failed.text} failed ({failed.failing_event}): {error}. {how} ({worked.failing_event})."
        ids = (failed.failing_event, worked.failing_event)
        recovered = new_finding(FindingKind.RECOVERED, ids, text, fault.category)
        once.setdefault((worked.index, failed.exact, failed.fingerprint), recovered)
    return list(once.values())


def _without_lesson(reading: Reading, corrections: Sequence[Correction]) -> tuple[Finding, ...]:
    """The failures without a lesson, put right or open: somebody who can write is asked about them."""
    learned = {name for lesson in corrections for name in (lesson.failed_event_id, *lesson.also)}
    recovered = [finding for finding in _recovered(reading) if finding.event_ids[0] not in learned]
    left = [_failing(item, fault) for item, fault in reading.open if item.failing_event not in learned]
    return (*recovered, *left)[:MAX_FINDINGS]


def _summary(reading: Reading, findings: Sequence[Finding]) -> str:
    """How the run ended, its cause, the attempts, what worked and what is open, in a few sentences."""
    trace = reading.trace
    parts = [f"{_ENDED[trace.outcome]} after {_count(len(trace.events), 'event')}."]
    if not trace.events:
        parts = [f"{_ENDED[trace.outcome]}; no events were given."]
    if trace.error and trace.error.message:
        parts.append(f"The caller reports: {quote(trace.error.message, 200)}.")
    parts += [finding.text for finding in findings[:SUMMARY_FINDINGS]]
    if not findings:
        worked = [item.call.tool for item in reading.tried if item.worked]
        parts += [f"{_count(len(worked), 'call')} worked ({', '.join(unique(worked)[:5])})."] if worked else []
        answer = next((event for event in reversed(trace.events) if event.type is EventType.LLM_CALL), None)
        if answer is not None and answer.content.strip():
            parts.append(f"The agent ended with {quote(answer.content, 160)} ({answer.id}).")
    parts += _feedback(trace, findings)
    notes = [event for event in trace.events if event.type is EventType.SYSTEM_EVENT and len(event.content) <= 500]
    budget = next((event for event in reversed(notes) if _BUDGET.search(event.content)), None)
    parts += [f"The environment noted ({budget.id}): {quote(budget.content, 160)}."] if budget else []
    ending = _ending(reading)
    righted = bool(findings) and all(finding.kind is FindingKind.RECOVERED for finding in findings)
    if ending is None and righted and trace.outcome is not Outcome.SUCCESS:
        ending = "Every failure was put right; what is still open is not in the events."
    return " ".join([*parts, ending] if ending else parts)


def _feedback(trace: Trace, findings: Sequence[Finding]) -> list[str]:
    """The last word of a person after the agent had begun, where no finding quotes it."""
    begun = next((at for at, event in enumerate(trace.events) if event.type is not EventType.USER_FEEDBACK), None)
    said = [event for event in trace.events[begun or 0 :] if event.type is EventType.USER_FEEDBACK]
    if begun is None:
        said = [event for event in said if event.content.strip() not in trace.task]
    quoted = {name for finding in findings if finding.kind is FindingKind.USER_OBJECTION for name in finding.event_ids}
    if not said or said[-1].id in quoted or not said[-1].content.strip():
        return []
    return [f"The user said ({said[-1].id}): {quote(said[-1].content, 160)}."]


def _ending(reading: Reading) -> str | None:
    """The longest wait of a timeout, what a part success left open, the last error; None where events do not tell."""
    failed, worked = reading.failed, sum(item.worked for item in reading.tried)
    left = [item for item in reading.tried if item.failed and all(item is not pair.failed for pair in reading.pairs)]
    match reading.trace.outcome:
        case Outcome.TIMEOUT:
            return _longest_wait(reading.trace.events)
        case Outcome.PARTIAL if left and worked:
            open_ = f"{len(left)} failed and no later call put that right, the last {left[-1].text}"
            return f"{_count(worked, 'call')} worked; {open_}."
        case Outcome.ERROR if len(failed) > 1:
            item, fault = failed[-1]
            return f"The last error before the end was {quote(fault.headline, 120)} ({item.failing_event})."
        case _:
            return None


def _longest_wait(events: Sequence[Event]) -> str | None:
    timed = [(at, event.id) for event in events if (at := _seconds(event.timestamp)) is not None]
    if len(timed) < 2:
        return None
    gap, before, after = max((later - at, one, two) for (at, one), (later, two) in pairwise(timed))
    whole = timed[-1][0] - timed[0][0]
    told = f"The longest wait was {gap:.0f} s of {whole:.0f} s, between {before} and {after}."
    return told if gap >= LEAST_GAP and whole > 0 else None


def _seconds(timestamp: str | float | None) -> float | None:
    """Seconds, from a number or an ISO 8601 text; None for anything else."""
    try:
        return datetime.fromisoformat(timestamp.strip()).timestamp() if isinstance(timestamp, str) else timestamp
    except (ValueError, OverflowError, OSError):
        return None


def _strategy(reading: Reading, corrections: Sequence[Correction]) -> str | None:
    """The advice for next time, from what worked and what was useless; None where neither was seen."""
    parts = [lesson.correction for lesson in corrections[:3]]
    righted = {pair.failed.index for pair in reading.pairs}
    loops = [loop.calls[0] for loop in reading.loops if loop.calls[0].index not in righted]
    parts += [f"Do not repeat {item.text}: it gives the same answer again." for item in loops[:2]]
    learned = {lesson.failed_event_id for lesson in corrections}
    for run in reading.empties:
        left = [item for item in run if item.failing_event not in learned]
        if left:
            queries = unique(quote(subject_only(item.call.arguments), 60) for item in left)[:3]
            proposed = _proposed(left, reading.tried)
            parts.append(f"Do not search again for {', '.join(queries)}: nothing was found.{proposed}")
            break
    return clip(" ".join(unique(parts)), STRATEGY_LIMIT) if parts else None


def _proposed(run: Sequence[Tried], tried: Sequence[Tried]) -> str:
    """What the searches themselves proposed and nobody sent, the closest to a query first."""
    sent = {str(subject_only(item.call.arguments)) for item in tried}
    queries = [str(subject_only(item.call.arguments)) for item in run]
    found = unique(item for empty in run for item in suggestions_in(empty.call.answer) if item not in sent)
    best = sorted(found, key=lambda item: not any(names_alike(item, query) for query in queries))[:3]
    return f" The search itself proposed {', '.join(quote(item, 60) for item in best)}." if best else ""


def _strengths(reading: Reading, corrections: Sequence[Correction]) -> tuple[str, ...]:
    """What a successful run called, and what was put right on the way."""
    strengths: list[str] = []
    worked = [item.call.tool for item in reading.tried if item.worked]
    if reading.trace.outcome is Outcome.SUCCESS and worked:
        rest = f"{len(reading.failed)} failed" if reading.failed else "none failed"
        strengths.append(f"{_count(len(worked), 'call')} worked ({', '.join(unique(worked)[:5])}); {rest}.")
    strengths += [
        f"Put right: {item.mistake} ({item.failed_event_id}, {item.worked_event_id})" for item in corrections[:3]
    ]
    if reading.pairs and not corrections:
        strengths.append(f"{_count(len(reading.pairs), 'failing call')} worked later.")
    return tuple(strengths)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _failures(reading: Reading) -> tuple[Failure, ...]:
    """The failing calls with their signatures; an error of no tool is left out, for no call would recall it."""
    worked = {
        pair.failed.index: pair.worked.call.arguments
        for pair in reading.pairs
        if pair.failed.exact != pair.worked.exact
    }
    return tuple(
        failure_of(item.call.tool, item.call.arguments, fault, item.failing_event, worked=worked.get(item.index))
        for item, fault in [one for one in reading.failed if one[0].call.tool][:MAX_FAILURES]
    )


def _worked(reading: Reading) -> tuple[WorkedCall, ...]:
    """The calls that worked when they were last made: none of them is known to fail any more."""
    last = {item.exact: item for item in reading.tried if item.call.made and item.call.answered}
    forms = [forms_of(item.call.tool, item.call.arguments) for item in [*last.values()][-MAX_WORKED:] if item.worked]
    return tuple(dict.fromkeys(WorkedCall(bare=form.bare_key, exact=form.exact_key) for form in forms))
