"""Failing calls that later worked, the lessons that rules are sure of, and what is left to ask the agent about."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from mcp_reflect.analysis.call_results import Tried
from mcp_reflect.analysis.related_calls import same_intent
from mcp_reflect.analysis.remedies import Remedy, remedy_for
from mcp_reflect.analysis.text import call_text, sentence, unique, word_set
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Correction, ErrorCategory, EventType, Finding, FindingKind, Outcome, Trace

HORIZON: Final = 30  # later calls of the same tool that are looked at for the one that worked


class Pair(NamedTuple):
    """A failed call and the later call that put it right."""

    failed: Tried
    worked: Tried


def pairs_in(tried: Sequence[Tried], *, succeeded: bool) -> list[Pair]:
    """For each failed call the first later one of the same intent that worked; `succeeded` says how the run ended."""
    by_tool: dict[str, list[Tried]] = {}
    for item in tried:
        if item.call.made:
            by_tool.setdefault(item.call.tool.lower(), []).append(item)
    pairs: list[Pair] = []
    for group in by_tool.values():
        for place, item in enumerate(group):
            later = group[place + 1 : place + 1 + HORIZON] if item.failed else ()
            worked = next((one for one in later if one.worked and same_intent(item, one, proved=succeeded)), None)
            if worked is not None:
                pairs.append(Pair(item, worked))
    return sorted(pairs, key=lambda pair: pair.failed.index)


# Lessons: what to do instead, and by which symptoms to recognize the failure.

MAX_CORRECTIONS: Final = 5
MAX_KEYWORDS: Final = 8
CORRECTION_IMPORTANCE: Final = 0.6
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w.-]{2,60}")
_COMMON: Final = word_set("""
    failed does exist could find too many some requirement satisfies version while must expected got named attempting
    error the and not for with was that this from have has are file line most recent call last code none true first
    false instead again then that works same use run read include more
