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

_MOST_BYTES: Final = 2_000_000  # of the file
_MOST_LINES: Final = 2_000  # of the file that are read
_MOST_LESSONS: Final = 10_000  # of the bank that are written, or compared
_BESIDE_WORDS: Final = ("why", "task_type", "wrong_call", "right_call", "guard")
_TEXTS: Final = ("lesson", "mistake", "correction", *_BESIDE_WORDS)
_LISTS: Final = ("symptoms", "keywords", "tags")
_READABLE: Final = 0o644  # by everybody, as git makes files
_NOT_READ: Final = "it came with the repository, and nobody has read it here"


@dataclass(frozen=True, slots=True)
class SharedFile:
    """What a repository shares, beside what the bank has."""

    new: tuple[
        tuple[int, Mapping[str, Any]], ...
    ] = ()  # lines that the bank does not have, by number
    known: int = 0  # how many lines it has
    faults: tuple[str, ...] = ()  # "line 7: it is no lesson"

    @property
    def note(self) -> str:
        """What to tell a person about it; empty where there is nothing to say."""
        unread = ""
        if self.faults:
            unread = f"{len(self.faults)} of its lines are not read: {self.faults[0]}"
        if self.new:
            sentence = f"{SHARED_FILE} has {len(self.new)} lessons that are not in this bank"
            if unread:
                sentence += f"; {unread}"
            return f"{sentence}. `mcp-reflect import --here` lets them wait for you."
        if unread:
            return f"{SHARED_FILE} {unread}"
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
    """Return what a line says of a lesson, in order."""
    values: dict[str, Any] = {name: getattr(lesson, name) for name in _BESIDE_WORDS}
    values |= {name: sorted(getattr(lesson, name)) for name in _LISTS}
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
    await asyncio.to_thread(replace_whole, str(file), content, _READABLE)
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
    """Return what the repository that is worked in shares, and what of it the bank does not have, in any state."""
    tree = working_tree(context)
    if tree is None:
        return SharedFile()
    try:
        data = await asyncio.to_thread(read_in, tree, SHARED_FILE, _MOST_BYTES)
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
    """Return which lines of the file's text are new, each once, by the wordings of what the bank has."""
    wordings = set(stored_wordings)  # with those of the lines so far
    new: list[tuple[int, Mapping[str, Any]]] = []
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
        elif _wording(fields) in wordings:
            known_lines += 1
        else:
            wordings.add(_wording(fields))
            new.append((number, fields))
    return SharedFile(tuple(new), known_lines, tuple(faults))


def _fields_of(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the words of a line; None for one that is no lesson.

    What a line says of trust, ids, dates or other projects is left out: whoever writes the file could claim any.
    """
    fields: dict[str, Any] = {}
    for name in _TEXTS:
        text: Any = line.get(name)
        if isinstance(text, str) and text.strip():
            fields[name] = text
    for name in _LISTS:
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
    """Return the words by which a lesson is known again: its mistake, correction and text, without extra spaces."""
    texts = (str(fields.get(name) or "") for name in ("mistake", "correction", "lesson"))
    return tuple(clean(" ".join(text.split())) for text in texts)


async def refuse_missing_here(context: Context) -> None:
    """Raise InputError if the repository has no file of lessons."""
    file = _required_tree(context) / SHARED_FILE
    if not await asyncio.to_thread(os.path.lexists, file):
        fix = "mcp-reflect export --here writes it in a clone whose lessons you approved."
        raise InputError("--here", f"there is no {SHARED_FILE} here", fix)


async def import_here(context: Context) -> tuple[list[Stored], SharedFile]:
    """Let the lessons of the repository's file that are new wait for a person; return them, and what was read.

    Where a setting names the file, they are stored as imported ones, which no person trusts yet. A line that cannot be
    stored is left out.
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
