"""The diagnosis of a run: findings, corrections, scores, summary and strategy. All texts say only what events show."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from mcp_reflect.analysis.calls import Call, action_in, calls_of, category_of
from mcp_reflect.analysis.known_failures import failure_of, forms_of
from mcp_reflect.analysis.related_calls import names_alike, pairs_in
from mcp_reflect.analysis.remedies import COMMON_WORDS, REASON, REFUSED, corrections_from, prepares
from mcp_reflect.analysis.text import clip, fitting, names, quote, sentence, times, unique
from mcp_reflect.analysis.tools import finishes, subject_of, suggestions_in
from mcp_reflect.models.run import (
    Correction,
    Diagnosis,
    ErrorCategory,
    EventType,
    Failure,
    Finding,
    FindingKind,
    Outcome,
    Trace,
    WorkedCall,
)
from mcp_reflect.signature import steady

MAX_FINDINGS: Final = 12  # of one kind; a run with more repeats itself
MAX_FAILURES: Final = 1_000  # failing calls that are kept with their signatures
MAX_WORKED: Final = 500  # working calls, the last ones, that can clear a failure that is known
SUMMARY_LIMIT: Final = 900  # characters; an answer to an agent, which has the run before it, stays within 2.5 kB
STRATEGY_LIMIT: Final = 300
BRIEF: Final = 80  # characters of an error in a question
HARD: Final = 2  # failures with one error after which a success counts as hard-won, and a failure as unsolved
FAR: Final = 3  # failing calls between a failure and its correction, with the same meaning

_ENDED: Final = {
    Outcome.SUCCESS: "The run succeeded",
    Outcome.FAILURE: "The run failed",
    Outcome.PARTIAL: "The run succeeded in part",
    Outcome.TIMEOUT: "The run timed out",
    Outcome.ERROR: "The run ended in an error",
}
# Importance: how much it would have helped to know this before.
# Confidence: how sure the reading is. Both are in 0..1 and chosen, not fitted.
_SCORES: Final = {
    FindingKind.FAILING_EVENT: (0.6, 0.7),
    FindingKind.LOOP: (0.6, 0.9),
    FindingKind.REPEATED_ERROR: (0.4, 0.7),
    FindingKind.ZERO_RESULTS: (0.4, 0.8),
    FindingKind.NO_ANSWER: (0.5, 0.8),
    FindingKind.USER_OBJECTION: (0.5, 0.5),
    FindingKind.RECOVERED: (0.4, 0.7),
}
_MARKED: Final = 0.9  # the confidence in an error that the trace, an exit code or a status marks
_RUN_ERROR: Final = (0.5, 0.5)  # importance of, and confidence in, the caller's own report of an error


class _Reading:
    """The calls of a trace and what stands out among them.

    `righted` has the later call that put a failed one right, by the index of the failed one; `problems` the failures
    of one tool with one error; `first` is the earliest failure, `mattered` the one that says most about the run.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.tried = calls_of(trace)
        self.righted = pairs_in(self.tried, succeeded=trace.outcome is Outcome.SUCCESS)
        self.failed = [item for item in self.tried if item.failed]
        left = [item for item in self.failed if item.index not in self.righted]
        problems: dict[tuple[str, str], list[Call]] = {}
        for item in self.failed:
            if not item.empty:
                problems.setdefault((item.tool.lower(), item.fingerprint), []).append(item)
        self.problems = list(problems.values())
        self.loops = loops_in(self.tried)
        self.empties = empty_searches(self.tried)
        errors = [item for item in left if not item.empty]
        known = [item for item in errors if item.category is not ErrorCategory.UNKNOWN]
        self.first = next((item for item in self.failed if not item.empty), next(iter(self.failed), None))
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
        return ErrorCategory.TIMEOUT if category is None and self.trace.outcome is Outcome.TIMEOUT else category


