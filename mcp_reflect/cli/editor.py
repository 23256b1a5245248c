"""Let a person edit a lesson in `$EDITOR`, as Markdown with a section for each field."""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, RecordKind

_LISTS: Final = ("symptoms", "keywords", "tags")
_FIELDS: Final = ("mistake", "correction", "why", "context", "task_type", "importance", *_LISTS)
_TITLES: Final = {name.replace("_", " ").capitalize(): name for name in _FIELDS}
_HEADING: Final = re.compile(r"^## (.+?)[ \t]*$", re.MULTILINE)
_NEEDS_ESCAPE: Final = re.compile(r"^(\\*)## ", re.MULTILINE)
_ESCAPED: Final = re.compile(r"^\\(\\*## )", re.MULTILINE)
_NOTE: Final = "<!-- {title}: change it, save, and leave the editor. Unchanged, or empty: nothing is stored. -->\n"

Fields = dict[str, Any]
"""The value of each field: a text or None, a tuple of texts, or the importance (0 to 1)."""


def format_document(fields: Fields) -> str:
    """Return the document of a lesson: a section for each field, in which `- ` begins each item of a list."""
    sections: list[str] = []
    for title, name in _TITLES.items():
        value = fields[name]
        items = [f"- {item}".replace("\n", "\n  ") for item in value] if name in _LISTS else [str(value or "")]
        text = _NEEDS_ESCAPE.sub(r"\\\1## ", "\n".join(items))
        sections.append(f"## {title}\n\n{text}\n")
    return "\n".join(sections)


def parse_document(text: str) -> Fields:
    """Return the fields of a document. Raises InputError for a section that is not a field."""
    fields: Fields = {**dict.fromkeys(_FIELDS), **dict.fromkeys(_LISTS, ())}
    _, *parts = _HEADING.split(text)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        name = _TITLES.get(title.capitalize())
        if name is None:
            raise InputError("the file", f"a lesson has no section '{title[:40]}'", f"It has {', '.join(_TITLES)}.")
        value = _ESCAPED.sub(r"\1", body.strip())
        if name in _LISTS:
            items = re.split(r"^- ", value, flags=re.MULTILINE)
            fields[name] = tuple(item.strip().replace("\n  ", "\n") for item in items if item.strip())
        else:
            fields[name] = value or None
    return fields


def _fields_of(lesson: Lesson) -> Fields:
    """Return the fields of a lesson as a document has them; one without a mistake has its text there."""
    fields = {name: getattr(lesson, name) for name in _FIELDS}
    fields |= {"mistake": lesson.mistake or lesson.text}
    return parse_document(format_document(fields))


async def edit_in_editor(lesson: Lesson, store: Callable[[Fields], Awaitable[Lesson]]) -> Lesson | None:
    """Let a person edit a lesson, and `store` the changed fields; None if nothing was changed.

    Raises InputError, which names the file that has the text, if the person leaves a fault in it.
    """
    if lesson.kind is not RecordKind.LESSON:
        raise InputError("id", f"'{lesson.id}' is a {lesson.kind}, which quotes its run", "Edit a lesson.")
    before = _fields_of(lesson)
    descriptor, name = tempfile.mkstemp(prefix="lesson-", suffix=".md")
    file = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as writer:
        writer.write(_NOTE.format(title=f"Lesson {lesson.id}") + format_document(before))
    _open_editor(file)
    text = file.read_text(encoding="utf-8")
    try:
        fields = parse_document(text) if text.strip() else before
        changes = {name: value for name, value in fields.items() if value != before[name]}
        stored = await store(changes) if changes else None
    except InputError as error:
        raise InputError(error.field, error.fault, f"{error.fix} Your text is in {file}.") from None
    file.unlink()
    return stored


def _open_editor(file: Path) -> None:
    """Open the person's editor: VISUAL, EDITOR, else one that the system has."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    command = command or next(filter(shutil.which, ("editor", "vi", "nano", "notepad")), None)
    if command is None:
        fix = "Set it, or give --mistake, --correction or --tag."
        raise InputError("EDITOR", "it is not set, and there is no vi", fix)
    import subprocess  # noqa: PLC0415 - slow to import

    try:
        status = subprocess.run([*shlex.split(command), str(file)], check=False).returncode  # noqa: S603 - the person's own
    except OSError as error:
        fault = f"'{command}' cannot be started: {error.strerror}"
        raise InputError("EDITOR", fault, f"{file} has the text.") from None
    if status != 0:
        raise InputError("EDITOR", f"'{command}' ended with {status}", f"{file} has the text; try again.")
