"""What the rules say of a run, put together."""

from mcp_reflect.records.diagnosis import Diagnosis
from mcp_reflect.records.failure import Failure
from mcp_reflect.records.trace import Trace
from mcp_reflect.reflect.rules.findings import findings_of
from mcp_reflect.reflect.rules.lessons import corrections_from
from mcp_reflect.reflect.rules.reading import Reading, read
from mcp_reflect.reflect.rules.scores import confidence_of, importance_of
from mcp_reflect.reflect.rules.wording import improvements_of, strategy_of, strengths_of, summary_of
from mcp_reflect.reflect.rules.words import clip, unique
from mcp_reflect.reflect.signature import normalised_call, signature

MAX_FAILURES = 100  # failing calls that are kept with their signatures
ERROR_LIMIT = 500  # characters of the error in a failure


def diagnose(trace: Trace) -> Diagnosis:
    """Read a trace by rule: what failed, what looped, what found nothing, what was put right, how it stopped."""
    reading = read(trace)
    corrections = corrections_from(reading.pairs)
    findings = findings_of(reading)
    strategy = strategy_of(reading, corrections)
    fault = reading.mattered.fault if reading.mattered else None
    return Diagnosis(
        summary=summary_of(trace, findings),
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
    )


def failures(trace: Trace) -> tuple[Failure, ...]:
    """The failing calls of a trace with their signatures, and the arguments that later worked."""
    return _failures(read(trace))


def _failures(reading: Reading) -> tuple[Failure, ...]:
    """An error that belongs to no tool is left out: there is no call before which it could be remembered."""
    worked = {
        pair.failed.index: pair.worked.call.arguments
        for pair in reading.pairs
        if pair.changes and pair.changes[0].path != "(tool)"
    }
    found: list[Failure] = []
    for item in reading.tried:
        if item.fault is None or not item.call.tool or len(found) >= MAX_FAILURES:
            continue
        line = normalised_call(item.call.tool, item.call.arguments)
        found.append(
            Failure(
                event_id=item.failing_event,
                tool=item.call.tool,
                arguments=item.call.arguments,
                call=line,
                fingerprint=item.fingerprint,
                signature=signature(item.call.tool, line, item.fingerprint),
                category=item.fault.category,
                error=clip(item.fault.text, ERROR_LIMIT),
                worked=worked.get(item.index),
            )
        )
    return tuple(found)
