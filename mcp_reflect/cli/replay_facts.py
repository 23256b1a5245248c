"""The facts of a replayed lesson, in words: what it came to in past sessions.

The decisive fact stands first, and decides what a person is advised to do about the lesson.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mcp_reflect.cli.output import counted
from mcp_reflect.clock import iso
from mcp_reflect.models.replay import (
    FailedStep,
    MomentVerdict,
    Next,
    ReplayedLesson,
    SpokenMoment,
)
from mcp_reflect.models.shown_lesson import first_sentences
from mcp_reflect.services.replay import Replayed

_MOST_ERROR: Final = 100  # characters of an error in a fact


class FactKind(StrEnum):
    """The kinds of facts, the decisive ones first; each as the list of actions names it."""

    USELESS = "what it says to do failed"
    DOUBTED = "what it is true of is gone, out of date, or it hurt"
    OVER = "its failure is over"
    REFUSED = "would have refused calls that worked"
    HELPED = "spoke before its failure"
    UNWARNED = "its failure came, not warned"
    NOISE = "noise"
    ALWAYS_WORKED = "calls against it all worked"
    NOT_JUDGED = "names no call"
    NEVER_MET = "never met"
    NEVER_MET_RULE = "never met, a person's rule"
    PARTLY_USELESS = "what it says to do failed at times"
    SILENT = "never spoke"
    AGAINST = "calls against it"
    CHANGED = "changed since"


_EDIT: Final = "`lessons edit ID`"
_FORGET: Final = "`lessons forget ID`"
_ACTIONS: Final = {
    FactKind.USELESS: f"it is wrong here, or no longer true: mend it ({_EDIT}) or retire it ({_FORGET})",
    FactKind.DOUBTED: f"is it still true? If not: {_EDIT} or {_FORGET}",
    FactKind.OVER: f"there is nothing left to warn of: {_FORGET}, unless it can come back",
    FactKind.REFUSED: (
        "a call that worked may still have been wrong: look at them. If they were right: `lessons guard ID tell`, "
        "or a guard that meets fewer calls: `lessons edit ID --guard TEXT`"
    ),
    FactKind.HELPED: "keep it",
    FactKind.UNWARNED: (
        f"keep it, and give it what brings it: its calls, or the words of the prompt or the error ({_EDIT})"
    ),
    FactKind.NOISE: (
        f"make its words or its guard narrower ({_EDIT}), or retire it ({_FORGET}) if nobody needs it; "
        "a call that worked may still have been wrong"
    ),
    FactKind.ALWAYS_WORKED: (
        f"a call that worked may still have been wrong: look at them. If they were right: {_FORGET}"
    ),
    FactKind.NOT_JUDGED: (
        "keep it if you want it; with its calls it can be judged: `lessons edit ID --wrong-call TEXT`"
    ),
    FactKind.NEVER_MET: f"{_FORGET}, unless what it warns of is rare and dangerous",
    FactKind.NEVER_MET_RULE: "keep it: rare and dangerous is not useless",
    FactKind.PARTLY_USELESS: f"read the error: is there something that it should say as well? {_EDIT}",
    FactKind.SILENT: f"keep it, or give it the words that bring it ({_EDIT})",
    FactKind.AGAINST: "keep it",
    FactKind.CHANGED: f"look whether it is still true; if not: {_EDIT}",
}
_SEQUELS: Final = {
    Next.WORKED: "at a call that worked",
    Next.CURE: "where the agent did so by itself",
    Next.USELESS_CURE: "where a call as it says failed",
    Next.NEITHER: "where nothing of it came",
}
"""What came after a moment at which a lesson spoke for nothing. A cure is the call that put the failure right."""

_ORDER: Final = tuple(FactKind)


@dataclass(frozen=True, slots=True)
class LessonFact:
    """A fact of a lesson, as a person reads it."""

    kind: FactKind
    text: str


def facts_of(lesson: ReplayedLesson, replayed: Replayed) -> tuple[LessonFact, ...]:
    """Return what a lesson came to, the decisive fact first."""
    facts = [
        *_spoken(lesson),
        *_silent(lesson, replayed),
        *_failed(lesson, replayed),
        *_against(lesson),
        *_followed(lesson),
        *_changed(lesson),
    ]
    return tuple(sorted(facts, key=lambda fact: _ORDER.index(fact.kind)))


def sum_of_lesson(lesson: ReplayedLesson, replayed: Replayed) -> str:
    """Return in a line what a lesson came to."""
    return "; ".join(fact.text for fact in facts_of(lesson, replayed))


def actions_of(replayed: Replayed) -> list[str]:
    """Return what a person can do about the decisive facts of the lessons: a line for each kind that there is."""
    decisive = {facts_of(lesson, replayed)[0].kind for lesson in replayed.lessons}
    return [f'"{kind}": {_ACTIONS[kind]}.' for kind in FactKind if kind in decisive]


def _spoken(lesson: ReplayedLesson) -> list[LessonFact]:
    """Return a fact for each verdict on the moments at which a lesson would have spoken: "spoke once before its failure"."""
    off = ""
    if not all(moment.armed for moment in lesson.moments):
        off = " (its guard is off)"
    facts: list[LessonFact] = []
    refused = lesson.count(MomentVerdict.REFUSED)
    if refused:
        text = f"would have refused {counted(refused, 'call')} that worked{off}"
        facts.append(LessonFact(FactKind.REFUSED, text))
    helped = lesson.count(MomentVerdict.HELPED)
    if helped:
        text = f"spoke {_times(helped)} before its failure{off}"
        facts.append(LessonFact(FactKind.HELPED, text))
    noise = [moment for moment in lesson.moments if moment.verdict is MomentVerdict.NOISE]
    if noise:
        facts.append(LessonFact(FactKind.NOISE, f"noise {_noise(noise)}{off}"))
    unknown = lesson.count(MomentVerdict.UNKNOWN)
    if unknown:
        text = f"spoke {_times(unknown)} where nothing can be compared"
        facts.append(LessonFact(FactKind.SILENT, text))
    return facts


def _noise(noise: Sequence[SpokenMoment]) -> str:
    """Return how often a lesson spoke for nothing, and where: "3 times: 2 at a call that worked, 1 where …"."""
    counts = Counter(_SEQUELS[moment.next] for moment in noise)
    if len(counts) == 1:
        return f"{_times(len(noise))}, {_SEQUELS[noise[0].next]}"
    sequels = ", ".join(f"{count} {sequel}" for sequel, count in counts.most_common())
    return f"{_times(len(noise))}: {sequels}"


def _silent(lesson: ReplayedLesson, replayed: Replayed) -> list[LessonFact]:
    """Return the facts of a lesson that names no call, or did not speak.

    | the lesson                                        | facts                                                          |
    |---------------------------------------------------|----------------------------------------------------------------|
    | names no call                                     | NOT_JUDGED; SILENT too, if it never spoke nor its failure came |
    | names calls, and none of them was met             | NEVER_MET                                                      |
    | names calls, some met; spoke, or its failure came | none                                                           |
    | names calls, some met, and nothing of both        | SILENT                                                         |
    """
    within = f"in {counted(replayed.sessions, 'session')}"
    facts: list[LessonFact] = []
    if not lesson.is_judged:
        facts.append(LessonFact(FactKind.NOT_JUDGED, "names no call: not judged"))
    elif not lesson.is_met:
        return [_never_met(lesson, within, replayed)]
    if not lesson.moments and not lesson.failures:
        facts.append(LessonFact(FactKind.SILENT, f"never spoke {within}"))
    return facts


def _never_met(lesson: ReplayedLesson, within: str, replayed: Replayed) -> LessonFact:
    """Return the fact that nothing of a lesson came. A person's rule has a fact of its own: rare is not useless."""
    why = "no prompt matched it, and none of its calls was made"
    if replayed.guard_alone:
        why = "none of its calls was made"
    if lesson.is_kept_by_person:
        text = f"never met {within} (a person's rule): {why}"
        return LessonFact(FactKind.NEVER_MET_RULE, text)
    return LessonFact(FactKind.NEVER_MET, f"never met {within}: {why}")


