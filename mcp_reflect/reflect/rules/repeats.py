"""Searches that find nothing one after another, and errors that come back unchanged."""

from collections.abc import Sequence

from mcp_reflect.models.run import ErrorCategory, Finding, FindingKind
from mcp_reflect.reflect.rules.tried import Tried
from mcp_reflect.reflect.rules.words import names, quote, subject_only, times, unique

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
