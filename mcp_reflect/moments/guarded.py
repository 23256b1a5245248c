"""At a call that goes against a lesson: whether the call is refused, and what the agent is told.

What a lesson does at such a call is its mode: `off` is silent, `tell` is advice, `hold` refuses the call once, and
`enforce` refuses it every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.lesson import GuardMode, Lesson, Source
from mcp_reflect.models.session_state import GuardNote, GuardStage, SessionState
from mcp_reflect.moments.texts import guard_text

_TOLD_AT_GUARD: Final = "guard:"
"""Before the id of a lesson that a session was told at a call against it."""

_EARLIER_COMMAND_END: Final = " &&`"
"""How the text of a guard ends a command that has to come before: "Bash: `npm test` without `npm
ci &&`".
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardAnswer:
    """What is said at a call that goes against a lesson.

    With `hold` the call is refused, and with `enforced` as well every time, not only once. `note` is what the session
    notes, to see whether the agent makes the same call again; `shown` are the keys of what it has now been shown.
    """

    text: str
    lesson_id: str
    hold: bool
    enforced: bool = False
    note: GuardNote
    shown: tuple[str, ...]


def guarded(
    lessons: Sequence[Lesson],
    session: SessionState,
    exact_key: str,
    *,
    mode: GuardMode,
    can_refuse: bool,
    unread: str = "",
) -> GuardAnswer | None:
    """Return what is said at a call that goes against `lessons`, None for nothing; the first row that fits decides.

    | the call, or its lessons                             | what is said                                          |
    |------------------------------------------------------|-------------------------------------------------------|
    | guards are off (`mode`)                              | nothing                                               |
    | the command could not be parsed, for `unread`        | an enforced lesson refuses it; the others say nothing |
    | a lesson refuses it, and `can_refuse`                | the refusal by the first such lesson                  |
    | a lesson speaks, and the session was not told it yet | the first such lesson, as advice                      |
    | any other, such as a call that is made again         | nothing                                               |

    `exact_key` is the key of the call with all its values, `mode` what a lesson without a mode of its own does, and
    `can_refuse` whether the host lets a hook refuse a call.
    """
    if mode is GuardMode.OFF:
        return None
    if unread and not can_refuse:
        return None
    if unread:
        return _at_unread(lessons, exact_key, mode, unread)
    advice: GuardAnswer | None = None
    for lesson in lessons:
        lesson_mode = lesson.guard_mode or mode
        if _is_silent(lesson, lesson_mode, session, exact_key):
            continue
        if can_refuse and lesson_mode is not GuardMode.TELL and refuses(lesson):
            enforced = lesson_mode is GuardMode.ENFORCE
            text = guard_text(lesson, hold=True, always=enforced)
            return _refusal(lesson, exact_key, text, enforced=enforced)
        if advice is None and _TOLD_AT_GUARD + lesson.id not in session.shown:
            advice = _advice(lesson, exact_key)
    return advice


def _is_silent(
    lesson: Lesson, lesson_mode: GuardMode, session: SessionState, exact_key: str
) -> bool:
    """Return whether a lesson lets a call pass without a word.

    | its mode   | silent where                                                             |
    |------------|--------------------------------------------------------------------------|
    | off        | always                                                                   |
    | enforce    | never                                                                    |
    | hold, tell | the lesson spoke at the same call of this session before                 |
    | hold, tell | the session is in the control group, which measures work without lessons |
    """
    if lesson_mode is GuardMode.OFF:
        return True
    if lesson_mode is GuardMode.ENFORCE:
        return False
    return session.held_out or session.notes.has_met_guard(lesson.id, exact_key)


def _at_unread(
    lessons: Sequence[Lesson], exact_key: str, mode: GuardMode, reason: str
) -> GuardAnswer | None:
    """Return the refusal of a call that nobody can read, by the first enforced lesson; None where there is none."""
    for lesson in lessons:
        lesson_mode = lesson.guard_mode or mode
        if lesson_mode is GuardMode.ENFORCE and refuses(lesson):
            text = guard_text(lesson, hold=True, unread=reason)
            return _refusal(lesson, exact_key, text, enforced=True)
    return None


def _refusal(lesson: Lesson, exact_key: str, text: str, *, enforced: bool) -> GuardAnswer:
    """Return the answer that refuses a call with this text; the note says that the agent's next call is its answer."""
    return GuardAnswer(
        text=text,
        lesson_id=lesson.id,
        hold=True,
        enforced=enforced,
        note=GuardNote(lesson.id, exact_key),
        shown=_shown_keys(lesson),
    )


def _advice(lesson: Lesson, exact_key: str) -> GuardAnswer:
    """Return the answer that tells the lesson and lets the call pass.

    The note says that the call still runs, so that its end is not taken for the same call made again.
    """
    return GuardAnswer(
        text=guard_text(lesson, hold=False),
        lesson_id=lesson.id,
        hold=False,
        note=GuardNote(lesson.id, exact_key, GuardStage.CALL_RUNS),
        shown=_shown_keys(lesson),
    )


def _shown_keys(lesson: Lesson) -> tuple[str, ...]:
    """Return the two keys that a session notes as shown: "guard:les_1" for this kind of moment, "les_1" for any."""
    return (_TOLD_AT_GUARD + lesson.id, lesson.id)


def mode_in(setting: str, chosen: GuardMode | None) -> GuardMode:
    """Return what guards do in a project: what a person chose for it, else the `setting` for all projects.

    The setting "off" takes precedence: who switches guards off means all of them.
    """
    if chosen is None or setting == GuardMode.OFF:
        return GuardMode(setting)
    return chosen


def may_hold(lesson: Lesson) -> bool:
    """Return whether a lesson may refuse a call at all.

    One that came from outside (an import, a file of rules, a page) never does, whatever its guard: a text of
    strangers must not stop an agent.
    """
    return lesson.source not in (Source.IMPORT, Source.RULES) and not lesson.outside


def refuses(lesson: Lesson) -> bool:
    """Return whether a lesson refuses a call against it, where its mode or the setting lets it.

    A person has to stand behind it: what an agent stored is only told, however often it proved right. A guard about
    the order of two commands is told until a person chooses `hold`, since the first one may have run in an earlier
    call.
    """
    if not may_hold(lesson):
        return False
    if lesson.guard_mode in (GuardMode.HOLD, GuardMode.ENFORCE):
        return True
    return lesson.is_kept_by_person and not _asks_for_order(lesson.guard or "")


def _asks_for_order(guard: str) -> bool:
    """Return whether a guard asks for a command before another: "Bash: `npm test` without `npm ci &&`"."""
    missing_items = guard.rpartition(" without ")[2]
    return _EARLIER_COMMAND_END in missing_items
