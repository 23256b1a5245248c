"""What the rules say of a run, put together."""

from collections.abc import Sequence

from mcp_reflect.records.diagnosis import Diagnosis, Finding, FindingKind
from mcp_reflect.records.failure import Failure
from mcp_reflect.records.trace import ErrorCategory, Outcome, Trace
from mcp_reflect.reflect.rules.categories import category_of
from mcp_reflect.reflect.rules.corrections import Pair, pairs_in
from mcp_reflect.reflect.rules.ending import objections, unfinished
from mcp_reflect.reflect.rules.lessons import corrections_from
from mcp_reflect.reflect.rules.loops import Loop, loop_finding, loops_in
from mcp_reflect.reflect.rules.repeats import repeated_errors, repeated_finding, zero_finding, zero_runs
from mcp_reflect.reflect.rules.scores import confidence_of, importance_of
from mcp_reflect.reflect.rules.tried import Tried, tried_calls
from mcp_reflect.reflect.rules.wording import (
    failing_text,
    improvements_of,
    recovered_text,
    strategy_of,
    strengths_of,
    summary_of,
)
from mcp_reflect.reflect.rules.words import clip, unique

MAX_FINDINGS = 12  # of one kind; a run with more repeats itself
MAX_FAILURES = 100  # failing calls that are kept with their signatures
ERROR_LIMIT = 500  # characters of the error in a failure


def diagnose(trace: Trace) -> Diagnosis:
    """Read a trace by rule: what failed, what looped, what found nothing, what was put right, how it stopped."""
    tried = tried_calls(trace)
    loops = loops_in(tried)
    empties = zero_runs(tried)
    pairs = pairs_in(tried, succeeded=trace.outcome is Outcome.SUCCESS)
    corrections = corrections_from(pairs)
    mattered = _mattered(tried, pairs)
    category = _category(trace, mattered, loops)
    findings = _findings(trace, tried, loops, empties, pairs, mattered)
    marked = mattered is not None and mattered.fault is not None and mattered.fault.marked
    first = _first_failing(tried)
    strategy = strategy_of(corrections, loops, empties)
    return Diagnosis(
        summary=summary_of(trace, findings),
        category=category,
        first_failing_event=first.failing_event if first else None,
        findings=findings,
        corrections=corrections,
        importance=importance_of(trace.outcome, findings, corrections, run_error=trace.error is not None),
        confidence=confidence_of(findings, corrections, marked=marked, category=category),
        source_event_ids=_sources(findings),
        strategy=strategy,
        strengths=strengths_of(trace, tried, corrections, len(pairs)),
        improvements=improvements_of(findings),
        recommendation=corrections[0].correction if corrections else strategy,
        failures=failures_of(tried, pairs),
    )


def failures(trace: Trace) -> tuple[Failure, ...]:
    """The failing calls of a trace with their signatures, and the arguments that later worked."""
    tried = tried_calls(trace)
    return failures_of(tried, pairs_in(tried, succeeded=trace.outcome is Outcome.SUCCESS))


def failures_of(tried: Sequence[Tried], pairs: Sequence[Pair]) -> tuple[Failure, ...]:
    """The failing calls, each with its signature. Errors that belong to no call have no signature to come back to."""
    worked = {
        pair.failed.index: pair.worked.call.arguments
        for pair in pairs
        if pair.changes and pair.changes[0].path != "(tool)"
    }
    return tuple(
        Failure(
            event_id=item.failing_event,
            tool=item.call.tool,
            arguments=item.call.arguments,
            call=item.line,
            fingerprint=item.error_fingerprint,
            signature=item.signature,
            category=item.fault.category,
            error=clip(item.fault.text, ERROR_LIMIT),
            worked=worked.get(item.index),
        )
        for item in tried
        if item.fault is not None and item.call.tool
    )[:MAX_FAILURES]


def _first_failing(tried: Sequence[Tried]) -> Tried | None:
    """The earliest error; where there is none, the earliest search that found nothing."""
    failed = [item for item in tried if item.fault is not None]
    return next(
        (item for item in failed if item.fault is not None and not item.fault.empty), failed[0] if failed else None
    )


def _mattered(tried: Sequence[Tried], pairs: Sequence[Pair]) -> Tried | None:
    """The failure that says most about the run: the first error that was not put right, else the first failure."""
    righted = {pair.failed.index for pair in pairs}
    open_ones = [item for item in tried if item.fault is not None and item.index not in righted]
    errors = [item for item in open_ones if item.fault is not None and not item.fault.empty]
    known = [item for item in errors if item.fault is not None and item.fault.category is not ErrorCategory.UNKNOWN]
    first = _first_failing(tried)
    if first is not None and first.fault is not None and not first.fault.empty and not errors:
        return first
    return next(iter((*known, *errors, *open_ones)), first)


def _category(trace: Trace, mattered: Tried | None, loops: Sequence[Loop]) -> ErrorCategory | None:
    """The caller's word first, then the error that mattered, a loop, an empty search; null where nothing was seen."""
    if trace.error is not None and trace.error.category is not None:
        return trace.error.category
    fault = mattered.fault if mattered else None
    if fault is not None and not fault.empty and fault.category is not ErrorCategory.UNKNOWN:
        return fault.category
    if loops:
        return ErrorCategory.LOOP
    if fault is not None:
        return fault.category
    if trace.error is not None and trace.error.message:
        return category_of(clip(trace.error.message, 300), trace.error.message)
    return ErrorCategory.TIMEOUT if trace.outcome is Outcome.TIMEOUT else None


def _findings(
    trace: Trace,
    tried: Sequence[Tried],
    loops: Sequence[Loop],
    empties: Sequence[tuple[Tried, ...]],
    pairs: Sequence[Pair],
    mattered: Tried | None,
) -> tuple[Finding, ...]:
    in_runs = {item.index for run in empties for item in run}
    found: list[Finding] = []
    first = _first_failing(tried)
    shown = {item.index: item for item in (first, mattered) if item is not None and item.index not in in_runs}
    righted = {pair.failed.index: pair for pair in pairs}
    found += [_failing(item) for index, item in sorted(shown.items()) if index not in righted]
    found += [_recovered(pair) for pair in pairs[:MAX_FINDINGS]]
    found += [loop_finding(loop) for loop in loops[:MAX_FINDINGS]]
    found += [zero_finding(run) for run in empties[:MAX_FINDINGS]]
    found += [repeated_finding(group) for group in repeated_errors(tried)[:MAX_FINDINGS]]
    stopped = unfinished(trace, tried)
    found += [stopped] if stopped else []
    return tuple(found + objections(trace)[:MAX_FINDINGS])


def _failing(item: Tried) -> Finding:
    category = item.fault.category if item.fault else None
    return Finding(
        kind=FindingKind.FAILING_EVENT, event_ids=item.call.event_ids, text=failing_text(item), category=category
    )


def _recovered(pair: Pair) -> Finding:
    category = pair.failed.fault.category if pair.failed.fault else None
    ids = (pair.failed.failing_event, pair.worked.failing_event)
    return Finding(
        kind=FindingKind.RECOVERED, event_ids=ids, text=recovered_text(pair.failed, pair.worked), category=category
    )


def _sources(findings: Sequence[Finding]) -> tuple[str, ...]:
    return unique(event_id for finding in findings for event_id in finding.event_ids)
