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
    told: Guarded | None = None
    for lesson in lessons:
        own = lesson.guard_mode or mode
        enforced = own is GuardMode.ENFORCE
        watched = f"{lesson.id} {exact}"
        passed = not enforced and any(one.startswith(watched) for one in session.notes.guarded)
        if own is GuardMode.OFF or passed or (session.held_out and not enforced):
            continue
        shown = (_SHOWN + lesson.id, lesson.id)
        if holds and own is not GuardMode.TELL and refuses(lesson):
            text = guard_text(lesson, hold=True, always=enforced)
            return Guarded(
                text=text, lesson_id=lesson.id, hold=True, enforced=enforced, watched=watched,
                shown=shown,
            )  # fmt: skip
        if told is None and shown[0] not in session.shown:
            text = guard_text(lesson, hold=False)
            told = Guarded(
                text=text, lesson_id=lesson.id, hold=False, watched=watched + TOLD, shown=shown
            )
    return told


def _at_unread(
    lessons: Sequence[Lesson], exact: str, mode: GuardMode, reason: str
) -> Guarded | None:
    for lesson in lessons:
        if (lesson.guard_mode or mode) is GuardMode.ENFORCE and refuses(lesson):
            text = guard_text(lesson, hold=True, unread=reason)
            shown, watched = (_SHOWN + lesson.id, lesson.id), f"{lesson.id} {exact}"
            return Guarded(
                text=text, lesson_id=lesson.id, hold=True, enforced=True, watched=watched,
                shown=shown,
            )  # fmt: skip
    return None


def mode_in(every: str, chosen: GuardMode | None) -> GuardMode:
    """Return what guards do in a project: what a person chose for it, else for all; "off" for all takes precedence."""
    return GuardMode(every) if chosen is None or every == GuardMode.OFF else chosen


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