def diagnose(trace: Trace) -> Diagnosis:
    """Read a trace by rule: what failed, what looped, what found nothing, what was put right, how it stopped."""
    reading = _Reading(trace)
    told, seen = told_lessons(trace), corrections_from(reading.tried)
    by_agent = {lesson: name for lesson in seen for text, name in told if is_told(lesson, text)}
    corrections = tuple(lesson for lesson in seen if lesson not in by_agent)
    findings = _findings(reading)
    again = {item.index for loop in reading.loops for item in loop.calls[loop.period :]}
    importance, confidence = _scores(reading, findings, corrections)
    learned = {name for lesson in corrections for name in (lesson.failed_event_id, *lesson.also)}
    left = [group for group in reading.problems if not learned.intersection(item.failing_event for item in group)]
    points = tuple(_problem(reading, group, BRIEF).text for group in left if _is_hard(reading, group))
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
        failures=_failures(reading),
        worked=_worked(reading),
        calls=sum(item.made for item in reading.tried),
        wasted=sum(item.made and (item.failed or item.index in again) for item in reading.tried),
        without_lesson=tuple(_problem(reading, group) for group in left[:MAX_FAILURES]),
        open_points=() if told else points,
        evidence=tuple((name, lesson) for lesson, name in by_agent.items() if name),
    )


def _findings(reading: _Reading) -> tuple[Finding, ...]:
    """Failures, loops, empty searches, the end, and the user's word, in the order of a summary."""
    problems = [_problem(reading, group) for group in sorted(reading.problems, key=lambda group: -len(group))]
    first, end = reading.first, unfinished(reading.trace, reading.tried)
    if first is not None and first.empty and not any(first in run for run in reading.empties):
        text = f"{first.text} found nothing ({first.failing_event})."
        kind = FindingKind.ZERO_RESULTS
        problems.append(Finding(kind=kind, event_ids=first.event_ids, text=text, category=first.category))
    return (
        *problems[:MAX_FINDINGS],
        *map(loop_finding, reading.loops[:MAX_FINDINGS]),
        *map(zero_finding, reading.empties[:MAX_FINDINGS]),
        *([end] if end else ()),
        *objections(reading.trace)[:MAX_FINDINGS],
    )


def _problem(reading: _Reading, group: Sequence[Call], most: int = 160) -> Finding:
    """Failures with one error in words: what failed, how often, the error, what else was tried, and what worked."""
    last, worked = group[-1], reading.righted.get(group[-1].index)
    ids, forms = tuple(item.failing_event for item in group), unique(item.text for item in group)
    seen = f"{times(len(ids))} ({names(ids)})" if len(ids) > 1 else f"({names(ids)})"
    parts = [f"{forms[0]} failed {seen}: {quote(sentence(last.headline, most).rstrip('.'), 2 * most)}."]
    if REFUSED.search(last.fault.text[:3_000] if last.fault else ""):
        reason = REASON.search(last.fault.text[:3_000] if last.fault else "")
        parts = [f"The user refused {forms[0]} {seen}{f': {sentence(reason[1], most)}' if reason else ''}."]
    parts += [f"Tried too: {', '.join(forms[1:3])}."] if forms[1:] and most > BRIEF else []
    kind = FindingKind.REPEATED_ERROR if ids[1:] else FindingKind.FAILING_EVENT
    if worked is None:
        parts += ["It stayed open."] if reading.trace.outcome is not Outcome.SUCCESS else []
    else:
        steps = [item for item in reading.tried[last.index + 1 : worked.index] if item.worked and prepares(item)]
        after = f" after {', '.join(unique(item.text for item in steps[-2:]))}" if steps else ""
        how = "The same call worked" if last.exact == worked.exact else f"It worked as {worked.text}"
        how = "Another form of it worked" if how.endswith(f"as {last.text}") else how
        parts.append(f"{how}{after} ({worked.failing_event}).")
        kind, ids = FindingKind.RECOVERED, (*ids, worked.failing_event)
    return Finding(kind=kind, event_ids=ids, text=" ".join(parts), category=last.category)


