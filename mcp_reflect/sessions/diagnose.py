"""The facts of a run: what failed first, what else, loops, what worked later, and what was never answered.

Facts are told as they were seen, with the ids of their events. What they mean is the agent's or a model's to say.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import (
    Diagnosis,
    ErrorCategory,
    Event,
    EventType,
    Failure,
    Observation,
    Outcome,
    Trace,
    WorkedCall,
)
from mcp_reflect.sessions.calls import CallWithAnswer, calls_of
from mcp_reflect.sessions.error_categories import category_of
from mcp_reflect.sessions.known_failures import failure_of, forms_of
from mcp_reflect.sessions.noticing import findings_in
from mcp_reflect.sessions.session_calls import refusal_in
from mcp_reflect.sessions.text import clip, fitting, names, quote, sentence, times, unique
from mcp_reflect.sessions.tools import file_of, finishes, is_shell, subject_of
from mcp_reflect.sessions.what_followed import (
    HORIZON,
    differing_values,
    model_call_after,
    search_that_found,
    worked_with_other_values,
)
from mcp_reflect.text.signature import steady

MOST_FAILED: Final = 60  # failures that are told, one for each error of a tool
MOST_CATEGORIES: Final = 30  # errors without a cure whose category is looked for
MOST_FACTS: Final = 12  # of another kind; a run with more repeats itself
MOST_FAILURES: Final = 1_000  # failing calls that are kept with their signatures
MOST_WORKED: Final = 500  # working calls, the last ones, that can clear a failure that is known
SUMMARY_LIMIT: Final = (
    900  # characters; an answer to an agent, which has the run before it, stays within 2.5 kB
)
MOST_ERROR: Final = 160  # characters of an error in a fact
MOST_QUERIES: Final = 4  # quoted in a sentence
MOST_QUERY: Final = 80  # characters of a query
MOST_EVENTS: Final = 3  # messages of one kind that are quoted, the last ones
KEY_TEXT: Final = 20_000  # characters of an answer that are compared

# Answers that carry nothing: keys, clicks and writes are rightly made again and again.
_BARE: Final = frozenset(
    {"", "ok", "okay", "done", "true", "success", "none", "null", "{}", "[]", "succeeded"}
)


class _Reading:
    """The calls of a trace and what stands out among them.

    `worked_later` has the call that worked for a failed one, by the index of the failed one; `problems` are the
    failures of one tool with one error, `first` the earliest of all.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.tried = calls_of(trace)
        self.worked_later = _worked_later(self.tried)
        self.failed = [item for item in self.tried if item.failed]
        self.problems = _problems(self.failed)
        self.loops = _loops(self.tried)
        self.empties = _empty_searches(self.tried, beside_errors=bool(self.problems))
        self.unanswered = [item for item in self.tried if item.made and not item.answered]
        errors = [item for item in self.failed if not item.empty]
        self.first = next(iter((*errors, *self.failed)), None)


def diagnose(trace: Trace) -> Diagnosis:
    """Read the facts off a trace."""
    reading = _Reading(trace)
    facts = _facts(reading)
    again = {item.index for loop in reading.loops for item in loop[1:]}
    return Diagnosis(
        summary=_summary(reading, facts),
        category=_category(reading),
        first_failing_event=reading.first.failing_event if reading.first else None,
        facts=facts,
        source_event_ids=unique(event_id for fact in facts for event_id in fact.event_ids),
        failures=_failures(reading),
        worked=_worked(reading),
        calls=sum(item.made for item in reading.tried),
        wasted=sum(item.made and (item.failed or item.index in again) for item in reading.tried),
    )


def _worked_later(tried: Sequence[CallWithAnswer]) -> dict[int, CallWithAnswer]:
    """By the index of a failed call the one that then worked: of the same act, else the same call made again."""
    later: dict[int, CallWithAnswer] = {}
    for finding in findings_in(tried):
        if finding.failed and finding.worked:
            later[finding.failed.number - 1] = tried[finding.worked.number - 1]
    for item in tried:
        if item.failed and item.index not in later:
            again = _same_call_that_worked(tried, item)
            if again is not None:
                later[item.index] = again
    return later


