"""The diagnosis of a run: findings, corrections, scores, summary and strategy. All texts say only what events show."""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from mcp_reflect.analysis.calls import Call, calls_of
from mcp_reflect.analysis.error_categories import category_of
from mcp_reflect.analysis.known_failures import failure_of, forms_of
from mcp_reflect.analysis.loops import (
    empty_searches,
    loop_finding,
    loops_in,
    new_finding,
    objections,
    repeated_errors,
    unfinished,
    zero_finding,
)
from mcp_reflect.analysis.open_points import is_told, open_points, told_lessons
from mcp_reflect.analysis.related_calls import names_alike, pairs_in
from mcp_reflect.analysis.remedies import corrections_from
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
# The kinds of findings in the order of a summary. Importance: how much it would have helped to know this before.
# Confidence: how sure the reading is. Both are in 0..1 and chosen, not fitted.
_SCORES: Final = {
    FindingKind.FAILING_EVENT: (0.6, 0.7),
    FindingKind.LOOP: (0.6, 0.9),
    FindingKind.REPEATED_ERROR: (0.4, 0.7),
    FindingKind.ZERO_RESULTS: (0.4, 0.8),
    FindingKind.NO_ANSWER: (0.5, 0.8),
    FindingKind.USER_OBJECTION: (0.5, 0.5),
    FindingKind.RECOVERED: (0.4, 0.7),
}
_MARKED: Final = 0.9  # the confidence in an error that the trace, an exit code or a status marks
_RUN_ERROR: Final = (0.5, 0.5)  # importance of, and confidence in, the caller's own report of an error
_BUDGET: Final = re.compile(
    r"(?i)\b(?:budget|quota|deadline|time limit|step limit|token limit|cost|elapsed|remaining)\b[^\n]{0,60}\d"
)


class _Reading:
    """The calls of a trace and what stands out among them.

    `righted` has the later call that put a failed one right, by the index of the failed one; `left` the failures that
    no later call put right, `open` the errors among them; `first` is the earliest failure, `mattered` the one that says
    most about the run.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.tried = calls_of(trace)
        self.righted = pairs_in(self.tried, succeeded=trace.outcome is Outcome.SUCCESS)
        self.failed = [item for item in self.tried if item.failed]
        self.left = [item for item in self.failed if item.index not in self.righted]
        self.open = [item for item in self.left if not item.empty]
        self.loops = loops_in(self.tried)
        self.empties = empty_searches(self.tried)
        known = [item for item in self.open if item.category is not ErrorCategory.UNKNOWN]
        self.first = next((item for item in self.failed if not item.empty), next(iter(self.failed), None))
        self.mattered = next(iter((*known, *self.open, *self.left)), self.first)
        self.category = self._category()

    def _category(self) -> ErrorCategory | None:
        """The caller's word, else the error that mattered, a loop, an empty search; None where nothing was seen."""
        error, category = self.trace.error, self.mattered.category if self.mattered else None
        if error is not None and error.category is not None:
            return error.category
        if self.loops and category in (None, ErrorCategory.UNKNOWN, ErrorCategory.NO_RESULT):
            return ErrorCategory.LOOP
        if category is None and error is not None and error.message:
            return category_of(clip(error.message, 300), error.message)
        return ErrorCategory.TIMEOUT if category is None and self.trace.outcome is Outcome.TIMEOUT else category


def diagnose(trace: Trace) -> Diagnosis:
    """Read a trace by rule: what failed, what looped, what found nothing, what was put right, how it stopped."""
    reading = _Reading(trace)
    told = told_lessons(trace)
    corrections = tuple(lesson for lesson in corrections_from(reading.tried) if not is_told(lesson, told))
    findings = _findings(reading)
    again = {item.index for loop in reading.loops for item in loop.calls[loop.period :]}
    kinds = [*_SCORES]
    ordered = sorted(findings, key=lambda finding: kinds.index(finding.kind))
    importance, confidence = _scores(reading, findings, corrections)
    return Diagnosis(
        summary=_summary(reading, ordered),
        category=reading.category,
        first_failing_event=reading.first.failing_event if reading.first else None,
        findings=findings,
        corrections=corrections,
        importance=importance,
        confidence=confidence,
        source_event_ids=unique(event_id for finding in findings for event_id in finding.event_ids),
        strategy=_strategy(reading, corrections),
        failures=_failures(reading),
        worked=_worked(reading),
        calls=sum(item.made for item in reading.tried),
        wasted=sum(item.made and (item.failed or item.index in again) for item in reading.tried),
        without_lesson=_without_lesson(reading, corrections),
        open_points=() if told else open_points(reading.tried, reading.righted, corrections),
    )


