"""What the rules say of a run, put together."""

from mcp_reflect.models.run import Diagnosis, Failure, Trace, WorkedCall
from mcp_reflect.reflect.failing import failure_of
from mcp_reflect.reflect.forms import forms_of
from mcp_reflect.reflect.rules.findings import findings_of
from mcp_reflect.reflect.rules.lessons import corrections_from
from mcp_reflect.reflect.rules.outcomes import said_of_outcome
from mcp_reflect.reflect.rules.reading import Reading, read
from mcp_reflect.reflect.rules.scores import confidence_of, importance_of
from mcp_reflect.reflect.rules.wording import improvements_of, strategy_of, strengths_of, summary_of
from mcp_reflect.reflect.rules.words import unique

MAX_FAILURES = 1_000  # failing calls that are kept with their signatures
MAX_WORKED = 500  # working calls, the last ones, that can clear a failure which is known


def diagnose(trace: Trace) -> Diagnosis:
    """Read a trace by rule: what failed, what looped, what found nothing, what was put right, how it stopped."""
    reading = read(trace)
    corrections = corrections_from(reading.pairs)
    findings = findings_of(reading)
    strategy = strategy_of(reading, corrections)
    fault = reading.mattered.fault if reading.mattered else None
    return Diagnosis(
        summary=" ".join(part for part in (summary_of(trace, findings), said_of_outcome(reading)) if part),
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
    )


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
