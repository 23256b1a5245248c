"""The facts of a run as sentences, each with the ids of its events."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.models.run import Observation
from mcp_reflect.sessions.call_words import subject_of
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.run_reading import RunReading
from mcp_reflect.sessions.session_calls import refusal_in
from mcp_reflect.sessions.text import (
    listed_ids,
    quote,
    quoted_start,
    sentence,
    times_in_words,
    unique,
)
from mcp_reflect.sessions.what_followed import (
    differing_values,
    model_call_after,
    search_that_found,
    worked_with_other_values,
)

MOST_FAILED: Final = 60  # failures that are told, one for each error of a tool
MOST_FACTS: Final = 12  # of another kind; a run with more repeats itself
MOST_ERROR: Final = 160  # characters of an error in a fact
MOST_QUERIES: Final = 4  # quoted in a sentence
MOST_QUERY: Final = 80  # characters of a query
MOST_TOOLS: Final = 3  # named in a sentence


def facts_of_run(reading: RunReading) -> tuple[Observation, ...]:
    """The facts of a run, in this order: what failed first, what else failed, loops, empty searches, unanswered calls."""
    first = [group for group in reading.problems if reading.first in group]
    others = [group for group in reading.problems if reading.first not in group]
    others.sort(key=lambda group: -len(group))  # the most frequent error first
    facts = [_failed(reading, group) for group in (*first, *others)[:MOST_FAILED]]
    facts += map(_loop, reading.loops[:MOST_FACTS])
    facts += [_without_result(reading, group) for group in reading.empties[:MOST_FACTS]]
    facts += map(_unanswered, reading.unanswered[:MOST_FACTS])
    return tuple(facts)


def _failed(reading: RunReading, group: Sequence[CallWithAnswer]) -> Observation:
    """Failures with one error: the call, how often, the error, and what worked later."""
    last = group[-1]
    ids = tuple(item.failing_event for item in group)
    often = f"({listed_ids(ids)})"
    if len(ids) > 1:
        often = f"{times_in_words(len(ids))} {often}"
    worked = reading.worked_later.get(last.index)
    call = _with_values(last, worked or worked_with_other_values(reading.tried, last))
    later = _later(reading, last, worked)
    return Observation(
        event_ids=(*ids, *later.event_ids),
        text=f"{_failure_text(last, call, often)} {later.text}",
    )


def _failure_text(failed: CallWithAnswer, call: str, often: str) -> str:
    """What failed, and with which error: "`npm test` failed (e4): "1 failed".". Or what the user refused, and why."""
    reason: str | None = None
    if failed.fault is not None:
        reason = refusal_in(failed.fault.text)
    if reason is None:
        line = quote(sentence(failed.headline, MOST_ERROR).rstrip("."), 2 * MOST_ERROR)
        return f"{call} failed {often}: {line}."
    if not reason:
        return f"The user refused {call} {often}."
    return f"The user refused {call} {often}: {sentence(reason, MOST_ERROR)}."


def _later(
    reading: RunReading, failed: CallWithAnswer, worked: CallWithAnswer | None
) -> Observation:
    """What worked after a failed call, with its event; the first row that fits decides.

    | later                                              | the sentence                        |
    |----------------------------------------------------|-------------------------------------|
    | the very same call worked                          | Later the same call worked (e6).    |
    | another call put it right, or one with other values | Later `npm ci` worked (e6).        |
    | a model answered, after a call of one failed       | Later "The answer is …" worked (e6). |
    | nothing of these                                   | It did not work later.              |
    """
    if worked is not None and failed.exact == worked.exact:
        return _worked_later("the same call", worked.failing_event)
    if worked is None:
        worked = worked_with_other_values(reading.tried, failed)
    if worked is not None:
        return _worked_later(_with_values(worked, failed), worked.failing_event)
    answered = model_call_after(reading.trace.events, failed.failing_event)
    if answered is not None:
        return _worked_later(quoted_start(answered.content), answered.id)
    return Observation(event_ids=(), text="It did not work later.")


def _worked_later(what: str, event_id: str) -> Observation:
    """The sentence that something worked later, with its event."""
    return Observation(event_ids=(event_id,), text=f"Later {what} worked ({event_id}).")


def _with_values(call: CallWithAnswer, other: CallWithAnswer | None) -> str:
    """A call in words, with the values by which it differs from another call that has the same words.

    `get_items with per_page 500`, where the other one has `per_page` 1000.
    """
    if other is None or call.text != other.text:
        return call.text
    values = differing_values(call, other)
    if not values:
        return call.text
    return f"{call.text} with {values}"


def _loop(calls: Sequence[CallWithAnswer]) -> Observation:
    """The fact that one call was made several times in a row."""
    ids = tuple(item.event_id for item in calls)
    often = times_in_words(len(ids))
    text = f"The same call was made {often} in a row with the same answer ({listed_ids(ids)}): {calls[0].text}."
    return Observation(event_ids=ids, text=text)


def _without_result(reading: RunReading, group: Sequence[CallWithAnswer]) -> Observation:
    """The searches in a sentence: Search found nothing three times in a row (e4, e6, e8): "X", "Y", "Z"."""
    ids = tuple(item.failing_event for item in group)
    tools = " and ".join(unique(item.tool for item in group)[:MOST_TOOLS]) or "Search"
    often = ""
    if len(group) > 1:
        often = f"{times_in_words(len(group))} in a row "
    queries = _queries(group)
    shown = ", ".join(queries[:MOST_QUERIES])
    if len(queries) > MOST_QUERIES:
        shown += f" and {len(queries) - MOST_QUERIES} more"
    then = search_that_found(reading.tried, group)
    return Observation(
        event_ids=ids, text=f"{tools} found nothing {often}({listed_ids(ids)}): {shown}.{then}"
    )


def _unanswered(call: CallWithAnswer) -> Observation:
    """The fact that a call never got an answer."""
    return Observation(
        event_ids=(call.event_id,), text=f"{call.text} was never answered ({call.event_id})."
    )


def _queries(group: Sequence[CallWithAnswer]) -> tuple[str, ...]:
    """The queries of searches, quoted; a long one without its end."""
    queries: list[str] = []
    for item in group:
        subject = subject_of(item.arguments)
        if not isinstance(subject, str):
            subject = quote(subject, 2 * MOST_QUERY)
        queries.append(quote(sentence(subject, MOST_QUERY), 2 * MOST_QUERY))
    return unique(queries)
