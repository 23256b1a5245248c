"""The text of `mcp-reflect replay` for a person: each lesson with its moments, then a line on what it came to."""

from typing import Final

from mcp_reflect.cli.output import counted, counted_sessions
from mcp_reflect.cli.replay_facts import actions_of, sum_of_lesson
from mcp_reflect.clock import iso
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.replay import (
    MomentVerdict,
    Next,
    ReplayedLesson,
    SpokenMoment,
    Trigger,
)
from mcp_reflect.models.shown_lesson import first_sentences
from mcp_reflect.services.replay import Replayed
from mcp_reflect.text.one_line import visible

MOST_MOMENTS: Final = 3
"""The moments of a lesson that are shown unless all are asked for."""
SHORT: Final = {
    MomentVerdict.HELPED: "helped",
    MomentVerdict.NOISE: "noise",
    MomentVerdict.REFUSED: "refused a call that worked",
    MomentVerdict.UNKNOWN: "cannot be told",
}
"""What a lesson would have been, in a sum."""

_MOST_LESSON: Final = 160  # characters of a lesson in the list
_ACTIONS_HEAD: Final = "What you can do, by the first fact of a lesson (ID is the name before it):"


def lines_of_replay(replayed: Replayed, most: int | None = MOST_MOMENTS) -> list[str]:
    """Return what was replayed for a person: each lesson, what can be done about it, then the sums of all."""
    if not (replayed.lessons or replayed.untouched):
        return [_read(replayed), "This project has no lessons yet."]
    if not replayed.sessions:
        return [_read(replayed), "No session was replayed, so that nothing can be said of lessons."]
    lines: list[str] = []
    for lesson in replayed.lessons:
        lines += [*_of_lesson(lesson, most, replayed), ""]
    if replayed.lessons:
        lines += [_ACTIONS_HEAD, *(f"  {action}" for action in actions_of(replayed)), ""]
    return [*lines, _read(replayed), *_left_out(replayed), _sums(replayed)]


def _read(replayed: Replayed) -> str:
    """Return what was read: "12 sessions (3.4 MB): 80 prompts, 900 calls."."""
    sessions = counted_sessions(replayed.sessions, replayed.bytes)
    return f"{sessions}: {counted(replayed.prompts, 'prompt')}, {counted(replayed.calls, 'call')}."


def _left_out(replayed: Replayed) -> list[str]:
    """Return the lines on lessons of which nothing can be said: those that were not met, and those without a call."""
    lines: list[str] = []
    if replayed.untouched:
        lines.append(f"{_lessons(replayed.untouched, 'was', 'were')} not met there: left out.")
    unjudged = sum(not lesson.is_judged for lesson in replayed.lessons)
    if unjudged:
        lines.append(f"{_lessons(unjudged, 'names', 'name')} no call: not judged.")
    return lines


def _lessons(count: int, one: str, several: str) -> str:
    """Return a number of lessons with the form of a verb that fits: "1 lesson was", "2 lessons were"."""
    verb = several
    if count == 1:
        verb = one
    return f"{counted(count, 'lesson')} {verb}"


def _sums(replayed: Replayed) -> str:
    """Return what all lessons would have been; what cannot be judged is counted by lessons, not by moments."""
    if not replayed.moments:
        return "No lesson of this project would have spoken in them."
    judged_sums = [
        f"{SHORT[verdict]} {count}"
        for verdict, count in replayed.sums.items()
        if verdict is not MomentVerdict.UNKNOWN
    ]
    sums = ", ".join(judged_sums)
    return f"Lessons and guards that are on would have: {sums}."


def _of_lesson(lesson: ReplayedLesson, most: int | None, replayed: Replayed) -> list[str]:
    """Return the lines of a lesson: its text, its moments (`most`: at most so many, None: all), and what it came to."""
    text = first_sentences(" ".join(lesson.lesson.split()), _MOST_LESSON)
    lines = [f"{short_id(lesson.lesson_id)}: {text}"]
    shown = lesson.moments[:most]
    for moment in shown:
        lines += _of_moment(moment)
    not_shown = len(lesson.moments) - len(shown)
    if not_shown:
        lines.append(f"  and {not_shown} more: --all")
    lines.append(f"  = {sum_of_lesson(lesson, replayed)}")
    return [visible(line) for line in lines]


def _of_moment(moment: SpokenMoment) -> list[str]:
    """Return when and where a lesson would have spoken, and what came next."""
    where = f"{_time_of(moment)} {moment.host} {moment.session}, line {moment.line}"
    return [f"  {where}, {_trigger_of(moment)}: {moment.said}", f"    next: {_sequel_of(moment)}"]


def _time_of(moment: SpokenMoment) -> str:
    """Return the minute of a moment (UTC)."""
    if moment.at is None:
        return "no date"
    return iso(moment.at)[: len("2026-01-31T12:00")].replace("T", " ")


def _trigger_of(moment: SpokenMoment) -> str:
    """Return what a lesson would have spoken at, and whether it would have refused the call."""
    text = "at the call"
    if moment.trigger is Trigger.PROMPT:
        text = "at the prompt"
    if moment.holds:
        text += ", refused once"
    return text


def _sequel_of(moment: SpokenMoment) -> str:
    """Return what came next in the session: what the verdict rests on, and when the work was done."""
    text = moment.next.value
    if moment.next is Next.NEITHER and moment.fact:
        text += f", the call failed otherwise: {moment.fact}"
    elif moment.fact:
        text += f": {moment.fact}"
    if moment.minutes is None:
        return text
    done = "done as it says"
    if moment.next is Next.FAILURE:
        done = "solved"
    return f"{text}; {done} {moment.minutes:g} min after the {moment.trigger}"