""")


def corrections_from(tried: Sequence[Tried]) -> tuple[Correction, ...]:
    """The lessons of a run, the surest first; failures with one remedy are one lesson."""
    lessons: dict[tuple[str, str], Correction] = {}
    for item in tried:
        remedy = remedy_for(tried, item) if item.failed else None
        if remedy is not None:
            key = (remedy.mistake, remedy.correction)
            before = lessons.get(key)
            also = () if before is None else (*before.also, before.failed_event_id)
            lessons[key] = _correction(item, remedy, also)
    return tuple(sorted(lessons.values(), key=lambda lesson: -lesson.confidence))[:MAX_CORRECTIONS]


def _correction(failed: Tried, remedy: Remedy, also: tuple[str, ...]) -> Correction:
    fault = failed.fault
    assert fault is not None  # noqa: S101 - a remedy is that of a failed call
    symptom = sentence(remedy.symptom or fault.headline, 200)
    names = [name.strip(".-") for name in _IDENTIFIER.findall(f"{sentence(fault.headline, 200)} {remedy.correction}")]
    telling = [name for name in names if name.lower() not in _COMMON and len(name) >= 3]
    return Correction(
        failed_event_id=failed.failing_event,
        worked_event_id=remedy.worked.failing_event,
        also=also,
        tool=failed.call.tool,
        category=fault.category,
        mistake=remedy.mistake,
        correction=remedy.correction,
        symptoms=(symptom,),
        keywords=unique([failed.call.tool, fault.category.short, *telling])[:MAX_KEYWORDS],
        importance=CORRECTION_IMPORTANCE,
        confidence=remedy.confidence,
    )


# Importance and confidence, both in 0..1 and chosen, not fitted; None where nothing was seen.

_WEIGHT: Final = {
    FindingKind.LOOP: 0.6,
    FindingKind.FAILING_EVENT: 0.6,
    FindingKind.NO_ANSWER: 0.5,
    FindingKind.USER_OBJECTION: 0.5,
    FindingKind.REPEATED_ERROR: 0.4,
    FindingKind.ZERO_RESULTS: 0.4,
    FindingKind.RECOVERED: 0.4,
}
_OFTEN: Final = 3  # events from which on a repeated error or empty search weighs more


def importance_of(
    outcome: Outcome, findings: Sequence[Finding], corrections: Sequence[Correction], *, run_error: bool
) -> float | None:
    """How much it would have helped to know this before: the largest weight of what was seen, at most .9.

    A run that failed, ended in an error or timed out adds .1; `run_error` is the caller's own report of an error (.5).
    """
    weights = [item.importance for item in corrections] + ([0.5] if run_error else [])
    for finding in findings:
        often = finding.kind in (FindingKind.REPEATED_ERROR, FindingKind.ZERO_RESULTS)
        nothing_found = finding.kind is FindingKind.FAILING_EVENT and finding.category is ErrorCategory.NO_RESULT
        weights.append(
            0.5 if often and len(finding.event_ids) >= _OFTEN else 0.4 if nothing_found else _WEIGHT[finding.kind]
        )
    failed = outcome in (Outcome.FAILURE, Outcome.ERROR, Outcome.TIMEOUT)
    return round(min(0.9, max(weights) + (0.1 if failed else 0.0)), 2) if weights else None


def confidence_of(
    findings: Sequence[Finding], corrections: Sequence[Correction], *, marked: bool, category: ErrorCategory | None
) -> float | None:
    """How sure the reading is: the confidence of its surest part.

    A loop or an error that the trace, an exit code or a status marks (`marked`) has .9, an error known by its text .7,
    an empty search or a run without an answer .8, an unknown category, an objection or a run error .5.
    """
    kinds = {finding.kind for finding in findings}
    seen: list[float] = [item.confidence for item in corrections]
    if FindingKind.LOOP in kinds:
        seen.append(0.9)
    if kinds & {FindingKind.ZERO_RESULTS, FindingKind.NO_ANSWER} or category is ErrorCategory.NO_RESULT:
        seen.append(0.8)
    if category is not None and category is not ErrorCategory.UNKNOWN:
        seen.append(0.9 if marked else 0.7)
    if kinds or category is not None:
        seen.append(0.5)
    return max(seen, default=None)


# What a session leaves open for somebody who can write: a hard-won success or an unsolved failure without a lesson.

HARD: Final = 2  # failures with one error after which a success counts as hard-won, and a failure as unsolved
FAR: Final = 3  # other failing calls between a failure and its correction, with the same meaning
QUESTION_CHARS: Final = 600  # of the whole question
_SHARED: Final = 2  # telling words that two lessons about one thing share


def told_lessons(trace: Trace) -> tuple[str, ...]:
    """The lessons that the agent told in the run itself, by `store_lesson` or by `reflect` with an analysis."""
    texts: list[str] = []
    for event in trace.events:
        tool = (event.tool or "").rsplit("__", 1)[-1].rsplit(".", 1)[-1]
        if event.type is EventType.TOOL_CALL and isinstance(event.arguments, dict):
            if tool == "store_lesson":
                texts.append(_lesson_text(event.arguments))
            elif tool == "reflect":
                texts.append(_lesson_text(event.arguments.get("analysis")))
    return tuple(text for text in texts if text)


def _lesson_text(values: Json) -> str:
    if not isinstance(values, dict):
        return values if isinstance(values, str) else ""
    names = ("mistake", "correction", "symptoms", "strategy", "reflection")
    return " ".join(str(values[name]) for name in names if values.get(name))


def is_told(lesson: Correction, told: Sequence[str]) -> bool:
    """True where the agent told a lesson of the same thing: it shares words with the rules' lesson or its error."""
    words = _words(" ".join((lesson.mistake, lesson.correction, *lesson.symptoms)))
    return any(len(words & _words(text)) >= _SHARED for text in told)


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[\w.-]{4,}", text.lower())
    return frozenset(word.strip("._-") for word in words) - _COMMON - {"been", "them", "tool"}


def open_points(tried: Sequence[Tried], pairs: Sequence[Pair], lessons: Sequence[Correction]) -> tuple[str, ...]:
    """A sentence for each failure that was hard-won or stayed unsolved and has no lesson."""
    learned = {name for lesson in lessons for name in (lesson.failed_event_id, *lesson.also)}
    expected = (None, ErrorCategory.NO_RESULT, ErrorCategory.ASSERTION)
    righted = {pair.failed.index: pair.worked for pair in pairs}
    failed = [item for item in tried if item.failing_event not in learned]
    failed = [item for item in failed if (item.fault.category if item.fault else None) not in expected]
    points: list[str] = []
    by_error = sorted(failed, key=lambda item: (item.fingerprint, item.index))
    for _, group in groupby(by_error, key=lambda item: item.fingerprint):
        same = list(group)
        last = same[-1]
        worked = righted.get(last.index)
        between = 0 if worked is None else sum(item.failed for item in tried[same[0].index + 1 : worked.index])
        if len(same) >= HARD or between >= FAR:
            error = sentence(last.fault.headline if last.fault else "", 100)
            call = call_text(last.call.tool, last.call.arguments, 60)
            end = f"worked as {call_text(worked.call.tool, worked.call.arguments, 60)}" if worked else "is unsolved"
            points.append(f"{call} failed {len(same)} times ({error}) and {end}.")
    return tuple(points)


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
