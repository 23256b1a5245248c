"""Guards of lessons: made of their two calls, or written by a person, and tried on both calls and on the calls of the project."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.following import call_of
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.derivation import derive
from mcp_reflect.guards.guard import FORMS, Guard, parse_guard
from mcp_reflect.guards.matching import matches
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import (
    GuardMode,
    Lesson,
    LessonDraft,
    RecordKind,
    Source,
    Trust,
    short_id,
)
from mcp_reflect.moments.guarded import may_hold
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.services.context import Context
from mcp_reflect.speaker import Speaker

MOST_MET: Final = 0.05
"""The share of a project's recorded calls above which a guard is off until a person turns it on."""

_LEAST_NOTED: Final = 10  # calls, for fewer no share is known
_EXAMPLE: Final = (
    'like wrong_call "tsc -p .", right_call "tsc --noEmit", or {"tool": …, "arguments": {…}}'
)
_NONE: Final = "none: the two calls do not differ by a flag, a subcommand or a program alone, so it is only shown"
_ONE_CALL: Final = "none: it takes the right call as well"
_TURN_ON: Final = "`mcp-reflect lessons guard ID tell`"
_TOOL_NAME: Final = lazy_compile(r"[A-Z_]")
PROJECT_RULE: Final = "project-rule"
"""The tag of a lesson that an agent read in the project's files: a person arms its guard."""

UNARMED_RULE: Final = "a rule that an agent read in the project's files: a person arms it"
_Draft = TypeVar("_Draft", bound=LessonDraft)


async def guarded(
    context: Context,
    scope: Scope,
    draft: _Draft,
    noted: Sequence[Call] | None = None,
    *,
    is_chosen: bool = True,
) -> tuple[_Draft, str | None]:
    """Return a draft with its guard, and what to say of it; None if nobody asked for one.

    A guard that a person wrote is tried. Else one is derived where the draft has both calls, and differs in their
    structure. `noted` are the project's recorded calls, if they are known. `is_chosen`: somebody sent both calls.
    InputError for equal calls, and for a guard that misses the wrong call, meets the right one, or meets everything.
    """
    if draft.kind is not RecordKind.LESSON or draft.source is Source.RULES:
        return draft, None
    wrong, right = (
        call_of(text) if text else None for text in (draft.wrong_call, draft.right_call)
    )
    _refuse_bad_calls(wrong, right)
    guard = parse_guard(draft.guard) if draft.guard else None
    if guard is not None:
        _try(guard, wrong, right)
    elif wrong is not None and right is not None:
        guard = derive(wrong, right, is_chosen=is_chosen)
    if guard is None:
        return replace(draft, guard=None, unarmed=None), _why_none(wrong, right)
    if noted is None:
        noted = await context.bank.lessons.noted_calls(scope)
    tried = _Tried(guard, [call for call in noted if not _same(call, wrong)])
    unarmed = tried.too_many if _verb(draft) == "tells" else None
    told = f"{_verb(draft)} at {guard.told}; {tried.told}"
    if draft.source is Source.AGENT and PROJECT_RULE in draft.tags:
        told = (
            f"would meet {guard.told}; {tried.told}: it is off until a person arms it in a review"
        )
        return replace(draft, guard=str(guard), unarmed=UNARMED_RULE), told
    if unarmed:
        told = f"would tell at {guard.told}, but {tried.told}: it is off until a person turns it on ({_TURN_ON})"
    return replace(draft, guard=str(guard), unarmed=unarmed), told


def _why_none(wrong: Call | None, right: Call | None) -> str | None:
    """Return why calls give no guard; None where no wrong call was sent, so that nobody asked for one."""
    if wrong is None:
        return None
    if right is None:
        return _ONE_CALL
    return _NONE


def _verb(draft: LessonDraft) -> str:
    """Return what the guard does: an agent's tells, one that a person wrote or trusts holds, or what they chose."""
    modes = {GuardMode.TELL: "tells", GuardMode.OFF: "is off"}
    if isinstance(draft, Lesson) and draft.guard_mode is not None:
        return modes.get(draft.guard_mode, "holds")
    is_of_person = draft.source is Source.PERSON or draft.trust is Trust.TRUSTED
    return "holds" if is_of_person else "tells"


