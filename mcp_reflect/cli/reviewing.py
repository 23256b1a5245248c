"""`mcp-reflect lessons review`: a person decides about what waits in quarantine."""

import sys
from typing import Any, Final

from mcp_reflect.cli.running import say, say_json, table
from mcp_reflect.cli.showing import visible
from mcp_reflect.engine import Engine
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, Trust
from mcp_reflect.models.plain import dated, plain

_MOST: Final = 1000
_WORDS: Final = ("text", "mistake", "correction", "why", "task_type", "context", "symptoms", "keywords", "tags")


async def review(engine: Engine, given: dict[str, Any]) -> int:
    """Decide about the ids that were given; show one; else ask about each where a person sits, or list them."""
    scope = engine.scopes.own
    decided: list[Lesson] = []
    for name, approved in (("approve", True), ("reject", False)):
        decided += [await engine.bank.decide(scope, lesson_id, approved=approved) for lesson_id in given[name]]
    if decided:
        _told(decided, given)
        return 0
    if given["show"]:
        return await _show(engine, given)
    waiting = await engine.bank.lessons(scope, kind=None, limit=_MOST, held=True)
    if given["json"]:
        say_json([dated(plain(lesson)) for lesson in waiting])
    elif not waiting:
        say(f"Nothing waits for you in {scope}.")
    elif sys.stdin.isatty() and sys.stdout.isatty():
        await _ask_each(engine, waiting)
    else:
        say(table([(one.id, one.held or "", visible(one.text)) for one in waiting], ("id", "why", "text")))
        say("\n--show ID has all of it; --approve ID or --reject ID decides.")
    return 0


async def _show(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lesson(engine.scopes.own, given["show"], "id")
    if lesson.trust is not Trust.QUARANTINED:
        raise InputError("id", "it is not in quarantine", "`mcp-reflect lessons show` has it.")
    if given["json"]:
        say_json(dated(plain(lesson)))
    else:
        _print(lesson)
    return 0


def _print(lesson: Lesson) -> None:
    say(f"{lesson.id} ({lesson.kind}, from {lesson.source}): {lesson.held}")
    for name in _WORDS:
        value = getattr(lesson, name)
        if value and not (name == "text" and lesson.mistake):
            say(f"  {name}: {visible(value if isinstance(value, str) else ', '.join(value))}")


async def _ask_each(engine: Engine, waiting: list[Lesson]) -> None:
    for lesson in waiting:
        _print(lesson)
        sys.stdout.write("[a]pprove, [r]eject, Enter to leave it: ")
        sys.stdout.flush()
        answer = sys.stdin.readline().strip().lower()
        if answer in ("a", "approve", "r", "reject"):
            done = await engine.bank.decide(engine.scopes.own, lesson.id, approved=answer.startswith("a"))
            _told([done], {"json": False})


def _told(decided: list[Lesson], given: dict[str, Any]) -> None:
    for lesson in decided:
        if given["json"]:
            say_json({"id": lesson.id, "state": lesson.state.value, "trust": lesson.trust.value})
        else:
            what = "trusted, and recalled from now on" if lesson.trust is Trust.TRUSTED else "retired"
            say(f"{lesson.id}: {what}.")
