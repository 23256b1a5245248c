"""Past sessions of a project once more, with today's lessons and guards: where they would have spoken, and what came next.

Nothing is stored and nothing leaves the machine.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.guards.matching import matches
from mcp_reflect.models.lesson import GuardMode, Lesson, RecallQuery, RecordKind
from mcp_reflect.models.replay import MomentVerdict, Next, ReplayedLesson, SpokenMoment, Trigger
from mcp_reflect.models.root import Ground
from mcp_reflect.moments.guarded import mode_in, refuses
from mcp_reflect.security.redact import clean, clean_text, quoted
from mcp_reflect.services.context import Context
from mcp_reflect.services.ground import Mark, marks_of
from mcp_reflect.services.learn import scopes_of_folders
from mcp_reflect.services.reminders import MOST_LESSONS
from mcp_reflect.sessions.replaying import (
    Aftermath,
    ComparedLesson,
    MadeStep,
    PastSession,
    SaidStep,
    after,
    read_steps,
)
from mcp_reflect.sessions.session_lines import (
    name_of_session,
    record_keys,
    told_name_of_session,
)
from mcp_reflect.sessions.session_places import HOSTS, SessionPlace, copies_in, sessions_of
from mcp_reflect.sessions.session_times import last_worked
from mcp_reflect.sessions.tallies import Tallies
from mcp_reflect.sessions.text import clip
from mcp_reflect.sessions.tools import call_line

_MOST_LESSONS: Final = 10_000
_MOST_SAID: Final = 300  # characters of a prompt or a call that are shown
_MOST_CHARS: Final = 1_000_000
_MOST_MOMENTS: Final = 20_000
_MOST_NAMED: Final = 10  # sessions that are named where a name is unknown
_READ_ERRORS: Final = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)

Progress = Callable[[int, int, int], None]


@dataclass(slots=True)
class Replayed:
    """What was replayed: sessions, bytes, prompts and calls, where a lesson would have spoken, and faults of files.

    `lessons` are all that were replayed, also those that would not have spoken: first what helped most, then what cost
    most, then the rest by how often their failure came. Where one session or none was replayed, those of which nothing
    came are only counted, as `untouched`: that says nothing of them. `guard_alone`: no prompt was tried.
    """

    sessions: int = 0
    bytes: int = 0
    prompts: int = 0
    calls: int = 0
    moments: list[SpokenMoment] = field(default_factory=list[SpokenMoment])
    lessons: list[ReplayedLesson] = field(default_factory=list[ReplayedLesson])
    untouched: int = 0
    guard_alone: bool = False
    faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def sums(self) -> dict[MomentVerdict, int]:
        """How often the lessons would have been what; guards that are off count for nothing."""
        counts = Counter(moment.verdict for moment in self.moments if moment.armed)
        return {verdict: counts[verdict] for verdict in MomentVerdict}


def places_of(
    context: Context, *, session: str | None, days: float | None, faults: list[tuple[str, str]]
) -> list[SessionPlace]:
    """Return the files of the project's past sessions in all hosts, the latest first.

    `session` is the path of a file, wherever it is, or the beginning of a session's name: of its file's, or of the one
    that the session tells itself, by which it is shown.
    """
    if session is not None and (file := Path(session).expanduser()).is_file():
        host = next((name for name in HOSTS if f".{name.partition('-')[0]}" in file.as_posix()), "")
        facts = file.stat()
        return [SessionPlace(file, host or "file", facts.st_size, facts.st_mtime, None)]
    found = [place for host in HOSTS for place in sessions_of(host, faults)]
    scope_of = scopes_of_folders(context, [place.folder for place in found])
    chosen = [place for place in found if scope_of(place.folder) == context.scopes.own]
    if session is not None:
        chosen = _named(chosen, session)
    if days is None:
        return chosen
    oldest = context.clock.now() - days * DAY
    return [place for place in chosen if last_worked(place) >= oldest]


def _named(places: Sequence[SessionPlace], session: str) -> list[SessionPlace]:
    """Return the sessions whose name begins so. InputError, which names the latest sessions, where there is none."""
    names = {place.path: _shown_name(place) for place in places}
    chosen = [
        place
        for place in places
        if place.path.name.startswith(session) or names[place.path].startswith(session)
    ]
    if chosen:
        return chosen
    fault = f"no session of this project has a name that begins with '{quoted(session, 60)}'"
    latest_first = sorted(places, key=lambda place: -place.changed)
    raise InputError("--session", fault, _names_told([names[place.path] for place in latest_first]))


def _names_told(names: Sequence[str]) -> str:
    """Return which sessions there are, the latest first."""
    if not names:
        return "This project has no past session on this machine."
    shown = ", ".join(names[:_MOST_NAMED])
    left = len(names) - _MOST_NAMED
    if left > 0:
        shown += f", and {left} older ones"
    return f"Give one of {shown}; or the path of a file."


def _shown_name(place: SessionPlace) -> str:
    """Return the name by which a session is shown: its own, or that of a file which tells none."""
    try:
        name = told_name_of_session(place.path)
    except _READ_ERRORS:
        name = name_of_session(place.path)
    return clean_text(name)


async def replay(
    context: Context,
    *,
    session: str | None = None,
    days: float | None = None,
    only: str | None = None,
    progress: Progress | None = None,
) -> Replayed:
    """Replay the project's sessions; `only` is the id of one lesson whose guard alone is tried."""
    replayed = Replayed(guard_alone=only is not None)
    places = places_of(context, session=session, days=days, faults=replayed.faults)
    advice = await _advice(context, only)
    copies, size = copies_in(places), sum(place.size for place in places)
    for number, place in enumerate(places, start=1):
        try:
            originals = copies.get(place.path, ())
            known = frozenset[str]().union(*(record_keys(one) for one in originals))
            past = read_steps(place.path, known)
        except _READ_ERRORS as error:
            replayed.faults.append((str(place.path), f"it cannot be read: {type(error).__name__}"))
        else:
            replayed.faults += [(str(place.path), fault) for fault in past.faults]
            await _replay_session(context, place, past, advice, replayed, prompts=only is None)
            advice.tallies.add_session(past, clean_text(past.name))
            replayed.sessions += 1
        replayed.bytes += place.size
        if progress:
            progress(replayed.bytes, size, len(places) - number)
    every = _lessons_of(advice, replayed.moments)
    if session is not None or not replayed.sessions:
        replayed.lessons = [lesson for lesson in every if lesson.is_met]
    else:
        replayed.lessons = every
    replayed.untouched = len(every) - len(replayed.lessons)
    return replayed


