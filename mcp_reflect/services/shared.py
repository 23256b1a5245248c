"""A project's approved lessons as a file in its repository, by which a team shares them without a server.

The file is data from outside, whoever wrote it: it is read bounded and through no link, what is new waits for a person,
and a fault in it stops nothing.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import GLOBAL, json_of
from mcp_reflect.models.lesson import Lesson, State, Stored, Trust
from mcp_reflect.models.lesson_words import exported_words
from mcp_reflect.roots.tree import NotMeasuredError, read_in
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.ground import working_tree
from mcp_reflect.services.imports import import_lessons
from mcp_reflect.whole_files import replace_whole

FOLDER: Final = ".mcp-reflect"
SHARED_FILE: Final = f"{FOLDER}/lessons.jsonl"
"""Where a repository keeps the lessons that it shares."""

_MAX_FILE_BYTES: Final = 2_000_000
_MOST_LINES: Final = 2_000  # of the file that are read
_MOST_LESSONS: Final = 10_000  # of the bank that are written, or compared
_OTHER_TEXT_FIELDS: Final = ("why", "task_type", "wrong_call", "right_call", "guard")
_TEXT_FIELDS: Final = ("lesson", "mistake", "correction", *_OTHER_TEXT_FIELDS)
_LIST_FIELDS: Final = ("symptoms", "keywords", "tags")
_FILE_MODE: Final = 0o644  # everybody may read it, as git makes files
_NOT_READ: Final = "it came with the repository, and nobody has read it here"


@dataclass(frozen=True, slots=True)
class SharedFile:
    """The lessons in a repository's file, compared with those of the bank."""

    new: tuple[tuple[int, Mapping[str, Any]], ...] = ()
    """The numbered lines that the bank does not have."""
    known: int = 0
    """How many lines the bank has."""
    faults: tuple[str, ...] = ()
    """Lines that are not read, each as "line 7: it is no lesson"."""

    @property
    def note(self) -> str:
        """The sentence for a person about the file; empty where all of its lines are known and sound."""
        about_faults = ""
        if self.faults:
            about_faults = f"{len(self.faults)} of its lines are not read: {self.faults[0]}"
        if self.new:
            sentence = f"{SHARED_FILE} has {len(self.new)} lessons that are not in this bank"
            if about_faults:
                sentence += f"; {about_faults}"
            return f"{sentence}. `mcp-reflect import --here` lets them wait for you."
        if about_faults:
            return f"{SHARED_FILE} {about_faults}"
        return ""


def _required_tree(context: Context) -> Path:
    """Return the working tree whose file is meant; InputError if the folder belongs to no project."""
    tree = working_tree(context)
    if tree is None:
        fix = "Run it in a repository, without MCP_REFLECT_PROJECT."
        raise InputError("--here", "this folder belongs to no project", fix)
    return tree


def line_of(lesson: Lesson) -> str:
    """Return a lesson as a line of the file: its words alone, in one order, so that it changes only when they do."""
    return json.dumps(clean(fields_of(lesson)), ensure_ascii=False)


def fields_of(lesson: Lesson) -> dict[str, Any]:
    """Return the fields that a line has of a lesson, in alphabetical order, without empty ones."""
    values: dict[str, Any] = {name: getattr(lesson, name) for name in _OTHER_TEXT_FIELDS}
    values |= {name: sorted(getattr(lesson, name)) for name in _LIST_FIELDS}
    values |= exported_words(lesson.text, lesson.mistake, lesson.correction)
    return {name: value for name, value in sorted(values.items()) if value}


async def export_here(context: Context) -> int:
    """Write the lessons of the project that a person approved into its repository; return their number.

    InputError where a link stands in the way: nothing is written through one.
    """
    tree = _required_tree(context)
    lines = sorted({line_of(lesson) for lesson in await _approved(context)})
    folder = tree / FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError("--here", f"{folder} is a link or a file", "Remove it first.")
    folder.mkdir(exist_ok=True)
    file = folder / "lessons.jsonl"
    if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
        raise InputError("--here", f"{file} is a link or no file", "Remove it first.")
    content = "".join(f"{line}\n" for line in lines).encode()
    await asyncio.to_thread(replace_whole, str(file), content, _FILE_MODE)
    return len(lines)


async def _approved(context: Context) -> list[Lesson]:
    """Return the project's own lessons that a person approved, in use and in no quarantine."""
    lessons = await context.bank.lessons.latest(context.scopes.own, limit=_MOST_LESSONS)
    return [
        lesson
        for lesson in lessons
        if lesson.trust is Trust.TRUSTED and lesson.project != GLOBAL and not lesson.held
    ]


