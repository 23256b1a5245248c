"""Write proven lessons and a person's into the files that hosts give to their models, and keep them in step.

Only the block between our two markers is ever written. The first marker has a digest of the block, so that a change by
hand is seen, and left alone.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.finding import Promotion
from mcp_reflect.models.lesson import Lesson, RecordKind, State, Trust
from mcp_reflect.security.redact import quoted
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
    START,
    Block,
    block_in,
    block_of,
    line_of,
    lines_in,
    without_block,
)
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.similarity import same_text

MOST_LINES: Final = 40  # of a block, with its markers
LEAST_OF_A_SKILL: Final = 3  # lessons of one subject
_FRAME: Final = 4  # lines of a block that are no lessons
_MOST_CHOSEN: Final = 500  # lessons, of which a block has room for few
_RULES: Final = "---\ndescription: Lessons of this project\nalwaysApply: true\n---\n"
_SKILL: Final = (
    "---\nname: {name}\n"
    "description: What was learned about {subject} in this project. Read it before such a task.\n---\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change of a file: its text before and after, what is to be kept of it, and what is left out with the reason.

    `after` is None if the file is removed, which was made for our block alone.
    """

    path: Path
    before: str
    after: str | None
    promotion: Promotion | None
    left_out: tuple[tuple[str, str], ...] = ()


async def plan(
    context: Context, name: str, *, subject: str | None = None, ids: Sequence[str] = ()
) -> Plan:
    """Return what promoting into a file would change.

    Without `ids` these are the lessons that a person vouched for, or that were proven; a `subject` has a skill of its
    own. InputError if there is nothing to promote, or the file is not ours to change.
    """
    root = root_of(context)
    path = writable_path(root, path_of(root, name, subject))
    known = await _promotion_of(context, path)
    text = text_of(path)
    if not subject:
        refuse_second_block(root, path)
    block = block_in(text, path.name)
    lessons = await _chosen(context, subject, ids)
    said = [] if subject else _said_already(lessons, text, block, known)
    kept = [lesson for lesson in lessons if lesson.id not in said]
    if not kept and not block:
        why = "the file says them already" if said else "no lesson is proven, or a person's"
        fault = f"there is nothing to promote: {why}"
        raise InputError("promote", fault, "Keep some: mcp-reflect lessons review.")
    if known is None or block is None:
        known = _first_promotion(path, text, block, subject)
    room = MOST_LINES - _FRAME + 1
    left_out = [(lesson_id, f"{path.name} says it already") for lesson_id in said]
    left_out += [(lesson.id, f"a block has at most {MOST_LINES} lines") for lesson in kept[room:]]
    lines = {lesson.id: line_of(lesson) for lesson in kept[:room]}
    return _planned(replace(known, said=tuple(said)), lines, tuple(left_out))


async def _promotion_of(context: Context, path: Path) -> Promotion | None:
    """Return what was promoted into a file before, None for nothing."""
    for known in await context.bank.findings.promotions(context.scopes.own):
        if known.file == str(path):
            return known
    return None


def _said_already(
    lessons: Sequence[Lesson], text: str, block: Block | None, known: Promotion | None
) -> list[str]:
    """Return the ids of lessons that the file says outside of our block."""
    rest = text
    if block is not None:
        rest = without_block(block, text, known.lead if known else "")
    return [lesson.id for lesson in lessons if _says(rest, lesson)]


def _first_promotion(path: Path, text: str, block: Block | None, subject: str | None) -> Promotion:
    """Return what is kept of a file into which nothing was promoted yet: what we add before our block."""
    lead = ""
    if block is None and text:
        lead = "\n" if text.endswith("\n") else "\n\n"
        lead = _with_line_ends_of(text, lead)
    head = "" if text else _head_of(path, subject)
    return Promotion(file=str(path), lessons=(), lead=lead, head=head, made=not path.exists())


def _with_line_ends_of(text: str, added: str) -> str:
    """Return what is added to a text with that text's line ends."""
    return added.replace("\n", "\r\n") if "\r\n" in text else added


def _planned(
    known: Promotion, lines: Mapping[str, str], left_out: tuple[tuple[str, str], ...] = ()
) -> Plan:
    """Return the change that puts these lines into the block of a file, or removes the block if there are none.

    The lines stand under the ids of their lessons. InputError if the file is not ours to change.
    """
    path = Path(known.file)
    text = text_of(writable_path(path.parent, path))
    block = block_in(text, path.name)
    if lines:
        after = _with_block(known, text, block, lines.values())
        promotion = replace(known, lessons=tuple(lines))
        return Plan(path=path, before=text, after=after, promotion=promotion, left_out=left_out)
    rest = without_block(block, text, known.lead) if block else text
    is_ours_alone = known.made and rest == known.head
    after = None if is_ours_alone else rest
    return Plan(path=path, before=text, after=after, promotion=None, left_out=left_out)


def _with_block(known: Promotion, text: str, block: Block | None, lines: Iterable[str]) -> str:
    """Return a text with these lines in our block, at its place, else at the end. The end of the file stays as it is."""
    new = _with_line_ends_of(text, block_of(lines))
    if block is None:
        return f"{text or known.head}{known.lead}{new}"
    if not text[: block.end].endswith("\n"):
        new = new.removesuffix(_with_line_ends_of(text, "\n"))
    return text[: block.start] + new + text[block.end :]


