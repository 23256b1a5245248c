"""The facts of a run: what failed first, what else, loops, what worked later, and what was never answered.

Facts are told as they were seen, with the ids of their events. What they mean is the agent's or a model's to say.
"""

from collections.abc import Mapping, Sequence
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
from mcp_reflect.sessions.call_forms import forms_of
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.error_categories import category_of
from mcp_reflect.sessions.fact_sentences import facts_of_run
from mcp_reflect.sessions.known_failures import failure_of
from mcp_reflect.sessions.run_reading import RunReading
from mcp_reflect.sessions.text import clip, fitting, quoted_start, unique
from mcp_reflect.sessions.tools import file_of, is_shell

MOST_CATEGORIES: Final = 30  # errors without a cure whose category is looked for
MOST_FAILURES: Final = 1_000  # failing calls that are kept with their signatures
MOST_WORKED: Final = 500  # working calls, the last ones, that can clear a failure that is known
# Characters of a summary: the answer to an agent, which has the run before it, stays within 2.5 kB.
SUMMARY_LIMIT: Final = 900
MOST_EVENTS: Final = 3  # messages of one kind that are quoted, the last ones
# Events that are listed, the first ones, to tell what was done where no call has arguments.
_MOST_LISTED: Final = 4
# Characters of the caller's error in which its category is looked for first.
_MOST_HEADLINE: Final = 300


def diagnose(trace: Trace) -> Diagnosis:
    """Return the facts of a run.

    A call is wasted that failed, or that repeats another one with the same answer.
    """
    reading = RunReading(trace)
    facts = facts_of_run(reading)
    calls = [call for call in reading.tried if call.is_call]
    repeated = {call.index for loop in reading.loops for call in loop[1:]}
    wasted = [call for call in calls if call.failed or call.index in repeated]
    first_failing_event: str | None = None
    if reading.first is not None:
        first_failing_event = reading.first.failing_event
    return Diagnosis(
        summary=_summary(reading, facts),
        category=_category(reading),
        first_failing_event=first_failing_event,
        facts=facts,
        source_event_ids=unique(event_id for fact in facts for event_id in fact.event_ids),
        failures=_failures(reading),
        worked=_worked(reading),
        calls=len(calls),
        wasted=len(wasted),
    )


def _category(reading: RunReading) -> ErrorCategory | None:
    """Return the category of a run; the first row that fits decides.

    | the run                                                             | its category               |
    |---------------------------------------------------------------------|----------------------------|
    | the caller names one of our categories                              | that one                   |
    | has a loop, and its failures name no cause                          | LOOP                       |
    | has failures                                                        | theirs                     |
    | the caller has a message                                            | by the words of it         |
    | ended by a timeout                                                  | TIMEOUT                    |
    | any other                                                           | None                       |
    """
    error = reading.trace.error
    if error is not None and error.category is not None:
        return error.category
    category = _named_by_event(reading) or _category_of_failures(reading)
    if reading.loops and category in (None, ErrorCategory.UNKNOWN, ErrorCategory.NO_RESULT):
        return ErrorCategory.LOOP
    if category is None and error is not None and error.message:
        return category_of(clip(error.message, _MOST_HEADLINE), error.message)
    if category is None and reading.trace.outcome is Outcome.TIMEOUT:
        return ErrorCategory.TIMEOUT
    return category


def _named_by_event(reading: RunReading) -> ErrorCategory | None:
    """The category that the first failing event names in its error object, None where it names none of ours."""
    if reading.first is None:
        return None
    word = reading.first.facts.get("error_category")
    if word not in {*ErrorCategory} or word == ErrorCategory.UNKNOWN:
        return None
    return ErrorCategory(word)


def _category_of_failures(reading: RunReading) -> ErrorCategory | None:
    """Return the category of the first of these that there is, None for a run in which nothing failed.

    | order | what                                                                                 |
    |-------|--------------------------------------------------------------------------------------|
    | 1     | an error that nothing put right and whose category is known                          |
    | 2     | an error that nothing put right: its category is unknown                             |
    | 3     | a search without a result that nothing put right: it is no error, and says less      |
    | 4     | the first failing event: all was put right, and this is what there was to learn from |
    """
    not_cured = [item for item in reading.failed if item.index not in reading.worked_later]
    errors = [item for item in not_cured if not item.empty]
    for error in errors[:MOST_CATEGORIES]:
        if error.category is not ErrorCategory.UNKNOWN:
            return error.category
    if errors:
        return errors[0].category
    if not_cured:
        return not_cured[0].category
    if reading.first is not None:
        return reading.first.category
    return None


