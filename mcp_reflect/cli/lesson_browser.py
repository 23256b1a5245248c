"""`mcp-reflect lessons` in a terminal: pages of lessons, and an editor for one."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.cli import lesson_views as views
from mcp_reflect.cli.common import DIM, RED, columns, rows_shown, say, styled
from mcp_reflect.errors import DreamBusyError, InputError
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Lesson, RecordKind, State
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.effectiveness import rounded_effectiveness

# A lesson in a person's editor: a file with a clear form, which comes back with the fault named; nothing is lost.
#
# The file is TOML, which has words, lists and numbers, and whose reader names the line of a fault.


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
    if lesson.kind is not RecordKind.LESSON:
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


# `mcp-reflect lessons` in a terminal: pages of lessons, and what a person does with one of them.


PAGE: Final = 15
_LIST: Final = "number shows one · n next · p back · /words searches · f state=retired filters · ? more · q leaves: "
_ONE: Final = (
    "e edit · h history · a approve · x reject · r retire · u restore · m NUMBER merge · Enter back · q leaves: "
)
_HELP: Final = """\
  /git push           lessons that hold all of these words; / alone takes the search away
  f state=retired     state: active, retired, archived, quarantined, all
  f kind=strategy     kind: lesson, strategy, reflection, all
  f type=deploy       the task type; tag=NAME, effective=0.6 likewise; f alone takes all filters away
  m 4, m 2 7          while one is shown: the lessons of these numbers are the same as this one, and live on in it
  undo drm_…          puts a merge back"""


class Browser:
    """Pages of lessons. What is typed comes line by line, so that it works in any terminal."""

    def __init__(self, engine: Engine, wanted: Filter) -> None:
        self._engine = engine
        self._first = replace(wanted, limit=PAGE, offset=0)
        self._wanted = self._first
        self._shown: list[Lesson] = []

    async def run(self) -> int:
        """Show pages until the person leaves."""
        await self._page()
        while (line := asked(_LIST)) not in (None, "q", "quit", "exit"):
            try:
                if not await self._do(line or "", self._listed):
                    return 0
            except (InputError, DreamBusyError) as error:
                say(styled(str(error), RED))
        return 0

    async def _do(self, line: str, act: Callable[[str], Awaitable[bool]]) -> bool:
        if line == "?":
            say(_HELP)
            return True
        if line.startswith("undo "):
            undone = await self._engine.undo_dream(line.removeprefix("undo ").strip())
            say(f"{undone.dream_id}: undone, {len(undone.restored)} records are as they were.")
            return True
        return await act(line)

    async def _listed(self, line: str) -> bool:
        """A line at the list; false where the person leaves."""
        if line.isdigit():
            return await self._open(self._numbered(line))
        if line.startswith("/"):
            self._wanted = replace(self._wanted, words=tuple(_words(line[1:])), offset=0)
        elif line == "f" or line.startswith("f "):
            self._wanted = narrowed(self._wanted, _words(line[1:])) if line[1:].strip() else self._first
        elif line == "n" and len(self._shown) == PAGE:
            self._wanted = replace(self._wanted, offset=self._wanted.offset + PAGE)
        elif line == "p":
            self._wanted = replace(self._wanted, offset=max(self._wanted.offset - PAGE, 0))
        elif line == "n":
            say("There are no more.")
            return True
        elif line:
            raise InputError(f"'{line[:20]}'", "it is no command here", "Type ? to see them.")
        await self._page()
        return True

    async def _page(self) -> None:
        self._shown = await self._engine.bank.views.browse(self._engine.scopes.own, self._wanted)
        rows = [(str(place), *views.row(one)[1:]) for place, one in enumerate(self._shown, self._wanted.offset + 1)]
        say(rows_shown(rows, ("", *views.HEADS[1:]), views.TEXT_COLUMN) if rows else "No lesson is like that.")
        said = described(self._wanted)
        if said:
            say(styled(f"only: {said}", DIM))

    def _numbered(self, text: str) -> Lesson:
        place = int(text) - 1 - self._wanted.offset if text.isdigit() else -1
        if not 0 <= place < len(self._shown):
            raise InputError(f"'{text[:20]}'", "it is no number on this page", "Type one that stands before a lesson.")
        return self._shown[place]

    async def _open(self, lesson: Lesson) -> bool:
        """One lesson, until the person goes back; false where they leave."""
        own = self._engine.scopes.own
        while True:
            lesson = await self._engine.bank.lessons.get(own, lesson.id, "id")
            say("─" * min(columns(), 72))
            say(views.page(lesson, rounded_effectiveness(await self._engine.bank.lessons.effectiveness(own, lesson))))
            line = asked(_ONE)
            if line in (None, "q", "quit", "exit"):
                return False
            if not line or line == "b":
                await self._page()
                return True
            try:
                await self._do(line, lambda typed, one=lesson: self._changed(one, typed))
            except (InputError, DreamBusyError) as error:
                say(styled(str(error), RED))

    async def _changed(self, lesson: Lesson, line: str) -> bool:
        """What a person does with the lesson that is shown."""
        bank, own = self._engine.bank, self._engine.scopes.own
        match line.split():
            case ["e"]:
                done = await edited(lesson, lambda changes: self._engine.edit_lesson(lesson.id, changes))
                say("Changed; the wording before is in its history." if done else "Nothing was changed.")
            case ["h"]:
                say(views.told(await views.history(self._engine, lesson)))
                asked("Enter: ")
            case ["a"] | ["x"]:
                await bank.lessons.decide(own, lesson.id, approved=line == "a")
                say("Trusted, and recalled from now on." if line == "a" else "Retired.")
            case ["r"]:
                await bank.lessons.set_state(own, lesson.id, State.RETIRED, "forgotten: a person said so")
            case ["u"]:
                await bank.lessons.set_state(own, lesson.id, State.ACTIVE, "restored")
            case ["m", *numbers] if numbers:
                await merged(self._engine, lesson.id, [self._numbered(one).id for one in numbers])
            case _:
                raise InputError(f"'{line[:20]}'", "it is no command here", "Type ? to see them.")
        return True


async def merged(engine: Engine, keep: str, gone: list[str], *, quiet: bool = False) -> str:
    """Merge lessons by hand; the id that undoes it."""
    from mcp_reflect.services.consolidate import merge_by_hand  # noqa: PLC0415 - a heavy one, needed here alone

    done = await merge_by_hand(engine.context, keep, gone)
    if not quiet:
        say(f"{', '.join(gone)} live on in {keep}. `mcp-reflect lessons undo {done.dream_id}` puts it back.")
    return str(done.dream_id)


def asked(prompt: str) -> str | None:
    """What a person types after a prompt; null where there is nobody any more."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None


