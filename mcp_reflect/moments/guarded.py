"""At a call that goes against a lesson: whether it is refused once, and what is said of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.lesson import GuardMode, Lesson, Source
from mcp_reflect.models.warning import TOLD, SessionState
from mcp_reflect.moments.texts import guard_text

_SHOWN: Final = "guard:"  # before the id of a lesson that a session was told at a call against it
_EARLIER: Final = " &&`"  # ends an earlier command in the text of a guard


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What is said at a call against a lesson; `hold` refuses it. `watched` is noted to see what the agent does next.

    `shown` is noted as shown. What is `enforced` is refused every time, so that nothing needs to be noted for that.
    """

    text: str
    lesson_id: str
    hold: bool
    enforced: bool = False
    watched: str
    shown: tuple[str, ...]


def guarded(
    lessons: Sequence[Lesson],
    session: SessionState,
    exact: str,
    *,
    mode: GuardMode,
    holds: bool,
    unread: str = "",
) -> Guarded | None:
    """Return what is said at a call that goes against lessons, None for nothing; the first that holds decides.

    `exact` is the key of the call, `mode` what a lesson without one of its own does, and `holds` whether the host can
    refuse a call. One that was refused once passes when it is made again. `unread` is the reason why the call could not
    be read, and may go against the lessons: then only an enforced one holds it.
    """
    if mode is GuardMode.OFF:
        return None
    if unread:
        return _at_unread(lessons, exact, mode, unread) if holds else None
    advice: Guarded | None = None
    for lesson in lessons:
        own_mode = lesson.guard_mode or mode
        if _is_silent(lesson, own_mode, session, exact):
            continue
        if holds and own_mode is not GuardMode.TELL and refuses(lesson):
            enforced = own_mode is GuardMode.ENFORCE
            text = guard_text(lesson, hold=True, always=enforced)
            return _refusal(lesson, exact, text, enforced=enforced)
        if advice is None and _SHOWN + lesson.id not in session.shown:
            advice = _advice(lesson, exact)
    return advice


def _is_silent(lesson: Lesson, own_mode: GuardMode, session: SessionState, exact: str) -> bool:
    """Return whether a lesson lets a call pass without a word.

    It does where it is switched off, where this session was told or refused the same call before, and where the session
    is held out to see what happens without lessons. What a person enforces knows neither of the last two.
    """
    if own_mode is GuardMode.OFF:
        return True
    if own_mode is GuardMode.ENFORCE:
        return False
    same_call = _watched_key(lesson, exact)
    was_said = any(key.startswith(same_call) for key in session.notes.guarded)
    return was_said or session.held_out


def _at_unread(
    lessons: Sequence[Lesson], exact: str, mode: GuardMode, reason: str
) -> Guarded | None:
    """Return the refusal of a call that nobody can read, by the first enforced lesson; None where there is none."""
    for lesson in lessons:
        own_mode = lesson.guard_mode or mode
        if own_mode is GuardMode.ENFORCE and refuses(lesson):
            text = guard_text(lesson, hold=True, unread=reason)
            return _refusal(lesson, exact, text, enforced=True)
    return None


def _refusal(lesson: Lesson, exact: str, text: str, *, enforced: bool) -> Guarded:
    return Guarded(
        text=text,
        lesson_id=lesson.id,
        hold=True,
        enforced=enforced,
        watched=_watched_key(lesson, exact),
        shown=_shown_keys(lesson),
    )


def _advice(lesson: Lesson, exact: str) -> Guarded:
    return Guarded(
        text=guard_text(lesson, hold=False),
        lesson_id=lesson.id,
        hold=False,
        watched=_watched_key(lesson, exact) + TOLD,
        shown=_shown_keys(lesson),
    )


def _watched_key(lesson: Lesson, exact: str) -> str:
    """Return the key under which a session notes that a call went against a lesson."""
    return f"{lesson.id} {exact}"


def _shown_keys(lesson: Lesson) -> tuple[str, ...]:
    """Return what is noted as shown: the lesson at a call against it, and the lesson as such."""
    return (_SHOWN + lesson.id, lesson.id)


def mode_in(every: str, chosen: GuardMode | None) -> GuardMode:
    """Return what guards do in a project: what a person chose for it, else for all; "off" for all takes precedence."""
    if chosen is None or every == GuardMode.OFF:
        return GuardMode(every)
    return chosen


def may_hold(lesson: Lesson) -> bool:
    """Return whether a lesson may refuse a call at all: what came from outside never does, whatever its guard."""
    return lesson.source not in (Source.IMPORT, Source.RULES) and not lesson.outside


def refuses(lesson: Lesson) -> bool:
    """Return whether a lesson refuses a call against it, where its mode or the setting lets it.

    A person stands behind it: what an agent stored tells, however often it proved right. An order of two commands is
    told until a person chooses `hold`: the first one may have run in an earlier call.
    """
    if not may_hold(lesson):
        return False
    if lesson.guard_mode in (GuardMode.HOLD, GuardMode.ENFORCE):
        return True
    ordered = _EARLIER in (lesson.guard or "").rpartition(" without ")[2]
    return not ordered and lesson.is_kept_by_person
