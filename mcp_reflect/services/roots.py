"""The roots of lessons: planted when one is stored or confirmed, and asked about where they are gone."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.errors import BankError, InputError
from mcp_reflect.evidence.following import call_of
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.root import Ground, Roots, Standing
from mcp_reflect.roots.measuring import measured
from mcp_reflect.roots.planting import LessonText, plant
from mcp_reflect.services.context import Context
from mcp_reflect.services.ground import Mark, harm_of, marks_of, working_tree
from mcp_reflect.sessions.tools import file_of

_MOST_FIX_LINES: Final = 200
_WRITTEN: Final = ("new_string", "new_str", "newText", "new_text", "content")


async def plant_roots(
    context: Context,
    scope: Scope,
    lesson_id: str,
    *,
    files: Sequence[str] = (),
    valid_until: float | None = None,
    fix: Sequence[str] = (),
) -> None:
    """Note what a lesson is true of now. `fix` are calls, as a lesson keeps them, that put the mistake right.

    A lesson of another project, or for all, says nothing of this tree. What cannot be noted is not marked later.
    """
    lesson = await context.bank.lessons.get(scope, lesson_id)
    tree = _tree_of(context, lesson)
    if tree is None and valid_until is None:
        return
    told = _told(lesson, files, fix, valid_until)
    here = (context.settings.folder or Path.cwd()).resolve()
    own = replace(scope, project=lesson.project)
    with suppress(BankError, OSError):
        roots = Roots(valid_until=valid_until)
        if tree:
            roots = await asyncio.to_thread(plant, tree, here, told)
        await context.bank.roots.plant(own, lesson_id, roots)


def _tree_of(context: Context, lesson: Lesson) -> Path | None:
    """Return the tree that a lesson may be true of: none for one of another project, or for all."""
    if lesson.project != context.scopes.own.project:
        return None
    return working_tree(context)


def _told(
    lesson: Lesson, files: Sequence[str], fix: Sequence[str], valid_until: float | None
) -> LessonText:
    """Return what a lesson says of its tree: commands are looked through for names, edits name a file and lines."""
    texts = [text for text in (lesson.mistake, lesson.correction, lesson.why) if text]
    calls = [text for text in (lesson.wrong_call, lesson.right_call, *fix) if text]
    commands = [text for text in calls if call_of(text).shell]
    edits = [call_of(text).arguments for text in calls if text not in commands]
    edited = [file for file in map(file_of, edits) if file]
    written = chain.from_iterable(map(_lines_written, edits))
    return LessonText(
        texts=texts or [lesson.text],
        calls=commands,
        files=[*files, *edited],
        fix_lines=list(islice(written, _MOST_FIX_LINES)),
        valid_until=valid_until,
    )


def _lines_written(arguments: Any) -> list[str]:
    """Return the lines that an edit writes, by its arguments."""
    if not isinstance(arguments, dict):
        return []
    lines: list[str] = []
    for name in _WRITTEN:
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
    """Return the lessons of the project about which to ask whether they are still true."""
    scope, tree, now = context.scopes.own, working_tree(context), context.clock.now()
    planted = await context.bank.roots.of_project(scope)

    def look() -> dict[str, Ground]:
        grounds = {name: measured(tree, one.roots, now) for name, one in planted.items()}
        return {name: one for name, one in grounds.items() if one.standing is Standing.DOUBTED}

    found = {name: ground.told for name, ground in (await asyncio.to_thread(look)).items()}
    hurt = await harm_of(context, scope)
    found |= {name: mark.told for name, mark in hurt.items()}
    lessons = [await context.bank.lessons.get(scope, name) for name in sorted(found)]
    return tuple(Doubted(one, found[one.id]) for one in lessons if _is_asked_about(one, hurt))


def _is_asked_about(lesson: Lesson, hurt: Mapping[str, Mark]) -> bool:
    """Return whether a person is asked: not about harm of a lesson that they keep, which is marked where it is shown."""
    return lesson.id not in hurt or not lesson.is_kept_by_person


async def still_true(context: Context, scope: Scope, lesson: Lesson) -> None:
    """Note that a person says of a lesson that it is still true: new roots; one that hurt is theirs from now on."""
    await plant_again(context, scope, lesson.id)
    if not lesson.is_kept_by_person and lesson.id in await harm_of(context, scope, [lesson.id]):
        await context.bank.lessons.decide(scope, lesson.id, approved=True)


async def confirm_roots(context: Context, scope: Scope, ids: Iterable[str]) -> None:
    """Plant new roots of lessons of which somebody says that they are still true; the others keep theirs."""
    for name, mark in (await marks_of(context, scope, ids)).items():
        if mark.ground.standing is not Standing.STANDS:
            await plant_roots(context, scope, name)


async def plant_again(
    context: Context, scope: Scope, lesson_id: str, *, fix: Sequence[str] = ()
) -> None:
    """Plant the roots of a lesson once more; `fix` are the calls of the session that put its mistake right."""
    with suppress(InputError, BankError):  # it is gone: what was found is kept all the same
        planted = (await context.bank.roots.of(scope, (lesson_id,))).get(lesson_id)
        if planted is None:
            await plant_roots(context, scope, lesson_id, fix=fix)
            return
        until = planted.roots.valid_until
        if until is not None and until < context.clock.now():
            until = None  # somebody says that it still holds
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if _tree_of(context, lesson) is None:  # at a service: what its files were stays
            own = replace(scope, project=lesson.project)
            await context.bank.roots.plant(
                own, lesson_id, replace(planted.roots, valid_until=until)
            )
            return
        files = [one.path for one in planted.roots.files]
        await plant_roots(context, scope, lesson_id, files=files, valid_until=until, fix=fix)