async def shared_here(context: Context) -> SharedFile:
    """Return the lessons that the repository that is worked in shares, compared with those of the bank in any state.

    A fault in the file is in the result, and stops nothing.
    """
    tree = working_tree(context)
    if tree is None:
        return SharedFile()
    try:
        data = await asyncio.to_thread(read_in, tree, SHARED_FILE, _MAX_FILE_BYTES)
    except NotMeasuredError:
        return SharedFile(faults=("it is a link, no file, or larger than 2 MB",))
    if data is None:
        return SharedFile()
    return _compared(data.decode("utf-8", "replace"), await _stored_wordings(context))


async def _stored_wordings(context: Context) -> set[tuple[str, ...]]:
    """Return the wordings of all lessons of the project that were ever stored: one that was rejected is not new."""
    wordings: set[tuple[str, ...]] = set()
    for state in State:
        for held in (False, True):
            lessons = await context.bank.lessons.latest(
                context.scopes.own, state=state, limit=_MOST_LESSONS, held=held
            )
            wordings |= {_wording(fields_of(lesson)) for lesson in lessons}
    return wordings


def _compared(text: str, stored_wordings: set[tuple[str, ...]]) -> SharedFile:
    """Return the lines of the file's text, compared by their wordings with the lessons that the bank has.

    | the line                                     | is                |
    |----------------------------------------------|-------------------|
    | empty                                        | left out          |
    | behind the first _MOST_LINES                 | a fault, the last |
    | no lesson                                    | a fault           |
    | in the words of a stored or an earlier one   | known             |
    | any other                                    | new               |
    """
    known_wordings = set(stored_wordings)
    new_lines: list[tuple[int, Mapping[str, Any]]] = []
    faults: list[str] = []
    known_lines = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if number > _MOST_LINES:
            faults.append(f"line {number}: only {_MOST_LINES} lines are read")
            break
        value = json_of(line)
        fields = _fields_of(value) if isinstance(value, dict) else None
        if fields is None:
            faults.append(f"line {number}: it is no lesson")
        elif _wording(fields) in known_wordings:
            known_lines += 1
        else:
            known_wordings.add(_wording(fields))
            new_lines.append((number, fields))
    return SharedFile(tuple(new_lines), known_lines, tuple(faults))


def _fields_of(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the words of a line; None for a line that is no lesson.

    Fields for trust, ids, dates or other projects are left out: whoever writes the file could claim any.
    """
    fields: dict[str, Any] = {}
    for name in _TEXT_FIELDS:
        text: Any = line.get(name)
        if isinstance(text, str) and text.strip():
            fields[name] = text
    for name in _LIST_FIELDS:
        values: Any = line.get(name)
        if isinstance(values, list) and _are_texts(cast("list[Any]", values)):
            fields[name] = values
    if fields.keys().isdisjoint(("mistake", "correction", "lesson")):
        return None
    return fields


def _are_texts(values: list[Any]) -> bool:
    """Return whether all values of a list are texts."""
    return all(isinstance(value, str) for value in values)


def _wording(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words by which a lesson is recognized: its mistake, correction and text, without extra spaces."""
    texts = (str(fields.get(name) or "") for name in ("mistake", "correction", "lesson"))
    return tuple(clean(" ".join(text.split())) for text in texts)


async def refuse_missing_here(context: Context) -> None:
    """Raise InputError if the repository has no file of lessons."""
    file = _required_tree(context) / SHARED_FILE
    if not await asyncio.to_thread(os.path.lexists, file):
        fix = "mcp-reflect export --here writes it in a clone whose lessons you approved."
        raise InputError("--here", f"there is no {SHARED_FILE} here", fix)


async def import_here(context: Context) -> tuple[list[Stored], SharedFile]:
    """Store the new lessons of the repository's file; return them, and the file as it was read.

    | a setting names the file as trusted | its new lessons                                              |
    |-------------------------------------|--------------------------------------------------------------|
    | no                                  | wait in quarantine for a person: anybody may have written it |
    | yes                                 | are stored as imported ones, which no person trusts yet      |

    A line that cannot be stored is a fault in the result.
    """
    file = _required_tree(context) / SHARED_FILE
    is_trusted = str(file) in context.settings.trusted_lessons
    shared = await shared_here(context)
    stored: list[Stored] = []
    faults = [*shared.faults]
    for number, fields in shared.new:
        line = dict(fields)
        if not is_trusted:
            line["trust"] = Trust.QUARANTINED.value
        try:
            async for batch in import_lessons(context, [(number, line)], waits_since=_NOT_READ):
                stored += batch
        except InputError as error:
            faults.append(f"line {number}: {error.field}: {error.fault}")
    return stored, SharedFile(shared.new, shared.known, tuple(faults))