def _is_hard(reading: _Reading, group: Sequence[Call]) -> bool:
    """True for a failure that came again, or that was put right only after other failures."""
    worked = reading.righted.get(group[-1].index)
    between = reading.tried[group[0].index + 1 : worked.index if worked else 0]
    expected = group[0].category in (ErrorCategory.NO_RESULT, ErrorCategory.ASSERTION)
    return not expected and (len(group) >= HARD or sum(item.failed for item in between) >= FAR)


def _scores(
    reading: _Reading, findings: Sequence[Finding], corrections: Sequence[Correction]
) -> tuple[float | None, float | None]:
    """The largest importance and confidence of what was seen; a run that failed adds .1 to the importance."""
    seen = [_SCORES[finding.kind] for finding in findings] + ([_RUN_ERROR] if reading.trace.error else [])
    if not seen:
        return None, None if reading.category is None else _RUN_ERROR[1]
    seen += [(lesson.importance, lesson.confidence) for lesson in corrections]
    marked = reading.mattered is not None and reading.mattered.fault is not None and reading.mattered.fault.marked
    failed = reading.trace.outcome in (Outcome.FAILURE, Outcome.ERROR, Outcome.TIMEOUT)
    importance = max(importance for importance, _ in seen) + (0.1 if failed else 0.0)
    return round(min(0.9, importance), 2), max(_MARKED if marked else 0.0, *(confidence for _, confidence in seen))


def _summary(reading: _Reading, findings: Sequence[Finding]) -> str:
    """How the run ended, its cause, the attempts, what worked and what is open, in a few sentences."""
    trace, worked = reading.trace, [item.tool for item in reading.tried if item.worked]
    opening = f"{_ENDED[trace.outcome]} after {_count(len(trace.events), 'event')}"
    counts = f"{_count(len(worked), 'call')} worked ({', '.join(unique(worked)[:5])})" if worked else ""
    failed = f"{len(reading.failed)} failed" if counts else f"{_count(len(reading.failed), 'call')} failed"
    counts = ", ".join(filter(None, (counts, failed if reading.failed else "")))
    parts = [f"{opening}: {counts}." if counts else f"{opening}."]
    if not trace.events:
        parts = [f"{_ENDED[trace.outcome]}; no events were given."]
    if trace.error and trace.error.message:
        parts.append(f"The caller reports: {quote(sentence(trace.error.message, 200), 220)}.")
    parts += [finding.text for finding in findings if finding.kind is FindingKind.USER_OBJECTION]
    parts += _feedback(trace, findings)
    if trace.outcome is Outcome.ERROR and len(reading.failed) > 1:
        last = reading.failed[-1]
        error = quote(sentence(last.headline, 120), 140)
        parts.append(f"The last error before the end was {error} ({last.failing_event}).")
    told: set[str] = set()
    for finding in findings:
        if finding.kind is not FindingKind.USER_OBJECTION and not told.issuperset(finding.event_ids):
            parts.append(finding.text)
            told.update(finding.event_ids if finding.kind is not FindingKind.ZERO_RESULTS else ())
    answer = next((event for event in reversed(trace.events) if event.type is EventType.LLM_CALL), None)
    final = next((item for item in reversed(reading.tried) if finishes(item.tool)), None)
    if final is not None:
        parts.append(f"The run ended with {final.text} ({final.event_id}).")
    elif not findings and answer is not None and answer.content.strip():
        parts.append(f"The agent ended with {quote(sentence(answer.content, 160), 180)} ({answer.id}).")
    return fitting(parts, SUMMARY_LIMIT)


def _feedback(trace: Trace, findings: Sequence[Finding]) -> list[str]:
    """The last word of a person beside the task, where no finding quotes it."""
    said = [e for e in trace.events if e.type is EventType.USER_FEEDBACK and e.content.strip() not in trace.task]
    quoted = {name for finding in findings if finding.kind is FindingKind.USER_OBJECTION for name in finding.event_ids}
    last = next((event for event in said[-1:] if event.id not in quoted and event is not trace.events[0]), None)
    return [f"The user said ({last.id}): {quote(sentence(last.content, 160), 180)}."] if last else []


