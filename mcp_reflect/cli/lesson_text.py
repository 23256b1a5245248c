"""Format a lesson as text: a row of a list, a page, its history."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from mcp_reflect.cli.output import (
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    aligned,
    is_terminal,
    styled,
    visible,
    wrapped,
)
from mcp_reflect.models.lesson import TOLD_SO, GuardMode, Lesson, State
from mcp_reflect.moments.guarded import refuses

HEADS: Final = ("id", "lesson", "effective", "shown", "state")
"""The columns of `list_row`."""

TEXT_COLUMN: Final = 1
"""The column of HEADS that is cut if a list is wider than the terminal."""

SHORT_ID_CHARS: Final = 6  # random ones: a thousand lessons share none in practice
_LONG_FIELDS: Final = ("mistake", "correction", "why", "context")
_SHORT_FIELDS: Final = ("task_type", "tags", "symptoms", "keywords")
_GUARD_MODES: Final = {
    GuardMode.ENFORCE: "holds, every time",
    GuardMode.HOLD: "holds",
    GuardMode.TELL: "tells",
    GuardMode.OFF: "off",
}
_STATUS_STYLES: Final[Mapping[str, str]] = {
    "trusted": GREEN,
    "confirmed": GREEN,
    "quarantined": YELLOW,
    "retired": RED,
}


NOTHING: Final[Mapping[str, str]] = {}


def list_row(lesson: Lesson) -> tuple[str, ...]:
    """Return a lesson's cells under HEADS; on a terminal its id is cut to the end by which it can be named."""
    name = lesson.id[-SHORT_ID_CHARS:] if is_terminal() else lesson.id
    score = "" if lesson.effectiveness is None else f"{lesson.effectiveness:.2f}"
    return (name, lesson.text, score, str(lesson.times_applied), status(lesson))


def status(lesson: Lesson) -> str:
    """Return the trust of a lesson that is in use, else its state."""
    return lesson.trust.value if lesson.state is State.ACTIVE else lesson.state.value


def lesson_page(lesson: Lesson, guards: GuardMode, known: Mapping[str, str] = NOTHING) -> str:
    """Return all fields of a lesson and its effectiveness, for a terminal; `guards` is what they do in its project.

    `known` are other facts about it by name; empty ones are left out.
    """
    word = status(lesson)
    lines = [
        f"{styled(lesson.id, BOLD)}  {lesson.kind}, {styled(word, _STATUS_STYLES.get(word, DIM))}"
    ]
    if lesson.pinned_at is not None:
        lines.append("pinned: every session begins with it")
    if lesson.outside:
        lines.append("repeats text from outside")
    if lesson.is_told:
        lines.append(TOLD_SO)
    if lesson.held:
        lines.append(wrapped(f"waits for a person: {lesson.held}"))
    elif lesson.suspicion:
        lines.append(wrapped(f"hooks and prompts do not show it: {lesson.suspicion}"))
    learned = f"{_times(lesson.strength)}, first on {_day(lesson.created_at)}, changed on {_day(lesson.updated_at)}"
    about = {
        "project": lesson.project or "all projects",
        "source": f"{lesson.source} ({lesson.agent})" if lesson.agent else lesson.source,
        "importance": f"{lesson.importance:.2f}",
        "effectiveness": effectiveness_text(lesson),
        "learned": learned,
        **{name: visible(text) for name, text in known.items() if text},
    }
    return "\n".join(
        [
            *lines,
            *long_fields(lesson),
            "",
            aligned({**short_fields(lesson), **_guard(lesson, guards), **about}),
        ]
    )


def _guard(lesson: Lesson, setting: GuardMode) -> dict[str, str]:
    calls = {"wrong call": lesson.wrong_call, "right call": lesson.right_call}
    shown = {name: visible(call) for name, call in calls.items() if call}
    if lesson.guard is None:
        return shown
    mode = GuardMode.OFF if setting is GuardMode.OFF else lesson.guard_mode or setting
    mode = mode if mode in (GuardMode.TELL, GuardMode.OFF) or refuses(lesson) else GuardMode.TELL
    state = f"off: {lesson.unarmed}" if lesson.unarmed else _GUARD_MODES[mode]
    return {**shown, "guard": f"{visible(lesson.guard)} ({state})"}


def long_fields(lesson: Lesson) -> list[str]:
    """Return the texts of a lesson, each under its name; characters that a terminal would act on as codes."""
    lines = [] if lesson.mistake else ["", wrapped(visible(lesson.text))]
    for name in _LONG_FIELDS:
        if getattr(lesson, name):
            lines += ["", styled(name, BOLD), wrapped(visible(getattr(lesson, name)))]
    return lines


def short_fields(lesson: Lesson) -> dict[str, str]:
    """Return the other words of a lesson by name."""
    values = {name.replace("_", " "): getattr(lesson, name) for name in _SHORT_FIELDS}
    texts = {
        name: value if isinstance(value, str) else ", ".join(value or ())
        for name, value in values.items()
    }
    return {name: visible(text) for name, text in texts.items() if text}


def effectiveness_text(lesson: Lesson) -> str:
    """Return what the outcomes of a lesson say about it."""
    if lesson.effectiveness is None:
        return f"not known yet; shown {_times(lesson.times_applied)}"
    rate = f"{lesson.rate:.2f} by its evidence{', proved harmful' if lesson.harmful else ''}"
    return f"{lesson.effectiveness:.2f} ({rate}); shown {_times(lesson.times_applied)}"


def history_text(history: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Format the history of a lesson: its versions, outcomes and recalls."""
    told = {
        "earlier wordings": [
            (one, f"{one['reason']}: {one['text']}") for one in history["versions"]
        ],
        "outcomes": [
            (
                one,
                f"{_success(one['success'])}, by {one['evidence']}{': ' * bool(one['note'])}{one['note'] or ''}",
            )
            for one in history["outcomes"]
        ],
        "recalls that showed it": [
            (
                one,
                one["task"] + ("" if one["success"] is None else f" ({_success(one['success'])})"),
            )
            for one in history["recalls"]
        ],
    }
    sections: list[str] = []
    for title, records in told.items():
        lines = [
            wrapped(f"{_day(one['created_at'])} {' '.join(visible(text).split())}")
            for one, text in records
        ]
        sections.append("\n".join([styled(title, BOLD), *(lines or ["  nothing yet"])]))
    return "\n\n".join(sections)


def _success(share: float) -> str:
    return {1.0: "worked", 0.0: "failed"}.get(share, "worked in part")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")
