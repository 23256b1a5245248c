"""Find lessons, look at one, change it, and decide about quarantined ones: `mcp-reflect lessons`."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.cli.commands import CliParser, add_number
from mcp_reflect.cli.dream import undo
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.lesson_document import add_in_editor, edit_in_editor
from mcp_reflect.cli.lesson_text import (
    HEADS,
    TEXT_COLUMN,
    history_text,
    lesson_history,
    lesson_page,
    lesson_record,
    list_row,
    long_fields,
    short_fields,
)
from mcp_reflect.cli.output import (
    aligned,
    ask,
    confirm,
    is_interactive,
    is_terminal,
    other_projects,
    table,
    visible,
    write_json,
    write_line,
    write_result,
)
from mcp_reflect.clock import dated
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import GLOBAL, Scope, plain
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import EDITABLE, Lesson, RecordKind, State
from mcp_reflect.services.engine import Engine

_STATES: Final = (*(state.value for state in State), "quarantined", "all")
_KINDS: Final = (*(kind.value for kind in RecordKind), "all")
_MOST_WAITING: Final = 1000  # quarantined lessons that one review lists


def add_lessons_arguments(parser: CliParser) -> None:
    _add_filter_options(parser)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")

    def action(name: str, description: str, example: str, ids: str = "") -> ArgumentParser:
        added = actions.add_parser(
            name,
            help=description,
            description=f"{description[0].upper()}{description[1:]}.",
            epilog=f"example: mcp-reflect lessons {name} {example}",
            allow_abbrev=False,
        )
        added.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON for a program")
        if ids:
            names = "the lesson's id, or its first or last characters"
            added.add_argument(ids, nargs="+" if ids == "ids" else None, metavar="ID", help=names)
        return added

    _add_filter_options(action("list", "the newest lessons", "--task-type deploy"))
    search = action("search", "lessons that have all of these words", "git push --state all")
    search.add_argument("words", nargs="+", help="in a lesson's text, task type, symptoms, keywords or tags")
    _add_filter_options(search)
    action("show", "one lesson, and how effective it is", "LES", "id")
    action("history", "its earlier wordings, outcomes and recalls", "LES", "id")
    add = action("add", "write a lesson yourself, in $EDITOR or by options", "--mistake A --correction B")
    add.add_argument("--global", action="store_true", dest="is_global", help="for all projects, not only this one")
    edit = action("edit", "change a lesson, in $EDITOR or by options", "LES --tag deploy", "id")
    for written in (add, edit):
        written.add_argument("--mistake", help="what went wrong")
        written.add_argument("--correction", help="what works")
        written.add_argument("--why", help="why it does")
        written.add_argument("--task-type", help="like debugging, search, deploy")
        written.add_argument("--importance", type=float, help="0 to 1")
        written.add_argument("--tag", action="append", dest="tags", help="a tag; may be given again")
    action("approve", "vouch for quarantined lessons: trusted, and recalled", "LES", "ids")
    action("reject", "retire quarantined lessons", "LES", "ids")
    action("merge", "merge lessons that say the same into the first", "LES SAME", "ids")
    action("undo", "undo a merge", "drm_…").add_argument("id", help="the id that merge printed")
    forget = action("forget", "retire a lesson: out of every recall, its history stays", "LES", "id")
    forget.add_argument("--reason", default="a person said so", help="stored in its history")
    action("restore", "bring a retired lesson back", "LES", "id")
    erase = action("erase", "remove a lesson, its history and its bytes for good", "LES --yes", "id")
    erase.add_argument("--yes", action="store_true", help="do not ask")
    review = action("review", "decide about quarantined lessons, one by one, or list them", "")
    review.add_argument(
        "--model", action="store_true", help="let the configured language model release harmless ones first"
    )


def _add_filter_options(parser: ArgumentParser) -> None:
    parser.add_argument("--state", default=SUPPRESS, choices=_STATES, help="its state")
    parser.add_argument("--kind", default=SUPPRESS, choices=_KINDS, help="its kind")
    parser.add_argument("--task-type", default=SUPPRESS, help="like debugging, search, deploy")
    parser.add_argument("--tag", default=SUPPRESS, help="one of its tags")
    parser.add_argument("--project", default=SUPPRESS, help="a project that MCP_REFLECT_PROJECTS allows")
    about = "0 to 1; without one it is left out"
    add_number(parser, "--min-effectiveness", 0.0, 1.0, default=SUPPRESS, help=about)
    parser.add_argument("--limit", type=int, default=SUPPRESS, help="at most so many (default 50)")
    parser.add_argument("--offset", type=int, default=SUPPRESS, help="skip so many newer ones")


def run_lessons(options: Namespace) -> int | None:
    """Find lessons, look at one, and change it; without an action, list the newest."""
    return with_engine(lambda engine: _ACTIONS[options.action or "list"](engine, options))


def _filter_of(options: Namespace) -> Filter:
    values: dict[str, Any] = vars(options)
    kind = values.get("kind", RecordKind.LESSON.value)
    return Filter(
        words=tuple(values.get("words", ())),
        kind=None if kind == "all" else RecordKind(kind),
        task_type=values.get("task_type"),
        tag=values.get("tag"),
        min_effectiveness=values.get("min_effectiveness"),
        limit=max(values.get("limit", 50), 1),
        offset=max(values.get("offset", 0), 0),
        **_state_fields(values.get("state", State.ACTIVE.value)),
    )


def _state_fields(name: str) -> dict[str, Any]:
    """Return the filter fields of a state's name. A quarantined lesson is active; a rejected one is retired."""
    if name == "quarantined":
        return {"state": State.ACTIVE, "held": True}
    if name == "all":
        return {"state": None, "held": None}
    return {"state": State(name), "held": False if name == "active" else None}


