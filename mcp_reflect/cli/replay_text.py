"""What `mcp-reflect replay` shows a person: each lesson with its moments, and in a last line what it came to."""

from collections import Counter
from typing import Final

from mcp_reflect.cli.output import counted, visible
from mcp_reflect.clock import iso
from mcp_reflect.models.lesson import short_id
from mcp_reflect.models.replay import (
    FailedStep,
    MomentVerdict,
    Next,
    ReplayedLesson,
    SpokenMoment,
    Trigger,
)
from mcp_reflect.models.shown_lesson import first_sentences
from mcp_reflect.services.replay import Replayed

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
_MOST_ERROR: Final = 100
_AT: Final = {
    Next.FAILURE: "before the same failure",
    Next.CURE: "where the agent did so by itself",
    Next.USELESS_CURE: "where a call as it says failed",
    Next.NEITHER: "where nothing of it came",
}
_ACTS: Final = (
    "What you can do: `lessons forget ID` retires a lesson, `lessons guard ID hold|tell|off` says what its guard does, "
    "`lessons edit ID` changes its words and calls."
)


def lines_of_replay(replayed: Replayed, most: int | None = MOST_MOMENTS) -> list[str]:
    """Return what was replayed for a person: each lesson with its moments and its sum, then the sums of all."""
    lines: list[str] = []
    for lesson in replayed.lessons:
        lines += [*_of_lesson(lesson, most, replayed.sessions), ""]
    read = (
        f"{counted(replayed.sessions, 'session')} ({replayed.bytes / 1e6:.1f} MB): "
        f"{counted(replayed.prompts, 'prompt')}, {counted(replayed.calls, 'call')}."
    )
    if not replayed.lessons:
        return [read, "This project has no lessons yet."]
    if not replayed.moments:
        return [*lines, read, "No lesson of this project would have spoken in them."]
    sums = ", ".join(f"{SHORT[verdict]} {count}" for verdict, count in replayed.sums.items())
    return [*lines, _ACTS, read, f"Lessons and guards that are on would have: {sums}."]


def _of_lesson(lesson: ReplayedLesson, most: int | None, sessions: int) -> list[str]:
    text = first_sentences(" ".join(lesson.lesson.split()), _MOST_LESSON)
    lines = [f"{short_id(lesson.lesson_id)}: {text}"]
    shown = lesson.moments[:most]
    for moment in shown:
        lines += _of_moment(moment)
    left = len(lesson.moments) - len(shown)
    if left:
        lines.append(f"  and {left} more: --all")
    lines.append(f"  = {sum_of_lesson(lesson, sessions)}")
    return [visible(line) for line in lines]


def sum_of_lesson(lesson: ReplayedLesson, sessions: int | None = None) -> str:
    """Return what a lesson came to, in facts that a person can act on."""
    facts = (
        _spoken(lesson, sessions),
        _failed(lesson),
        _against(lesson),
        _followed(lesson),
        lesson.changed,
    )
    return "; ".join(fact for fact in facts if fact)


def _spoken(lesson: ReplayedLesson, sessions: int | None) -> str:
    """Return how often it would have spoken, and for what."""
    if not lesson.moments:
        return _silent(lesson, sessions)
    spoke = f"spoke {_times(len(lesson.moments))}"
    if not all(moment.armed for moment in lesson.moments):
        spoke = f"would speak {_times(len(lesson.moments))} (its guard is off)"
    counts = Counter(_kind_of(moment) for moment in lesson.moments)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    return f"{spoke}: {kinds}"


def _silent(lesson: ReplayedLesson, sessions: int | None) -> str:
    """Return that it would not have spoken; where nothing of it came at all, it was never met."""
    within = "" if sessions is None else f" in {counted(sessions, 'session')}"
    if lesson.failures or lesson.against or lesson.followed:
        return f"never spoke{within}"
    if lesson.names_calls:
        return f"never met{within}: no prompt brings it, and none of its calls was made"
    return f"never spoke{within}; it names no call, so nothing more can be told"


def _kind_of(moment: SpokenMoment) -> str:
    """Return what came at a moment, and that it was noise where the lesson was for nothing."""
    if moment.verdict is MomentVerdict.REFUSED:
        return "would have refused a call that worked"
    if moment.next is Next.WORKED:
        return "noise at a call that worked"
    if moment.next is Next.UNKNOWN:
        return "of which nobody can tell, since it names no call"
    if moment.verdict is MomentVerdict.NOISE:
        return f"noise {_AT[moment.next]}"
    return _AT[moment.next]


def _failed(lesson: ReplayedLesson) -> str:
    """Return how often its failure came without a word before it, and what the failures cost."""
    if not lesson.failures:
        return ""
    cost = ""
    if lesson.minutes is not None:
        cost = f" ({lesson.minutes:g} min of work until solved)"
    if not lesson.unwarned:
        return f"its failure came {_times(len(lesson.failures))}{cost}"
    sessions = len({failure.session for failure in lesson.failures})
    came = f"its failure came {_times(len(lesson.failures))} in {counted(sessions, 'session')}"
    silent = f"{lesson.unwarned} of them where it had not spoken before"
    return f"{came}, {silent}{cost}, last {_place_of(lesson.failures)}"


def _place_of(failures: tuple[FailedStep, ...]) -> str:
    latest = max(failures, key=lambda failure: failure.at or 0.0)
    error = first_sentences(latest.error, _MOST_ERROR)
    return f"{_date(latest.at)} in {latest.session}, line {latest.line}: {error}"


def _against(lesson: ReplayedLesson) -> str:
    """Return that calls against it work: where none ever failed, or since the last that did."""
    worked = lesson.against - lesson.against_failed
    if not lesson.against_failed and worked:
        return f"calls against it were made {_times(worked)} and always worked"
    if lesson.worked_since:
        return f"calls against it worked {_times(lesson.worked_since)} in sessions since"
    return ""


def _followed(lesson: ReplayedLesson) -> str:
    """Return what became of the calls that do as it says, where one failed."""
    if not lesson.followed_failed:
        return ""
    text = (
        f"what it says to do failed {lesson.followed_failed} of {counted(lesson.followed, 'time')}"
    )
    if lesson.followed_error is not None and lesson.followed_error.error:
        text += f", last with: {first_sentences(lesson.followed_error.error, _MOST_ERROR)}"
    return text


def _times(count: int) -> str:
    if count in (1, 2):
        return ("once", "twice")[count - 1]
    return f"{count} times"


def _of_moment(moment: SpokenMoment) -> list[str]:
    place = f"{_time_of(moment)} {moment.host} {moment.session}, line {moment.line}"
    return [f"  {place}, {_trigger_of(moment)}: {moment.said}", f"    next: {_sequel_of(moment)}"]


def _time_of(moment: SpokenMoment) -> str:
    if moment.at is None:
        return "no date"
    return iso(moment.at)[: len("2026-01-31T12:00")].replace("T", " ")


def _date(at: float | None) -> str:
    if at is None:
        return "at an unknown time"
    return iso(at)[: len("2026-01-31")]


def _trigger_of(moment: SpokenMoment) -> str:
    text = "at the call"
    if moment.trigger is Trigger.PROMPT:
        text = "at the prompt"
    if moment.holds:
        text += ", refused once"
    return text


def _sequel_of(moment: SpokenMoment) -> str:
    """Return what came next in the session: what the verdict rests on, and when the work was done."""
    text = moment.next.value
    if moment.fact:
        text += f": {moment.fact}"
    if moment.minutes is not None:
        text += f"; solved after {moment.minutes:g} min"
    return text
