"""Replay past sessions of a project with today's lessons: where they would have spoken, and what came next.

The moments at which a lesson speaks are a prompt that it fits and a call that its guard meets. Nothing is stored and
nothing leaves the machine.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcp_reflect.guards.matching import matches
from mcp_reflect.models.lesson import GuardMode, Lesson, RecordKind
from mcp_reflect.models.recall import RecallQuery
from mcp_reflect.models.replay import MomentVerdict, Next, ReplayedLesson, SpokenMoment, Trigger
from mcp_reflect.models.root import Ground
from mcp_reflect.moments.guarded import mode_in, refuses
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.ground import Remark, remarks_on
from mcp_reflect.services.reminders import MOST_LESSONS
from mcp_reflect.services.replayed_sessions import READ_ERRORS, places_of
from mcp_reflect.sessions.aftermath import Aftermath, ComparedLesson, aftermath_of
from mcp_reflect.sessions.call_words import call_line
from mcp_reflect.sessions.session_lines import (
    record_keys,
)
from mcp_reflect.sessions.session_sources import SessionSource, copies_in
from mcp_reflect.sessions.session_steps import CallStep, PromptStep, SteppedSession
from mcp_reflect.sessions.step_reader import read_steps
from mcp_reflect.sessions.tallies import Tallies
from mcp_reflect.sessions.text import clip

_MOST_LESSONS: Final = 10_000  # of a project that are replayed
_MAX_SHOWN_CHARS: Final = 300  # of a prompt or a call
_NO_CUT: Final = 1_000_000  # characters of the hits of a recall, of which the ids alone are used
_MOST_MOMENTS: Final = 20_000
_KINDS_WITH_ADVICE: Final = (RecordKind.LESSON, RecordKind.STRATEGY)
"""The records that hooks show. A reflection tells what happened, not what to do."""

Progress = Callable[[int, int, int], None]
"""Called with the bytes that were replayed, those of all files, and the number of files left."""


@dataclass(slots=True)
class Replayed:
    """The result of a replay: where a lesson would have spoken, and how each lesson did."""

    sessions: int = 0
    bytes: int = 0
    prompts: int = 0
    calls: int = 0
    moments: list[SpokenMoment] = field(default_factory=list[SpokenMoment])
    # Sorted by `_effect_key`: the one that helped most comes first.
    lessons: list[ReplayedLesson] = field(default_factory=list[ReplayedLesson])
    # How many lessons are left out of `lessons`: one session, or none, that never met them says nothing of them.
    untouched: int = 0
    guard_alone: bool = False  # no prompt was tried
    # The path of each file that has a fault, with the fault.
    faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def sums(self) -> dict[MomentVerdict, int]:
        """How many moments have each verdict; guards that are off count for nothing."""
        counts = Counter(moment.verdict for moment in self.moments if moment.armed)
        return {verdict: counts[verdict] for verdict in MomentVerdict}


async def replay(
    context: Context,
    *,
    session: str | None = None,
    days: float | None = None,
    only: str | None = None,
    progress: Progress | None = None,
) -> Replayed:
    """Replay the project's sessions, or those that `session` and `days` choose (`places_of`).

    `only` is the id of one lesson whose guard alone is tried. A file that cannot be read is a fault in the result.
    """
    replayed = Replayed(guard_alone=only is not None)
    places = places_of(context, session=session, days=days, faults=replayed.faults)
    advice = await _advice(context, only)
    copies = copies_in(places)
    total_bytes = sum(place.size for place in places)
    for number, place in enumerate(places, start=1):
        try:
            past = _steps_of(place, copies.get(place.path, ()))
        except READ_ERRORS as error:
            replayed.faults.append((str(place.path), f"it cannot be read: {type(error).__name__}"))
        else:
            replayed.faults += [(str(place.path), fault) for fault in past.faults]
            await _replay_session(context, place, past, advice, replayed, prompts=only is None)
            advice.tallies.add_session(past, clean_text(past.name))
            replayed.sessions += 1
        replayed.bytes += place.size
        if progress:
            progress(replayed.bytes, total_bytes, len(places) - number)
    lessons = _lessons_of(advice, replayed.moments)
    replayed.lessons = lessons
    if session is not None or not replayed.sessions:
        replayed.lessons = [lesson for lesson in lessons if lesson.is_met]
    replayed.untouched = len(lessons) - len(replayed.lessons)
    return replayed


def _steps_of(place: SessionSource, originals: Sequence[Path]) -> SteppedSession:
    """Return the prompts and calls of a session, without those that its host copied into it from other sessions' files.

    A host copies the earlier records where a session is forked or resumed; each is replayed once, in its own session.
    """
    copied_records: set[str] = set()
    for original in originals:
        copied_records |= record_keys(original)
    return read_steps(place.path, frozenset(copied_records))


def _lessons_of(advice: "_AllAdvice", moments: Sequence[SpokenMoment]) -> list[ReplayedLesson]:
    """Return how each lesson did in the sessions that were replayed, sorted by its effect."""
    moments_by_id: dict[str, list[SpokenMoment]] = defaultdict(list)
    for moment in moments:
        moments_by_id[moment.lesson_id].append(moment)
    lessons: list[ReplayedLesson] = []
    for lesson_id in advice.by_id:
        remark = advice.remarks.get(lesson_id)
        ground = remark.ground if remark else Ground()
        latest_first = sorted(moments_by_id[lesson_id], key=_latest_first_key)
        lessons.append(advice.tallies.replayed_lesson(lesson_id, latest_first, ground))
    return sorted(lessons, key=_effect_key)


def _latest_first_key(moment: SpokenMoment) -> tuple[float, int]:
    """Return the key that sorts the latest moment first; one without a time comes last."""
    return -(moment.at or 0.0), -moment.line


def _effect_key(lesson: ReplayedLesson) -> tuple[int, ...]:
    """Return the key that sorts first what helped most, then what cost most, then by how often its failure came."""
    return (
        -lesson.count(MomentVerdict.HELPED),
        -lesson.count(MomentVerdict.REFUSED),
        -len(lesson.moments),
        -len(lesson.failures),
        -lesson.against,
    )


@dataclass(frozen=True, slots=True)
class _AllAdvice:
    """The lessons of a project, as they are compared with the steps of past sessions."""

    by_id: Mapping[str, ComparedLesson]
    # Lessons with a guard, by the keys of it: words such as `git`, one of which is in each call that the guard can meet.
    by_key: Mapping[str, Sequence[ComparedLesson]]
    mode: GuardMode  # of guards in this project
    remarks: Mapping[str, Remark]  # on lessons that may be outdated, by their ids
    tallies: Tallies  # counts of the lessons' effects so far

    def is_hidden(self, lesson_id: str) -> bool:
        """Return whether no prompt shows a lesson, since a root of it is gone or it did harm."""
        return lesson_id in self.remarks and self.remarks[lesson_id].hides

    def lessons_against(self, step: CallStep) -> list[ComparedLesson]:
        """Return the lessons that a call goes against."""
        candidates: dict[str, ComparedLesson] = {}
        for key in step.call.keys:
            for compared in self.by_key.get(key, ()):
                candidates[compared.lesson.id] = compared
        return [compared for compared in candidates.values() if _is_against(step, compared)]

    def is_armed(self, lesson: Lesson) -> bool:
        """Return whether a lesson's guard speaks today."""
        if lesson.unarmed is not None or self.mode is GuardMode.OFF:
            return False
        return lesson.guard_mode is not GuardMode.OFF

    def would_hold(self, lesson: Lesson) -> bool:
        """Return whether a call against a lesson would be refused."""
        mode = lesson.guard_mode or self.mode
        return mode is not GuardMode.TELL and refuses(lesson)


