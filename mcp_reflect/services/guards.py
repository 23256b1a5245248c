"""Guards of lessons: made of their calls and words, and tried on both calls and on the calls of the project."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.following import call_of
from mcp_reflect.guards.derivation import derive
from mcp_reflect.guards.guard import FORMS, Call, Guard, matches, parse_guard
from mcp_reflect.guards.reading import derive_from_words
from mcp_reflect.guards.wording import Wording
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import (
    GuardMode,
    Lesson,
    LessonDraft,
    RecordKind,
    Source,
    lesson_parts,
)
from mcp_reflect.moments.guarded import may_hold
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.services.context import Context

MOST_MET: Final = 0.05
"""The share of a project's recorded calls above which a guard is off until a person turns it on."""

_LEAST_NOTED: Final = 10  # calls, for fewer no share is known
_EXAMPLE: Final = (
    'like wrong_call "tsc -p .", right_call "tsc --noEmit", or {"tool": …, "arguments": {…}}'
)
_TOOL_NAME: Final = lazy_compile(r"[A-Z_]")
_Draft = TypeVar("_Draft", bound=LessonDraft)


async def guarded(
    context: Context, scope: Scope, draft: _Draft, noted: Sequence[Call] | None = None
) -> tuple[_Draft, str | None]:
    """Return a draft with its guard, and what to say of the guard; None if nobody asked for one and none is there.

    A given guard is tried, else one is derived from the calls, else from the words alone. `noted` are the project's
    recorded calls, if they are known. InputError for equal calls, and for a guard that misses the wrong call, meets the
    right one, or meets everything.
    """
    if draft.kind is not RecordKind.LESSON or draft.source is Source.RULES:
        return draft, None
    wrong, right = (
        call_of(text) if text else None for text in (draft.wrong_call, draft.right_call)
    )
    _refuse_bad_calls(wrong, right)
    wording = Wording(draft.mistake or draft.text, draft.correction or "")
    guard = parse_guard(draft.guard) if draft.guard else None
    if guard is not None:
        _try(guard, wrong, right)
    elif wrong is not None:
        guard = derive(wrong, right, wording)
    else:
        guard = derive_from_words(_told(draft))
        guard = None if guard is None or (right is not None and matches(guard, right)) else guard
    if guard is None:
        none = "none: the lesson names no difference between the two calls, or only a number, which is of one task"
        told = none if wrong is not None else None
        return replace(draft, guard=None, unarmed=None), told
    noted = await context.bank.lessons.noted_calls(scope) if noted is None else noted
    others = [call for call in noted if not _same(call, wrong)]
    met = sum(matches(guard, call) for call in others)
    known = (
        f"{met} of {len(others)} recorded calls of this project"
        if others
        else "no recorded call to try it on"
    )
    wide = len(others) >= _LEAST_NOTED and met > MOST_MET * len(others)
    unarmed = f"it meets {met} of {len(others)} recorded calls" if wide else None
    told = f"{guard}; {'meets' if others else 'there is'} {known}"
    if wrong is not None:
        told = f"{guard}; meets wrong_call{', not right_call' if right else ''}, {known}"
    told += "; it is off until a person runs `mcp-reflect lessons guard ID hold`" if wide else ""
    return replace(draft, guard=str(guard), unarmed=unarmed), told


def _told(draft: LessonDraft) -> Wording:
    """Return the words of a lesson; an advice alone says what to do, so the call in it is not the wrong one."""
    mistake, correction = draft.mistake or "", draft.correction or ""
    if not correction and mistake in ("", draft.text):
        mistake, correction = lesson_parts(draft.text)
    return Wording(mistake, correction) if correction else Wording(draft.mistake or draft.text, "")


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
    if (
        wrong is not None
        and right is None
        and not wrong.shell
        and not any(value for _, value in wrong.values)
    ):
        fault = f"a guard of it would meet every call of {wrong.tool}"
        raise InputError("wrong_call", fault, f"Send its arguments, and right_call, {_EXAMPLE}.")


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


async def set_mode(context: Context, lesson_id: str, mode: GuardMode) -> Lesson:
    """Turn on a lesson's guard, and say what it does, on a person's behalf. InputError for one that cannot."""
    lesson = await context.bank.lessons.get(context.scopes.own, lesson_id)
    if lesson.guard is None:
        fix = "Give it one: mcp-reflect lessons edit ID --wrong-call 'tsc -p .' --right-call 'tsc --noEmit'."
        raise InputError("id", "that lesson has no guard", fix)
    if mode in (GuardMode.ENFORCE, GuardMode.HOLD) and not may_hold(lesson):
        fix = "Write a lesson of your own: mcp-reflect lessons add."
        raise InputError("mode", "a lesson from outside never holds a call", fix)
    return await context.bank.lessons.edit(
        context.scopes.own, lesson_id, {"guard_mode": mode, "unarmed": None, "guard_repeats": 0}
    )
