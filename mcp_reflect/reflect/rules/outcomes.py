"""What each way of ending asks of a trace: where the time went, what was left undone, what the run ended on."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from mcp_reflect.models.run import Event, Outcome
from mcp_reflect.reflect.rules.reading import Reading
from mcp_reflect.reflect.rules.words import quote

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