def _is_against(step: CallStep, compared: ComparedLesson) -> bool:
    """Return whether a lesson's guard meets a call."""
    guard = compared.calls.guard
    return guard is not None and matches(guard, step.call)


async def _advice(context: Context, only: str | None) -> _AllAdvice:
    """Return the lessons of the project, or `only` the one of an id, in the form in which they are compared with steps."""
    scope = context.scopes.own
    lessons = await context.bank.lessons.latest(scope, kind=None, limit=_MOST_LESSONS)
    advising = [lesson for lesson in lessons if lesson.kind in _KINDS_WITH_ADVICE]
    if only is not None:
        advising = [lesson for lesson in advising if lesson.id == only]
    by_id = {lesson.id: ComparedLesson.of(lesson) for lesson in advising}
    by_key: dict[str, list[ComparedLesson]] = defaultdict(list)
    for compared in by_id.values():
        guard = compared.calls.guard
        if guard is not None:
            for key in guard.keys:
                by_key[key].append(compared)
    mode_of_project = await context.bank.guards.mode(scope)
    mode = mode_in(context.settings.guards, mode_of_project)
    remarks = await remarks_on(context, scope, list(by_id))
    return _AllAdvice(by_id, by_key, mode, remarks, Tallies(list(by_id.values())))


@dataclass(slots=True)
class _AlreadySpoken:
    """The lessons that have spoken in a session so far, since none speaks twice of the same."""

    shown_ids: set[str] = field(default_factory=set[str])  # of lessons that a prompt showed
    # Pairs of the id of a lesson and the line of a call that its guard met.
    guarded_calls: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


def _speaking_at_call(
    step: CallStep, advice: _AllAdvice, already: _AlreadySpoken
) -> list[ComparedLesson]:
    """Return the lessons whose guards speak at a call, and note them: a guard speaks once at the same call."""
    line = call_line(step.tool, step.arguments)
    speaking_lessons: list[ComparedLesson] = []
    for compared in advice.lessons_against(step):
        guarded_call = (compared.lesson.id, line)
        if guarded_call not in already.guarded_calls:
            already.guarded_calls.add(guarded_call)
            speaking_lessons.append(compared)
    return speaking_lessons