def _same_call_that_worked(
    tried: Sequence[CallWithAnswer], failed: CallWithAnswer
) -> CallWithAnswer | None:
    """The same call where it worked soon after, None where it did not."""
    following = tried[failed.index + 1 : failed.index + 1 + HORIZON]
    return next((call for call in following if call.worked and call.exact == failed.exact), None)


def _problems(failed: Sequence[CallWithAnswer]) -> list[list[CallWithAnswer]]:
    """The failures by tool and error, in the order in which they came first."""
    problems: dict[tuple[str, str], list[CallWithAnswer]] = {}
    for item in failed:
        if not item.empty:
            problems.setdefault((item.tool.lower(), item.fingerprint), []).append(item)
    return list(problems.values())


def _loops(tried: Sequence[CallWithAnswer]) -> list[list[CallWithAnswer]]:
    """The same call in a row with the same answer; answers are compared beside an equal call alone."""
    equal = [(one, other) for one, other in pairwise(tried) if one.exact == other.exact]
    beside_equal = {item.index for pair in equal for item in pair}
    groups = (
        group
        for _, group in _stretches(
            tried, lambda item: _loop_key(item) if item.index in beside_equal else None
        )
    )
    return [group for group in groups if len(group) > 1 and _tells_something(group[0])]


def _empty_searches(
    tried: Sequence[CallWithAnswer], *, beside_errors: bool
) -> list[list[CallWithAnswer]]:
    """Searches in a row without a result; beside errors, a single one says nothing."""
    searches = [item for item in tried if item.made and (item.empty or not item.failed)]
    groups = [group for _, group in _stretches(searches, lambda item: item.empty or None)]
    if not beside_errors:
        return groups
    return [group for group in groups if len(group) > 1]


def _category(reading: _Reading) -> ErrorCategory | None:
    """The caller's word, else the category of the first error that nothing put right, a loop, or an empty search."""
    error = reading.trace.error
    if error is not None and error.category is not None:
        return error.category
    category = _named_by_event(reading) or _category_of_failures(reading)
    if reading.loops and category in (None, ErrorCategory.UNKNOWN, ErrorCategory.NO_RESULT):
        return ErrorCategory.LOOP
    if category is None and error is not None and error.message:
        return category_of(clip(error.message, 300), error.message)
    if category is None and reading.trace.outcome is Outcome.TIMEOUT:
        return ErrorCategory.TIMEOUT
    return category


def _named_by_event(reading: _Reading) -> ErrorCategory | None:
    """The category that the first failing event names itself, in its error object."""
    if reading.first is None:
        return None
    word = reading.first.facts.get("error_category")
    if word not in {*ErrorCategory} or word == ErrorCategory.UNKNOWN:
        return None
    return ErrorCategory(word)


def _category_of_failures(reading: _Reading) -> ErrorCategory | None:
    """The category of the first error that nothing put right, one that is known before one that is not."""
    left = [item for item in reading.failed if item.index not in reading.worked_later]
    errors = [item for item in left if not item.empty]
    searched = errors[:MOST_CATEGORIES]
    known = (item for item in searched if item.category is not ErrorCategory.UNKNOWN)
    telling = next(known, next(iter((*errors, *left)), reading.first))
    return telling.category if telling else None


# The facts, each a sentence with its events.


def _facts(reading: _Reading) -> tuple[Observation, ...]:
    """What failed first, what else failed, loops, searches without a result, and calls without an answer."""
    first = [group for group in reading.problems if reading.first in group]
    others = [group for group in reading.problems if reading.first not in group]
    others.sort(key=lambda group: -len(group))
    return (
        *(_failed(reading, group) for group in (*first, *others)[:MOST_FAILED]),
        *map(_loop, reading.loops[:MOST_FACTS]),
        *(_without_result(reading, group) for group in reading.empties[:MOST_FACTS]),
        *map(_unanswered, reading.unanswered[:MOST_FACTS]),
    )


def _failed(reading: _Reading, group: Sequence[CallWithAnswer]) -> Observation:
    """Failures with one error: the call, how often, the error, and what worked later."""
    last = group[-1]
    ids = tuple(item.failing_event for item in group)
    often = f"({names(ids)})"
    if len(ids) > 1:
        often = f"{times(len(ids))} {often}"
    worked = reading.worked_later.get(last.index)
    call = _with_values(last, worked or worked_with_other_values(reading.tried, last))
    later, seen_in = _later(reading, last, worked)
    return Observation(
        event_ids=(*ids, *seen_in), text=f"{_failure_text(last, call, often)} {later}"
    )