def _strategy(reading: _Reading, corrections: Sequence[Correction]) -> str | None:
    """The advice for next time, from what worked and what was useless; None where neither was seen."""
    parts = [lesson.correction for lesson in corrections[:3]]
    loops = [loop.calls[0] for loop in reading.loops if loop.calls[0].index not in reading.righted]
    parts += [f"Do not repeat {item.text}: it gives the same answer again." for item in loops[:2]]
    for run in reading.empties[:1]:
        queries = unique(query_of(item, 60) for item in run)[:3]
        parts.append(f"Do not search again for {', '.join(queries)}: nothing was found.")
        sent = {str(subject_of(item.arguments)) for item in reading.tried}
        proposed = unique(text for item in run for text in suggestions_in(item.answer) if text not in sent)
        near = sorted(proposed, key=lambda text: not any(names_alike(text, query.strip('"')) for query in queries))[:3]
        parts += [f"The search itself proposed {', '.join(quote(text, 60) for text in near)}."] if near else []
    return fitting(unique(parts), STRATEGY_LIMIT) or None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _failures(reading: _Reading) -> tuple[Failure, ...]:
    """The failing calls with their signatures; an error of no tool is left out, for no call would recall it."""
    failures: list[Failure] = []
    for item in reading.failed[:MAX_FAILURES]:
        worked = reading.righted.get(item.index)
        other = worked.arguments if worked and worked.exact != item.exact else None
        if item.tool and item.fault is not None:
            failures.append(failure_of(item.tool, item.arguments, item.fault, item.failing_event, worked=other))
    return tuple(failures)


def _worked(reading: _Reading) -> tuple[WorkedCall, ...]:
    """The calls that worked when they were last made: none of them is known to fail any more."""
    last = {item.exact: item for item in reading.tried if item.made and item.answered}
    forms = [forms_of(item.tool, item.arguments) for item in [*last.values()][-MAX_WORKED:] if item.worked]
    return tuple(dict.fromkeys(WorkedCall(bare=form.bare_key, exact=form.exact_key) for form in forms))


# Loops, repeated errors, empty searches, the end of a run, and objections of people.

LONGEST_CYCLE: Final = 4  # calls; what repeats with a longer period is a procedure as often as a loop
# Answers that carry nothing: keys, clicks and writes are rightly made again and again.
BARE_ANSWERS: Final = frozenset({"", "ok", "okay", "done", "true", "success", "none", "null", "{}", "[]", "succeeded"})
KEY_TEXT: Final = 20_000  # characters of an answer that are compared
SHOWN: Final = 4  # queries quoted in a sentence
LAST_EVENTS: Final = 3  # a step limit is announced in the last events, or it is about something else

_LIMIT: Final = re.compile(
    r"(?i)\b(?:max(?:imum)?|too many|out of|exceeded|reached)\b.{0,40}\b(?:steps?|iterations?|turns?|rounds?)\b|"
    r"\b(?:step|iteration|turn|recursion) (?:limit|budget)\b"
)
_OBJECTION: Final = re.compile(
    r"(?i)^\s{0,4}(?:no, |too |wrong\b|incorrect\b)|\b(?:(?:is|was|still) (?:wrong|incorrect|broken|failing)"
    r"|(?:that|it)(?:'s| is) wrong|not what|(?:does|did|is)(?: not|n[o']t) work|still (?:does|fails)"
    r"|you (?:forgot|missed|ignored)|should(?:n't| not)? have)\b"
)


class Loop(NamedTuple):
    """The same `period` calls with the same answers, made `rounds` times over; `calls` are all of them."""

    period: int
    rounds: int
    calls: tuple[Call, ...]


def loops_in(tried: Sequence[Call]) -> list[Loop]:
    """The loops, in order, none overlapping another. A word from a person in between ends one."""
    keys = [_key(item) for item in tried]
    loops: list[Loop] = []
    start = 0
    while start < len(keys):
        loop = next(filter(None, (_loop_at(tried, keys, start, period + 1) for period in range(LONGEST_CYCLE))), None)
        loops += [loop] if loop else []
        start += len(loop.calls) if loop else 1
    return loops


