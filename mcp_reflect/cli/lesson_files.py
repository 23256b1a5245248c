"""A lesson as Markdown: short fields as YAML on top, and a section for each text. `export DIR/` and `$EDITOR` use it.

In an editor, a fault opens it again with the error on top, and the person's text is never lost.
"""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from mcp_reflect import services
from mcp_reflect.cli.files import replace_file
from mcp_reflect.cli.lesson_text import SHORT_ID_CHARS
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Lesson, RecordKind
from mcp_reflect.services.engine import Engine

TEXTS: Final = ("mistake", "correction", "why", "context")
LISTS: Final = ("symptoms", "keywords", "tags")
FIELDS: Final = (*TEXTS, "task_type", "importance", *LISTS)
_HEADING: Final = re.compile(r"^## (.+?)[ \t]*$", re.MULTILINE)
_NEEDS_ESCAPE: Final = re.compile(r"^(\\*)## ", re.MULTILINE)
_FAULT: Final = "#! "
_NOTE: Final = "#: "
_HEADER: Final = _NOTE + "{title}: change it, save, and leave the editor. Unchanged, or empty: nothing is stored.\n"
_ESCAPED: Final = re.compile(r"^\\(\\*## )", re.MULTILINE)

Fields = dict[str, Any]
"""The value of each name in FIELDS: a text or None, a list of texts, or the importance (0 to 1)."""


def fields_of(lesson: Lesson) -> Fields:
    """Return the fields of a lesson; one without a mistake has its text there."""
    fields: Fields = {name: getattr(lesson, name) for name in FIELDS}
    fields |= {name: list(fields[name]) for name in LISTS} | {"mistake": lesson.mistake or lesson.text}
    return fields | {name: (fields[name] or "").strip() or None for name in TEXTS}


def as_arguments(fields: Fields) -> Fields:
    """Return fields as an edit takes them: a tuple for a list."""
    return {name: tuple(value) if name in LISTS else value for name, value in fields.items()}


def format_document(fields: Fields, lesson_id: str | None = None, *, complete: bool = False) -> str:
    """Return the document of a lesson; a `complete` one also has the fields that are empty."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import

    head: Fields = {} if lesson_id is None else {"id": lesson_id}
    head |= {name: fields[name] for name in FIELDS[4:] if complete or fields[name] not in (None, [])}
    yaml: Any = YAML()
    yaml.width = 1_000_000
    stream = StringIO()
    yaml.dump(head, stream)
    texts = {name: _NEEDS_ESCAPE.sub(r"\\\1## ", fields[name] or "") for name in TEXTS if complete or fields[name]}
    sections = [f"\n## {name.capitalize()}\n\n{text}\n" for name, text in texts.items()]
    return f"---\n{stream.getvalue()}---\n{''.join(sections)}"


def parse_document(text: str) -> tuple[str | None, Fields]:
    """Return the id, if there is one, and the fields of a document. Raises InputError for another text."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - same

    head: Any = {}
    if text.startswith("---\n"):
        top, mark, text = text[4:].partition("\n---\n")
        safe: Any = YAML(typ="safe")
        try:
            head = safe.load(top) or {}
        except YAMLError as error:
            raise _fault(f"its first part is not YAML: {' '.join(str(error).split())[:120]}") from None
        if not mark or not isinstance(head, dict):
            raise _fault("its first part is not names and values that end with a line ---")
    fields: Fields = {**dict.fromkeys(FIELDS), **{name: [] for name in LISTS}, "importance": 0.5}
    lesson_id: str | None = None
    for name, value in cast("Mapping[str, Any]", head).items():
        if name == "id":
            lesson_id = str(value)
        elif name in FIELDS and name not in TEXTS:
            fields[name] = [str(item) for item in cast("list[object]", value)] if isinstance(value, list) else value
        else:
            raise _fault(f"a lesson has no field '{str(name)[:40]}' there")
    _, *parts = _HEADING.split(text)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        if title.lower() not in TEXTS:
            raise _fault(f"a lesson has no section '{title[:40]}'")
        fields[title.lower()] = _ESCAPED.sub(r"\1", body.strip()) or None
    return lesson_id, fields


def _fault(fault: str) -> InputError:
    return InputError("the file", fault, "Correct that place.")


async def edit_in_editor(lesson: Lesson, store: Callable[[dict[str, Any]], Awaitable[Lesson]]) -> Lesson | None:
    """Let a person edit a lesson, and `store` the changed fields; None if nothing was changed.

    Raises InputError, which names the file that has the text, if the person leaves a fault in it.
    """
    if lesson.kind is not RecordKind.LESSON:
        raise InputError("id", f"'{lesson.id}' is a {lesson.kind}, which quotes its run", "Edit a lesson.")
    before = fields_of(lesson)
    document = format_document(before, complete=True)
    descriptor, name = tempfile.mkstemp(prefix="lesson-", suffix=".md")
    os.close(descriptor)
    file, content = Path(name), _HEADER.format(title=f"Lesson {lesson.id}") + document
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
    import subprocess  # noqa: PLC0415 - slow to import

    try:
        exit_code = subprocess.run([*shlex.split(command), str(file)], check=False).returncode  # noqa: S603 - the person's own editor
    except OSError as error:
        raise InputError(
            "EDITOR", f"'{command}' cannot be started: {error.strerror}", f"{file} has the text."
        ) from None
    if exit_code != 0:
        raise InputError("EDITOR", f"'{command}' ended with {exit_code}", f"{file} has the text; try again.")