async def _list(engine: Engine, options: Namespace) -> None:
    scope = engine.scopes.named(getattr(options, "project", None))
    lessons = await engine.bank.views.browse(scope, _filter_of(options))
    if options.json:
        write_json([plain(lesson) for lesson in lessons])
    elif lessons:
        write_line(table([list_row(lesson) for lesson in lessons], HEADS, TEXT_COLUMN))
    elif is_terminal():
        write_line(await _nothing_listed(engine, scope))


async def _nothing_listed(engine: Engine, scope: Scope) -> str:
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


async def _show(engine: Engine, options: Namespace) -> None:
    lesson = await _lesson(engine, options.id)
    if options.json:
        write_json(await lesson_record(engine, lesson))
    else:
        write_line(await lesson_page(engine, lesson))


async def _history(engine: Engine, options: Namespace) -> None:
    history = await lesson_history(engine, await _lesson(engine, options.id))
    write_result(options, history, history_text(history))


async def _add(engine: Engine, options: Namespace) -> int:
    fields: dict[str, Any] = {"visibility": "global" if options.is_global else "project"}
    given = _given_fields(options)
    if given or not is_interactive():
        stored = await services.lessons.add(engine.context, {**fields, **given})
    else:
        stored = await add_in_editor(lambda written: services.lessons.add(engine.context, {**fields, **written}))
    if stored is None:
        write_line("Nothing was stored.")
        return 1
    text = f"{stored.lesson_id}: {stored.status}, trusted. `mcp-reflect recall` finds it from now on."
    write_result(options, plain(stored), text)
    return 0


def _given_fields(options: Namespace) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in EDITABLE}
    return {name: tuple(value) if name == "tags" else value for name, value in values.items() if value is not None}


async def _edit(engine: Engine, options: Namespace) -> None:
    lesson = await _lesson(engine, options.id)
    changes = _given_fields(options)
    if changes:
        edited = await engine.edit_lesson(lesson.id, changes)
    elif is_interactive():
        edited = await edit_in_editor(lesson, lambda after: engine.edit_lesson(lesson.id, after))
    else:
        raise InputError("edit", "it changes nothing", "Give --mistake, --correction, --why, --importance or --tag.")
    _report(edited or lesson, options, "changed; the wording before is in its history" if edited else "as it was")


async def _decide(engine: Engine, options: Namespace, *, approved: bool) -> None:
    """Decide about quarantined lessons, after showing each: a person approves what they have read."""
    for part in options.ids:
        lesson = await _lesson(engine, part)
        if not options.json and lesson.held:
            _print_waiting(lesson)
        await _decide_one(engine, lesson, options, approved=approved)


async def _decide_one(engine: Engine, lesson: Lesson, options: Namespace, *, approved: bool) -> None:
    decided = await engine.bank.lessons.decide(engine.scopes.own, lesson.id, approved=approved)
    _report(decided, options, "trusted, and recalled from now on" if approved else "retired")