async def _replay_session(
    context: Context,
    place: SessionSource,
    past: SteppedSession,
    advice: _AllAdvice,
    replayed: Replayed,
    *,
    prompts: bool,
) -> None:
    """Add to `replayed` the moments of a session at which lessons would have spoken.

    As in a live session, a prompt shows each lesson once, and a guard speaks once at the same call. Without `prompts`,
    guards alone are tried.
    """
    already = _AlreadySpoken()
    for step_index, step in enumerate(past.steps):
        if len(replayed.moments) >= _MOST_MOMENTS:
            return
        speaking_lessons: list[ComparedLesson] = []
        if isinstance(step, PromptStep):
            replayed.prompts += 1
            if prompts and advice.by_id:
                speaking_lessons = await _shown_at_prompt(context, step, already.shown_ids, advice)
            already.shown_ids.update(compared.lesson.id for compared in speaking_lessons)
        else:
            replayed.calls += 1
            if advice.by_key:
                speaking_lessons = _speaking_at_call(step, advice, already)
        for compared in speaking_lessons:
            moment = _moment(compared, advice, past=past, step_index=step_index, host=place.host)
            replayed.moments.append(moment)


async def _shown_at_prompt(
    context: Context, step: PromptStep, shown_ids: set[str], advice: _AllAdvice
) -> list[ComparedLesson]:
    """Return the lessons that a prompt would bring, as a hook chooses them."""
    query = RecallQuery(
        task=clean(step.text),
        kinds=_KINDS_WITH_ADVICE,
        limit=MOST_LESSONS + len(shown_ids),
        max_chars=_NO_CUT,
        strong_only=True,
    )
    if not query.task.strip():
        return []
    hits = await context.bank.recalls.would_show(context.scopes.own, query)
    new_ids = [hit.id for hit in hits if hit.id not in shown_ids and not advice.is_hidden(hit.id)]
    return [
        advice.by_id[lesson_id] for lesson_id in new_ids[:MOST_LESSONS] if lesson_id in advice.by_id
    ]


def _moment(
    compared: ComparedLesson,
    advice: _AllAdvice,
    *,
    past: SteppedSession,
    step_index: int,
    host: str,
) -> SpokenMoment:
    """Return the moment at which a lesson would have spoken, at a step of a past session, with what came next.

    A prompt only shows a lesson. At a call, a guard that is armed refuses it or tells the lesson.
    """
    lesson = compared.lesson
    step = past.steps[step_index]
    sequel = aftermath_of(past.steps, step_index, compared)
    if isinstance(step, CallStep):
        sequel = _sequel_of_call(step, sequel, compared)
        trigger = Trigger.CALL
        prompt_or_call = call_line(step.tool, step.arguments)
        is_armed = advice.is_armed(lesson)
        holds = advice.would_hold(lesson)
    else:
        trigger = Trigger.PROMPT
        prompt_or_call = step.text
        is_armed = True
        holds = False
    return SpokenMoment(
        session=clean_text(past.name),
        host=host,
        line=step.line,
        at=step.time,
        trigger=trigger,
        said=clip(clean_text(prompt_or_call), _MAX_SHOWN_CHARS),
        lesson_id=lesson.id,
        lesson=lesson.text,
        armed=is_armed,
        holds=holds,
        next=sequel.next,
        fact=clip(clean_text(sequel.fact), _MAX_SHOWN_CHARS),
        minutes=sequel.minutes,
        verdict=_verdict(sequel.next, holds=holds),
    )


def _sequel_of_call(step: CallStep, sequel: Aftermath, compared: ComparedLesson) -> Aftermath:
    """Return the aftermath of a call that a guard meets.

    `sequel` is the aftermath by the steps after the call; its minutes tell how long the agent took until the right
    call, None where it never made it.

    | the call                                               | its aftermath                                      |
    |--------------------------------------------------------|----------------------------------------------------|
    | worked                                                 | WORKED                                             |
    | failed, and the right call came later                  | FAILURE: the one that the lesson is about          |
    | failed with a line that shares a word with the lesson  | FAILURE                                            |
    | failed otherwise, or the person refused it             | NEITHER: the lesson would not have helped          |
    """
    line = step.ending_line
    if not step.failed:
        return Aftermath(Next.WORKED, line, sequel.minutes)
    if sequel.minutes is not None or compared.shares_a_word(line):
        return Aftermath(Next.FAILURE, line, sequel.minutes)
    return Aftermath(Next.NEITHER, line, None)


def _verdict(sequel: Next, *, holds: bool) -> MomentVerdict:
    """Return whether it would have been good to speak, by the sequel in the session.

    | the sequel | the guard `holds` | verdict                                    |
    |------------|-------------------|--------------------------------------------|
    | FAILURE    | any               | HELPED: the failure would have been spared |
    | WORKED     | yes               | REFUSED: a wrong refusal                   |
    | UNKNOWN    | any               | UNKNOWN                                    |
    | the rest   | any               | NOISE: nothing needed the lesson           |
    """
    if sequel is Next.FAILURE:
        return MomentVerdict.HELPED
    if sequel is Next.WORKED and holds:
        return MomentVerdict.REFUSED
    if sequel is Next.UNKNOWN:
        return MomentVerdict.UNKNOWN
    return MomentVerdict.NOISE
