"""Edit a lesson in a person's editor, as the Markdown of `lesson_document`.

A fault opens the editor again with the error on top, and the person's text is never lost.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from mcp_reflect.cli.lesson_document import Fields, as_arguments, fields_of, format_document, parse_document
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, RecordKind

_Result = TypeVar("_Result")

_FAULT: Final = "#! "
_NOTE: Final = "#: "
_HEADER: Final = _NOTE + "{title}: change it, save, and leave the editor. Unchanged, or empty: nothing is stored.\n"


async def edit_in_editor(lesson: Lesson, store: Callable[[dict[str, Any]], Awaitable[Lesson]]) -> Lesson | None:
    """Let a person edit a lesson, and `store` the changed fields; None if nothing was changed.

    Raises InputError, which names the file that has the text, if the person leaves a fault in it.
    """
    if lesson.kind is not RecordKind.LESSON:
        raise InputError("id", f"'{lesson.id}' is a {lesson.kind}, which quotes its run", "Edit a lesson.")
    return await _edit(fields_of(lesson), f"Lesson {lesson.id}", store)


async def add_in_editor(store: Callable[[dict[str, Any]], Awaitable[_Result]]) -> _Result | None:
    """Let a person write a new lesson, and `store` its fields; None if they wrote nothing."""
    return await _edit(parse_document("")[1], "A new lesson", store)


async def _edit(before: Fields, title: str, store: Callable[[dict[str, Any]], Awaitable[_Result]]) -> _Result | None:
    document = format_document(before, complete=True)
    descriptor, name = tempfile.mkstemp(prefix="lesson-", suffix=".md")
    os.close(descriptor)
    file, content = Path(name), _HEADER.format(title=title) + document
    while True:
        file.write_text(content, encoding="utf-8")
        _open_editor(file)
        saved = file.read_text(encoding="utf-8")
        text = "".join(line for line in saved.splitlines(keepends=True) if not line.startswith((_FAULT, _NOTE)))
        if not text.strip() or text == document:
            file.unlink()
            return None
        try:
            fields = parse_document(text)[1]
            changes = {name: value for name, value in fields.items() if value != before[name]}
            stored = await store(as_arguments(changes)) if changes else None
        except InputError as error:
            if saved == content:
                raise InputError(error.field, error.fault, f"{error.fix} Your text is in {file}.") from None
            content = f"{_FAULT}{error}\n{text}"
        else:
            file.unlink()
            return stored


def _open_editor(file: Path) -> None:
    """Open the person's editor: VISUAL, EDITOR, else one that the system has."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    command = command or next(filter(shutil.which, ("editor", "vi", "nano", "notepad")), None)
    if command is None:
        fix = "Set it, or give --mistake, --correction or --tag."
        raise InputError("EDITOR", "it is not set, and there is no vi", fix)
    try:
        exit_code = subprocess.run([*shlex.split(command), str(file)], check=False).returncode  # noqa: S603 - the person's own editor
    except OSError as error:
        raise InputError(
            "EDITOR", f"'{command}' cannot be started: {error.strerror}", f"{file} has the text."
        ) from None
    if exit_code != 0:
        raise InputError("EDITOR", f"'{command}' ended with {exit_code}", f"{file} has the text; try again.")