def _lessons_of(advice: "_AllAdvice", moments: Sequence[SpokenMoment]) -> list[ReplayedLesson]:
    """Return what came of each lesson, sorted by what it did."""
    by_lesson: dict[str, list[SpokenMoment]] = defaultdict(list)
    for moment in moments:
        by_lesson[moment.lesson_id].append(moment)
    found: list[ReplayedLesson] = []
    for name in advice.by_id:
        mark = advice.marks.get(name)
        ground = mark.ground if mark else Ground()
        latest_first = sorted(by_lesson[name], key=_latest_first)
        found.append(advice.tallies.lesson(name, latest_first, ground))
    return sorted(found, key=_what_it_did)


def _latest_first(moment: SpokenMoment) -> tuple[float, int]:
    return -(moment.at or 0.0), -moment.line


def _what_it_did(one: ReplayedLesson) -> tuple[int, ...]:
    """Return the order of a lesson: what helped most first, then what cost most, then by how often its failure came."""
    return (
        -one.count(MomentVerdict.HELPED),
        -one.count(MomentVerdict.REFUSED),
        -len(one.moments),
        -len(one.failures),
        -one.against,
    )


@dataclass(frozen=True, slots=True)
class _AllAdvice:
    """The lessons of a project: by id, and those with a guard by its keys; `mode` is what guards do there.

    `marks` say what changed of what they are true of, and `tallies` count what came of them.
    """

    by_id: Mapping[str, ComparedLesson]
    by_key: Mapping[str, Sequence[ComparedLesson]]
    mode: GuardMode
    marks: Mapping[str, Mark]
    tallies: Tallies

    def is_hidden(self, name: str) -> bool:
        """Return whether no prompt shows a lesson, since what it is true of is gone or it did harm."""
        return name in self.marks and self.marks[name].hides

    def at(self, step: MadeStep) -> list[ComparedLesson]:
        """Return the lessons that a call goes against."""
        found = {one.lesson.id: one for key in step.call.keys for one in self.by_key.get(key, ())}
        return [
            one
            for one in found.values()
            if one.calls.guard is not None and matches(one.calls.guard, step.call)
        ]

    def is_armed(self, lesson: Lesson) -> bool:
        """Return whether a lesson's guard speaks today."""
        own = lesson.guard_mode or self.mode
        return lesson.unarmed is None and GuardMode.OFF not in (own, self.mode)

    def would_hold(self, lesson: Lesson) -> bool:
        """Return whether a call against a lesson would be refused."""
        return (lesson.guard_mode or self.mode) is not GuardMode.TELL and refuses(lesson)