def _findings(reading: _Reading) -> tuple[Finding, ...]:
    """Failing events, what was put right, loops, empty searches, repeated errors, the end, the user's word."""
    told = {item.index for run in reading.empties for item in run} | reading.righted.keys()
    main = {item.index: item for item in (reading.first, reading.mattered) if item is not None}
    end = unfinished(reading.trace, reading.tried)
    return (
        *(_failing(item) for index, item in sorted(main.items()) if index not in told),
        *_recovered(reading)[:MAX_FINDINGS],
        *(loop_finding(loop) for loop in reading.loops[:MAX_FINDINGS]),
        *(zero_finding(run) for run in reading.empties[:MAX_FINDINGS]),
        *repeated_errors(reading.failed)[:MAX_FINDINGS],
        *([end] if end else ()),
        *objections(reading.trace)[:MAX_FINDINGS],
    )


def _scores(
    reading: _Reading, findings: Sequence[Finding], corrections: Sequence[Correction]
) -> tuple[float | None, float | None]:
    """The largest importance and confidence of what was seen; a run that failed adds .1 to the importance."""
    seen = [_SCORES[finding.kind] for finding in findings] + ([_RUN_ERROR] if reading.trace.error else [])
    if not seen:
        return None, None if reading.category is None else _RUN_ERROR[1]
    seen += [(lesson.importance, lesson.confidence) for lesson in corrections]
    marked = reading.mattered is not None and reading.mattered.fault is not None and reading.mattered.fault.marked
    failed = reading.trace.outcome in (Outcome.FAILURE, Outcome.ERROR, Outcome.TIMEOUT)
    importance = max(importance for importance, _ in seen) + (0.1 if failed else 0.0)
    return round(min(0.9, importance), 2), max(_MARKED if marked else 0.0, *(confidence for _, confidence in seen))


def _failing(item: Call) -> Finding:
    """A failing call in a sentence: `bash "pytest" failed with an assertion error (e4): "1 failed"`."""
    kind, text = FindingKind.ZERO_RESULTS, f"{item.text} found nothing ({item.failing_event})."
    if item.category is not None and not item.empty:
        short = item.category.short.replace("_", " ")
        short = f"an {short}" if short[0] in "aeiou" else f"a {short}"
        call = item.text if item.tool else "An event"
        text = f"{call} failed with {short} error ({item.failing_event}): {quote(item.headline, 200)}."
        kind = FindingKind.FAILING_EVENT
    return new_finding(kind, item.event_ids, text, item.category)


def _recovered(reading: _Reading) -> list[Finding]:
    """The failures that were put right, once for each error and each call that put it right."""
    once: dict[tuple[int, str, str], Finding] = {}
    for index, worked in reading.righted.items():
        failed = reading.tried[index]
        if failed.empty:
            text = f"{failed.text} found nothing ({failed.failing_event}); {worked.text} found something"
        else:
            how = "The same call worked later" if failed.exact == worked.exact else f"It worked later as {worked.text}"
            text = f"{failed.text} failed ({failed.failing_event}): {quote(failed.headline, 160)}. {how}"
        ids, text = (failed.failing_event, worked.failing_event), f"{text} ({worked.failing_event})."
        recovered = new_finding(FindingKind.RECOVERED, ids, text, failed.category)
        once.setdefault((worked.index, failed.exact, failed.fingerprint), recovered)
    return list(once.values())