def narrowed(wanted: Filter, words: list[str]) -> Filter:
    """A filter with `name=value` words in it; InputError names the one that cannot be read."""
    for word in words:
        name, parted, value = word.partition("=")
        if not parted or not value:
            raise InputError(f"'{word[:40]}'", "it is no name=value", "Type f state=retired, for example.")
        wanted = replace(wanted, offset=0, **_read(name, value))
    return wanted


def _read(name: str, value: str) -> dict[str, object]:
    match name:
        case "state":
            return of_state(value)
        case "kind":
            kinds = {kind.value: kind for kind in RecordKind}
            if value not in (*kinds, "all"):
                raise InputError("kind", f"'{value[:40]}' is not one", f"Give one of {', '.join(kinds)}, all.")
            return {"kind": kinds.get(value)}
        case "type":
            return {"task_type": value}
        case "tag":
            return {"tag": value}
        case "effective":
            try:
                return {"min_effectiveness": float(value)}
            except ValueError:
                raise InputError("effective", f"'{value[:40]}' is no number", "Give one in 0 to 1.") from None
        case _:
            raise InputError(f"'{name[:40]}'", "nothing is filtered by it", "Use state, kind, type, tag or effective.")


def of_state(word: str) -> dict[str, object]:
    """What a word for a state asks for. What waits in quarantine is active; what a person rejected is retired."""
    states = {state.value: state for state in State}
    if word == "quarantined":
        return {"state": State.ACTIVE, "held": True}
    if word == "all":
        return {"state": None, "held": None}
    if word not in states:
        raise InputError("state", f"'{word[:40]}' is not one", f"Give one of {', '.join(states)}, quarantined, all.")
    return {"state": states[word], "held": False if word == "active" else None}


def described(wanted: Filter) -> str:
    """A filter in words, as far as it is not the usual one."""
    state = "quarantined" if wanted.held else wanted.state.value if wanted.state else "all"
    words = {
        "words": " ".join(wanted.words),
        "state": "" if state == "active" else state,
        "kind": "" if wanted.kind is RecordKind.LESSON else wanted.kind.value if wanted.kind else "all",
        "type": wanted.task_type or "",
        "tag": wanted.tag or "",
        "effective": "" if wanted.min_effectiveness is None else f"{wanted.min_effectiveness:g}",
    }
    return ", ".join(f"{name} {value}" for name, value in words.items() if value)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
