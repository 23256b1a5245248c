"""Whether a call does as a lesson says: its right call, or what its guard misses in the wrong one.

That is the only proof of a lesson that code can see. Whatever is unsure is no proof.
"""

from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import SHELL, Guard, stored_guard
from mcp_reflect.guards.matching import matches
from mcp_reflect.guards.program import Program
from mcp_reflect.models.common import json_of
from mcp_reflect.models.lesson import LessonDraft

_SETTING: Final = frozenset(("", "export"))
"""Programs whose assignments hold for later commands; "" only assigns."""


def names_calls(lesson: LessonDraft) -> bool:
    """Return whether a lesson names a call, so that a call can prove it at all."""
    guard = stored_guard(lesson.guard)
    return bool(lesson.right_call) or (guard is not None and bool(guard.lacks))


@dataclass(frozen=True, slots=True)
class LessonCalls:
    """The calls that a lesson names, read once: what its guard meets, the call that was wrong, the one that is right."""

    guard: Guard | None
    wrong: Call | None
    right: Call | None

    @classmethod
    def of(cls, lesson: LessonDraft) -> "LessonCalls":
        """Return the calls of a lesson; a guard that cannot be read, of another release, is none."""
        wrong = call_of(lesson.wrong_call) if lesson.wrong_call else None
        right = call_of(lesson.right_call) if lesson.right_call else None
        return cls(stored_guard(lesson.guard), wrong, right)

    def is_followed_by(self, call: Call) -> bool:
        """Return whether a call does as the lesson says, and does not go against it."""
        if self.guard is not None and matches(self.guard, call):
            return False
        if self.right is not None and has_all_of(call, self.right):
            return True
        return self.guard is not None and _has_cure(self.guard, call)

    def is_opposed_by(self, call: Call) -> bool:
        """Return whether a call goes against the lesson: its guard meets it, or it has all of the wrong call."""
        if self.guard is not None and matches(self.guard, call):
            return True
        if self.wrong is None or not has_all_of(call, self.wrong):
            return False
        return not self.is_followed_by(call)


def follows(lesson: LessonDraft, call: Call) -> bool:
    """Return whether a call does as a lesson says, and does not go against it."""
    return LessonCalls.of(lesson).is_followed_by(call)


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
    return bool(right.programs) and all(
        any(_does(own, wanted) for own in call.programs) for wanted in right.programs
    )


def _does(made: Program, wanted: Program) -> bool:
    """Return whether a program is run as another one: with its arguments, and the variables that are set for it."""
    if made.invocation.name != wanted.invocation.name or not _has_variables(made, wanted):
        return False
    if not wanted.invocation.arguments:
        return not made.invocation.arguments
    return set(wanted.invocation.arguments) <= set(made.invocation.arguments)


def _has_variables(made: Program, wanted: Program) -> bool:
    """Return whether what is set for a wanted program is set for one that was run: `LC_ALL=C sort`, `env LC_ALL=C sort`."""
    if not wanted.command.assignments:
        return True
    known = {*made.command.assignments, *made.command.words}
    for earlier in made.earlier:
        if earlier.program in _SETTING:
            known |= {*earlier.assignments, *earlier.words}
    return set(wanted.command.assignments) <= known


def _has_cure(guard: Guard, call: Call) -> bool:
    """Return whether a call would go against the guard but for what the guard misses: its cure."""
    return bool(guard.lacks) and matches(replace(guard, lacks=()), call)


def _own_name(call: Call) -> str:
    return call.tool.rsplit("__", 1)[-1].lower()
