"""Let a person change a lesson in their editor, as TOML with a line for each field."""

import json
import os
import tempfile
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, RecordKind

_LISTS: Final = ("symptoms", "keywords", "tags")
_FIELDS: Final = ("mistake", "correction", "why", "context", "task_type", "importance", *_LISTS)
_NOTE: Final = "# Lesson {id}: change it, save, and leave the editor. Unchanged, or empty: nothing is stored.\n"

Fields = dict[str, Any]
"""The value of each field: a text or None, a tuple of texts, or the importance (0 to 1)."""


def format_document(fields: Fields) -> str:
    """Return the document of a lesson; a text of JSON is one of TOML, but for one character."""
    values = {name: json.dumps(fields[name] or "", ensure_ascii=False) for name in _FIELDS}
    return "".join(f"{name} = {value}\n" for name, value in values.items()).replace(
        "\x7f", "\\u007f"
    )


def parse_document(text: str) -> Fields:
    """Return the fields of a document. InputError for one that is broken, or has a field that lessons have not."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            "the file", str(error), 'Write NAME = "TEXT", and \\" for a quotation mark in it.'
        ) from None
    if unknown := sorted(told.keys() - {*_FIELDS}):
        raise InputError(
            "the file",
            f"a lesson has no field '{unknown[0][:40]}'",
            f"It has {', '.join(_FIELDS)}.",
        )
    fields: Fields = {name: told.get(name) or None for name in _FIELDS}
    for name in _LISTS:
        fields[name] = tuple(told.get(name) or ())
    return fields


async def edit_in_editor(
    lesson: Lesson, store: Callable[[Fields], Awaitable[Lesson]]
) -> Lesson | None:
    """Let a person edit a lesson, and `store` the changed fields; None if nothing was changed.

    Raises InputError, which names the file that has the text, if the person leaves a fault in it.
    """
    if lesson.kind is not RecordKind.LESSON:
        raise InputError(
            "id", f"'{lesson.id}' is a {lesson.kind}, which quotes its run", "Edit a lesson."
        )
    before = {name: getattr(lesson, name) for name in _FIELDS} | {
        "mistake": lesson.mistake or lesson.text
    }
    descriptor, name = tempfile.mkstemp(prefix="lesson-", suffix=".toml")
    file = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as writer:
        writer.write(_NOTE.format(id=lesson.id) + format_document(before))
    _open_editor(file)
    text = file.read_text(encoding="utf-8")
    try:
        changes: Fields = {}
        if text.strip():
            known = parse_document(format_document(before))
            fields = parse_document(text)
            changes = {name: value for name, value in fields.items() if value != known[name]}
        stored: Lesson | None = None
        if changes:
            stored = await store(changes)
    except InputError as error:
        raise InputError(error.field, error.fault, f"{error.fix} Your text is in {file}.") from None
    file.unlink()
    return stored


def _open_editor(file: Path) -> None:
    from mcp_reflect.children import edit_file  # noqa: PLC0415 - slow to import

    usual = "vi"
    if os.name == "nt":
        usual = "notepad"
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or usual
    try:
        edit_file(command, file)
    except (OSError, ValueError) as error:
        raise InputError(
            "EDITOR", f"'{command}' failed: {error}", f"Set it. Your text is in {file}."
        ) from None
