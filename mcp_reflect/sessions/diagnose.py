"""The diagnosis of a run: findings, corrections, scores, summary and strategy. All texts say only what events show."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from mcp_reflect.models.finding import Finding
from mcp_reflect.models.run import (
    Correction,
    Diagnosis,
    ErrorCategory,
    EventType,
    Failure,
    Observation,
    Outcome,
    Trace,
    WorkedCall,
)
from mcp_reflect.sessions.calls import Call, calls_of, category_of
from mcp_reflect.sessions.drafts import corrections_from
from mcp_reflect.sessions.hard_won import acts_in, findings_in, refusal_in
from mcp_reflect.sessions.known_failures import failure_of, forms_of
from mcp_reflect.sessions.text import (
    clip,
    fitting,
    names,
    quote,
    sentence,
    shares_words,
    times,
    unique,
)
from mcp_reflect.sessions.tools import LESSON_ID, file_of, finishes, is_shell, subject_of, told_in
from mcp_reflect.text.signature import steady

MAX_FINDINGS: Final = 12  # of one kind; a run with more repeats itself
MAX_FAILURES: Final = 1_000  # failing calls that are kept with their signatures
MAX_WORKED: Final = 500  # working calls, the last ones, that can clear a failure that is known
SUMMARY_LIMIT: Final = (
    900  # characters; an answer to an agent, which has the run before it, stays within 2.5 kB
)
STRATEGY_LIMIT: Final = 300
HORIZON: Final = 30  # later calls in which the same call may work
MOST_ERROR: Final = 160  # characters of an error in a finding
SHOWN: Final = 4  # queries quoted in a sentence
KEY_TEXT: Final = 20_000  # characters of an answer that are compared

_ENDED: Final = {
    Outcome.SUCCESS: "The run succeeded",
    Outcome.FAILURE: "The run failed",
    Outcome.PARTIAL: "The run succeeded in part",
    Outcome.TIMEOUT: "The run timed out",
    Outcome.ERROR: "The run ended in an error",
}
# Answers that carry nothing: keys, clicks and writes are rightly made again and again.
_BARE: Final = frozenset(
    {"", "ok", "okay", "done", "true", "success", "none", "null", "{}", "[]", "succeeded"}
)


class _Reading:
    """The calls of a trace and what stands out among them.

    `righted` has the later call that put a failed one right, by the index of the failed one; `problems` the failures
    of one tool with one error; `first` is the earliest failure, `mattered` the one that says most about the run.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.tried = calls_of(trace)
        self.found = findings_in(self.tried)
        self.righted = _righted(self.tried, self.found)
        self.failed = [item for item in self.tried if item.failed]
        problems: dict[tuple[str, str], list[Call]] = {}
        for item in self.failed:
            if not item.empty:
                problems.setdefault((item.tool.lower(), item.fingerprint), []).append(item)
        self.problems = list(problems.values())
        self.loops = [
            group
            for _, group in _runs(self.tried, _loop_key)
            if len(group) > 1 and _tells(group[0])
        ]
        searches = [item for item in self.tried if item.made and (item.empty or not item.failed)]
        self.empties = [
            group for empty, group in _runs(searches, lambda item: item.empty or None) if empty
        ]
        if self.problems:  # beside these, one search without a result says nothing
            self.empties = [group for group in self.empties if len(group) > 1]
        left = [item for item in self.failed if item.index not in self.righted]
        errors = [item for item in left if not item.empty]
        known = [item for item in errors if item.category is not ErrorCategory.UNKNOWN]
        self.first = next(
            (item for item in self.failed if not item.empty), next(iter(self.failed), None)
        )
        self.mattered = next(iter((*known, *errors, *left)), self.first)
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
        return (
            ErrorCategory.TIMEOUT
            if category is None and self.trace.outcome is Outcome.TIMEOUT
            else category
        )


