"""Promote lessons: write proven ones and a person's into the files that hosts give to their models (`CLAUDE.md` ...).

Which lessons these are is chosen in `promoted_lessons`. Only the block between our two markers is ever written. The
first marker has a digest of the block, so that a change by hand is seen, and left alone.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcp_reflect.errors import InputError, NotFoundError
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
from mcp_reflect.services.lesson_blocks import (
    Block,
    block_in,
    block_of,
    line_of,
    lines_in,
    without_block,
)
from mcp_reflect.services.promoted_lessons import chosen_lessons, is_usable
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage.similarity import same_text

MOST_LINES: Final = 40
"""Of a block, with its markers: a model reads all of it in every session."""

_MOST_LESSONS: Final = MOST_LINES - 3  # the other lines are two markers and a heading
_RULES: Final = "---\ndescription: Lessons of this project\nalwaysApply: true\n---\n"
_SKILL: Final = (
    "---\nname: {name}\n"
    "description: What was learned about {subject} in this project. Read it before such a task.\n---\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change of a file, and what the bank is to keep of it."""

    path: Path
    before: str  # its text now
    after: str | None  # None: the file is removed, which was made for our block alone
    promotion: Promotion | None  # None if nothing stays promoted
    left_out: tuple[tuple[str, str], ...] = ()  # ids of lessons that are not written, each with why


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it is now."""

    path: Path
    text: str
    block: Block | None  # where our block stands in it, None if it has none

    @classmethod
    def read(cls, path: Path) -> "_File":
        """Read a file. InputError if it cannot be read, or somebody changed our block in it."""
        text = text_of(path)
        return cls(path, text, block_in(text, path.name))

    @classmethod
    def of(cls, promotion: Promotion) -> "_File":
        """Read the file of an earlier promotion. InputError also if it may not be written any more."""
        path = Path(promotion.file)
        return cls.read(writable_path(path.parent, path))

    def without_block(self, lead: str) -> str:
        """Return the text without our block, and without its `lead`, the line ends that we added before it."""
        if self.block is None:
            return self.text
        return without_block(self.block, self.text, lead)


async def plan(
    context: Context, name: str, *, subject: str | None = None, ids: Sequence[str] = ()
) -> Plan:
    """Return what promoting lessons into a file would change.

    The file is the one of this `name` in FILES, or the skill of a `subject`. Without `ids`, all lessons are promoted
    that a person vouched for, or that were proven. What the file says already, outside of our block, is not written
    again; a skill is ours alone, so that nothing is said in it before. InputError if there is nothing to promote, or the
    file is not ours to change.
    """
    root = root_of(context)
    path = writable_path(root, path_of(root, name, subject))
    earlier = await _promotion_of(context, path)
    file = _File.read(path)
    if not subject:
        refuse_second_block(root, path)
    lessons = await chosen_lessons(context, subject, ids)
    ids_in_file: list[str] = []
    if not subject:
        text_of_others = file.without_block(earlier.lead if earlier else "")
        ids_in_file = [lesson.id for lesson in lessons if _says(text_of_others, lesson)]
    new_lessons = [lesson for lesson in lessons if lesson.id not in ids_in_file]
    if not new_lessons and file.block is None:
        raise _nothing_to_promote(is_said=bool(ids_in_file))
    if earlier is None or file.block is None:
        earlier = _first_promotion(file, subject)
    written, too_many = new_lessons[:_MOST_LESSONS], new_lessons[_MOST_LESSONS:]
    left_out = [(lesson_id, f"{path.name} says it already") for lesson_id in ids_in_file]
    left_out += [(lesson.id, f"a block has at most {MOST_LINES} lines") for lesson in too_many]
    lines = {lesson.id: line_of(lesson) for lesson in written}
    change = _change_to_lines(file, replace(earlier, said=tuple(ids_in_file)), lines)
    return replace(change, left_out=tuple(left_out))


def _nothing_to_promote(*, is_said: bool) -> InputError:
    """Return the error that says why no lesson would be written into a file that has none yet."""
    why = "the file says them already" if is_said else "no lesson is proven, or a person's"
    fault = f"there is nothing to promote: {why}"
    return InputError("promote", fault, "Keep some: mcp-reflect lessons review.")


async def _promotion_of(context: Context, path: Path) -> Promotion | None:
    """Return what was promoted into a file before, None for nothing."""
    for promotion in await context.bank.findings.promotions(context.scopes.own):
        if promotion.file == str(path):
            return promotion
    return None


def _first_promotion(file: _File, subject: str | None) -> Promotion:
    """Return what the bank keeps of a file without our block, so that all that we add can be taken out again.

    | file             | `lead`: what is put in front of the block | `head`: how the file begins |
    |------------------|-------------------------------------------|-----------------------------|
    | new, or empty    | nothing                                   | its header (`_head_of`)     |
    | has a text       | line ends, so that a line is free         | nothing                     |
    | has our block    | nothing: it stands where it stands        | nothing                     |
    """
    lead = head = ""
    if not file.text:
        head = _head_of(file.path, subject)
    elif file.block is None:
        lead = _with_line_ends_of(file.text, "\n" if file.text.endswith("\n") else "\n\n")
    is_new = not file.path.exists()
    return Promotion(file=str(file.path), lessons=(), lead=lead, head=head, made=is_new)


def _with_line_ends_of(text: str, added: str) -> str:
    """Return `added` with the line ends of the text that it is added to: those of Windows, if that has any."""
    if "\r\n" in text:
        return added.replace("\n", "\r\n")
    return added


def _change_to_lines(file: _File, promotion: Promotion, lines: Mapping[str, str]) -> Plan:
    """Return the change that puts these lines, under the ids of their lessons, into our block of a file.

    Without lines it takes the block out, and removes a file in which nothing else than we wrote is left.
    """
    if lines:
        after = _with_block(promotion, file.text, file.block, lines.values())
        promoted = replace(promotion, lessons=tuple(lines))
        return Plan(path=file.path, before=file.text, after=after, promotion=promoted)
    after = file.without_block(promotion.lead)
    is_ours_alone = promotion.made and after == promotion.head
    if is_ours_alone:
        return Plan(path=file.path, before=file.text, after=None, promotion=None)
    return Plan(path=file.path, before=file.text, after=after, promotion=None)


def _with_block(promotion: Promotion, text: str, block: Block | None, lines: Iterable[str]) -> str:
    """Return the text of a file with these lines in our block, which stands where it stood, or else at the end.

    A file whose last line had no line end still has none.
    """
    new_block = _with_line_ends_of(text, block_of(lines))
    if block is None:
        return f"{text or promotion.head}{promotion.lead}{new_block}"
    if not text[: block.end].endswith("\n"):
        new_block = new_block.removesuffix(_with_line_ends_of(text, "\n"))
    return text[: block.start] + new_block + text[block.end :]


def _head_of(path: Path, subject: str | None) -> str:
    """Return the lines with which a new file begins: a skill's and a Cursor rule's have a header, others none."""
    if subject:
        return _SKILL.format(name=path.parent.name, subject=" ".join(subject.split()))
    if path.suffix == ".mdc":
        return _RULES
    return ""


def _says(text: str, lesson: Lesson) -> bool:
    """Return whether a line of a text says what a lesson says: it contains the advice, or is nearly the same."""
    advice = lesson.correction or lesson.text
    for whole_line in text.split("\n"):
        line = whole_line.strip(" \t\r-*#>")
        if line and (advice.casefold() in line.casefold() or same_text(line, advice)):
            return True
    return False


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
    await context.bank.findings.put_promotion(context.scopes.own, str(path), change.promotion)


async def undo_plans(
    context: Context, name: str | None = None, subject: str | None = None
) -> list[Plan]:
    """Return the changes that take our blocks out of the file of a name or subject, else out of every file."""
    promotions = await context.bank.findings.promotions(context.scopes.own)
    if name is not None or subject is not None:
        file = os.path.realpath(path_of(root_of(context), name or "", subject))
        promotions = [promotion for promotion in promotions if promotion.file == file]
    if not promotions:
        fault = "nothing of this project was promoted"
        raise InputError("--undo", fault, "`mcp-reflect promote` does it.")
    return [_change_to_lines(_File.of(promotion), promotion, {}) for promotion in promotions]


async def refresh(context: Context, by: Speaker, since: float) -> None:
    """Bring our blocks into step with their lessons: new words, and without those that are not in use any more.

    `by` says who runs this process, which began at `since`, in seconds since 1970. A file stays as it is if it is gone
    or cannot be written, if somebody edited its block, or if another bank wrote the block (`_is_block_of`).
    """
    for promotion in await context.bank.findings.promotions(context.scopes.own):
        with suppress(InputError, OSError):
            file = _File.of(promotion)
            if file.block is None or not _is_block_of(promotion, file):
                continue
            lines = await _lines_now(context, promotion, file, by, since)
            change = _change_to_lines(file, promotion, lines)
            if change.after != change.before:
                await apply(context, change)


def _is_block_of(promotion: Promotion, file: _File) -> bool:
    """Return whether the block in a file can be the one that this bank wrote: it has a line for each lesson.

    A file that comes with git may have the block of another branch, or of a colleague's bank: its lines are not ours to
    take out, and which lesson each is of is not known here.
    """
    return len(_written_lines(file)) == len(promotion.lessons)


def _written_lines(file: _File) -> list[str]:
    """Return the lines of lessons that stand in a file."""
    if file.block is None:
        return []
    return lines_in(file.text, file.block)


async def _lines_now(
    context: Context, promotion: Promotion, file: _File, by: Speaker, since: float
) -> dict[str, str]:
    """Return the lines that a block should have, under the ids of their lessons.

    | the lesson                                     | its line                        |
    |------------------------------------------------|---------------------------------|
    | is one that the line may not follow            | stays as it is                  |
    | is in use                                      | the lesson's words as of now    |
    | is retired, or erased                          | is taken out                    |
    """
    lines: dict[str, str] = {}
    for lesson_id, line in zip(promotion.lessons, _written_lines(file), strict=True):
        lesson = await _stored_lesson(context, lesson_id)
        if not _may_line_follow(lesson, by, since):
            lines[lesson_id] = line
        elif lesson is not None and is_usable(lesson):
            lines[lesson_id] = line_of(lesson)
    return lines


def _may_line_follow(lesson: Lesson | None, by: Speaker, since: float) -> bool:
    """Return whether a line may follow its lesson (None: erased), since only a person's word changes a file.

    A lesson that a person keeps is changed by a person alone. Any other one has to be changed or erased by the person
    who runs this process, after it began; else its line stays as the person saw it when they promoted it.
    """
    if lesson is not None and lesson.is_kept_by_person:
        return True
    if by is not Speaker.PERSON:
        return False
    return lesson is None or lesson.updated_at >= since


async def _stored_lesson(context: Context, lesson_id: str) -> Lesson | None:
    """Return the lesson of an id, None if it was erased."""
    try:
        return await context.bank.lessons.get(context.scopes.own, lesson_id)
    except NotFoundError:
        return None
