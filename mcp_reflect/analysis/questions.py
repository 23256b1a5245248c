"""What a session leaves open for somebody who can write: a hard-won success, an unsolved failure, without a lesson."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from mcp_reflect.analysis.call_results import Tried
from mcp_reflect.analysis.corrections import Pair
from mcp_reflect.analysis.text import call_text, sentence, word_set
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Correction, ErrorCategory, EventType, Trace

HARD: Final = 2  # failures with one error after which a success counts as hard-won, and a failure as unsolved
FAR: Final = 3  # other failing calls between a failure and its correction, with the same meaning
QUESTION_CHARS: Final = 600  # of the whole question
_SHARED: Final = 2  # telling words that a told lesson shares with one of the rules' about the same thing
_STOPPED: Final = frozenset({ErrorCategory.NO_RESULT, ErrorCategory.ASSERTION})
_COMMON: Final = word_set(
    "that this with from then them first instead failed error call same file tool works have been"
)


def told_lessons(trace: Trace) -> tuple[str, ...]:
    """The lessons that the agent told in the run itself, by `store_lesson` or by `reflect` with an analysis."""
    return tuple(
        text
        for event in trace.events
        if event.type is EventType.TOOL_CALL and event.tool is not None
        for text in [_lesson_in(event.tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1], event.arguments)]
        if text
    )


def _lesson_in(tool: str, arguments: Json) -> str:
    if tool not in ("store_lesson", "reflect") or not isinstance(arguments, dict):
        return ""
    inner = arguments.get("analysis") if tool == "reflect" else arguments
    if not isinstance(inner, dict):
        return inner if isinstance(inner, str) else ""
    names = ("mistake", "correction", "symptoms", "strategy", "reflection")
    return " ".join(str(inner[name]) for name in names if inner.get(name))


def is_told(lesson: Correction, told: Sequence[str]) -> bool:
    """Whether the agent told a lesson of the same thing: it shares words with the rules' one and its error."""
    words = _words(" ".join((lesson.mistake, lesson.correction, *lesson.symptoms)))
    return any(len(words & _words(text)) >= _SHARED for text in told)


def _words(text: str) -> frozenset[str]:
    words = "".join(char if char.isalnum() or char in "._-" else " " for char in text.lower()).split()
    return frozenset(word.strip("._-") for word in words if len(word) >= 4) - _COMMON


def open_points(tried: Sequence[Tried], pairs: Sequence[Pair], lessons: Sequence[Correction]) -> tuple[str, ...]:
    """What was hard-won or stayed unsolved and has no lesson, a sentence each; expected failures are left out."""
    learned = {name for lesson in lessons for name in (lesson.failed_event_id, *lesson.also)}
    righted = {pair.failed.index: pair.worked for pair in pairs}
    failed = [item for item in tried if item.fault is not None and item.failing_event not in learned]
    failed = [item for item in failed if item.fault and item.fault.category not in _STOPPED]
    points: list[str] = []
    by_error = sorted(failed, key=lambda item: (item.fingerprint, item.index))
    for _, group in groupby(by_error, key=lambda item: item.fingerprint):
        same = list(group)
        last = same[-1]
        worked = righted.get(last.index)
        between = 0 if worked is None else sum(item.failed for item in tried[same[0].index + 1 : worked.index])
        if len(same) < HARD and between < FAR:
            continue
        error = sentence(last.fault.headline if last.fault else "", 100)
        call = call_text(last.call.tool, last.call.arguments, 60)
        ended = (
            "is unsolved" if worked is None else f"worked as {call_text(worked.call.tool, worked.call.arguments, 60)}"
        )
        points.append(f"{call} failed {len(same)} times ({error}) and {ended}.")
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
