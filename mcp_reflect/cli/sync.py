"""Keep lessons as Markdown files in a folder, both ways: `mcp-reflect sync DIR`.

A state file beside the bank holds the digest of each lesson at the last sync. Where the file alone or the bank alone
differs from it, the other follows; where both do, it is a conflict, and nothing changes until a person chooses.
"""

import json
import re
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from mcp_reflect import services
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.files import replace_file
from mcp_reflect.cli.lesson_document import FIELDS, Fields, as_arguments, fields_of, format_document, parse_document
from mcp_reflect.cli.lesson_text import SHORT_ID_CHARS
from mcp_reflect.cli.output import write_result
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Lesson, State
from mcp_reflect.services.engine import Engine
from mcp_reflect.signature import digest

_MOST_LESSONS: Final = 1_000_000

Changes: TypeAlias = dict[str, list[str]]
"""Ids or file names by what happened to them."""


def add_sync_arguments(parser: CliParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder with a file for each lesson; made if it is missing")
    parser.add_argument("--take", choices=("files", "bank"), help="which side wins where both have changed")


def run_sync(options: Namespace) -> int:
    """Keep this project's lessons as Markdown files, for git and for editors; both sides may change between syncs.

    A new file becomes a lesson, an edited file edits its lesson, and a removed file retires it; a lesson that changed
    in the bank is written again, and the file of a retired one is removed. A lesson that changed on both sides is named
    and left alone, and the exit status is 1: give --take files or --take bank.
    """
    changes = with_engine(lambda engine: _sync(engine, Path(options.folder), options.take))
    lines = [f"{name}: {item}" for name, items in changes.items() for item in items]
    write_result(options, changes, "\n".join(lines) or "Nothing has changed.")
    return 1 if changes["conflicts"] else 0


async def _sync(engine: Engine, folder: Path, take: str | None) -> Changes:
    folder.mkdir(parents=True, exist_ok=True)
    synced = _read_state(engine, folder)
    files, new_files = _read_files(folder)
    browsed = await engine.bank.views.browse(engine.scopes.own, Filter(limit=_MOST_LESSONS))
    lessons = {lesson.id: lesson for lesson in browsed}
    changes: Changes = {name: [] for name in ("written", "removed", "stored", "edited", "retired", "conflicts")}
    for path, fields in new_files:
        lesson = await _store(engine, None, path, fields)
        lessons[lesson.id] = lesson
        files[lesson.id] = path, _write_document(path, lesson)
        changes["stored"].append(path.name)
    for lesson_id in sorted({*lessons, *synced, *files}):
        path, fields = files.get(lesson_id, (None, None))
        lesson = lessons.get(lesson_id)
        in_file = _digest(fields) if fields else None
        in_bank = _digest(fields_of(lesson)) if lesson else None
        before = synced.get(lesson_id)
        if lesson and lesson.held and path is None:
            continue  # no file until a person has approved it
        if in_file != in_bank:
            side = "bank" if in_file == before else "files" if in_bank == before else take
            if side is None:
                changes["conflicts"].append(f"{path.name if path else lesson_id}: changed here and in the bank")
                continue
            if side == "bank":
                _write_file(folder, path, lesson, changes)
            else:
                await _follow_file(engine, lesson_id, path, fields, lesson, changes)
                in_bank = in_file
        synced[lesson_id] = in_bank
    with replace_file(_state_file(engine, folder)) as file:
        digests = {lesson_id: last for lesson_id, last in synced.items() if last is not None}
        json.dump({"folder": str(folder.resolve()), "digests": digests}, file)
    return changes


async def _follow_file(
    engine: Engine, lesson_id: str, path: Path | None, fields: Fields | None, lesson: Lesson | None, changes: Changes
) -> None:
    """Bring the bank to what the file has."""
    scope = engine.scopes.own
    if fields is None or path is None:
        await engine.bank.lessons.set_state(scope, lesson_id, State.RETIRED, "forgotten: its file was removed")
        changes["retired"].append(lesson_id)
        return
    if lesson is None:
        try:
            lesson = await engine.bank.lessons.get(scope, lesson_id)
        except NotFoundError:
            await _store(engine, lesson_id, path, fields)
            changes["stored"].append(path.name)
            return
        await engine.bank.lessons.set_state(scope, lesson_id, State.ACTIVE, "restored: its file was changed")
    before = fields_of(lesson)
    edits = {name: value for name, value in fields.items() if value != before[name]}
    if edits:
        with _errors_name(path):
            await engine.edit_lesson(lesson_id, as_arguments(edits))
    changes["edited"].append(path.name)


async def _store(engine: Engine, lesson_id: str | None, path: Path, fields: Fields) -> Lesson:
    """Store a file as a lesson: a person's own without an id; with one, of another bank, and judged like an import."""
    is_shared = lesson_id is not None
    now = datetime.now(UTC).isoformat()
    stored_id = lesson_id or engine.context.clock.new_id("les")
    line = {
        **{name: value for name, value in fields.items() if value not in (None, [])},
        "id": stored_id,
        "source": "import" if is_shared else "person",
        "trust": "observed" if is_shared else "trusted",
        "created_at": now,
        "updated_at": now,
    }
    with _errors_name(path):
        await services.lessons.import_own(engine.context, [(1, line)], screen=is_shared)
    return await engine.bank.lessons.get(engine.scopes.own, stored_id)


@contextmanager
def _errors_name(path: Path) -> Generator[None]:
    """Let an InputError of the block name the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path.name}, {error.field.removeprefix('line 1, ')}", error.fault, error.fix) from None


def _write_document(path: Path, lesson: Lesson) -> Fields:
    """Write a lesson's file, with the permissions that it has, and return the fields that it holds."""
    fields = fields_of(lesson)
    with replace_file(path, path.stat().st_mode & 0o777 if path.exists() else 0o600) as file:
        file.write(format_document(fields, lesson.id))
    return fields


def _write_file(folder: Path, path: Path | None, lesson: Lesson | None, changes: Changes) -> None:
    """Bring the file to what the bank has; the file of a lesson that is not in use is removed."""
    if lesson is None:
        if path is not None:
            path.unlink()
            changes["removed"].append(path.name)
        return
    if path is None:
        words = re.findall(r"[a-z0-9]+", (lesson.mistake or lesson.text).lower())
        path = folder / f"{'-'.join(words)[:48].strip('-')}-{lesson.id[-SHORT_ID_CHARS:]}.md"
    _write_document(path, lesson)
    changes["written"].append(path.name)


def _state_file(engine: Engine, folder: Path) -> Path:
    name = digest(f"{folder.resolve()}\n{engine.scopes.own}", 12)
    return engine.bank.path.with_name(f"{engine.bank.path.name}.sync-{name}")


def _read_state(engine: Engine, folder: Path) -> dict[str, str | None]:
    """Return the digests of the last sync; the state of each folder that is gone is deleted."""
    own = _state_file(engine, folder)
    digests: dict[str, str | None] = {}
    for path in own.parent.glob(f"{engine.bank.path.name}.sync-*"):
        state = json.loads(path.read_text("utf-8"))
        if path == own:
            digests = state.get("digests", {})
        elif not Path(state.get("folder", ".")).is_dir():
            path.unlink(missing_ok=True)
    return digests


def _read_files(folder: Path) -> tuple[dict[str, tuple[Path, Fields]], list[tuple[Path, Fields]]]:
    """Return the lessons of a folder by id, and those without one. InputError names a bad file."""
    files: dict[str, tuple[Path, Fields]] = {}
    new_files: list[tuple[Path, Fields]] = []
    for path in sorted(folder.glob("*.md")):
        try:
            lesson_id, fields = parse_document(path.read_text("utf-8"))
        except (InputError, UnicodeDecodeError) as error:
            fault = error.fault if isinstance(error, InputError) else "it is not UTF-8"
            raise InputError(path.name, fault, "Correct the file, or move it away; nothing was changed.") from None
        if lesson_id is None:
            new_files.append((path, fields))
        elif lesson_id in files:
            raise InputError(
                path.name, f"{files[lesson_id][0].name} has the same id", "Remove the id from the new one."
            )
        else:
            files[lesson_id] = path, fields
    return files, new_files


def _digest(fields: Fields) -> str:
    return digest(json.dumps([fields[name] for name in FIELDS], ensure_ascii=False), 24)