def _without_lesson(reading: _Reading, corrections: Sequence[Correction]) -> tuple[Finding, ...]:
    """The failures without a lesson, put right or open: somebody who can write is asked about them."""
    learned = {name for lesson in corrections for name in (lesson.failed_event_id, *lesson.also)}
    recovered = [finding for finding in _recovered(reading) if finding.event_ids[0] not in learned]
    left = [_failing(item) for item in reading.open if item.failing_event not in learned]
    return (*recovered, *left)[:MAX_FINDINGS]


def _summary(reading: _Reading, findings: Sequence[Finding]) -> str:
    """How the run ended, its cause, the attempts, what worked and what is open, in a few sentences."""
    trace = reading.trace
    parts = [f"{_ENDED[trace.outcome]} after {_count(len(trace.events), 'event')}."]
    if not trace.events:
        parts = [f"{_ENDED[trace.outcome]}; no events were given."]
    if trace.error and trace.error.message:
        parts.append(f"The caller reports: {quote(trace.error.message, 200)}.")
    parts += [finding.text for finding in findings[:SUMMARY_FINDINGS]]
    if not findings:
        worked = [item.tool for item in reading.tried if item.worked]
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


def _ending(reading: _Reading) -> str | None:
    """The longest wait of a timeout, what a part success left open, the last error; None where events do not tell."""
    worked = sum(item.worked for item in reading.tried)
    left = reading.left
    match reading.trace.outcome:
        case Outcome.TIMEOUT:
            return _longest_wait(reading.trace.events)
        case Outcome.PARTIAL if left and worked:
            open_ = f"{len(left)} failed and no later call put that right, the last {left[-1].text}"
            return f"{_count(worked, 'call')} worked; {open_}."
        case Outcome.ERROR if len(reading.failed) > 1:
            last = reading.failed[-1]
            return f"The last error before the end was {quote(last.headline, 120)} ({last.failing_event})."
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


def _strategy(reading: _Reading, corrections: Sequence[Correction]) -> str | None:
    """The advice for next time, from what worked and what was useless; None where neither was seen."""
    parts = [lesson.correction for lesson in corrections[:3]]
    loops = [loop.calls[0] for loop in reading.loops if loop.calls[0].index not in reading.righted]
    parts += [f"Do not repeat {item.text}: it gives the same answer again." for item in loops[:2]]
    for run in reading.empties[:1]:
        queries = unique(quote(subject_only(item.arguments), 60) for item in run)[:3]
        parts.append(f"Do not search again for {', '.join(queries)}: nothing was found.")
        sent = {str(subject_only(item.arguments)) for item in reading.tried}
        proposed = unique(text for item in run for text in suggestions_in(item.answer) if text not in sent)
        near = sorted(proposed, key=lambda text: not any(names_alike(text, query.strip('"')) for query in queries))[:3]
        parts += [f"The search itself proposed {', '.join(quote(text, 60) for text in near)}."] if near else []
    return clip(" ".join(unique(parts)), STRATEGY_LIMIT) if parts else None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _failures(reading: _Reading) -> tuple[Failure, ...]:
    """The failing calls with their signatures; an error of no tool is left out, for no call would recall it."""
    failures: list[Failure] = []
    for item in [item for item in reading.failed if item.tool][:MAX_FAILURES]:
        worked = reading.righted.get(item.index)
        other = worked.arguments if worked and worked.exact != item.exact else None
        if item.fault is not None:
            failures.append(failure_of(item.tool, item.arguments, item.fault, item.failing_event, worked=other))
    return tuple(failures)


def _worked(reading: _Reading) -> tuple[WorkedCall, ...]:
    """The calls that worked when they were last made: none of them is known to fail any more."""
    last = {item.exact: item for item in reading.tried if item.made and item.answered}
    forms = [forms_of(item.tool, item.arguments) for item in [*last.values()][-MAX_WORKED:] if item.worked]
    return tuple(dict.fromkeys(WorkedCall(bare=form.bare_key, exact=form.exact_key) for form in forms))
