"""`mcp-reflect lessons`: search, show, edit, review lessons."""

import argparse
import sys
from typing import Any, Final

from mcp_reflect.cli import lesson_views as views
from mcp_reflect.cli.common import parser, rows_shown, say, say_json, seen_by_a_person, table, visible, with_engine
from mcp_reflect.cli.lesson_browser import Browser, edited, merged, of_state
from mcp_reflect.errors import InputError
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Lesson, RecordKind, State, Trust
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.results import dated, plain
from mcp_reflect.storage.effectiveness import rounded_effectiveness

# `mcp-reflect lessons review`: a person decides about what waits in quarantine.


_MOST: Final = 1000
_WORDS: Final = ("text", "mistake", "correction", "why", "task_type", "context", "symptoms", "keywords", "tags")


async def review(engine: Engine, given: dict[str, Any]) -> int:
    """Decide about the ids that were given; show one; else ask about each where a person sits, or list them."""
    scope = engine.scopes.own
    decided: list[Lesson] = []
    for name, approved in (("approve", True), ("reject", False)):
        decided += [await engine.bank.lessons.decide(scope, lesson_id, approved=approved) for lesson_id in given[name]]
    if decided:
        _told(decided, given)
        return 0
    if given["show"]:
        return await _show_waiting(engine, given)
    waiting = await engine.bank.lessons.latest(scope, kind=None, limit=_MOST, held=True)
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


