"""A lesson as a person reads it in a terminal: as a row of a list, as a page, and with its history."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from mcp_reflect.cli.output import (
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    aligned,
    quotation,
    styled,
    wrapped,
)
from mcp_reflect.models.lesson import GuardMode, Lesson, State
from mcp_reflect.models.lesson_words import TOLD_SO, short_id
from mcp_reflect.models.proposal import guard_words
from mcp_reflect.moments.guarded import refuses
from mcp_reflect.text.one_line import one_line, visible

_HEADS: Final = ("id", "lesson", "shown", "state", "effective")

TEXT_COLUMN: Final = 1
"""The column of a list that is cut if a list is wider than the terminal."""

_LONG_FIELDS: Final = ("mistake", "correction", "why", "context")
_SHORT_FIELDS: Final = ("task_type", "tags", "symptoms", "keywords")
_QUOTED_FIELDS: Final = (
    *_LONG_FIELDS,
    *_SHORT_FIELDS,
    "external_id",
    "wrong_call",
    "right_call",
)
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


def list_rows(lessons: Sequence[Lesson]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads of a list of lessons, and a row for each.

    The last column is left out where no lesson's effectiveness is known.
    """
    if all(lesson.effectiveness is None for lesson in lessons):
        return _HEADS[:-1], [_list_row(lesson) for lesson in lessons]
    return _HEADS, [(*_list_row(lesson), _effective(lesson)) for lesson in lessons]


def _list_row(lesson: Lesson) -> tuple[str, ...]:
    """Return the columns of a lesson: its id, its text, how often it was shown, and its status."""
    return (short_id(lesson.id), lesson.text, str(lesson.times_applied), status(lesson))


def _effective(lesson: Lesson) -> str:
    """Return how effective a lesson is, 0 to 1, for the last column."""
    if lesson.effectiveness is None:
        return "not known"
    return f"{lesson.effectiveness:.2f}"


def status(lesson: Lesson) -> str:
    """Return the trust of a lesson that is in use, else its state."""
    if lesson.state is State.ACTIVE:
        return lesson.trust.value
    return lesson.state.value


def lesson_page(lesson: Lesson, guards: GuardMode, more: Mapping[str, str] = NOTHING) -> str:
    """Return all fields of a lesson and its effectiveness, for a terminal.

    `guards` is what guards do in its project. `more` has other facts about the lesson by name; empty ones are left out.
    """
    fields = {**short_fields(lesson), **_guard_fields(lesson, guards), **_facts_of(lesson)}
    fields |= {name: visible(text) for name, text in more.items() if text}
    return "\n".join(
        [_headline(lesson), *_notes(lesson), *long_fields(lesson), "", aligned(fields)]
    )


def _headline(lesson: Lesson) -> str:
    """Return the first line of a lesson's page: its id, kind and status."""
    word = status(lesson)
    style = _STATUS_STYLES.get(word, DIM)
    return f"{styled(lesson.id, BOLD)}  {lesson.kind}, {styled(word, style)}"


def _notes(lesson: Lesson) -> list[str]:
    """Return what sets a lesson apart from others: how it is shown, where it is from, and what it waits for."""
    notes: list[str] = []
    if lesson.pinned_at is not None:
        notes.append("pinned: every session begins with it")
    if lesson.outside:
        notes.append("repeats text from outside")
    if lesson.is_told:
        notes.append(TOLD_SO)
    if lesson.held:
        notes.append(wrapped(f"waits for a person: {lesson.held}"))
    elif lesson.suspicion:
        notes.append(wrapped(f"hooks and prompts do not show it: {lesson.suspicion}"))
    return notes


def _facts_of(lesson: Lesson) -> dict[str, str]:
    """Return where a lesson comes from and what it is worth, by name."""
    source = str(lesson.source)
    if lesson.agent:
        source = f"{lesson.source} ({lesson.agent})"
    days = f"first on {_day(lesson.created_at)}, changed on {_day(lesson.updated_at)}"
    return {
        "project": lesson.project or "all projects",
        "source": source,
        "importance": f"{lesson.importance:.2f}",
        "effectiveness": effectiveness_text(lesson),
        "learned": f"{_times(lesson.strength)}, {days}",
    }


def _guard_fields(lesson: Lesson, setting: GuardMode) -> dict[str, str]:
    """Return a lesson's calls and its guard, with what that does; `setting` is what guards do in the project."""
    calls = {"wrong call": lesson.wrong_call, "right call": lesson.right_call}
    shown = {name: visible(call) for name, call in calls.items() if call}
    if lesson.guard is None:
        return shown
    state = _GUARD_MODES[_guard_mode(lesson, setting)]
    if lesson.unarmed:
        state = f"off: {lesson.unarmed}"
    return {**shown, "guard": f"{visible(lesson.guard)} ({state})"}


