"""The findings of a reading, in the order in which the rules are asked."""

from mcp_reflect.models.run import Finding, FindingKind
from mcp_reflect.reflect.rules.corrections import Pair
from mcp_reflect.reflect.rules.ending import objections, unfinished
from mcp_reflect.reflect.rules.loops import loop_finding
from mcp_reflect.reflect.rules.reading import Reading
from mcp_reflect.reflect.rules.repeats import repeated_errors, repeated_finding, zero_finding
from mcp_reflect.reflect.rules.tried import Tried
from mcp_reflect.reflect.rules.wording import failing_text, recovered_text

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