def _loop_at(tried: Sequence[Call], keys: Sequence[object], start: int, period: int) -> Loop | None:
    end = start + period
    while end < len(keys) and keys[end] is not None and keys[end] == keys[end - period]:
        end += 1
    rounds = (end - start) // period
    calls = tuple(tried[start : start + period * rounds])
    telling = any(item.failed or item.answer.strip().lower() not in BARE_ANSWERS for item in calls[:period])
    varied = period == 1 or len(set(keys[start : start + period])) > 1
    return Loop(period, rounds, calls) if rounds >= 2 and telling and varied else None


def _key(item: Call) -> object:
    """What two equal calls share: tool, arguments, answer, and how much people had said. None for no real call."""
    if not item.made or finishes(item.tool):
        return None
    answer = (item.error or item.answer)[:KEY_TEXT]
    # The same error at another time of day is the same answer.
    return item.exact, item.answered, item.spoken, tuple((steady(answer) if item.failed else answer).split())


def loop_finding(loop: Loop) -> Finding:
    """The loop in a sentence."""
    ids = tuple(item.event_id for item in loop.calls)
    steps = ", then ".join(item.text for item in loop.calls[: loop.period])
    text = f"The same {loop.period} calls were made {times(loop.rounds)} over with the same answers ({names(ids)})"
    if loop.period == 1:
        text = f"The same call was made {times(loop.rounds)} in a row with the same answer ({names(ids)})"
    return Finding(kind=FindingKind.LOOP, event_ids=ids, text=f"{text}: {steps}.", category=ErrorCategory.LOOP)


def empty_searches(tried: Sequence[Call]) -> list[tuple[Call, ...]]:
    """Runs of two or more searches without a result, with no call in between that found something."""
    runs: list[list[Call]] = [[]]
    for item in tried:
        if item.made and item.empty:
            runs[-1].append(item)
        elif item.made and not item.failed:
            runs.append([])
    return [tuple(run) for run in runs if len(run) > 1]


def zero_finding(run: Sequence[Call]) -> Finding:
    """The searches in a sentence: Search found nothing three times in a row (e4, e6, e8): "X", "Y", "Z"."""
    queries = unique(query_of(item, 80) for item in run)
    more = f" and {len(queries) - SHOWN} more" if len(queries) > SHOWN else ""
    tools = " and ".join(unique(item.tool for item in run)[:3]) or "Search"
    ids = tuple(item.failing_event for item in run)
    text = f"{tools} found nothing {times(len(run))} in a row ({names(ids)}): {', '.join(queries[:SHOWN])}{more}."
    return Finding(kind=FindingKind.ZERO_RESULTS, event_ids=ids, text=text, category=ErrorCategory.NO_RESULT)


def query_of(item: Call, limit: int) -> str:
    """The query of a search, quoted; a long one without its end."""
    subject = subject_of(item.arguments)
    return quote(sentence(subject if isinstance(subject, str) else quote(subject, 2 * limit), limit), 2 * limit)


def objections(trace: Trace) -> list[Finding]:
    """The objections of people. Their word is a finding, and no failing call."""
    said = [event for event in trace.events if event.type is EventType.USER_FEEDBACK]
    texts = {e.id: quote(sentence(e.content, 160), 320) for e in said if _OBJECTION.search(e.content[:2_000])}
    return [
        Finding(kind=FindingKind.USER_OBJECTION, event_ids=(name,), text=f"The user objected ({name}): {text}.")
        for name, text in texts.items()
    ]


