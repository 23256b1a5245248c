"""Edit a lesson in a person's editor.

The lesson is a TOML file: it has texts, lists and numbers, and its parser names the line of a fault. A fault opens
the editor again with the error on top, and the person's text is never lost.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, RecordKind

FIELDS: Final = ("mistake", "correction", "why", "task_type", "context", "symptoms", "keywords", "tags", "importance")
_LIST_FIELDS: Final = ("symptoms", "keywords", "tags")
_Result = TypeVar("_Result")

_FAULT_MARK: Final = "#! "
_HEADER: Final = """\
# {title}: change what you like, save, and leave the editor. Unchanged, or empty: nothing is stored.
"""


async def edit_in_editor(lesson: Lesson, store: Callable[[dict[str, Any]], Awaitable[Lesson]]) -> Lesson | None:
    """Let a person edit a lesson, and `store` the changed fields; None if nothing was changed.

    Raises InputError, which names the file that has the text, if the person leaves a fault in it.
    """
    if lesson.kind is not RecordKind.LESSON:
        raise InputError("id", f"'{lesson.id}' is a {lesson.kind}, which quotes its run", "Edit a lesson.")
    before = {name: getattr(lesson, name) for name in FIELDS}
    return await _edit_document(lesson_document(before, lesson.id), before, store)


async def add_in_editor(store: Callable[[dict[str, Any]], Awaitable[_Result]]) -> _Result | None:
    """Let a person write a new lesson, and `store` its fields; None if they wrote nothing."""
    empty: dict[str, Any] = {name: () if name in _LIST_FIELDS else None for name in FIELDS} | {"importance": 0.5}
    return await _edit_document(lesson_document(empty, "A new lesson"), empty, store)


async def _edit_document(
    document: str, before: Mapping[str, Any], store: Callable[[dict[str, Any]], Awaitable[_Result]]
) -> _Result | None:
    descriptor, name = tempfile.mkstemp(prefix="lesson-", suffix=".toml")
    os.close(descriptor)
    file, content = Path(name), document
    while True:
        file.write_text(content, encoding="utf-8")
        _open_editor(file)
        saved = file.read_text(encoding="utf-8")
        text = "".join(line for line in saved.splitlines(keepends=True) if not line.startswith(_FAULT_MARK))
        if not text.strip() or text == document:
            file.unlink()
            return None
        try:
            changes = _changes(text, before)
            stored = await store(changes) if changes else None
        except InputError as error:
            if saved == content:
                raise InputError(error.field, error.fault, f"{error.fix} Your text is in {file}.") from None
            content = f"{_FAULT_MARK}{error}\n{text}"
        else:
            file.unlink()
            return stored


def lesson_document(fields: Mapping[str, Any], title: str) -> str:
    """Return the file that a person edits."""
    lines = [f"{name} = {_toml_value(fields[name])}" for name in FIELDS]
    return _HEADER.format(title=title) + "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    match value:
        case None:
            return '""'
        case float():
            return f"{value:g}" if "." in f"{value:g}" else f"{value:.1f}"
        case str() if "\n" in value:
            body = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"""\n{body}"""'
        case _:
            return json.dumps(value, ensure_ascii=False)


def _changes(text: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that differ. Raises InputError for a text that is not TOML, and for an unknown field."""
    try:
        fields: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("the file", f"it is not TOML: {error}", "Correct that place.") from None
    changes: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in FIELDS:
            raise InputError(name, "a lesson has no such field", f"Use {', '.join(FIELDS)}.")
        after = tuple(cast("list[Any]", value)) if name in _LIST_FIELDS and isinstance(value, list) else value
        if after != before[name] and not (after == "" and before[name] is None):
            changes[name] = after
    return changes


def _editor() -> str:
    """Return the command of the person's editor: VISUAL, EDITOR, else one that the system has."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if command:
        return command
    if sys.platform == "win32":
        return "notepad"
    for name in ("editor", "vi", "nano"):
        if shutil.which(name):
            return name
    raise InputError("EDITOR", "it is not set, and there is no vi", "Set it, or give --mistake, --correction or --tag.")


def _open_editor(file: Path) -> None:
    command = _editor()
    try:
        exit_code = subprocess.run([*shlex.split(command), str(file)], check=False).returncode  # noqa: S603 - the person's own editor
    except OSError as error:
        raise InputError(
            "EDITOR", f"'{command}' cannot be started: {error.strerror}", f"{file} has the text."
        ) from None
    if exit_code != 0:
        raise InputError("EDITOR", f"'{command}' ended with {exit_code}", f"{file} has the text; try again.")
