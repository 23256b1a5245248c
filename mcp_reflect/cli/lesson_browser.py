"""Browse lessons in a terminal: pages of a list, one lesson, and what a person does with it.

Input is read line by line, so that it works in any terminal.
"""

import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from mcp_reflect.cli.dream import undo
from mcp_reflect.cli.lesson_editor import edit_in_editor
from mcp_reflect.cli.lesson_filter import describe_filter, narrow_filter
from mcp_reflect.cli.lesson_text import HEADS, TEXT_COLUMN, history_text, lesson_history, lesson_page, list_row
from mcp_reflect.cli.output import DIM, RED, ask, other_projects, styled, table, write_line
from mcp_reflect.errors import DreamBusyError, InputError
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Lesson, State
from mcp_reflect.services.engine import Engine

PAGE_SIZE: Final = 15
_LIST_KEYS: Final = (
    "number shows one · n next · p back · /words searches · f state=retired filters · ? more · q quits: "
)
_LESSON_KEYS: Final = (
    "e edit · h history · a approve · x reject · r retire · u restore · m NUMBER merge · Enter back · q quits: "
)
_HELP: Final = """\
  /git push           lessons with all of these words; / alone clears the search
  f state=retired     state: active, retired, archived, quarantined, all
  f kind=strategy     kind: lesson, strategy, reflection, all
  f type=deploy       the task type; tag=NAME, effective=0.6 likewise; f alone clears all filters
  m 4, m 2 7          while one is shown: merge the lessons of these numbers into it
  undo drm_…          undo a merge"""
_QUIT: Final = (None, "q", "quit", "exit")


class Browser:
    """A person's session: the current filter, and the lessons on the page."""

    def __init__(self, engine: Engine, start: Filter) -> None:
        self._engine = engine
        self._start = replace(start, limit=PAGE_SIZE, offset=0)
        self._filter = self._start
        self._page: list[Lesson] = []

    async def run(self) -> int:
        """Show pages until the person quits."""
        await self._show_page()
        while (line := ask(_LIST_KEYS)) not in _QUIT:
            if not await self._do(line or "", self._list_command):
                break
        return 0

    async def _do(self, line: str, command: Callable[[str], Awaitable[bool]]) -> bool:
        """Run what was typed. Returns False if the person quits; an error is shown, and the session continues."""
        try:
            if line == "?":
                write_line(_HELP)
            elif line.startswith("undo "):
                await undo(self._engine, line.removeprefix("undo ").strip())
            else:
                return await command(line)
        except (InputError, DreamBusyError) as error:
            write_line(styled(str(error), RED))
        return True

    async def _list_command(self, line: str) -> bool:
        if line.isdigit():
            return await self._open(self._numbered(line))
        if line.startswith("/"):
            self._filter = replace(self._filter, words=tuple(_split(line[1:])), offset=0)
        elif line == "f" or line.startswith("f "):
            self._filter = narrow_filter(self._filter, _split(line[1:])) if line[1:].strip() else self._start
        elif line == "n" and len(self._page) < PAGE_SIZE:
            write_line("There are no more.")
            return True
        elif line == "n":
            self._filter = replace(self._filter, offset=self._filter.offset + PAGE_SIZE)
        elif line == "p":
            self._filter = replace(self._filter, offset=max(self._filter.offset - PAGE_SIZE, 0))
        elif line:
            raise _unknown(line)
        await self._show_page()
        return True

    async def _show_page(self) -> None:
        self._page = await self._engine.bank.views.browse(self._engine.scopes.own, self._filter)
        rows = [
            (str(number), *list_row(lesson)[1:]) for number, lesson in enumerate(self._page, self._filter.offset + 1)
        ]
        description = describe_filter(self._filter)
        if rows:
            write_line(table(rows, ("", *HEADS[1:]), TEXT_COLUMN))
        else:
            unfiltered = not description and not self._filter.offset
            write_line(
                await nothing_listed(self._engine, self._engine.scopes.own) if unfiltered else "No lesson is like that."
            )
        if description:
            write_line(styled(f"only: {description}", DIM))

    def _numbered(self, text: str) -> Lesson:
        place = int(text) - 1 - self._filter.offset if text.isdigit() else -1
        if not 0 <= place < len(self._page):
            raise InputError(f"'{text[:20]}'", "this page has no such number", "Type a number in front of a lesson.")
        return self._page[place]

    async def _open(self, lesson: Lesson) -> bool:
        """Show one lesson until the person goes back to the list; False if they quit."""
        own = self._engine.scopes.own
        while True:
            lesson = await self._engine.bank.lessons.get(own, lesson.id, "id")
            write_line("─" * 72)
            write_line(await lesson_page(self._engine, lesson))
            line = ask(_LESSON_KEYS)
            if line in _QUIT:
                return False
            if not line or line == "b":
                await self._show_page()
                return True
            await self._do(line, lambda typed, current=lesson: self._lesson_command(current, typed))

    async def _lesson_command(self, lesson: Lesson, line: str) -> bool:
        bank, own = self._engine.bank, self._engine.scopes.own
        match line.split():
            case ["e"]:
                edited = await edit_in_editor(lesson, lambda changes: self._engine.edit_lesson(lesson.id, changes))
                write_line("Changed; the wording before is in its history." if edited else "Nothing was changed.")
            case ["h"]:
                write_line(history_text(await lesson_history(self._engine, lesson)))
                ask("Enter: ")
            case ["a"] | ["x"]:
                await bank.lessons.decide(own, lesson.id, approved=line == "a")
                write_line("Trusted, and recalled from now on." if line == "a" else "Retired.")
            case ["r"]:
                await bank.lessons.set_state(own, lesson.id, State.RETIRED, "forgotten: a person said so")
            case ["u"]:
                await bank.lessons.set_state(own, lesson.id, State.ACTIVE, "restored")
            case ["m", *numbers] if numbers:
                await merge_into(self._engine, lesson.id, [self._numbered(number).id for number in numbers])
            case _:
                raise _unknown(line)
        return True


async def nothing_listed(engine: Engine, scope: Scope) -> str:
    """Return what to tell a person whose list is empty: where lessons are, or how the first one comes."""
    counts = await engine.bank.lessons.projects(scope.tenant)
    if counts.get(scope.project) or counts.get(GLOBAL):
        return f"No such lessons in {scope}."
    if counts:
        return f"No lessons in {scope}. {other_projects(counts, scope.project)}"
    return (
        f"No lessons in {scope} yet. An agent stores them when a run fails; write the first one yourself:\n"
        "  mcp-reflect lessons add\n"
        "or see it learn: mcp-reflect demo. To register your agent: mcp-reflect install HOST."
    )


async def merge_into(engine: Engine, kept_id: str, merged_ids: list[str], *, quiet: bool = False) -> str:
    """Merge lessons into the first, and return the id that undoes it."""
    from mcp_reflect.services.consolidate import merge_by_hand  # noqa: PLC0415 - slow to import, needed here alone

    dream = await merge_by_hand(engine.context, kept_id, merged_ids)
    if not quiet:
        write_line(f"{', '.join(merged_ids)} merged into {kept_id}.")
        write_line(f"`mcp-reflect lessons undo {dream.dream_id}` puts it back.")
    return str(dream.dream_id)


def _unknown(line: str) -> InputError:
    return InputError(f"'{line[:20]}'", "it is not a command here", "Type ? to see them.")


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
