"""Keep promoted files in step with the bank: when a lesson changed or was retired, its line in a file follows.

Nobody looks at these changes before they are written, so that a line follows only what a person did.
"""

from contextlib import suppress

from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.finding import Promotion
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.services.context import Context
from mcp_reflect.services.lesson_blocks import line_of
from mcp_reflect.services.promote import apply
from mcp_reflect.services.promoted_file import PromotedFile, change_to_lines
from mcp_reflect.services.promoted_lessons import is_usable
from mcp_reflect.speaker import Speaker


async def refresh(context: Context, by: Speaker, since: float) -> None:
    """Bring our blocks into step with their lessons: new words, and without those that are not in use any more.

    `by` says who runs this process, which began at `since`, in seconds since 1970. A file stays as it is if it is gone
    or cannot be written, if somebody edited its block, or if another bank wrote the block (`_is_block_of`).
    """
    for promotion in await context.bank.promotions.of_project(context.scopes.own):
        with suppress(InputError, OSError):
            file = PromotedFile.of(promotion)
            if file.block is None or not _is_block_of(promotion, file):
                continue
            lines = await _lines_now(context, promotion, file, by, since)
            change = change_to_lines(file, promotion, lines)
            if change.after != change.before:
                await apply(context, change)


def _is_block_of(promotion: Promotion, file: PromotedFile) -> bool:
    """Return whether the block in a file can be the one that this bank wrote: it has a line for each lesson.

    A file that comes with git may have the block of another branch, or of a colleague's bank: its lines are not ours to
    take out, and which lesson each is of is not known here.
    """
    return len(file.lesson_lines()) == len(promotion.lessons)


async def _lines_now(
    context: Context, promotion: Promotion, file: PromotedFile, by: Speaker, since: float
) -> dict[str, str]:
    """Return the lines that a block should have, under the ids of their lessons; the first row that fits decides.

    | the lesson                                        | its line                        |
    |---------------------------------------------------|---------------------------------|
    | is not the line's to follow (`_may_line_follow`)  | stays as it is                  |
    | is in use                                         | the lesson's words as of now    |
    | is retired, or erased                             | is taken out                    |
    """
    lines: dict[str, str] = {}
    # As many lines as lessons: `_is_block_of` has counted them.
    for lesson_id, line in zip(promotion.lessons, file.lesson_lines(), strict=True):
        lesson = await _stored_lesson(context, lesson_id)
        if not _may_line_follow(lesson, by, since):
            lines[lesson_id] = line
        elif lesson is not None and is_usable(lesson):
            lines[lesson_id] = line_of(lesson)
    return lines


async def _stored_lesson(context: Context, lesson_id: str) -> Lesson | None:
    """Return the lesson of an id, None if it was erased."""
    try:
        return await context.bank.lessons.get(context.scopes.own, lesson_id)
    except NotFoundError:
        return None


def _may_line_follow(lesson: Lesson | None, by: Speaker, since: float) -> bool:
    """Return whether a line may follow its lesson (None: erased), since only a person's word changes a file.

    | the lesson                                              | may be followed                    |
    |---------------------------------------------------------|------------------------------------|
    | is kept by a person, who alone can change it            | yes                                |
    | is any other, and an agent runs this process            | no: the agent may have changed it  |
    | was changed or erased since the person's process began  | yes: by this person                |
    | was changed before                                      | no: the person never saw it        |
    """
    if lesson is not None and lesson.is_kept_by_person:
        return True
    if by is not Speaker.PERSON:
        return False
    return lesson is None or lesson.updated_at >= since
