"""Let a person change a lesson in their editor, as TOML with a line for each field."""

import json
import os
import tempfile
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, RecordKind

_LISTS: Final = ("symptoms", "keywords", "tags")
_FIELDS: Final = ("mistake", "correction", "why", "context", "task_type", "importance", *_LISTS)
_NOTE: Final = "# Lesson {id}: change it, save, and leave the editor. Unchanged, or empty: nothing is stored.\n"

_MOST_NAME: Final = 40  # characters of an unknown field that an error repeats

Fields = dict[str, Any]
"""The value of each field: a text or None, a tuple of texts, or the importance (0 to 1)."""


def format_document(fields: Fields) -> str:
    """Return the fields of a lesson as TOML, a line for each: `mistake = "Ran pytest in the wrong folder"`."""
    lines: list[str] = []
    for name in _FIELDS:
        value = fields[name]
        if value is None:
            value = ""
        # JSON writes texts, lists and numbers as TOML does, but leaves the character DEL, which TOML wants escaped.
        toml_value = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        lines.append(f"{name} = {toml_value}\n")
    return "".join(lines)


def parse_document(text: str) -> Fields:
    """Return the fields that a person has left in the document. InputError where it is broken, or has another field."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            "the file", str(error), 'Write NAME = "TEXT", and \\" for a quotation mark in it.'
        ) from None
    unknown = sorted(values.keys() - {*_FIELDS})
    if unknown:
        raise InputError(
            "the file",
            f"a lesson has no field '{unknown[0][:_MOST_NAME]}'",
            f"It has {', '.join(_FIELDS)}.",
        )
    fields: Fields = {name: values.get(name) or None for name in _FIELDS}
    for name in _LISTS:
        fields[name] = _texts(name, values.get(name))
    return fields


def _texts(name: str, value: Any) -> tuple[str, ...]:
    """Return the texts of a list, which a person may write as one text: "deploy" is `["deploy"]`."""
    if not value:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        texts = cast("list[object]", value)
        if all(isinstance(text, str) for text in texts):
            return tuple(map(str, texts))
    raise InputError("the file", f"'{name}' is no list of texts", f'Write {name} = ["TEXT"].')


async def edit_in_editor(
    lesson: Lesson, store: Callable[[Fields], Awaitable[Lesson]]
) -> Lesson | None:
    """Let a person edit a lesson, and `store` the fields that they changed; None if nothing was changed.

    Where the person leaves a fault in the text, InputError names the file that still has it.
    """
    if lesson.kind is not RecordKind.LESSON:
        raise InputError(
            "id", f"'{lesson.id}' is a {lesson.kind}, which quotes its run", "Edit a lesson."
        )
    before = {name: getattr(lesson, name) for name in _FIELDS}
    before["mistake"] = lesson.mistake or lesson.text
    descriptor, name = tempfile.mkstemp(prefix="lesson-", suffix=".toml")
    file = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as writer:
        writer.write(_NOTE.format(id=lesson.id) + format_document(before))
    _open_editor(file)
    text = file.read_text(encoding="utf-8")
    try:
        changes: Fields = {}
        if text.strip():
            unchanged = parse_document(format_document(before))
            fields = parse_document(text)
            changes = {name: value for name, value in fields.items() if value != unchanged[name]}
        stored: Lesson | None = None
        if changes:
            stored = await store(changes)
    except InputError as error:
        raise InputError(error.field, error.fault, f"{error.fix} Your text is in {file}.") from None
    file.unlink()
    return stored


def _open_editor(file: Path) -> None:
    """Open a file in the editor of VISUAL or EDITOR, and wait until the person leaves it; InputError if it fails."""
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