class _Tried:
    """A guard that was tried on the recorded calls of its project."""

    def __init__(self, guard: Guard, calls: Sequence[Call]) -> None:
        self._tried = len(calls)
        self._met = sum(matches(guard, call) for call in calls)

    @property
    def told(self) -> str:
        """How many calls it meets, in words."""
        if not self._tried:
            return "there is no recorded call to try it on"
        return f"it meets {self._met} of {self._tried} recorded calls of this project"

    @property
    def too_many(self) -> str | None:
        """The reason why it is off: it meets more than a few of many calls."""
        is_wide = self._tried >= _LEAST_NOTED and self._met > MOST_MET * self._tried
        return f"it meets {self._met} of {self._tried} recorded calls" if is_wide else None


def _same(call: Call, other: Call | None) -> bool:
    return (
        other is not None
        and call.commands == other.commands
        and (call.shell or call.arguments == other.arguments)
    )


def _refuse_bad_calls(wrong: Call | None, right: Call | None) -> None:
    for name, call in (("wrong_call", wrong), ("right_call", right)):
        if call is not None and not (call.commands if call.shell else call.tool.strip()):
            raise InputError(name, "it names no command and no tool", f"Send both, {_EXAMPLE}.")
    if wrong is not None and right is not None and wrong.tool == right.tool and _same(wrong, right):
        raise InputError(
            "right_call", "it is the same as wrong_call", f"Send the call that works, {_EXAMPLE}."
        )


def _try(guard: Guard, wrong: Call | None, right: Call | None) -> None:
    if wrong is None and not guard.has and not guard.lacks and not _TOOL_NAME.search(guard.tool):
        raise InputError(
            "guard",
            f"`{guard.tool}` is not the name of a tool, and it names no program or file",
            FORMS,
        )
    if wrong is not None and not matches(guard, wrong):
        raise InputError(
            "guard",
            f"{guard} does not meet the lesson's wrong_call",
            "Correct it, or edit wrong_call.",
        )
    if right is not None and matches(guard, right):
        raise InputError(
            "guard",
            f"{guard} meets the lesson's right_call too",
            "Add what the right call has: without …",
        )


async def keep_calls(
    context: Context, scope: Scope, lesson_id: str, wrong: str, right: str
) -> None:
    """Give a lesson that was stored in reply to an ask the two calls of its finding, and the guard that they make.

    A lesson that names calls of its own keeps them, and nobody changes what a person keeps.
    """
    try:
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if lesson.wrong_call or lesson.right_call or lesson.guard or lesson.is_kept_by_person:
            return
        draft, _ = await guarded(
            context, scope, replace(lesson, wrong_call=wrong, right_call=right), is_chosen=False
        )
    except InputError:  # it is gone, or the two calls are one
        return
    if draft.guard is not None:
        kept = {
            name: getattr(draft, name) for name in ("wrong_call", "right_call", "guard", "unarmed")
        }
        await context.bank.lessons.edit(scope, lesson_id, kept)


def without_guard(lesson: Lesson) -> InputError:
    """Return the error of a lesson without a guard: its id, and the command that gives it one."""
    name = short_id(lesson.id)
    fix = f"Give it one: mcp-reflect lessons edit {name} --guard 'Bash: `tsc` without `--noEmit`'."
    return InputError("id", f"{name} has no guard", fix)


async def set_mode(context: Context, lesson_id: str, mode: GuardMode) -> Lesson:
    """Turn on a lesson's guard, and say what it does, on a person's behalf. InputError for one that cannot."""
    lesson = await context.bank.lessons.get(context.scopes.own, lesson_id)
    if lesson.guard is None:
        raise without_guard(lesson)
    if mode in (GuardMode.ENFORCE, GuardMode.HOLD) and not may_hold(lesson):
        fix = "Write a lesson of your own: mcp-reflect lessons add."
        raise InputError("mode", "a lesson from outside never holds a call", fix)
    return await context.bank.lessons.edit(
        context.scopes.own,
        lesson_id,
        {"guard_mode": mode, "unarmed": None, "guard_repeats": 0},
        by=Speaker.PERSON,
    )
