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
        return cls(
            guard=stored_guard(lesson.guard),
            wrong=call_of(lesson.wrong_call) if lesson.wrong_call else None,
            right=call_of(lesson.right_call) if lesson.right_call else None,
        )

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


def has_all_of(call: Call, wanted: Call) -> bool:
    """Return whether a call has all that a wanted one has.

    | the wanted call             | the call has all of it where                                                       |
    |-----------------------------|-------------------------------------------------------------------------------------|
    | is of a tool                | the tool is the same, and each wanted value is among its arguments                 |
    | runs programs in a shell    | it runs each of them with its arguments: `git push -f origin` has all of `git push -f` |
    | has no value and no program | never: nothing would tell it from any other call                                   |
    """
    if wanted.shell != call.shell:
        return False
    if wanted.shell:
        return bool(wanted.programs) and all(_runs(call, program) for program in wanted.programs)
    wanted_values = set(wanted.values)
    is_same_tool = _name_without_server(call) == _name_without_server(wanted)
    return bool(wanted_values) and is_same_tool and wanted_values <= set(call.values)


def _runs(call: Call, wanted: Program) -> bool:
    """Return whether a call runs a program as it is wanted."""
    return any(_is_run_as(program, wanted) for program in call.programs)


def _is_run_as(program: Program, wanted: Program) -> bool:
    """Return whether a program is run as a wanted one: with its arguments, and the variables that are set for it.

    A program without arguments is in half of all sessions: it counts only where it is called without any.
    """
    if program.invocation.name != wanted.invocation.name or not _has_variables(program, wanted):
        return False
    if not wanted.invocation.arguments:
        return not program.invocation.arguments
    return set(wanted.invocation.arguments) <= set(program.invocation.arguments)


def _has_variables(program: Program, wanted: Program) -> bool:
    """Return whether what is set for a wanted program is set for another: `LC_ALL=C sort` in `export LC_ALL=C; sort`."""
    if not wanted.command.assignments:
        return True
    words = {*program.command.assignments, *program.command.words}
    for earlier in program.earlier:
        if earlier.program in _SETTING:
            words |= {*earlier.assignments, *earlier.words}
    return set(wanted.command.assignments) <= words


def _has_cure(guard: Guard, call: Call) -> bool:
    """Return whether a call would go against the guard but for what the guard misses: its cure."""
    return bool(guard.lacks) and matches(replace(guard, lacks=()), call)


def _name_without_server(call: Call) -> str:
    """Return the name of a tool without that of its server: `mcp__web__Search` -> `search`."""
    return call.tool.rsplit("__", 1)[-1].lower()