_MOST_LESSONS: Final = 1_000_000


class _File(NamedTuple):
    path: Path
    lesson_id: str | None
    fields: Fields


def is_folder(name: str) -> bool:
    """Return whether a person named a folder: one that exists, or a name that ends like one."""
    return name.endswith(("/", "\\")) or Path(name).is_dir()


async def export_files(engine: Engine, folder: Path) -> int:
    """Write a file for each active lesson that is not quarantined, and return their number.

    The file of a lesson is found by the id in it, so a renamed file keeps its name. Other files stay as they are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = {file.lesson_id: file.path for file in _read_files(folder)}
    found = await engine.bank.views.browse(engine.scopes.own, Filter(limit=_MOST_LESSONS))
    lessons = [lesson for lesson in found if not lesson.held]
    for lesson in lessons:
        _write(paths.get(lesson.id) or folder / _file_name(lesson), lesson)
    return len(lessons)


async def import_files(engine: Engine, folder: Path) -> dict[str, list[str]]:
    """Store a new file as a lesson, edit the lesson of a changed one; return the names of the files by what was done.

    A new file gets the id of its lesson, which is trusted. A file with an id that the bank does not have is from
    another bank: its words are screened. InputError names a file that cannot be read; nothing is stored then.
    """
    changes: dict[str, list[str]] = {"stored": [], "edited": []}
    for file in _read_files(folder):
        with _errors_name(file.path):
            lesson = await _find(engine, file.lesson_id)
            if lesson is None:
                _write(file.path, await _store(engine, file))
                changes["stored"].append(file.path.name)
                continue
            before = fields_of(lesson)
            edits = {name: value for name, value in file.fields.items() if value != before[name]}
            if edits:
                await engine.edit_lesson(lesson.id, as_arguments(edits))
                changes["edited"].append(file.path.name)
    return changes


async def _find(engine: Engine, lesson_id: str | None) -> Lesson | None:
    if lesson_id is None:
        return None
    try:
        return await engine.bank.lessons.get(engine.scopes.own, lesson_id)
    except NotFoundError:
        return None


async def _store(engine: Engine, file: _File) -> Lesson:
    is_shared = file.lesson_id is not None
    now = datetime.now(UTC).isoformat()
    stored_id = file.lesson_id or engine.context.clock.new_id("les")
    line = {
        **{name: value for name, value in file.fields.items() if value not in (None, [])},
        "id": stored_id,
        "source": "import" if is_shared else "person",
        "trust": "observed" if is_shared else "trusted",
        "created_at": now,
        "updated_at": now,
    }
    await services.lessons.import_own(engine.context, [(1, line)], screen=is_shared)
    return await engine.bank.lessons.get(engine.scopes.own, stored_id)


@contextmanager
def _errors_name(path: Path) -> Generator[None]:
    """Let an InputError of the block name the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path.name}, {error.field.removeprefix('line 1, ')}", error.fault, error.fix) from None


def _file_name(lesson: Lesson) -> str:
    words = re.findall(r"[a-z0-9]+", (lesson.mistake or lesson.text).lower())
    return f"{'-'.join(words)[:48].strip('-')}-{lesson.id[-SHORT_ID_CHARS:]}.md"


def _write(path: Path, lesson: Lesson) -> None:
    """Write a lesson's file with the permissions that it has."""
    with replace_file(path, path.stat().st_mode & 0o777 if path.exists() else 0o600) as file:
        file.write(format_document(fields_of(lesson), lesson.id))


def _read_files(folder: Path) -> list[_File]:
    """Return the lessons of a folder. InputError names a bad file, or the second one with an id."""
    files: list[_File] = []
    names: dict[str, str] = {}
    for path in sorted(folder.glob("*.md")):
        try:
            lesson_id, fields = parse_document(path.read_text("utf-8"))
        except (InputError, UnicodeDecodeError) as error:
            fault = error.fault if isinstance(error, InputError) else "it is not UTF-8"
            raise InputError(path.name, fault, "Correct the file, or move it away; nothing was changed.") from None
        if lesson_id and names.setdefault(lesson_id, path.name) != path.name:
            fault = f"{names[lesson_id]} has the same id"
            raise InputError(path.name, fault, "Remove the id from the new one.")
        files.append(_File(path, lesson_id, fields))
    return files
