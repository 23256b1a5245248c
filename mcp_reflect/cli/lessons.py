"""Find lessons, look at one, change it, and decide about quarantined ones: `mcp-reflect lessons`."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from mcp_reflect.cli.dream import undo
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.lesson_browser import Browser, merge_into
from mcp_reflect.cli.lesson_editor import edit_in_editor
from mcp_reflect.cli.lesson_filter import add_filter_options, filter_of_options
from mcp_reflect.cli.lesson_text import (
    HEADS,
    TEXT_COLUMN,
    field_lines,
    history_text,
    lesson_history,
    lesson_page,
    lesson_record,
    list_row,
)
from mcp_reflect.cli.output import (
    ask,
    confirm,
    is_interactive,
    is_terminal,
    table,
    visible,
    write_json,
    write_line,
)
from mcp_reflect.cli.parser import CliParser
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, State, Trust
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.results import dated, plain

_EDITABLE: Final = ("mistake", "correction", "why", "task_type", "importance", "tags")
_MOST_WAITING: Final = 1000
"""The most quarantined lessons that one review lists."""


def add_lessons_arguments(parser: CliParser) -> None:
    add_filter_options(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    add_filter_options(_action(actions, "list", "the newest lessons", "list --task-type deploy"))
    search = _action(actions, "search", "lessons that have all of these words", "search git push --state all")
    search.add_argument("words", nargs="+", help="in a lesson's text, task type, symptoms, keywords or tags")
    add_filter_options(search)
    _one(_action(actions, "show", "one lesson, and how effective it is", "show LES"))
    _one(_action(actions, "history", "its earlier wordings, outcomes and recalls", "history LES"))
    edit = _one(_action(actions, "edit", "change a lesson, in $EDITOR or by options", "edit LES --tag deploy"))
    edit.add_argument("--mistake", help="what went wrong")
    edit.add_argument("--correction", help="what works")
    edit.add_argument("--why", help="why it does")
    edit.add_argument("--task-type", help="like debugging, search, deploy")
    edit.add_argument("--importance", type=float, help="0 to 1")
    edit.add_argument("--tag", action="append", dest="tags", help="replaces the tags; may be given again")
    _many(_action(actions, "approve", "vouch for quarantined lessons: trusted, and recalled", "approve LES"))
    _many(_action(actions, "reject", "retire quarantined lessons", "reject LES"))
    merge = _action(actions, "merge", "merge lessons that say the same into the first", "merge LES SAME")
    merge.add_argument("id", help="the lesson that stays")
    merge.add_argument("others", nargs="+", metavar="SAME", help="the lessons to merge into it")
    _action(actions, "undo", "undo a merge", "undo drm_…").add_argument("id", help="the id that merge printed")
    forget = _one(_action(actions, "forget", "retire a lesson: out of every recall, its history stays", "forget LES"))
    forget.add_argument("--reason", default="a person said so", help="stored in its history")
    _one(_action(actions, "restore", "bring a retired lesson back", "restore LES"))
    erase = _one(_action(actions, "erase", "remove a lesson, its history and its bytes for good", "erase LES --yes"))
    erase.add_argument("--yes", action="store_true", help="do not ask")
    review = _action(actions, "review", "decide about quarantined lessons, one by one, or list them", "review")
    review.add_argument("--show", metavar="ID", help="one of them, with all its fields")
    review.add_argument("--approve", metavar="ID", nargs="+", default=[], help="the same as approve")
    review.add_argument("--reject", metavar="ID", nargs="+", default=[], help="the same as reject")


def _action(actions: Any, name: str, description: str, example: str) -> ArgumentParser:
    parser: ArgumentParser = actions.add_parser(
        name,
        help=description,
        description=f"{description[0].upper()}{description[1:]}.",
        epilog=f"example: mcp-reflect lessons {example}",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON for a program")
    return parser


def _one(parser: ArgumentParser) -> ArgumentParser:
    parser.add_argument("id", help="the lesson's id")
    return parser


def _many(parser: ArgumentParser) -> ArgumentParser:
    parser.add_argument("ids", nargs="+", metavar="ID", help="the ids of quarantined lessons")
    return parser


def run_lessons(options: Namespace) -> int:
    """Find lessons, look at one, and change it; without an action, browse in a terminal and list elsewhere."""
    action = options.action or ("browse" if is_interactive() else "list")
    return with_engine(lambda engine: _ACTIONS[action](engine, options))


async def _browse(engine: Engine, options: Namespace) -> int:
    return await Browser(engine, filter_of_options(options)).run()


async def _list(engine: Engine, options: Namespace) -> int:
    scope = engine.scopes.named(getattr(options, "project", None))
    lessons = await engine.bank.views.browse(scope, filter_of_options(options))
    if options.json:
        write_json([plain(lesson) for lesson in lessons])
    elif lessons:
        write_line(table([list_row(lesson) for lesson in lessons], HEADS, TEXT_COLUMN))
    elif is_terminal():
        write_line(f"No such lessons in {scope}.")
    return 0


async def _show(engine: Engine, options: Namespace) -> int:
    lesson = await _lesson(engine, options.id)
    if not options.json and is_terminal():
        write_line(await lesson_page(engine, lesson))
        return 0
    record = await lesson_record(engine, lesson)
    if options.json:
        write_json(record)
    else:
        for name, value in record.items():
            write_line(f"{name}: {visible(str(value))}")
    return 0


async def _history(engine: Engine, options: Namespace) -> int:
    history = await lesson_history(engine, await _lesson(engine, options.id))
    if options.json:
        write_json(history)
    else:
        write_line(history_text(history))
    return 0


async def _edit(engine: Engine, options: Namespace) -> int:
    lesson = await _lesson(engine, options.id)
    values = {name: getattr(options, name) for name in _EDITABLE}
    changes = {name: tuple(value) if name == "tags" else value for name, value in values.items() if value is not None}
    if changes:
        edited = await engine.edit_lesson(lesson.id, changes)
    elif is_interactive():
        edited = await edit_in_editor(lesson, lambda after: engine.edit_lesson(lesson.id, after))
    else:
        raise InputError("edit", "it changes nothing", "Give --mistake, --correction, --why, --importance or --tag.")
    _report([edited or lesson], options, "changed; the wording before is in its history" if edited else "as it was")
    return 0


async def _decide(engine: Engine, ids: Sequence[str], options: Namespace, *, approved: bool) -> int:
    decided = [await engine.bank.lessons.decide(engine.scopes.own, lesson_id, approved=approved) for lesson_id in ids]
    _report(decided, options, "trusted, and recalled from now on" if approved else "retired")
    return 0


async def _merge(engine: Engine, options: Namespace) -> int:
    dream_id = await merge_into(engine, options.id, options.others, quiet=options.json)
    if options.json:
        write_json({"id": options.id, "merged": options.others, "dream_id": dream_id})
    return 0


async def _undo(engine: Engine, options: Namespace) -> int:
    await undo(engine, options.id, as_json=options.json)
    return 0


async def _forget(engine: Engine, options: Namespace) -> int:
    reason = f"forgotten: {options.reason}"
    lesson = await engine.bank.lessons.set_state(engine.scopes.own, options.id, State.RETIRED, reason)
    _report([lesson], options, "retired; `lessons restore` brings it back")
    return 0


async def _restore(engine: Engine, options: Namespace) -> int:
    lesson = await engine.bank.lessons.set_state(engine.scopes.own, options.id, State.ACTIVE, "restored")
    _report([lesson], options, "active again")
    return 0


async def _erase(engine: Engine, options: Namespace) -> int:
    lesson = await _lesson(engine, options.id)
    if not options.yes and not confirm(f"{visible(lesson.text)}\nErase it for good?", "erasing cannot be undone"):
        write_line("Nothing was erased.")
        return 1
    await engine.bank.lessons.erase(engine.scopes.own, lesson.id)
    if options.json:
        write_json({"id": lesson.id, "state": "erased"})
    else:
        write_line(f"{lesson.id}: erased.")
    return 0


async def _review(engine: Engine, options: Namespace) -> int:
    """Decide about the ids given, show one, or go through all that wait."""
    if options.approve or options.reject:
        await _decide(engine, options.approve, options, approved=True)
        return await _decide(engine, options.reject, options, approved=False)
    if options.show:
        return await _show_waiting(engine, options)
    scope = engine.scopes.own
    waiting = await engine.bank.lessons.latest(scope, kind=None, limit=_MOST_WAITING, held=True)
    if options.json:
        write_json([dated(plain(lesson)) for lesson in waiting])
    elif not waiting:
        write_line(f"Nothing waits for you in {scope}.")
    elif is_interactive():
        await _ask_about_each(engine, waiting, options)
    else:
        write_line(table([(lesson.id, lesson.held or "", lesson.text) for lesson in waiting], ("id", "why", "text"), 2))
        write_line("\n--show ID has all of it; --approve ID or --reject ID decides.")
    return 0


async def _show_waiting(engine: Engine, options: Namespace) -> int:
    lesson = await _lesson(engine, options.show)
    if lesson.trust is not Trust.QUARANTINED:
        raise InputError("id", "it is not in quarantine", "`mcp-reflect lessons show` has it.")
    if options.json:
        write_json(dated(plain(lesson)))
    else:
        _print_waiting(lesson)
    return 0


def _print_waiting(lesson: Lesson) -> None:
    write_line(f"{lesson.id} ({lesson.kind}, from {lesson.source}): {lesson.held}")
    write_line("\n".join(field_lines(lesson)))


async def _ask_about_each(engine: Engine, waiting: Sequence[Lesson], options: Namespace) -> None:
    for lesson in waiting:
        _print_waiting(lesson)
        answer = (ask("[a]pprove, [r]eject, Enter to leave it: ") or "").lower()
        if answer in ("a", "approve", "r", "reject"):
            await _decide(engine, [lesson.id], options, approved=answer.startswith("a"))


_ACTIONS: Final[Mapping[str, Callable[[Engine, Namespace], Awaitable[int]]]] = {
    "browse": _browse,
    "list": _list,
    "search": _list,
    "show": _show,
    "history": _history,
    "edit": _edit,
    "approve": lambda engine, options: _decide(engine, options.ids, options, approved=True),
    "reject": lambda engine, options: _decide(engine, options.ids, options, approved=False),
    "merge": _merge,
    "undo": _undo,
    "forget": _forget,
    "restore": _restore,
    "erase": _erase,
    "review": _review,
}


async def _lesson(engine: Engine, lesson_id: str) -> Lesson:
    return await engine.bank.lessons.get(engine.scopes.own, lesson_id, "id")


def _report(lessons: Sequence[Lesson], options: Namespace, result: str) -> None:
    for lesson in lessons:
        if options.json:
            write_json({"id": lesson.id, "state": lesson.state.value, "trust": lesson.trust.value})
        else:
            write_line(f"{lesson.id}: {result}.")
