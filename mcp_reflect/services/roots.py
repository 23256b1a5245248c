"""The roots of lessons: the files, names and versions of the working tree that a lesson is about, as they are now.

They are planted (measured and stored) when a lesson is stored or confirmed, so that later sessions can tell when the
lesson became outdated. Where a root is gone, or the lesson did harm, the lesson is doubted: a person is asked whether
it is still true.
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
from mcp_reflect.services.ground import remarks_on, remarks_on_harm, working_tree
from mcp_reflect.sessions.tools import file_of

_MOST_FIX_LINES: Final = 200
"""Lines written by the edits that put a mistake right, by which the lines of a file that the lesson is about are found."""

_WRITTEN_TEXT_ARGUMENTS: Final = ("new_string", "new_str", "newText", "new_text", "content")
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
    """Measure the files, names and versions that a lesson is about as they are now, and store them as its roots.

    `files` are named by whoever stores the lesson, `valid_until` is in seconds since 1970, and `fix` are calls, as a
    lesson keeps them, that put the mistake right. A lesson of another project, or for all, says nothing of this tree.
    Where storing fails, the lesson has no roots and is never doubted for them.
    """
    lesson = await context.bank.lessons.get(scope, lesson_id)
    tree = _tree_of(context, lesson)
    if tree is None and valid_until is None:
        return
    lesson_text = _lesson_text(lesson, files, fix, valid_until)
    working_folder = (context.settings.folder or Path.cwd()).resolve()
    with suppress(BankError, OSError):
        roots = Roots(valid_until=valid_until)
        if tree:
            roots = await asyncio.to_thread(plant, tree, working_folder, lesson_text)
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
    """Return the lines that an edit writes: {"new_string": "import os"} -> ["import os"]."""
    if not isinstance(arguments, dict):
        return []
    lines: list[str] = []
    for name in _WRITTEN_TEXT_ARGUMENTS:
        value = cast("dict[str, Any]", arguments).get(name)
        if isinstance(value, str):
            lines += value.splitlines()[:_MOST_FIX_LINES]
    return lines


@dataclass(frozen=True, slots=True)
class Doubted:
    """A lesson that may be outdated or that hurt: a person is asked whether it is still true."""

    lesson: Lesson
    told: str  # why: "app.py is gone since", or how sessions ended with it and without it


async def doubted(context: Context) -> tuple[Doubted, ...]:
    """Return the lessons of the project about which to ask a person whether they are still true.

    | the lesson                                | a person keeps it | asked about, and why         |
    |-------------------------------------------|-------------------|------------------------------|
    | hurt                                      | yes               | no: it has a remark instead  |
    | hurt                                      | no                | yes: how sessions ended      |
    | has a root that is gone                   | any               | yes: what is gone            |

    The first row that fits decides.
    """
    scope = context.scopes.own
    tree = working_tree(context)
    now = context.clock.now()
    planted_by_id = await context.bank.roots.of_project(scope)

    def measure_all_roots() -> dict[str, str]:
        """Return what is gone, by the ids of the lessons of which a root is gone."""
        gone: dict[str, str] = {}
        for lesson_id, planted in planted_by_id.items():
            ground = measured(tree, planted.roots, now)
            if ground.standing is Standing.DOUBTED:
                gone[lesson_id] = ground.what_changed
        return gone

    reasons = await asyncio.to_thread(measure_all_roots)
    harmful = await remarks_on_harm(context, scope)
    for lesson_id, remark in harmful.items():
        reasons[lesson_id] = remark.what_changed
    doubted_lessons: list[Doubted] = []
    for lesson_id in sorted(reasons):
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if lesson_id in harmful and lesson.is_kept_by_person:
            continue
        doubted_lessons.append(Doubted(lesson, reasons[lesson_id]))
    return tuple(doubted_lessons)


async def still_true(context: Context, scope: Scope, lesson: Lesson, seen: Seen) -> None:
    """Note that a person says of a lesson, as they saw it, that it is still true: its roots are measured anew.

    A lesson after which sessions ended worse than without it is trusted from now on: nobody is asked about it again.
    """
    await plant_again(context, scope, lesson.id)
    if not lesson.is_kept_by_person and lesson.id in await remarks_on_harm(
        context, scope, [lesson.id]
    ):
        await context.bank.lessons.decide(scope, lesson.id, approved=True, seen=seen)


async def confirm_roots(context: Context, scope: Scope, ids: Iterable[str]) -> None:
    """Measure anew the roots of lessons that just helped, where these changed: the advice is true of the files as they are now.

    Unchanged roots stay as they are.
    """
    remarks = await remarks_on(context, scope, ids)
    for lesson_id, remark in remarks.items():
        if remark.ground.standing is not Standing.STANDS:
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
        valid_until = roots.valid_until
        if valid_until is not None and valid_until < context.clock.now():
            valid_until = None
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if _tree_of(context, lesson) is None:
            scope_of_lesson = replace(scope, project=lesson.project)
            dated_roots = replace(roots, valid_until=valid_until)
            await context.bank.roots.plant(scope_of_lesson, lesson_id, dated_roots)
            return
        files = [root.path for root in roots.files]
        await plant_roots(context, scope, lesson_id, files=files, valid_until=valid_until, fix=fix)