def _head_of(path: Path, subject: str | None) -> str:
    if subject:
        return _SKILL.format(name=path.parent.name, subject=" ".join(subject.split()))
    return _RULES if path.suffix == ".mdc" else ""


def _says(text: str, lesson: Lesson) -> bool:
    """Return whether a text says what a lesson says, in a line or a paragraph."""
    told = lesson.correction or lesson.text
    lines = [line.strip(" \t\r-*#>") for line in text.split("\n")]
    return any(
        line and (told.casefold() in line.casefold() or same_text(line, told)) for line in lines
    )


async def _chosen(context: Context, subject: str | None, ids: Sequence[str]) -> list[Lesson]:
    """Return the lessons that are named, else those of a subject, else all that are proven."""
    if ids:
        return await _named(context, ids)
    started = await context.bank.lessons.for_start(context.scopes.own, _MOST_CHOSEN)
    found = [lesson for lesson in started if _is_usable(lesson) and _is_proven(lesson)]
    if subject is None:
        return found
    group = [lesson for lesson in found if subject.casefold() in _subjects(lesson)]
    if len(group) >= LEAST_OF_A_SKILL:
        return group
    fault = f"{len(group)} lessons have the task type or tag '{quoted(subject)}', and a skill takes {LEAST_OF_A_SKILL}"
    raise InputError("--skill", fault, f"Subjects with enough: {_large_subjects(found)}.")


async def _named(context: Context, ids: Sequence[str]) -> list[Lesson]:
    scope, lessons = context.scopes.own, context.bank.lessons
    found: list[Lesson] = []
    for part in ids:
        lesson = await lessons.get(scope, await lessons.resolve_id(scope, part), "id")
        if not _is_usable(lesson):
            fix = "Decide about it first: mcp-reflect lessons review."
            raise InputError("id", f"'{quoted(lesson.id)}' is not in use, or not trusted", fix)
        found.append(lesson)
    return found


def _large_subjects(lessons: Iterable[Lesson]) -> str:
    """Return the subjects that have enough lessons for a skill, the largest first."""
    counts = Counter(name for lesson in lessons for name in _subjects(lesson))
    large = [(name, count) for name, count in counts.most_common(10) if count >= LEAST_OF_A_SKILL]
    return ", ".join(f"{name} ({count})" for name, count in large) or "none yet"


def _subjects(lesson: Lesson) -> set[str]:
    return {name.casefold() for name in (lesson.task_type, *lesson.tags) if name}


def _is_usable(lesson: Lesson) -> bool:
    in_use = lesson.state is State.ACTIVE and lesson.kind is RecordKind.LESSON and not lesson.held
    return in_use and not suspicion_of(lesson)


def _is_proven(lesson: Lesson) -> bool:
    return lesson.trust in (Trust.TRUSTED, Trust.CONFIRMED)


async def apply(context: Context, made: Plan) -> None:
    """Write a plan's file. InputError if it changed since the plan was made, or cannot be written."""
    if text_of(made.path) != made.before:
        raise InputError("file", f"{made.path.name} changed in the meantime", "Promote again.")
    try:
        write_file(made.path, made.after)
    except OSError as error:
        fault = f"{made.path} cannot be written: {error.strerror}"
        raise InputError("file", fault, "Name another one.") from None
    await context.bank.findings.put_promotion(context.scopes.own, str(made.path), made.promotion)


async def undo_plans(
    context: Context, name: str | None = None, subject: str | None = None
) -> list[Plan]:
    """Return the changes that take our blocks out of a file, or out of every file of the project."""
    known = await context.bank.findings.promotions(context.scopes.own)
    if name is not None or subject is not None:
        file = os.path.realpath(path_of(root_of(context), name or "", subject))
        known = [one for one in known if one.file == file]
    if not known:
        fault = "nothing of this project was promoted"
        raise InputError("--undo", fault, "`mcp-reflect promote` does it.")
    return [_planned(one, {}) for one in known]


async def refresh(context: Context, by: Speaker, since: float) -> None:
    """Bring our blocks into step with their lessons: new words, and without those that are not in use any more.

    Only a person's word changes a file. So a line follows a lesson that a person keeps, which only a person changes, and
    where a person runs this process one that changed or was erased `since` it began. Any other line stays as the person
    saw it when they promoted it. A file stays as it is if it is gone, cannot be written, or somebody edited its block.
    """
    for known in await context.bank.findings.promotions(context.scopes.own):
        with suppress(InputError, OSError):
            made = _planned(known, await _lines_now(context, known, by, since))
            if made.after != made.before and START.search(made.before):
                await apply(context, made)


async def _lines_now(
    context: Context, known: Promotion, by: Speaker, since: float
) -> dict[str, str]:
    """Return the lines that a block should have, under the ids of their lessons."""
    text = text_of(Path(known.file))
    block = block_in(text, known.file)
    written = lines_in(text, block) if block else []
    lines: dict[str, str] = {}
    for lesson_id, line in zip(known.lessons, written, strict=False):
        lesson = await _found(context, lesson_id)
        is_of_person = by is Speaker.PERSON and (lesson is None or lesson.updated_at >= since)
        if not is_of_person and (lesson is None or not lesson.is_kept_by_person):
            lines[lesson_id] = line
        elif lesson is not None and _is_usable(lesson):
            lines[lesson_id] = line_of(lesson)
    return lines


async def _found(context: Context, lesson_id: str) -> Lesson | None:
    try:
        return await context.bank.lessons.get(context.scopes.own, lesson_id)
    except NotFoundError:
        return None