def diagnose(trace: Trace) -> Diagnosis:
    """Read a trace by rule: what failed, what looped, what found nothing, what was put right, how it stopped."""
    reading = _Reading(trace)
    told, seen = told_lessons(trace), corrections_from(reading.tried, reading.found)
    by_agent = {lesson: name for lesson in seen for text, name in told if is_told(lesson, text)}
    corrections = tuple(lesson for lesson in seen if lesson not in by_agent)
    groups = (
        sorted(reading.problems, key=lambda group: -len(group)),
        reading.loops,
        reading.empties,
    )
    findings = (
        *(_problem(reading, group) for group in groups[0][:MAX_FINDINGS]),
        *map(_loop, groups[1][:MAX_FINDINGS]),
        *map(_without_result, groups[2][:MAX_FINDINGS]),
    )
    again = {item.index for loop in reading.loops for item in loop[1:]}
    importance = confidence = None
    if (
        findings or trace.error
    ):  # it would have helped to know this before, most of all where the run failed
        importance = 0.6 if trace.outcome in (Outcome.SUCCESS, Outcome.PARTIAL) else 0.7
        marked = (
            reading.mattered is not None
            and reading.mattered.fault is not None
            and reading.mattered.fault.marked
        )
        confidence = 0.9 if corrections or reading.loops or marked else 0.7
    learned = {name for lesson in corrections for name in (lesson.failed_event_id, *lesson.also)}
    left = [
        group
        for group in reading.problems
        if not learned.intersection(item.failing_event for item in group)
    ]
    return Diagnosis(
        summary=_summary(reading, findings),
        category=reading.category,
        first_failing_event=reading.first.failing_event if reading.first else None,
        findings=findings,
        corrections=corrections,
        importance=importance,
        confidence=confidence,
        source_event_ids=unique(event_id for finding in findings for event_id in finding.event_ids),
        strategy=_strategy(reading, corrections),
        failures=tuple(
            failure for item in reading.failed[:MAX_FAILURES] for failure in _failure(reading, item)
        ),
        worked=_worked(reading),
        calls=sum(item.made for item in reading.tried),
        wasted=sum(item.made and (item.failed or item.index in again) for item in reading.tried),
        without_lesson=tuple(_problem(reading, group) for group in left[:MAX_FAILURES]),
        draft=None if told else next((item.draft for item in reading.found if not item.form), None),
        evidence=tuple((name, lesson) for lesson, name in by_agent.items() if name),
    )


def _problem(reading: _Reading, group: Sequence[Call]) -> Observation:
    """Failures with one error in words: what failed, how often, the error, and what then worked."""
    last, worked = group[-1], reading.righted.get(group[-1].index)
    ids, call = tuple(item.failing_event for item in group), group[0].text
    seen = f"{times(len(ids))} ({names(ids)})" if len(ids) > 1 else f"({names(ids)})"
    text = f"{call} failed {seen}: {quote(sentence(last.headline, MOST_ERROR).rstrip('.'), 2 * MOST_ERROR)}."
    if (reason := refusal_in(last.fault.text if last.fault else "")) is not None:
        text = f"The user refused {call} {seen}{f': {sentence(reason, MOST_ERROR)}' if reason else ''}."
    if worked is None:
        return Observation(event_ids=ids, text=text)
    finding = next((item for item in reading.found if last.index + 1 in item.failed), None)
    done = acts_in(reading.tried[last.index + 1 : worked.index])
    if finding is not None and worked.index + 1 == finding.worked and finding.draft.correction:
        text = f"{finding.draft.mistake.rstrip('.')} ({names(ids)})."  # it names what differs, and no other value
        how = f"{finding.draft.correction.rstrip('.')} ({worked.failing_event})."
    elif done:
        how = f"It worked after {done[-1].text} ({done[-1].failing_event})."
    else:
        form = "The same call" if last.exact == worked.exact else "Another form of it"
        how = f"{form} worked ({worked.failing_event})."
    return Observation(event_ids=(*ids, worked.failing_event), text=f"{text} {how}")