async def _merge(engine: Engine, options: Namespace) -> None:
    from mcp_reflect.services.consolidate import merge  # noqa: PLC0415 - slow to import, needed here alone

    kept_id, *merged_ids = [(await _lesson(engine, part)).id for part in options.ids]
    if not merged_ids:
        raise InputError("merge", "it takes two lessons or more", "Name the one that stays, then the others.")
    dream = await merge(engine.context, kept_id, merged_ids)
    text = f"{', '.join(merged_ids)} merged into {kept_id}.\n`mcp-reflect lessons undo {dream.dream_id}` puts it back."
    write_result(options, {"id": kept_id, "merged": merged_ids, "dream_id": dream.dream_id}, text)


async def _set_state(engine: Engine, options: Namespace, state: State, reason: str) -> None:
    lesson = await _lesson(engine, options.id)
    result = "active again" if state is State.ACTIVE else "retired; `lessons restore` brings it back"
    _report(await engine.bank.lessons.set_state(engine.scopes.own, lesson.id, state, reason), options, result)


async def _erase(engine: Engine, options: Namespace) -> int:
    lesson = await _lesson(engine, options.id)
    if not options.yes and not confirm(f"{visible(lesson.text)}\nErase it for good?", "erasing cannot be undone"):
        write_line("Nothing was erased.")
        return 1
    await engine.bank.lessons.erase(engine.scopes.own, lesson.id)
    write_result(options, {"id": lesson.id, "state": "erased"}, f"{lesson.id}: erased.")
    return 0


async def _review(engine: Engine, options: Namespace) -> None:
    """List the quarantined lessons, or ask a person about each."""
    scope = engine.scopes.own
    if options.model:
        from mcp_reflect.services.second_opinion import second_opinion  # noqa: PLC0415 - needs a model

        released = await second_opinion(engine.context)
        if not options.json:
            write_line(f"The model released {len(released)} to observed: {', '.join(released) or 'none'}.")
    waiting = await engine.bank.lessons.latest(scope, kind=None, limit=_MOST_WAITING, held=True)
    if options.json:
        write_json([dated(plain(lesson)) for lesson in waiting])
    elif not waiting:
        write_line(f"Nothing waits for you in {scope}.")
    elif is_interactive():
        await _ask_about_each(engine, waiting, options)
    else:
        for lesson in waiting:
            _print_waiting(lesson)
            write_line("\n")
        write_line("`lessons approve ID` or `lessons reject ID` decides.")


def _print_waiting(lesson: Lesson) -> None:
    write_line(f"{lesson.id} ({lesson.kind}, from {lesson.source}): {lesson.held}")
    write_line("\n".join([*long_fields(lesson), "", aligned(short_fields(lesson))]))


async def _ask_about_each(engine: Engine, waiting: Sequence[Lesson], options: Namespace) -> None:
    for lesson in waiting:
        _print_waiting(lesson)
        answer = (ask("[a]pprove, [r]eject, Enter to leave it: ") or "").lower()
        if answer in ("a", "approve", "r", "reject"):
            await _decide_one(engine, lesson, options, approved=answer.startswith("a"))


_ACTIONS: Final[Mapping[str, Callable[[Engine, Namespace], Awaitable[int | None]]]] = {
    "list": _list,
    "search": _list,
    "show": _show,
    "history": _history,
    "add": _add,
    "edit": _edit,
    "approve": lambda engine, options: _decide(engine, options, approved=True),
    "reject": lambda engine, options: _decide(engine, options, approved=False),
    "merge": _merge,
    "undo": lambda engine, options: undo(engine, options.id, options),
    "forget": lambda engine, options: _set_state(engine, options, State.RETIRED, f"forgotten: {options.reason}"),
    "restore": lambda engine, options: _set_state(engine, options, State.ACTIVE, "restored"),
    "erase": _erase,
    "review": _review,
}


async def _lesson(engine: Engine, part: str) -> Lesson:
    """Return the lesson with that id, or the one whose id begins or ends with it."""
    own = engine.scopes.own
    return await engine.bank.lessons.get(own, await engine.bank.lessons.resolve_id(own, part), "id")


def _report(lesson: Lesson, options: Namespace, result: str) -> None:
    state = {"id": lesson.id, "state": lesson.state.value, "trust": lesson.trust.value}
    write_result(options, state, f"{lesson.id}: {result}.")
