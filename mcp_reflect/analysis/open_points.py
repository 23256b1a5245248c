"""What a session leaves open for somebody who can write: a hard-won success or an unsolved failure without a lesson."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mcp_reflect.analysis.calls import Call
from mcp_reflect.analysis.remedies import COMMON_WORDS
from mcp_reflect.analysis.text import call_text, sentence
from mcp_reflect.models.run import Correction, ErrorCategory, EventType, Trace

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
    return frozenset(word.strip("._-") for word in words) - COMMON_WORDS - {"been", "them", "tool"}


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
