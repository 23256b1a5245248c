"""The lessons that rules are sure of, and what is left to ask the agent about."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mcp_reflect.analysis.calls import Call
from mcp_reflect.analysis.remedies import Remedy, remedy_for
from mcp_reflect.analysis.text import call_text, sentence, unique, word_set
from mcp_reflect.models.run import Correction, ErrorCategory, EventType, Trace

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


def corrections_from(tried: Sequence[Call]) -> tuple[Correction, ...]:
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


def _correction(failed: Call, remedy: Remedy, also: tuple[str, ...]) -> Correction:
    category, error = failed.category or ErrorCategory.UNKNOWN, sentence(failed.headline, 200)
    names = [name.strip(".-") for name in _IDENTIFIER.findall(f"{error} {remedy.correction}")]
    telling = [name for name in names if name.lower() not in _COMMON and len(name) >= 3]
    return Correction(
        failed_event_id=failed.failing_event,
        worked_event_id=remedy.worked.failing_event,
        also=also,
        tool=failed.tool,
        category=category,
        mistake=remedy.mistake,
        correction=remedy.correction,
        symptoms=(sentence(remedy.symptom, 200) if remedy.symptom else error,),
        keywords=unique([failed.tool, category.short, *telling])[:MAX_KEYWORDS],
        importance=CORRECTION_IMPORTANCE,
        confidence=remedy.confidence,
    )


# What a session leaves open for somebody who can write: a hard-won success or an unsolved failure without a lesson.

HARD: Final = 2  # failures with one error after which a success counts as hard-won, and a failure as unsolved
FAR: Final = 3  # other failing calls between a failure and its correction, with the same meaning
QUESTION_CHARS: Final = 600  # of the whole question
_TELLING: Final = ("mistake", "correction", "symptoms", "strategy", "reflection")  # fields of a lesson
_SHARED: Final = 2  # telling words that two lessons about one thing share


def told_lessons(trace: Trace) -> tuple[str, ...]:
    """The lessons that the agent told in the run itself, by `store_lesson` or by `reflect` with an analysis."""
    texts: list[str] = []
    for event in trace.events:
        tool = re.split(r"__|\.", event.tool or "")[-1]
        if event.type is EventType.TOOL_CALL and tool in ("store_lesson", "reflect"):
            sent = event.arguments if isinstance(event.arguments, dict) else {}
            values = sent.get("analysis") if tool == "reflect" else sent
            if isinstance(values, dict):
                values = " ".join(str(values[name]) for name in _TELLING if values.get(name))
            texts += [values] if isinstance(values, str) and values else []
    return tuple(texts)


def is_told(lesson: Correction, told: Sequence[str]) -> bool:
    """True where the agent told a lesson of the same thing: it shares words with the rules' lesson or its error."""
    words = _words(" ".join((lesson.mistake, lesson.correction, *lesson.symptoms)))
    return any(len(words & _words(text)) >= _SHARED for text in told)


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[\w.-]{4,}", text.lower())
    return frozenset(word.strip("._-") for word in words) - _COMMON - {"been", "them", "tool"}


def open_points(tried: Sequence[Call], righted: Mapping[int, Call], lessons: Sequence[Correction]) -> tuple[str, ...]:
    """A sentence for each failure that was hard-won or stayed unsolved and has no lesson."""
    learned = {name for lesson in lessons for name in (lesson.failed_event_id, *lesson.also)}
    expected = (None, ErrorCategory.NO_RESULT, ErrorCategory.ASSERTION)
    by_error: dict[str, list[Call]] = {}
    for item in tried:
        if item.category not in expected and item.failing_event not in learned:
            by_error.setdefault(item.fingerprint, []).append(item)
    points: list[str] = []
    for same in by_error.values():
        last, worked = same[-1], righted.get(same[-1].index)
        between = 0 if worked is None else sum(item.failed for item in tried[same[0].index + 1 : worked.index])
        if len(same) >= HARD or between >= FAR:
            call = call_text(last.tool, last.arguments, 60)
            end = f"worked as {call_text(worked.tool, worked.arguments, 60)}" if worked else "is unsolved"
            points.append(f"{call} failed {len(same)} times ({sentence(last.headline, 100)}) and {end}.")
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