def _righted(tried: Sequence[Call], found: Sequence[Finding]) -> dict[int, Call]:
    """By the index of a failed call the one that then worked: what was found, or the same call made again."""
    righted = {
        number - 1: tried[finding.worked - 1] for finding in found for number in finding.failed
    }
    for item in tried:
        if item.failed and item.index not in righted:
            later = tried[item.index + 1 : item.index + 1 + HORIZON]
            again = next(
                (other for other in later if other.worked and other.exact == item.exact), None
            )
            righted |= {item.index: again} if again else {}
    return righted


def _summary(reading: _Reading, findings: Sequence[Observation]) -> str:
    """How the run ended, what people and the system said, each finding, and the last answer, in a few sentences."""
    trace, worked = reading.trace, [item.tool for item in reading.tried if item.worked]
    named = [name for name in unique(worked) if name]
    counts = [
        f"{_count(len(worked), 'call')} worked" + (f" ({', '.join(named[:5])})" if named else "")
    ]
    counts = (counts if worked else []) + (
        [f"{_count(len(reading.failed), 'call')} failed"] if reading.failed else []
    )
    opening = f"{_ENDED[trace.outcome]} after {_count(len(trace.events), 'event')}"
    parts = [f"{opening}: {', '.join(counts)}." if counts else f"{opening}."]
    if trace.error and trace.error.message:
        parts.append(f"The caller reports: {_quoted(trace.error.message)}.")
    by_type = {
        kind: [event for event in trace.events if event.type is kind and event.content.strip()]
        for kind in EventType
    }
    said = [
        event
        for event in by_type[EventType.USER_FEEDBACK]
        if event.content.strip() not in trace.task
    ]
    parts += [f"The user said ({event.id}): {_quoted(event.content)}." for event in said[-3:]]
    limits = by_type[EventType.SYSTEM_EVENT][-3:] if trace.outcome is not Outcome.SUCCESS else []
    parts += [f"The system said ({event.id}): {_quoted(event.content)}." for event in limits]
    parts += [finding.text for finding in findings]
    if not findings and not any(event.arguments is not None for event in trace.events):
        # Where no call has arguments, nothing else tells what was done.
        done = [*by_type[EventType.TOOL_CALL], *by_type[EventType.TOOL_RESPONSE]][:4]
        parts += (
            [f"It did: {', '.join(f'{_quoted(event.content)} ({event.id})' for event in done)}."]
            if done
            else []
        )
    if not findings:
        parts += [
            f"The agent ended with {_quoted(event.content)} ({event.id})."
            for event in by_type[EventType.LLM_CALL][-1:]
        ]
    return fitting(unique(parts), SUMMARY_LIMIT)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _quoted(text: str) -> str:
    return quote(sentence(text[:800], 200), 400)


def _strategy(reading: _Reading, corrections: Sequence[Correction]) -> str | None:
    """The advice for next time: the corrections, what worked, or the error that is left; None without any."""
    trace, last = reading.trace, reading.mattered
    if corrections:
        return fitting((lesson.correction for lesson in corrections[:3]), STRATEGY_LIMIT)
    if trace.outcome is Outcome.SUCCESS:
        done = [
            event
            for event in trace.events
            if event.tool is None and event.type is EventType.TOOL_CALL
        ]
        told = [] if reading.failed else [event.content for event in done if event.content.strip()]
        return f"Do it so again: {_quoted(told[0])}." if told else None
    if trace.error is None or not trace.error.message or (last and last.index in reading.righted):
        return None
    what = f"`{last.tool}` is called" if last and last.tool else "it is tried"
    said = max(
        trace.error.message, last.headline if last else "", key=len
    )  # the caller may only report a number
    return f"Before {what} again, see to this: {_quoted(said)}."


