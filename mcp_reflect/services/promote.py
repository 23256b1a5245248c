"""Promote lessons: write proven ones and a person's into the files that hosts give to their models (`CLAUDE.md` ...).

A person sees the change first, as a `Plan`, and then applies it. Which lessons are chosen is in `promoted_lessons`,
how a file with our block is changed in `promoted_file`, and how files follow their lessons later in
`promotion_refresh`. Only the block between our two markers is ever written.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.finding import Promotion
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.services.context import Context
from mcp_reflect.services.instruction_files import (
    path_of,
    refuse_second_block,
    root_of,
    text_of,
    writable_path,
    write_file,
)
from mcp_reflect.services.lesson_blocks import line_of
from mcp_reflect.services.promoted_file import (
    Plan,
    PromotedFile,
    change_to_lines,
    change_without_block,
    first_promotion,
)
from mcp_reflect.services.promoted_lessons import chosen_lessons
from mcp_reflect.storage.similarity import same_text

MOST_LINES: Final = 40
"""Of a block, with its markers: a model reads all of it in every session."""

_MOST_LESSONS: Final = MOST_LINES - 3  # the other lines are two markers and a heading
_LIST_MARKS: Final = " \t\r-*#>"  # of Markdown, around the words of a line


async def plan(
    context: Context, name: str, *, subject: str | None = None, ids: Sequence[str] = ()
) -> Plan:
    """Return what promoting lessons into a file would change.

    The file is the one of this `name` in FILES, or the skill of a `subject`. Without `ids`, all lessons are promoted
    that a person vouched for, or that were proven. InputError if there is nothing to promote, or the file is not ours
    to change.

    | the lesson                                        | in the file                     |
    |---------------------------------------------------|---------------------------------|
    | is said by the file outside of our block          | is not written again            |
    | is one of the first _MOST_LESSONS of the others   | has a line in the block         |
    | is any other                                      | has no room in the block        |

    A skill is ours alone, so that nothing is said in it before.
    """
    root = root_of(context)
    path = writable_path(root, path_of(root, name, subject))
    earlier = await _promotion_of(context, path)
    file = PromotedFile.read(path)
    if not subject:
        refuse_second_block(root, path)
    lessons = await chosen_lessons(context, subject, ids)
    said_ids: list[str] = []
    if not subject:
        lead = earlier.lead if earlier else ""
        said_ids = _said_already(file.without_block(lead), lessons)
    new_lessons = [lesson for lesson in lessons if lesson.id not in said_ids]
    if not new_lessons and file.block is None:
        raise _nothing_to_promote(is_said=bool(said_ids))
    promotion = earlier
    if promotion is None or file.block is None:
        promotion = first_promotion(file, subject)
    written_lessons, too_many = new_lessons[:_MOST_LESSONS], new_lessons[_MOST_LESSONS:]
    lines = {lesson.id: line_of(lesson) for lesson in written_lessons}
    change = change_to_lines(file, replace(promotion, said=tuple(said_ids)), lines)
    left_out = [
        *((lesson_id, f"{path.name} says it already") for lesson_id in said_ids),
        *((lesson.id, f"a block has at most {MOST_LINES} lines") for lesson in too_many),
    ]
    return replace(change, left_out=tuple(left_out))


async def _promotion_of(context: Context, path: Path) -> Promotion | None:
    """Return what was promoted into a file before, None for nothing."""
    for promotion in await context.bank.promotions.of_project(context.scopes.own):
        if promotion.file == str(path):
            return promotion
    return None


def _said_already(text: str, lessons: Sequence[Lesson]) -> list[str]:
    """Return the ids of the lessons that a text says."""
    return [lesson.id for lesson in lessons if _says(text, lesson)]


def _says(text: str, lesson: Lesson) -> bool:
    """Return whether a line of a text says what a lesson says: it contains the advice, or is nearly the same.

    The line "- Always build it first, please" says the lesson "Build it first".
    """
    advice = lesson.correction or lesson.text
    for whole_line in text.split("\n"):
        line = whole_line.strip(_LIST_MARKS)
        if line and (advice.casefold() in line.casefold() or same_text(line, advice)):
            return True
    return False


def _nothing_to_promote(*, is_said: bool) -> InputError:
    """Return the error that says why no lesson would be written into a file without a block."""
    reason = "the file says them already" if is_said else "no lesson is proven, or a person's"
    fault = f"there is nothing to promote: {reason}"
    return InputError("promote", fault, "Keep some: mcp-reflect lessons review.")


async def apply(context: Context, change: Plan) -> None:
    """Write a plan's file. InputError if it changed since the plan was made, or cannot be written."""
    path = change.path
    if text_of(path) != change.before:
        raise InputError("file", f"{path.name} changed in the meantime", "Promote again.")
    try:
        write_file(path, change.after)
    except OSError as error:
        fault = f"{path} cannot be written: {error.strerror}"
        raise InputError("file", fault, "Name another one.") from None
    await context.bank.promotions.put(context.scopes.own, str(path), change.promotion)


async def undo_plans(
    context: Context, name: str | None = None, subject: str | None = None
) -> list[Plan]:
    """Return the changes that take our blocks out of the file of a name or subject, else out of every file.

    A file that we made for its block alone is removed. The name may be left out for a subject, whose skill has its own.
    """
    promotions = await context.bank.promotions.of_project(context.scopes.own)
    if name is not None or subject is not None:
        file = os.path.realpath(path_of(root_of(context), name or "", subject))
        promotions = [promotion for promotion in promotions if promotion.file == file]
    if not promotions:
        fault = "nothing of this project was promoted"
        raise InputError("--undo", fault, "`mcp-reflect promote` does it.")
    return [change_without_block(PromotedFile.of(promotion), promotion) for promotion in promotions]