# The facts as one text.


def _summary(reading: RunReading, facts: Sequence[Observation]) -> str:
    """The diagnosis as one text of at most SUMMARY_LIMIT characters.

    It has the outcome and the counts, what the caller, people and the system said, and the facts. Where there are no
    facts, it says what the agent did and answered last.
    """
    words = _words_during_run(reading.trace)
    parts = [_counts(reading), *words, *(fact.text for fact in facts)]
    if not facts:
        parts += [*_done_without_arguments(reading.trace), *_last_answer(reading.trace)]
    return fitting(unique(parts), SUMMARY_LIMIT)


def _counts(reading: RunReading) -> str:
    """The outcome and the counts: "Outcome: failure. 9 events, 3 calls worked, 1 call failed."."""
    worked = sum(item.worked for item in reading.tried)
    counts = [_count(len(reading.trace.events), "event"), f"{_count(worked, 'call')} worked"]
    if reading.failed:
        counts.append(f"{_count(len(reading.failed), 'call')} failed")
    return f"Outcome: {reading.trace.outcome.value}. {', '.join(counts)}."


def _words_during_run(trace: Trace) -> list[str]:
    """What the caller reports, and what people said during the run; what the system said, if the run did not succeed."""
    parts: list[str] = []
    if trace.error and trace.error.message:
        parts.append(f"The caller reports: {quoted_start(trace.error.message)}.")
    feedback = [
        event
        for event in _events_with_text(trace, EventType.USER_FEEDBACK)
        if event.content.strip() != trace.task
    ]
    parts += _last_words_of("The user", feedback)
    if trace.outcome is not Outcome.SUCCESS:
        parts += _last_words_of("The system", _events_with_text(trace, EventType.SYSTEM_EVENT))
    return parts


def _last_words_of(who: str, events: Sequence[Event]) -> list[str]:
    """The last words of somebody, each with its event."""
    last = events[-MOST_EVENTS:]
    return [f"{who} said ({event.id}): {quoted_start(event.content)}." for event in last]


def _events_with_text(trace: Trace, *kinds: EventType) -> list[Event]:
    """The events of these kinds that have a text."""
    return [event for event in trace.events if event.type in kinds and event.content.strip()]


def _done_without_arguments(trace: Trace) -> list[str]:
    """What was done in a run whose calls have no arguments, in a sentence; none for other runs, whose calls tell it."""
    if any(event.arguments is not None for event in trace.events):
        return []
    done = _events_with_text(trace, EventType.TOOL_CALL, EventType.TOOL_RESPONSE)
    if done:
        return [f"It did: {_listed(done)}."]
    noted = _events_with_text(trace, EventType.OBSERVATION, EventType.DECISION)
    if noted:
        return [f"It noted: {_listed(noted)}."]
    return []


def _listed(events: Sequence[Event]) -> str:
    """The first events, quoted."""
    return ", ".join(
        f"{quoted_start(event.content)} ({event.id})" for event in events[:_MOST_LISTED]
    )


def _last_answer(trace: Trace) -> list[str]:
    """The agent's last words, as a sentence; none where it said nothing."""
    answers = _events_with_text(trace, EventType.LLM_CALL)
    if not answers:
        return []
    last = answers[-1]
    return [f"The agent ended with {quoted_start(last.content)} ({last.id})."]


def _count(number: int, noun: str) -> str:
    """A number with its noun."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}s"


# Failures and working calls, by which later calls are known.


def _failures(reading: RunReading) -> tuple[Failure, ...]:
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


def _worked(reading: RunReading) -> tuple[WorkedCall, ...]:
    """The calls that worked when they were last made, each once: none of them is known to fail any more."""
    last_of_call = {item.exact: item for item in reading.tried if item.is_call and item.answered}
    recent = [*last_of_call.values()][-MOST_WORKED:]
    worked: list[WorkedCall] = []
    for item in recent:
        if item.worked:
            forms = forms_of(item.tool, item.arguments)
            worked.append(WorkedCall(bare_key=forms.bare_key, exact_key=forms.exact_key))
    return tuple(dict.fromkeys(worked))