def _failure(reading: _Reading, item: Call) -> list[Failure]:
    """A failing call with its signature; None for an error without a tool, because no call would recall it."""
    if not item.tool or item.fault is None:
        return []
    # The arguments of another tool are values of its task, which a later call must not be told to send.
    told = is_shell(item.tool) or file_of(item.arguments) is not None
    calls = [
        found.draft.right_call for found in reading.found if told and item.index + 1 in found.failed
    ]
    other = next((call["arguments"] for call in reversed(calls) if isinstance(call, dict)), None)
    return [failure_of(item.tool, item.arguments, item.fault, item.failing_event, worked=other)]


def _worked(reading: _Reading) -> tuple[WorkedCall, ...]:
    """The calls that worked when they were last made: none of them is known to fail any more."""
    last = {item.exact: item for item in reading.tried if item.made and item.answered}
    forms = [
        forms_of(item.tool, item.arguments)
        for item in [*last.values()][-MAX_WORKED:]
        if item.worked
    ]
    return tuple(
        dict.fromkeys(WorkedCall(bare=form.bare_key, exact=form.exact_key) for form in forms)
    )


# Loops and empty searches.


def _runs(calls: Sequence[Call], key: Callable[[Call], object]) -> list[tuple[object, list[Call]]]:
    """The stretches of calls with one key that is not None."""
    return [(value, [*group]) for value, group in groupby(calls, key) if value is not None]


def _tells(call: Call) -> bool:
    return call.failed or call.answer.strip().lower() not in _BARE


def _loop_key(item: Call) -> object:
    """What two equal calls share: tool, arguments, answer, and how much people had said. None for no real call."""
    if not item.made or finishes(item.tool):
        return None
    answer = (item.error or item.answer)[:KEY_TEXT]
    # The same error at another time of day is the same answer.
    return (
        item.exact,
        item.answered,
        item.spoken,
        tuple((steady(answer) if item.failed else answer).split()),
    )


def _loop(calls: Sequence[Call]) -> Observation:
    ids = tuple(item.event_id for item in calls)
    text = f"The same call was made {times(len(ids))} in a row with the same answer ({names(ids)}): {calls[0].text}."
    return Observation(event_ids=ids, text=text)


def _without_result(run: Sequence[Call]) -> Observation:
    """The searches in a sentence: Search found nothing three times in a row (e4, e6, e8): "X", "Y", "Z"."""
    queries, ids = _queries(run), tuple(item.failing_event for item in run)
    more = f" and {len(queries) - SHOWN} more" if len(queries) > SHOWN else ""
    tools = " and ".join(unique(item.tool for item in run)[:3]) or "Search"
    often = f"{times(len(run))} in a row " if len(run) > 1 else ""
    text = f"{tools} found nothing {often}({names(ids)}): {', '.join(queries[:SHOWN])}{more}."
    return Observation(event_ids=ids, text=text)


def _queries(run: Sequence[Call]) -> tuple[str, ...]:
    """The queries of searches, quoted; a long one without its end."""
    subjects = [subject_of(item.arguments) for item in run]
    texts = [subject if isinstance(subject, str) else quote(subject, 160) for subject in subjects]
    return unique(quote(sentence(text, 80), 160) for text in texts)


# Lessons that the agent told itself.


def told_lessons(trace: Trace) -> list[tuple[str, str]]:
    """The lessons that the agent told in the run itself, by `store_lesson` or by `reflect` with an analysis.

    Each with the id under which it was stored, as the answer has it, "" where there is no answer.
    """
    told: list[tuple[str, str]] = []
    own = False
    for event in trace.events:
        if event.type is EventType.TOOL_CALL:
            words = told_in(event.tool or "", event.arguments)
            own = bool(words)
            told += [(words, "")] if own else []
        elif own and (stored := LESSON_ID.search(event.content)):
            told[-1] = told[-1][0], told[-1][1] or stored[0]
    return told


def is_told(lesson: Correction, text: str) -> bool:
    """True where a text tells the same thing as a lesson of rules: it shares words with the lesson or its error."""
    return shares_words(" ".join((lesson.mistake, lesson.correction, *lesson.symptoms)), text)