def _failure_text(failed: CallWithAnswer, call: str, often: str) -> str:
    """What failed and with which error, or what the user refused and why."""
    reason = refusal_in(failed.fault.text if failed.fault else "")
    if reason is None:
        line = quote(sentence(failed.headline, MOST_ERROR).rstrip("."), 2 * MOST_ERROR)
        return f"{call} failed {often}: {line}."
    why = f": {sentence(reason, MOST_ERROR)}" if reason else ""
    return f"The user refused {call} {often}{why}."


def _later(
    reading: _Reading, failed: CallWithAnswer, worked: CallWithAnswer | None
) -> tuple[str, tuple[str, ...]]:
    """What worked after a failed call, in a sentence, and its event."""
    if worked is not None:
        what = "the same call" if failed.exact == worked.exact else _with_values(worked, failed)
        return f"Later {what} worked ({worked.failing_event}).", (worked.failing_event,)
    other = worked_with_other_values(reading.tried, failed)
    if other is not None:
        what = _with_values(other, failed)
        return f"Later {what} worked ({other.failing_event}).", (other.failing_event,)
    answered = model_call_after(reading.trace.events, failed.failing_event)
    if answered is not None:
        return f"Later {_quoted(answered.content)} worked ({answered.id}).", (answered.id,)
    return "It did not work later.", ()


def _with_values(call: CallWithAnswer, other: CallWithAnswer | None) -> str:
    """A call in words; with the values by which it differs from another one, where the words do not tell the two apart."""
    if other is None or call.text != other.text:
        return call.text
    values = differing_values(call, other)
    return f"{call.text} with {values}" if values else call.text


def _loop(calls: Sequence[CallWithAnswer]) -> Observation:
    """The fact that one call was made several times in a row."""
    ids = tuple(item.event_id for item in calls)
    often = times(len(ids))
    text = f"The same call was made {often} in a row with the same answer ({names(ids)}): {calls[0].text}."
    return Observation(event_ids=ids, text=text)