def _failed(lesson: ReplayedLesson, replayed: Replayed) -> list[LessonFact]:
    """Return the fact of the lesson's failures, none where none came.

    HELPED where it had spoken before each: "its failure came twice, each time after it spoke (4 min from failure to
    cure)". Else UNWARNED: "its failure came 3 times, twice not warned, last 2026-01-31 in 2f6c1a, line 12: No such file".
    """
    if not lesson.failures:
        return []
    cost = ""
    if lesson.minutes is not None:
        cost = f" ({lesson.minutes:g} min from failure to cure)"
    came = f"its failure came {_times(len(lesson.failures))}"
    if not lesson.unwarned:
        each = "each time after it spoke"
        if len(lesson.failures) == 1:
            each = "after it spoke"
        return [LessonFact(FactKind.HELPED, f"{came}, {each}{cost}")]
    warned = "never warned"
    if lesson.unwarned < len(lesson.failures):
        warned = f"{_times(lesson.unwarned)} not warned"
    if replayed.guard_alone:
        warned += " by its guard"
    last = _when_and_where(lesson.failures[-1])
    return [LessonFact(FactKind.UNWARNED, f"{came}, {warned}{cost}, last {last}")]


def _when_and_where(failure: FailedStep) -> str:
    """Return when and where a failure came, and its error: "2026-01-31 in 2f6c1a, line 12: No such file"."""
    day = "at an unknown time"
    if failure.at is not None:
        day = iso(failure.at)[: len("2026-01-31")]
    error = first_sentences(failure.error, _MOST_ERROR)
    return f"{day} in {failure.session}, line {failure.line}: {error}"