async def _advice(context: Context, only: str | None) -> _AllAdvice:
    own = context.scopes.own
    lessons = await context.bank.lessons.latest(own, kind=None, limit=_MOST_LESSONS)
    kinds = (RecordKind.LESSON, RecordKind.STRATEGY)
    used = [one for one in lessons if one.kind in kinds and only in (None, one.id)]
    every = [ComparedLesson.of(lesson) for lesson in used]
    by_key: dict[str, list[ComparedLesson]] = defaultdict(list)
    for one in every:
        for key in one.calls.guard.keys if one.calls.guard else ():
            by_key[key].append(one)
    chosen = await context.bank.lessons.guard_mode(own)
    marks = await marks_of(context, own, [one.id for one in used])
    mode = mode_in(context.settings.guards, chosen)
    by_id = {one.lesson.id: one for one in every}
    return _AllAdvice(by_id, by_key, mode, marks, Tallies(every))


async def _replay_session(
    context: Context,
    place: SessionPlace,
    past: PastSession,
    advice: _AllAdvice,
    replayed: Replayed,
    *,
    prompts: bool,
) -> None:
    """Go through the steps of a session; each lesson speaks once at a prompt, and at each call that differs."""
    shown: set[str] = set()
    made: set[tuple[str, str]] = set()
    for number, step in enumerate(past.steps):
        if len(replayed.moments) >= _MOST_MOMENTS:
            return
        if isinstance(step, SaidStep):
            replayed.prompts += 1
            found: list[ComparedLesson] = []
            if prompts and advice.by_id:
                found = await _at_prompt(context, step, shown, advice)
            shown |= {one.lesson.id for one in found}
            replayed.moments += [_at(place, past, number, one, advice, step) for one in found]
            continue
        replayed.calls += 1
        for one in advice.at(step) if advice.by_key else ():
            told = (one.lesson.id, call_line(step.tool, step.arguments))
            if told not in made:
                made.add(told)
                replayed.moments.append(_at(place, past, number, one, advice, step))


async def _at_prompt(
    context: Context, step: SaidStep, shown: set[str], advice: _AllAdvice
) -> list[ComparedLesson]:
    """Return the lessons that a prompt would bring, as a hook chooses them."""
    query = RecallQuery(
        task=clean(step.text),
        kinds=(RecordKind.LESSON, RecordKind.STRATEGY),
        limit=MOST_LESSONS + len(shown),
        max_chars=_MOST_CHARS,
        strong_only=True,
    )
    if not query.task.strip():
        return []
    hits = await context.bank.recalls.would_show(context.scopes.own, query)
    new = [hit.id for hit in hits if hit.id not in shown and not advice.is_hidden(hit.id)]
    return [advice.by_id[name] for name in new[:MOST_LESSONS] if name in advice.by_id]


def _at(
    place: SessionPlace,
    past: PastSession,
    number: int,
    one: ComparedLesson,
    advice: _AllAdvice,
    step: SaidStep | MadeStep,
) -> SpokenMoment:
    """Return a moment at which a lesson would have spoken, with what came next."""
    sequel = after(past.steps, number, one)
    trigger, said, is_armed, holds = Trigger.PROMPT, "", True, False
    if isinstance(step, MadeStep):
        sequel = _of_call(step, sequel, one)
        trigger, said = Trigger.CALL, call_line(step.tool, step.arguments)
        is_armed, holds = advice.is_armed(one.lesson), advice.would_hold(one.lesson)
    else:
        said = step.text
    return SpokenMoment(
        session=clean_text(past.name),
        host=place.host,
        line=step.line,
        at=step.at,
        trigger=trigger,
        said=clip(clean_text(said), _MOST_SAID),
        lesson_id=one.lesson.id,
        lesson=one.lesson.text,
        armed=is_armed,
        holds=holds,
        next=sequel.next,
        fact=clip(clean_text(sequel.fact), _MOST_SAID),
        minutes=sequel.minutes,
        verdict=_verdict(sequel.next, holds=holds),
    )


def _of_call(step: MadeStep, sequel: Aftermath, one: ComparedLesson) -> Aftermath:
    """Return what a call against a guard met itself, with the minutes until the cure that came later.

    It may have failed for another reason, or because the person refused it: then the lesson would not have helped.
    """
    line = step.seen.line
    if not step.failed:
        return Aftermath(Next.WORKED, line, sequel.minutes)
    if sequel.minutes is not None or one.is_told_by(line):
        return Aftermath(Next.FAILURE, line, sequel.minutes)
    return Aftermath(Next.NEITHER, line, None)


def _verdict(came: Next, *, holds: bool) -> MomentVerdict:
    """Return what a lesson would have been: it helps where the failure that it is about comes next."""
    if came is Next.FAILURE:
        return MomentVerdict.HELPED
    if came is Next.WORKED and holds:
        return MomentVerdict.REFUSED
    if came is Next.UNKNOWN:
        return MomentVerdict.UNKNOWN
    return MomentVerdict.NOISE