def _without_result(reading: _Reading, group: Sequence[CallWithAnswer]) -> Observation:
    """The searches in a sentence: Search found nothing three times in a row (e4, e6, e8): "X", "Y", "Z"."""
    ids = tuple(item.failing_event for item in group)
    queries = _queries(group)
    rest = len(queries) - MOST_QUERIES
    more = f" and {rest} more" if rest > 0 else ""
    tools = " and ".join(unique(item.tool for item in group)[:3]) or "Search"
    often = f"{times(len(group))} in a row " if len(group) > 1 else ""
    shown = ", ".join(queries[:MOST_QUERIES])
    return Observation(
        event_ids=ids,
        text=f"{tools} found nothing {often}({names(ids)}): {shown}{more}.{search_that_found(reading.tried, group)}",
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


# The facts as one text.


def _summary(reading: _Reading, facts: Sequence[Observation]) -> str:
    """The outcome and the counts, what the caller, people and the system said, the facts, and the last answer."""
    said = _said(reading.trace)
    parts = [_counts(reading), *said, *(fact.text for fact in facts)]
    if not facts:
        parts += [*_done_without_arguments(reading.trace), *_last_answer(reading.trace)]
    return fitting(unique(parts), SUMMARY_LIMIT)


def _counts(reading: _Reading) -> str:
    """The outcome, and how many events and calls there were."""
    worked = sum(item.worked for item in reading.tried)
    counts = [_count(len(reading.trace.events), "event"), f"{_count(worked, 'call')} worked"]
    if reading.failed:
        counts.append(f"{_count(len(reading.failed), 'call')} failed")
    return f"Outcome: {reading.trace.outcome.value}. {', '.join(counts)}."


def _said(trace: Trace) -> list[str]:
    """What the caller reports, what people said during the run, and, where it did not succeed, what the system said."""
    parts: list[str] = []
    if trace.error and trace.error.message:
        parts.append(f"The caller reports: {_quoted(trace.error.message)}.")
    feedback = [
        event
        for event in _telling_events(trace, EventType.USER_FEEDBACK)
        if event.content.strip() != trace.task
    ]
    parts += _said_by("The user", feedback)
    if trace.outcome is not Outcome.SUCCESS:
        parts += _said_by("The system", _telling_events(trace, EventType.SYSTEM_EVENT))
    return parts


def _said_by(who: str, events: Sequence[Event]) -> list[str]:
    """The last words of somebody, each with its event."""
    last = events[-MOST_EVENTS:]
    return [f"{who} said ({event.id}): {_quoted(event.content)}." for event in last]


def _telling_events(trace: Trace, *kinds: EventType) -> list[Event]:
    """The events of these kinds that have a text."""
    return [event for event in trace.events if event.type in kinds and event.content.strip()]


def _done_without_arguments(trace: Trace) -> list[str]:
    """What was done where no call has arguments: nothing else tells it."""
    if any(event.arguments is not None for event in trace.events):
        return []
    done = _telling_events(trace, EventType.TOOL_CALL, EventType.TOOL_RESPONSE)
    if done:
        return [f"It did: {_listed(done)}."]
    noted = _telling_events(trace, EventType.OBSERVATION, EventType.DECISION)
    if noted:
        return [f"It noted: {_listed(noted)}."]
    return []


def _listed(events: Sequence[Event]) -> str:
    """The first events, quoted."""
    return ", ".join(f"{_quoted(event.content)} ({event.id})" for event in events[:4])


def _last_answer(trace: Trace) -> list[str]:
    """The agent's last words, as a sentence; none where it said nothing."""
    answers = _telling_events(trace, EventType.LLM_CALL)
    if not answers:
        return []
    last = answers[-1]
    return [f"The agent ended with {_quoted(last.content)} ({last.id})."]


def _count(number: int, noun: str) -> str:
    """A number with its noun."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}s"


def _quoted(text: str) -> str:
    """The first sentence or so of a text, in quotes."""
    return quote(sentence(text[:800], 200), 400)


# Failures and working calls, by which later calls are known.


def _failures(reading: _Reading) -> tuple[Failure, ...]:
    """The failing calls with their signatures; without those of no tool, because no call would recall them."""
    failures: list[Failure] = []
    for item in reading.failed[:MOST_FAILURES]:
        if item.tool and item.fault is not None:
            worked = _other_arguments(reading.worked_later, item)
            failure = failure_of(
                item.tool, item.arguments, item.fault, item.failing_event, worked=worked
            )
            failures.append(failure)
    return tuple(failures)


def _other_arguments(worked_later: Mapping[int, CallWithAnswer], failed: CallWithAnswer) -> Json:
    """The arguments with which it then worked; those of another tool than a shell or an editor are its task's own."""
    worked = worked_later.get(failed.index)
    can_be_told = is_shell(failed.tool) or file_of(failed.arguments) is not None
    if worked is None or not can_be_told or worked.exact == failed.exact:
        return None
    return worked.arguments


def _worked(reading: _Reading) -> tuple[WorkedCall, ...]:
    """The calls that worked when they were last made: none of them is known to fail any more."""
    last = {item.exact: item for item in reading.tried if item.made and item.answered}
    recent = [*last.values()][-MOST_WORKED:]
    forms = [forms_of(item.tool, item.arguments) for item in recent if item.worked]
    return tuple(
        dict.fromkeys(WorkedCall(bare=form.bare_key, exact=form.exact_key) for form in forms)
    )


# Loops.


def _stretches(
    calls: Sequence[CallWithAnswer], key: Callable[[CallWithAnswer], object]
) -> list[tuple[object, list[CallWithAnswer]]]:
    """The stretches of calls with one key that is not None."""
    return [(value, [*group]) for value, group in groupby(calls, key) if value is not None]


def _tells_something(call: CallWithAnswer) -> bool:
    """True for a call whose answer carries something, so that the same one again is a loop."""
    return call.failed or call.answer.strip().lower() not in _BARE


def _loop_key(item: CallWithAnswer) -> object:
    """What two equal calls share: tool, arguments, answer, and how much people had said. None for no real call."""
    if not item.made or finishes(item.tool):
        return None
    answer = (item.error or item.answer)[:KEY_TEXT]
    if item.failed:  # the same error at another time of day is the same answer
        answer = steady(answer)
    return (item.exact, item.answered, item.spoken, tuple(answer.split()))