def _guard_mode(lesson: Lesson, setting: GuardMode) -> GuardMode:
    """Return what a lesson's guard does; the first row that fits decides.

    | the lesson                                | its guard                            |
    |-------------------------------------------|--------------------------------------|
    | is of a project in which guards are off   | is off                               |
    | may not refuse a call, as an agent's word | tells, where it would refuse         |
    | has a mode of its own                     | does that                            |
    | any other                                 | does what the project's setting says |
    """
    if setting is GuardMode.OFF:
        return GuardMode.OFF
    mode = lesson.guard_mode or setting
    if mode in (GuardMode.TELL, GuardMode.OFF) or refuses(lesson):
        return mode
    return GuardMode.TELL


def long_fields(lesson: Lesson) -> list[str]:
    """Return the long texts of a lesson as lines, each under its name, with control characters made visible."""
    lines: list[str] = []
    if not lesson.mistake:
        lines += ["", wrapped(visible(lesson.text))]
    for name in _LONG_FIELDS:
        text = getattr(lesson, name)
        if text:
            lines += ["", styled(name, BOLD), wrapped(visible(text))]
    return lines


def lines_in_question(lesson: Lesson) -> list[str]:
    """Return the lines above a question about a lesson: all of the lesson to which the person's answer is bound.

    Each text from outside is a quotation, so that no text of a lesson can look like a line of ours.
    """
    lines = [_headline(lesson)]
    if lesson.is_told:
        lines.append(TOLD_SO)
    if not lesson.mistake and lesson.text != lesson.correction:
        lines.append(quotation(lesson.text))
    for name in _QUOTED_FIELDS:
        value: str | Sequence[str] | None = getattr(lesson, name)
        if value:
            text = value if isinstance(value, str) else ", ".join(value)
            lines.append(f"{name.replace('_', ' ')}:\n{quotation(text)}")
    if lesson.guard is not None:
        lines.append(f"guard:\n{quotation(guard_words(lesson))}")
    project = "all projects"
    if lesson.project:
        project = f"project {one_line(lesson.project)}"
    lines.append(
        f"{lesson.id}: from {lesson.source}, for {project}, importance {lesson.importance:.2f}"
    )
    return lines


def short_fields(lesson: Lesson) -> dict[str, str]:
    """Return the short texts of a lesson by name, lists with commas: {"task type": "deploy", "tags": "git, ci"}."""
    fields: dict[str, str] = {}
    for name in _SHORT_FIELDS:
        value: str | Sequence[str] | None = getattr(lesson, name)
        if not value:
            continue
        if not isinstance(value, str):
            value = ", ".join(value)
        fields[name.replace("_", " ")] = visible(value)
    return fields


def effectiveness_text(lesson: Lesson) -> str:
    """Return what the outcomes of a lesson say about it."""
    shown = f"shown {_times(lesson.times_applied)}"
    if lesson.effectiveness is None:
        return f"not known yet; {shown}"
    evidence = f"{lesson.rate:.2f} by its evidence"
    if lesson.harmful:
        evidence += ", proved harmful"
    return f"{lesson.effectiveness:.2f} ({evidence}); {shown}"


def history_text(history: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Format the history of a lesson: its versions, outcomes and recalls."""
    return "\n\n".join(
        [
            _section("earlier wordings", history["versions"], _version_text),
            _section("outcomes", history["outcomes"], _outcome_text),
            _section("recalls that showed it", history["recalls"], _recall_text),
        ]
    )


def _section(
    title: str,
    records: Sequence[Mapping[str, Any]],
    text_of: Callable[[Mapping[str, Any]], str],
) -> str:
    """Return a part of the history: its title, and a line with the day for each record."""
    lines = [styled(title, BOLD)]
    for record in records:
        text = " ".join(visible(text_of(record)).split())
        lines.append(wrapped(f"{_day(record['created_at'])} {text}"))
    if not records:
        lines.append("  nothing yet")
    return "\n".join(lines)


def _version_text(version: Mapping[str, Any]) -> str:
    """Return why a wording was replaced, and the wording."""
    return f"{version['reason']}: {version['text']}"


def _outcome_text(outcome: Mapping[str, Any]) -> str:
    """Return an outcome in a line: "worked, by test: 43 passed"."""
    text = f"{_success(outcome['success'])}, by {outcome['evidence']}"
    if outcome["note"]:
        text += f": {outcome['note']}"
    return text


def _recall_text(recall: Mapping[str, Any]) -> str:
    """Return the task of a recall, and how it ended if that is known."""
    text: str = recall["task"]
    if recall["success"] is not None:
        text += f" ({_success(recall['success'])})"
    return text


def _success(share: float) -> str:
    """Return the success of a task, 0 to 1, in words."""
    return {1.0: "worked", 0.0: "failed"}.get(share, "worked in part")


def _day(seconds: float) -> str:
    """Return the day (UTC) of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _times(count: int) -> str:
    """Return a count in words: never, once, 2 times."""
    return {0: "never", 1: "once"}.get(count, f"{count} times")