def _against(lesson: ReplayedLesson) -> list[LessonFact]:
    """Return the fact of the calls that a lesson advises against, none where none was made.

    | these calls                         | fact          |
    |-------------------------------------|---------------|
    | all worked, which proves nothing    | ALWAYS_WORKED |
    | failed, and worked often since then | OVER          |
    | failed, in any other case           | AGAINST       |
    """
    if not lesson.against:
        return []
    calls = counted(lesson.against, "call")
    if not lesson.against_failed:
        text = f"against it: {calls}, {_all_worked(lesson.against)}"
        if lesson.guard is not None:
            text += " (a call that worked may still have been wrong)"
        return [LessonFact(FactKind.ALWAYS_WORKED, text)]
    text = f"{calls}, {lesson.against_failed} failed"
    if lesson.worked_since:
        text += f"; {lesson.worked_since} worked since the last failure"
    if lesson.is_over:
        return [LessonFact(FactKind.OVER, f"its failure is over: {text}")]
    return [LessonFact(FactKind.AGAINST, f"against it: {text}")]


def _all_worked(count: int) -> str:
    """Return that all calls worked, in words for their number."""
    words = {1: "which worked", 2: "both worked"}
    return words.get(count, "all worked")


def _followed(lesson: ReplayedLesson) -> list[LessonFact]:
    """Return the fact of the calls that do as a lesson says, none where none of them failed.

    USELESS where all of them failed: the lesson is wrong. PARTLY_USELESS where some did.
    """
    if not lesson.followed_failed:
        return []
    kind = FactKind.USELESS
    if lesson.followed_failed < lesson.followed:
        kind = FactKind.PARTLY_USELESS
    count = f"{lesson.followed_failed} of {lesson.followed} times"
    if lesson.followed == 1:
        count = "the one time that it was done"
    text = f"what it says to do failed {count}"
    if lesson.followed_error is not None and lesson.followed_error.error:
        error = first_sentences(lesson.followed_error.error, _MOST_ERROR).rstrip(".")
        text += f", last with: {error}"
    return [LessonFact(kind, text)]


def _changed(lesson: ReplayedLesson) -> list[LessonFact]:
    """Return what changed of what it is true of; a file that only changed may have nothing to do with it."""
    if not lesson.changed:
        return []
    kind = FactKind.CHANGED
    if lesson.is_doubted:
        kind = FactKind.DOUBTED
    return [LessonFact(kind, lesson.changed)]


def _times(count: int) -> str:
    """Return a count in words: once, twice, 3 times."""
    words = {1: "once", 2: "twice"}
    return words.get(count, f"{count} times")