async def _show_waiting(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lessons.get(engine.scopes.own, given["show"], "id")
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
            done = await engine.bank.lessons.decide(engine.scopes.own, lesson.id, approved=answer.startswith("a"))
            _told([done], {"json": False})


def _told(decided: list[Lesson], given: dict[str, Any]) -> None:
    for lesson in decided:
        if given["json"]:
            say_json({"id": lesson.id, "state": lesson.state.value, "trust": lesson.trust.value})
        else:
            what = "trusted, and recalled from now on" if lesson.trust is Trust.TRUSTED else "retired"
            say(f"{lesson.id}: {what}.")


# `mcp-reflect lessons`: look for lessons, look at one, and change what a person may change.


_CHANGES = ("mistake", "correction", "why", "task_type", "importance", "tags")


def run(arguments: list[str]) -> int:
    """Look at lessons and change them, as a person."""
    given = vars(words().parse_args(arguments))
    action = given["action"] or ("browse" if sys.stdin.isatty() and seen_by_a_person() else "list")
    work = {
        "browse": _browse,
        "list": _list,
        "search": _list,
        "show": _show,
        "history": _history,
        "edit": _edit,
        "approve": _decide,
        "reject": _decide,
        "merge": _merge,
        "undo": _undo,
        "forget": _forget,
        "restore": _restore,
        "erase": _erase,
        "review": review,
    }[action]
    return with_engine(lambda engine: work(engine, given))


def words() -> argparse.ArgumentParser:
    """The words of the command."""
    made = parser("lessons", "Look for lessons, look at one, and change what a person may change.")
    _filters(made)
    actions = made.add_subparsers(dest="action", metavar="ACTION")
    _filters(_add(actions, "list", "the newest lessons", "list --task-type deploy"))
    search = _add(actions, "search", "lessons that hold all of these words", "search git push --state all")
    search.add_argument("words", nargs="+", help="in a lesson's text, task type, symptoms, keywords or tags")
    _filters(search)
    _id(_add(actions, "show", "one lesson, and what it is worth", "show LES"))
    _id(_add(actions, "history", "its wordings before, what became of it, where it was shown", "history LES"))
    edit = _id(_add(actions, "edit", "change a lesson, in $EDITOR or by options", "edit LES --tag deploy"))
    edit.add_argument("--mistake", help="what went wrong")
    edit.add_argument("--correction", help="what works")
    edit.add_argument("--why", help="why it does")
    edit.add_argument("--task-type", help="like debugging, search, deploy")
    edit.add_argument("--importance", type=float, help="0 to 1")
    edit.add_argument("--tag", action="append", dest="tags", help="replaces the tags; may be given again")
    _ids(_add(actions, "approve", "vouch for what waits in quarantine: trusted, and recalled", "approve LES"))
    _ids(_add(actions, "reject", "retire what waits in quarantine", "reject LES"))
    merge = _add(actions, "merge", "say that lessons are one: the first lives on, the others in it", "merge LES SAME")
    merge.add_argument("id", help="the lesson that lives on")
    merge.add_argument("others", nargs="+", metavar="SAME", help="the ids of those that say the same")
    _add(actions, "undo", "put a merge back", "undo drm_…").add_argument("id", help="the id that merge printed")
    forget = _id(_add(actions, "forget", "retire a lesson: out of every recall, kept in the history", "forget LES"))
    forget.add_argument("--reason", default="a person said so", help="kept in its history")
    _id(_add(actions, "restore", "bring a retired lesson back", "restore LES"))
    erase = _id(_add(actions, "erase", "remove a lesson, its history and its bytes for good", "erase LES --yes"))
    erase.add_argument("--yes", action="store_true", help="do not ask")
    waiting = _add(actions, "review", "what waits in quarantine: list it, look at it, and decide", "review")
    waiting.add_argument("--show", metavar="ID", help="one of them, with all its words")
    waiting.add_argument("--approve", metavar="ID", nargs="+", default=[], help="a person vouches for it: trusted")
    waiting.add_argument(
        "--reject", metavar="ID", nargs="+", default=[], help="retired: it does not come back by itself"
    )
    return made


def _add(actions: Any, name: str, about: str, example: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = actions.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example: mcp-reflect lessons {example}",
        allow_abbrev=False,
    )
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON for a program")
    return made


def _id(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
    made.add_argument("id", help="the lesson's id")
    return made


def _ids(made: argparse.ArgumentParser) -> None:
    made.add_argument("ids", nargs="+", metavar="ID", help="the ids of lessons in quarantine")


def _filters(made: argparse.ArgumentParser) -> None:
    suppressed = argparse.SUPPRESS
    made.add_argument(
        "--state", default=suppressed, choices=["active", "retired", "archived", "quarantined", "all"], help="its state"
    )
    made.add_argument("--all", action="store_true", default=suppressed, help="the same as --state all")
    made.add_argument(
        "--kind", choices=[*(kind.value for kind in RecordKind), "all"], default=suppressed, help="its kind"
    )
    made.add_argument("--task-type", default=suppressed, help="like debugging, search, deploy")
    made.add_argument("--tag", default=suppressed, help="one of its tags")
    made.add_argument("--project", default=suppressed, help="a project that MCP_REFLECT_PROJECTS allows")
    made.add_argument("--min-effectiveness", type=float, default=suppressed, help="0 to 1; those without one go")
    made.add_argument("--limit", type=int, default=suppressed, help="at most so many (default 50)")
    made.add_argument("--offset", type=int, default=suppressed, help="after so many newer ones")


def _filter(given: dict[str, Any]) -> Filter:
    least = given.get("min_effectiveness")
    if least is not None and not 0 <= least <= 1:
        raise InputError("--min-effectiveness", f"{least:g} is not in 0 to 1", "Give a number there.")
    kind = given.get("kind", "lesson")
    state: dict[str, Any] = of_state("all" if given.get("all") else given.get("state", "active"))
    return Filter(
        words=tuple(given.get("words", ())),
        kind=None if kind == "all" else RecordKind(kind),
        task_type=given.get("task_type"),
        tag=given.get("tag"),
        min_effectiveness=least,
        limit=max(given.get("limit", 50), 1),
        offset=max(given.get("offset", 0), 0),
        **state,
    )


async def _browse(engine: Engine, given: dict[str, Any]) -> int:
    return await Browser(engine, _filter(given)).run()


async def _list(engine: Engine, given: dict[str, Any]) -> int:
    scope = engine.scopes.named(given.get("project"))
    found = await engine.bank.views.browse(scope, _filter(given))
    if given["json"]:
        say_json([plain(lesson) for lesson in found])
    elif found:
        say(rows_shown([views.row(one) for one in found], views.HEADS, views.TEXT_COLUMN))
    elif seen_by_a_person():
        say(f"No such lessons in {scope}.")
    return 0


async def _show(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lessons.get(engine.scopes.own, given["id"], "id")
    whole = await views.whole(engine, lesson)
    if given["json"]:
        say_json(whole)
    elif seen_by_a_person():
        say(
            views.page(
                lesson, rounded_effectiveness(await engine.bank.lessons.effectiveness(engine.scopes.own, lesson))
            )
        )
    else:
        for name, value in whole.items():
            say(f"{name}: {visible(str(value))}")
    return 0


async def _history(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lessons.get(engine.scopes.own, given["id"], "id")
    found = await views.history(engine, lesson)
    say_json(found) if given["json"] else say(views.told(found))
    return 0


async def _edit(engine: Engine, given: dict[str, Any]) -> int:
    changes = {
        name: tuple(given[name]) if name == "tags" else given[name] for name in _CHANGES if given[name] is not None
    }
    if changes:
        lesson = await engine.edit_lesson(given["id"], changes)
    elif sys.stdin.isatty():
        before = await engine.bank.lessons.get(engine.scopes.own, given["id"], "id")
        after = await edited(before, lambda new: engine.edit_lesson(before.id, new))
        if after is None:
            return _done(before, given, "as it was")
        lesson = after
    else:
        raise InputError("edit", "it changes nothing", "Give --mistake, --correction, --why, --importance or --tag.")
    return _done(lesson, given, "changed; the wording before is in its history")


async def _decide(engine: Engine, given: dict[str, Any]) -> int:
    approved = given["action"] == "approve"
    for name in given["ids"]:
        lesson = await engine.bank.lessons.decide(engine.scopes.own, name, approved=approved)
        _done(lesson, given, "trusted, and recalled from now on" if approved else "retired")
    return 0


async def _merge(engine: Engine, given: dict[str, Any]) -> int:
    dream = await merged(engine, given["id"], given["others"], quiet=given["json"])
    if given["json"]:
        say_json({"id": given["id"], "merged": given["others"], "dream_id": dream})
    return 0


async def _undo(engine: Engine, given: dict[str, Any]) -> int:
    undone = await engine.undo_dream(given["id"])
    if given["json"]:
        say_json(plain(undone))
    else:
        say(f"{undone.dream_id}: undone, {len(undone.restored)} records are as they were.")
    return 0


async def _forget(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lessons.set_state(
        engine.scopes.own, given["id"], State.RETIRED, f"forgotten: {given['reason']}"
    )
    return _done(lesson, given, "retired; `lessons restore` brings it back")


async def _restore(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lessons.set_state(engine.scopes.own, given["id"], State.ACTIVE, "restored")
    return _done(lesson, given, "active again")


async def _erase(engine: Engine, given: dict[str, Any]) -> int:
    lesson = await engine.bank.lessons.get(engine.scopes.own, given["id"], "id")
    if not given["yes"]:
        if not sys.stdin.isatty():
            raise InputError("--yes", "erasing cannot be undone, and nobody can be asked here", "Add --yes.")
        sys.stdout.write(f"{visible(lesson.text)}\nErase it for good? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            say("Nothing was erased.")
            return 1
    await engine.bank.lessons.erase(engine.scopes.own, lesson.id)
    return _done(lesson, given, "erased")


def _done(lesson: Lesson, given: dict[str, Any], what: str) -> int:
    if given["json"]:
        say_json({"id": lesson.id, "state": "erased" if what == "erased" else lesson.state.value})
    else:
        say(f"{lesson.id}: {what}.")
    return 0
