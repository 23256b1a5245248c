"""The roots of lessons: which files, names and versions of the working tree a lesson is about, as they are now.

They are planted (measured and stored) when a lesson is stored or confirmed. Where they are gone, or the lesson did
harm, it is doubted: a person is asked whether it is still true.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.errors import BankError, InputError
from mcp_reflect.evidence.following import call_of
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.root import Roots, Standing
from mcp_reflect.models.shown_digest import Seen
from mcp_reflect.roots.measuring import measured
from mcp_reflect.roots.planting import LessonText, plant
from mcp_reflect.services.context import Context
from mcp_reflect.services.ground import harm_of, marks_of, working_tree
from mcp_reflect.sessions.tools import file_of

_MOST_FIX_LINES: Final = 200  # that edits wrote, by which the lines of a lesson are known again
_NEW_TEXT: Final = ("new_string", "new_str", "newText", "new_text", "content")
"""The arguments of hosts' tools for edits that hold the text which is written."""


async def plant_roots(
    context: Context,
    scope: Scope,
    lesson_id: str,
    *,
    files: Sequence[str] = (),
    valid_until: float | None = None,
    fix: Sequence[str] = (),
) -> None:
    """Measure what a lesson is true of now, and store it.

    `files` are named by whoever stores the lesson, `valid_until` is in seconds since 1970, and `fix` are calls, as a
    lesson keeps them, that put the mistake right. A lesson of another project, or for all, says nothing of this tree.
    Where storing fails, the lesson has no roots and is never doubted for them.
    """
    lesson = await context.bank.lessons.get(scope, lesson_id)
    tree = _tree_of(context, lesson)
    if tree is None and valid_until is None:
        return
    lesson_text = _lesson_text(lesson, files, fix, valid_until)
    here = (context.settings.folder or Path.cwd()).resolve()
    with suppress(BankError, OSError):
        roots = Roots(valid_until=valid_until)
        if tree:
            roots = await asyncio.to_thread(plant, tree, here, lesson_text)
        scope_of_lesson = replace(scope, project=lesson.project)
        await context.bank.roots.plant(scope_of_lesson, lesson_id, roots)


def _tree_of(context: Context, lesson: Lesson) -> Path | None:
    """Return the tree that a lesson may be true of: none for one of another project, or for all."""
    if lesson.project != context.scopes.own.project:
        return None
    return working_tree(context)


def _lesson_text(
    lesson: Lesson, files: Sequence[str], fix: Sequence[str], valid_until: float | None
) -> LessonText:
    """Return the words of a lesson by which its roots are found.

    | what the lesson has       | what is taken of it                    |
    |---------------------------|----------------------------------------|
    | mistake, correction, why  | the text                               |
    | a command                 | the command, for the names in it       |
    | an edit of a file         | the file, and the lines that it writes |
    """
    texts = [text for text in (lesson.mistake, lesson.correction, lesson.why) if text]
    commands: list[str] = []
    edited_files: list[str] = []
    written_lines: list[str] = []
    for text in (lesson.wrong_call, lesson.right_call, *fix):
        if not text:
            continue
        call = call_of(text)
        if call.shell:
            commands.append(text)
            continue
        file = file_of(call.arguments)
        if file:
            edited_files.append(file)
        written_lines += _lines_written(call.arguments)
    return LessonText(
        texts=texts or [lesson.text],
        calls=commands,
        files=[*files, *edited_files],
        fix_lines=written_lines[:_MOST_FIX_LINES],
        valid_until=valid_until,
    )


def _lines_written(arguments: Any) -> list[str]:
    """Return the lines that an edit writes, by its arguments."""
    if not isinstance(arguments, dict):
        return []
    lines: list[str] = []
    for name in _NEW_TEXT:
        value = cast("dict[str, Any]", arguments).get(name)
        if isinstance(value, str):
            lines += value.splitlines()[:_MOST_FIX_LINES]
    return lines


@dataclass(frozen=True, slots=True)
class Doubted:
    """A lesson whose ground is gone, or that hurt, as `told` says: a person is asked whether it is still true."""

    lesson: Lesson
    told: str


async def doubted(context: Context) -> tuple[Doubted, ...]:
    """Return the lessons of the project about which to ask whether they are still true.

    A person is not asked about harm of a lesson that they keep: it is marked where it is shown.
    """
    scope, tree, now = context.scopes.own, working_tree(context), context.clock.now()
    planted_roots = await context.bank.roots.of_project(scope)

    def measure_all() -> dict[str, str]:
        """Return, by lesson id, what became of the roots that are gone."""
        gone: dict[str, str] = {}
        for lesson_id, planted in planted_roots.items():
            ground = measured(tree, planted.roots, now)
            if ground.standing is Standing.DOUBTED:
                gone[lesson_id] = ground.what_changed
        return gone

    reasons = await asyncio.to_thread(measure_all)
    harmful = await harm_of(context, scope)
    reasons.update({lesson_id: mark.what_changed for lesson_id, mark in harmful.items()})
    lessons: list[Doubted] = []
    for lesson_id in sorted(reasons):
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if lesson_id not in harmful or not lesson.is_kept_by_person:
            lessons.append(Doubted(lesson, reasons[lesson_id]))
    return tuple(lessons)


async def still_true(context: Context, scope: Scope, lesson: Lesson, seen: Seen) -> None:
    """Note that a person says of a lesson, as they saw it, that it is still true: its roots are measured anew.

    A lesson after which sessions ended worse than without it is trusted from now on: nobody is asked about it again.
    """
    await plant_again(context, scope, lesson.id)
    if not lesson.is_kept_by_person and lesson.id in await harm_of(context, scope, [lesson.id]):
        await context.bank.lessons.decide(scope, lesson.id, approved=True, seen=seen)


async def confirm_roots(context: Context, scope: Scope, ids: Iterable[str]) -> None:
    """Measure anew the roots of lessons that just helped although their ground changed: they are true of what is there now.

    The others keep their roots.
    """
    marks = await marks_of(context, scope, ids)
    for lesson_id, mark in marks.items():
        if mark.ground.standing is not Standing.STANDS:
            await plant_roots(context, scope, lesson_id)


async def plant_again(
    context: Context, scope: Scope, lesson_id: str, *, fix: Sequence[str] = ()
) -> None:
    """Measure a lesson's roots once more; `fix` are the calls of the session that put its mistake right.

    A date until which it was valid, and which is over, goes: somebody says that it still holds. Where no tree is at
    hand, as at a team's service, only that date changes. A lesson that is gone is no error.
    """
    with suppress(InputError, BankError):
        roots_by_id = await context.bank.roots.of(scope, (lesson_id,))
        if lesson_id not in roots_by_id:
            await plant_roots(context, scope, lesson_id, fix=fix)
            return
        roots = roots_by_id[lesson_id].roots
        until = roots.valid_until
        if until is not None and until < context.clock.now():
            until = None
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if _tree_of(context, lesson) is None:
            scope_of_lesson = replace(scope, project=lesson.project)
            dated_roots = replace(roots, valid_until=until)
            await context.bank.roots.plant(scope_of_lesson, lesson_id, dated_roots)
            return
        files = [root.path for root in roots.files]
        await plant_roots(context, scope, lesson_id, files=files, valid_until=until, fix=fix)
