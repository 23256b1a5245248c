"""Whether a call does as a lesson says: its right call, or what its guard misses in the wrong one.

That is the only proof of a lesson that code can see. Whatever is unsure is no proof.
"""

from dataclasses import replace

from mcp_reflect.errors import InputError
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import SHELL, Guard, parse_guard
from mcp_reflect.guards.matching import matches
from mcp_reflect.models.common import json_of
from mcp_reflect.models.lesson import LessonDraft


def names_calls(lesson: LessonDraft) -> bool:
    """Return whether a lesson names a call, so that a call can prove it at all."""
    guard = _guard_of(lesson)
    return bool(lesson.right_call) or (guard is not None and bool(guard.lacks))


def follows(lesson: LessonDraft, call: Call) -> bool:
    """Return whether a call does as a lesson says, and does not go against it."""
    guard = _guard_of(lesson)
    if guard is not None and matches(guard, call):
        return False
    if lesson.right_call and has_all_of(call, call_of(lesson.right_call)):
        return True
    return guard is not None and _has_cure(guard, call)


def call_of(text: str) -> Call:
    """Return the call that a lesson keeps: a shell command, or the JSON of {tool, arguments}."""
    value = None
    if text.startswith("{"):
        value = json_of(text)
    if isinstance(value, dict) and isinstance(value.get("tool"), str):
        return Call(str(value["tool"]), value.get("arguments"))
    return Call(SHELL, {"command": text})


def has_all_of(call: Call, right: Call) -> bool:
    """Return whether a call has all that another one has.

    A program without arguments is in half of all sessions: it counts only where it is called without any.
    """
    if right.shell != call.shell:
        return False
    if not right.shell:
        wanted = set(right.values)
        return bool(wanted) and _own_name(call) == _own_name(right) and wanted <= set(call.values)
    wanted_programs = [(one.found.name, one.found.arguments) for one in right.programs]
    run_programs = [(one.found.name, one.found.arguments) for one in call.programs]
    return bool(wanted_programs) and all(
        any(_does(own, wanted) for own in run_programs) for wanted in wanted_programs
    )


def _does(made: tuple[str, tuple[str, ...]], wanted: tuple[str, tuple[str, ...]]) -> bool:
    (name, arguments), (wanted_name, wanted_arguments) = made, wanted
    if name != wanted_name:
        return False
    if not wanted_arguments:
        return not arguments
    return set(wanted_arguments) <= set(arguments)


def _has_cure(guard: Guard, call: Call) -> bool:
    """Return whether a call would go against the guard but for what the guard misses: its cure."""
    return bool(guard.lacks) and matches(replace(guard, lacks=()), call)


def _own_name(call: Call) -> str:
    return call.tool.rsplit("__", 1)[-1].lower()


def _guard_of(lesson: LessonDraft) -> Guard | None:
    """Return a lesson's guard; None for one that cannot be read, of another release."""
    try:
        if not lesson.guard:
            return None
        return parse_guard(lesson.guard)
    except InputError:
        return None
