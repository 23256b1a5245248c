"""`mcp-reflect lessons list|show|edit|forget|restore|erase|review`."""

import argparse
import sys
from typing import Any

from mcp_reflect.bank.standing import plain_standing
from mcp_reflect.cli.reviewing import review
from mcp_reflect.cli.running import parser, say, say_json, table, with_engine
from mcp_reflect.engine import Engine
from mcp_reflect.errors import InputError
from mcp_reflect.records.lesson import Kind, Lesson, State
from mcp_reflect.results import compact, dated, plain


def run(arguments: list[str]) -> int:
    """Look at lessons and change them, as a person."""
    words = parser("lessons", "Look at lessons, change, retire, restore, erase or review them.")
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add(actions, "list", "the newest lessons")
    _add(actions, "show", "one lesson with its history", takes_id=True)
    _add(actions, "edit", "change a lesson; the wording before is kept", takes_id=True)
    _add(actions, "forget", "retire a lesson: it leaves every recall and stays in the history", takes_id=True)
    _add(actions, "restore", "bring a retired lesson back", takes_id=True)
    _add(actions, "erase", "remove a lesson, its history and its bytes for good", takes_id=True)
    _add(actions, "review", "what waits in quarantine: list it, look at it, and decide")
    given = vars(words.parse_args(arguments))
    work = {"list": _list, "show": _show, "edit": _edit, "forget": _forget, "restore": _restore, "erase": _erase}
    work |= {"review": review}
    action = work[given["action"]]
    return with_engine(lambda engine: action(engine, given))


def _add(actions: Any, name: str, about: str, *, takes_id: bool = False) -> None:
    made: argparse.ArgumentParser = actions.add_parser(name, help=about, description=about, allow_abbrev=False)
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON for a program")
    if takes_id:
        made.add_argument("id", help="the lesson's id")
    if name == "list":
        made.add_argument("--all", action="store_true", help="retired and archived ones too")
        made.add_argument("--kind", choices=[kind.value for kind in Kind], default="lesson")
        made.add_argument("--limit", type=int, default=50)
        made.add_argument("--offset", type=int, default=0)
    if name == "edit":
        made.add_argument("--mistake")
        made.add_argument("--correction")
        made.add_argument("--why")
        made.add_argument("--task-type")
        made.add_argument("--importance", type=float)
        made.add_argument("--tag", action="append", dest="tags", help="replaces the tags; may be given again")
    if name == "review":
        made.add_argument("--show", metavar="ID", help="one of them, with all its words")
        made.add_argument("--approve", metavar="ID", nargs="+", default=[], help="a person vouches for it: trusted")
        made.add_argument(
            "--reject", metavar="ID", nargs="+", default=[], help="retired: it does not come back by itself"
        )
    if name == "forget":
        made.add_argument("--reason", default="a person said so")
    if name == "erase":
        made.add_argument("--yes", action="store_true", help="do not ask")


async def _list(engine: Engine, given: dict[str, Any]) -> int:
    found = await engine.bank.lessons(
        engine.scopes.own,
        kind=Kind(given["kind"]),
        state=None if given["all"] else State.ACTIVE,
        limit=max(given["limit"], 1),
        offset=max(given["offset"], 0),
    )
    if given["json"]:
        say_json([dated(plain(lesson)) for lesson in found])
    elif found:
        rows = [(one.id, one.text, _score(one), str(one.times_applied), _state(one)) for one in found]
        say(table(rows, ("id", "lesson", "effective", "applied", "state")))
    else:
        say(f"No lessons in {engine.scopes.own} yet.")
    return 0


async def _show(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lesson(engine.scopes.own, given["id"], "id")
    whole = {
        **dated(plain(lesson)),
        "standing": plain_standing(await engine.bank.standing(engine.scopes.own, lesson)),
        "versions": compact([dated(one) for one in await engine.bank.history(engine.scopes.own, lesson.id)]),
        "links": await engine.bank.links(engine.scopes.own, lesson.id),
        "neighbours": await engine.bank.neighbours(engine.scopes.own, "record", lesson.id),
    }
    if given["json"]:
        say_json(whole)
    else:
        for name, value in whole.items():
            say(f"{name}: {value}")
    return 0


async def _edit(engine: Engine, given: dict[str, Any]) -> int:
    changes = {
        name: tuple(given[name]) if name == "tags" else given[name]
        for name in ("mistake", "correction", "why", "task_type", "importance", "tags")
        if given[name] is not None
    }
    if not changes:
        raise InputError("edit", "it changes nothing", "Give --mistake, --correction, --why, --importance or --tag.")
    lesson = await engine.edit_lesson(given["id"], changes)
    return _done(lesson, given, "changed; the wording before is in its history")


async def _forget(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.set_state(engine.scopes.own, given["id"], State.RETIRED, f"forgotten: {given['reason']}")
    return _done(lesson, given, "retired; `lessons restore` brings it back")


async def _restore(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.set_state(engine.scopes.own, given["id"], State.ACTIVE, "restored")
    return _done(lesson, given, "active again")


async def _erase(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lesson(engine.scopes.own, given["id"], "id")
    if not given["yes"]:
        if not sys.stdin.isatty():
            raise InputError("--yes", "erasing cannot be undone, and nobody can be asked here", "Add --yes.")
        sys.stdout.write(f"{lesson.text}\nErase it for good? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            say("Nothing was erased.")
            return 1
    await engine.bank.erase(engine.scopes.own, lesson.id)
    return _done(lesson, given, "erased")


def _done(lesson: Lesson, given: dict[str, Any], what: str) -> int:
    if given["json"]:
        say_json({"id": lesson.id, "state": "erased" if what == "erased" else lesson.state.value})
    else:
        say(f"{lesson.id}: {what}.")
    return 0


def _score(lesson: Lesson) -> str:
    return "" if lesson.effectiveness is None else f"{lesson.effectiveness:.2f}"


def _state(lesson: Lesson) -> str:
    return lesson.state.value if lesson.state is not State.ACTIVE else lesson.trust.value