def unfinished(trace: Trace, calls: Sequence[Call]) -> Finding | None:
    """How a run that did not succeed stopped before it gave an answer, where the trace shows it."""
    if trace.outcome is Outcome.SUCCESS or not trace.events:
        return None
    for event in reversed(trace.events[-LAST_EVENTS:]):
        text = event.error or event.content
        if event.type in (EventType.SYSTEM_EVENT, EventType.ERROR_EVENT) and len(text) <= 500 and _LIMIT.search(text):
            return _no_answer(
                event.id, f"The run reached its limit before an answer was given ({event.id}): {quote(text)}"
            )
    end, made = trace.events[-1].id, [call for call in calls if call.made]
    if not made or finishes(made[-1].tool):
        return None
    last = made[-1]
    if last.event_id == end and not last.answered and any(call.answered for call in calls):
        return _no_answer(end, f"The run ends with a call that got no answer ({end}): {last.text}")
    if end != last.failing_event or any(finishes(call.tool) for call in made):
        return None
    # Actions as text (`Search[x]`) that never came to `Finish[x]`, or a failed call at the end.
    texts = [event.content for event in trace.events if event.type is not EventType.OBSERVATION]
    if sum(action_in(text) is not None for text in texts) >= len(made):
        text = f"The run stopped after {len(made)} actions without an answer; the last was {last.text} ({end})"
        return _no_answer(end, text)
    ended = f"The run ends on a call that failed, without an answer ({end}): {last.text}"
    return _no_answer(end, ended) if last.failed else None


def _no_answer(event_id: str, text: str) -> Finding:
    return Finding(kind=FindingKind.NO_ANSWER, event_ids=(event_id,), text=f"{text}.")


# Lessons that the agent told itself, and the question for one.

QUESTION_CHARS: Final = 600  # of the whole question
_TELLING: Final = ("mistake", "correction", "symptoms", "strategy", "reflection")  # fields of a lesson
_STORED: Final = re.compile(r"\bles_\w{10,40}")
_SHARED: Final = 2  # telling words that two lessons about one thing share


def told_lessons(trace: Trace) -> tuple[tuple[str, str], ...]:
    """The lessons that the agent told in the run itself, by `store_lesson` or by `reflect` with an analysis.

    Each with the id under which it was stored, as the answer has it, "" where there is no answer.
    """
    told: list[tuple[str, str]] = []
    tool = ""
    for event in trace.events:
        if event.type is EventType.TOOL_CALL:
            tool = re.split(r"__|\.", event.tool or "")[-1]
            sent = event.arguments if isinstance(event.arguments, dict) else {}
            values = sent.get("analysis") if tool == "reflect" else sent
            if isinstance(values, dict):
                values = " ".join(str(values[name]) for name in _TELLING if values.get(name))
            if tool in ("store_lesson", "reflect") and isinstance(values, str) and values:
                told.append((values, ""))
        elif told and tool in ("store_lesson", "reflect") and (stored := _STORED.search(event.content)):
            told[-1] = (told[-1][0], told[-1][1] or stored[0])
    return tuple(told)


def is_told(lesson: Correction, text: str) -> bool:
    """True where a text tells the same thing as a lesson of rules: it shares words with the lesson or its error."""
    return shares_words(" ".join((lesson.mistake, lesson.correction, *lesson.symptoms)), text)


def shares_words(one: str, other: str) -> bool:
    """True for two texts about one thing: they share telling words."""
    return len(_words(one) & _words(other)) >= _SHARED


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[\w.-]{4,}", text.lower())
    return frozenset(word.strip("._-") for word in words) - COMMON_WORDS - {"been", "them", "tool"}


def question(points: Sequence[str]) -> str:
    """The question to the agent in at most QUESTION_CHARS characters: what is open, and what to send."""
    head = "mcp-reflect: nobody has told a lesson of this yet:"
    tail = (
        "If it would help next time, call store_lesson with mistake, correction (leave it out if nothing worked) and "
        "symptoms; otherwise just finish. This is asked once."
    )
    lines: list[str] = []
    for point in points:
        if len("\n".join((head, *lines, f"- {point}", tail))) <= QUESTION_CHARS:
            lines.append(f"- {point}")
    return "\n".join((head, *lines, tail)) if lines else ""
