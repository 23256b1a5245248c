"""A lesson in a person's editor: a file with a clear form, which comes back with the fault named; nothing is lost.

The file is TOML, which has words, lists and numbers, and whose reader names the line of a fault.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Kind, Lesson

FIELDS: Final = ("mistake", "correction", "why", "task_type", "context", "symptoms", "keywords", "tags", "importance")
_LISTS: Final = ("symptoms", "keywords", "tags")
_FAULT: Final = "#! "
_HEAD: Final = """\
# {id}: change what you like, save, and leave the editor. As it was, or empty: nothing is changed.
# The wording before stays in the lesson's history.
"""


def editor() -> str | None:
    """The person's editor, by VISUAL and EDITOR; null where there is none to name."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if sys.platform == "win32" else None)


async def edited(lesson: Lesson, keep: Callable[[dict[str, Any]], Awaitable[Lesson]]) -> Lesson | None:
    """Have a person edit a lesson, and `keep` what changed; null where nothing did.

    What cannot be read or kept brings the editor up again with the fault on top. Where it comes back the same,
    InputError says where the text was left.
    """
    if lesson.kind is not Kind.LESSON:
        raise InputError("id", f"'{lesson.id}' is a {lesson.kind}, whose words are its run's", "Edit a lesson.")
    handle, name = tempfile.mkstemp(prefix="lesson-", suffix=".toml")
    os.close(handle)
    file, shown = Path(name), written(lesson)
    first = shown
    while True:
        file.write_text(shown, encoding="utf-8")
        _open(file)
        text = file.read_text(encoding="utf-8")
        bare = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_FAULT))
        if not bare.strip() or bare == first:
            file.unlink()
            return None
        try:
            changes = _changes(bare, lesson)
            kept = await keep(changes) if changes else None
        except InputError as error:
            if text == shown:
                raise InputError(error.field, error.fault, f"{error.fix} Your text is in {file}.") from None
            shown = f"{_FAULT}{error}\n{bare}"
        else:
            file.unlink()
            return kept


def written(lesson: Lesson) -> str:
    """A lesson as the file that a person edits."""
    lines = [f"{name} = {_value(getattr(lesson, name))}" for name in FIELDS]
    return _HEAD.format(id=lesson.id) + "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    match value:
        case None:
            return '""'
        case float():
            return f"{value:g}" if "." in f"{value:g}" else f"{value:.1f}"
        case tuple():
            return json.dumps(value, ensure_ascii=False)
        case str() if "\n" in value:
            body = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"""\n{body}"""'
        case _:
            return json.dumps(value, ensure_ascii=False)


def _changes(text: str, lesson: Lesson) -> dict[str, Any]:
    """The fields that differ; InputError names what is no TOML, no field, or of another form."""
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("the file", f"it is no TOML: {error}", "Mend that place.") from None
    changes: dict[str, Any] = {}
    for name, value in read.items():
        if name not in FIELDS:
            raise InputError(name, "a lesson has no such field", f"Use {', '.join(FIELDS)}.")
        before = getattr(lesson, name)
        if name in _LISTS:
            value = tuple(cast("list[Any]", value)) if isinstance(value, list) else value  # noqa: PLW2901 - as records have
        if value != before and not (value == "" and before is None):
            changes[name] = value
    return changes


def _open(file: Path) -> None:
    command = editor()
    if command is None:
        raise InputError("EDITOR", "it names no editor", "Set it, or give --mistake, --correction, --why or --tag.")
    try:
        done = subprocess.run([*shlex.split(command), str(file)], check=False)  # noqa: S603 - the person's own editor
    except OSError as error:
        raise InputError(
            "EDITOR", f"'{command}' cannot be started: {error.strerror}", f"{file} has the text."
        ) from None
    if done.returncode != 0:
        raise InputError("EDITOR", f"'{command}' ended with {done.returncode}", f"{file} has the text; try again.")
