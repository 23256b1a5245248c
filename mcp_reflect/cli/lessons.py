"""Find lessons, look at one, change it, and decide about quarantined ones: `mcp-reflect lessons`."""

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.cli.commands import CliParser, add_actions, add_number, add_service_arguments
from mcp_reflect.cli.dream import report_undone
from mcp_reflect.cli.lesson_editor import edit_in_editor
from mcp_reflect.cli.lesson_text import TEXT_COLUMN, history_text, lesson_page, list_rows
from mcp_reflect.cli.output import (
    ask,
    confirm,
    is_interactive,
    table,
    visible,
    write_json,
    write_line,
    write_result,
)
from mcp_reflect.cli.place import Do, with_engine, with_place
from mcp_reflect.cli.review import decide, review
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.common import plain
from mcp_reflect.models.lesson import (
    EDITABLE,
    Filter,
    GuardMode,
    Lesson,
    RecordKind,
    State,
    Stored,
)
from mcp_reflect.services.curation import LessonDetails, Listed
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.reviews import Waiting
from mcp_reflect.speaker import Speaker, refuse_agent, speaker_of_process, speaker_to_service

_STATES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{state.value: {"state": state, "held": None} for state in State},
    State.ACTIVE.value: {"state": State.ACTIVE, "held": False},
    "quarantined": {"state": State.ACTIVE, "held": True},
    "all": {"state": None, "held": None},
}
"""The fields of a filter by the name of a state. A quarantined lesson is active; a rejected one is retired."""

_KINDS: Final = (*(kind.value for kind in RecordKind), "all")
_NEXT: Final = """\
An agent stores them when a run fails. To write one: mcp-reflect lessons add. To see it learn: mcp-reflect demo.
To register your agent: mcp-reflect install HOST. Other projects: mcp-reflect projects."""
_NO_GUARD: Final = "none; add --wrong-call and --right-call to stop the call"

_OBSERVED: Final = (
    "An agent or a script told it: it is not trusted. A person vouches for it in a terminal of their own: "
    "mcp-reflect lessons approve {id}"
)

_QUESTIONS: Final = {
    "mistake": "What went wrong (Enter: leave it out): ",
    "correction": "What to do instead: ",
    "why": "Why (Enter: leave it out): ",
}


def add_lessons_arguments(parser: CliParser) -> None:
    add = add_actions(parser)

    def action(name: str, about: str, example: str, ids: str = "") -> CliParser:
        added = add(name, about, example)
        if name != "erase":
            add_service_arguments(added)
        if ids:
            names = "the lesson's id, or its first or last characters"
            added.add_argument(ids, nargs="+" if ids == "ids" else None, metavar="ID", help=names)
        return added

    listed = action("list", "the newest lessons", "--task-type deploy")
    listed.set_defaults(words=())
    search = action("search", "lessons that have all of these words", "git push --state all")
    search.add_argument(
        "words", nargs="+", help="in a lesson's text, task type, symptoms, keywords or tags"
    )
    for found in (listed, search):
        found.add_argument(
            "--state", default="active", choices=_STATES, help="its state (default: active)"
        )
        found.add_argument(
            "--kind", default="lesson", choices=_KINDS, help="its kind (default: lesson)"
        )
        found.add_argument("--task-type", metavar="TYPE", help="like debugging, search, deploy")
        found.add_argument("--tag", help="one of its tags")
        add_number(
            found,
            "--limit",
            1,
            1_000_000,
            metavar="N",
            default=50,
            help="at most this many (default 50)",
        )
    action("show", "one lesson, and how effective it is", "LES", "id")
    action("history", "its earlier wordings, outcomes and recalls", "LES", "id")
    about = "write a lesson yourself: as a text, by options, or asked for"
    written = action("add", about, '"Run make setup before make test"')
    written.add_argument("text", nargs="*", help="the lesson in a sentence")
    written.add_argument(
        "--global",
        action="store_true",
        dest="is_global",
        help="for all projects, not only this one",
    )
    edit = action("edit", "change a lesson, in $EDITOR or by options", "LES --tag deploy", "id")
    for fields in (written, edit):
        for name, about in (
            ("--mistake", "what went wrong"),
            ("--correction", "what works"),
            ("--why", "why it does"),
            ("--wrong-call", "the wrong call: a command, or JSON of {tool, arguments}"),
            ("--right-call", "the right call, in the same form"),
            (
                "--guard",
                "the calls against it: 'Bash: `tsc` without `--noEmit`'; '' to derive it again",
            ),
            ("--task-type", "like debugging, search, deploy"),
        ):
            fields.add_argument(name, metavar="TEXT", help=about)
        add_number(fields, "--importance", 0.0, 1.0, metavar="N", help="0 to 1")
        fields.add_argument("--tag", action="append", dest="tags", help="a tag; may be given again")
    about = "say what a call against a lesson meets; without a mode, what it would have met in past sessions"
    guard = action("guard", about, "LES hold", "id")
    guard.add_argument(
        "mode",
        nargs="?",
        choices=("hold", "tell", "off"),
        help="refuse the call once, tell the agent, or nothing",
    )
    action("enforce", "refuse each call that goes against a lesson, every time", "LES", "id")
    action("pin", "begin every session with a lesson, three at most", "LES", "id")
    action("unpin", "no longer begin every session with a lesson", "LES", "id")
    approve = action(
        "approve",
        "vouch for lessons, keep a finding in your words, do what an agent proposes",
        "LES",
        "ids",
    )
    approve.add_argument("--mistake", metavar="TEXT", help="what went wrong, of a finding")
    approve.add_argument(
        "--correction", metavar="TEXT", help="what another session should know, of a finding"
    )
    action("reject", "retire quarantined lessons, drop findings and proposals", "LES", "ids")
    action("merge", "merge lessons that say the same into the first", "LES SAME", "ids")
    action("undo", "undo a merge", "drm_…").add_argument("id", help="the id that merge printed")
    forget = action(
        "forget", "retire lessons: out of every recall, their history stays", "LES", "ids"
    )
    forget.add_argument("--reason", default="a person said so", help="stored in its history")
    action("restore", "bring retired lessons back", "LES", "ids")
    erase = action(
        "erase", "remove a lesson, its history and its bytes for good", "LES --yes", "id"
    )
    erase.add_argument("--yes", action="store_true", help="do not ask")
    action("review", "decide about all that waits, one by one, or list it", "")


def run_lessons(options: Namespace) -> int | None:
    """Find lessons, look at one, and change it; without an action, list the newest."""
    if options.action == "erase":
        return with_engine(lambda engine: _erase(engine, options))
    if options.action == "guard" and options.mode is None:
        return with_engine(lambda engine: _try_guard(engine, options))
    try:
        return with_place(options, lambda do: _USES[options.action](do, options))
    except NotFoundError as error:  # its words are for agents
        fix = "List them: mcp-reflect lessons."
        raise NotFoundError(error.field, error.fault, fix) from None


async def _list(do: Do, options: Namespace) -> None:
    kind: RecordKind | None = None
    if options.kind != "all":
        kind = RecordKind(options.kind)
    condition = Filter(
        words=tuple(options.words),
        kind=kind,
        task_type=options.task_type,
        tag=options.tag,
        limit=options.limit,
        **_STATES[options.state],
    )
    listed: Listed = await do("lessons", {"filter": asdict(condition)})
    if options.json:
        write_json([plain(lesson) for lesson in listed.lessons])
    elif listed.lessons:
        heads, rows = list_rows(listed.lessons)
        write_line(table(rows, heads, TEXT_COLUMN))
    else:
        waiting = await _waiting(do)
        write_line(f"No such lessons in {listed.scope}. {waiting or _NEXT}")


async def _waiting(do: Do) -> str:
    """Return how many lessons and findings wait for a person, empty for none."""
    found: Waiting = await do("review", {})
    items = (*found.lessons, *found.findings, *found.proposals, *found.doubted)
    count = len(items) + found.withheld
    if not count:
        return ""
    return f"{count} wait for you to decide: mcp-reflect lessons review."


async def _show(do: Do, options: Namespace) -> None:
    shown: LessonDetails = await do("show", {"id": options.id})
    if options.json:
        known = asdict(shown)
        del known["lesson"]
        write_json({**plain(shown.lesson), **known})
    else:
        known = {"sessions": shown.effect, "since then": shown.since}
        write_line(lesson_page(shown.lesson, shown.guards, known))


async def _history(do: Do, options: Namespace) -> None:
    history: dict[str, Any] = await do("history", {"id": options.id})
    write_result(options, history, history_text(history))


async def _add(do: Do, options: Namespace) -> int:
    fields = _given_fields(options)
    if options.text:
        fields["lesson"] = " ".join(options.text)
    if not fields and is_interactive():
        fields = _asked_fields()
        if not fields:
            write_line("Nothing was stored.")
            return 1
    visibility = "project"
    if options.is_global:
        visibility = "global"
    stored: Stored = await do("add", {"visibility": visibility, **fields})
    write_result(options, plain(stored), _stored_text(stored, options))
    return 0


def _asked_fields() -> dict[str, Any]:
    """Ask the person for the words of a lesson; return those that they gave."""
    answers = {name: ask(question) for name, question in _QUESTIONS.items()}
    return {name: answer for name, answer in answers.items() if answer}


def _stored_text(stored: Stored, options: Namespace) -> str:
    """Return what a new lesson came to: a person's is trusted, anybody else's waits for one who vouches for it."""
    speaker = speaker_of_process()
    if options.url:
        speaker = speaker_to_service()
    is_person = speaker is Speaker.PERSON
    status = stored.status
    if is_person and not options.url:
        status = f"{status}, trusted"
    lines = [
        f"{stored.lesson_id}: {status}. `mcp-reflect recall` finds it from now on.",
        f"Guard: {stored.guard or _NO_GUARD}.",
    ]
    if not is_person:
        lines.append(_OBSERVED.format(id=stored.lesson_id))
    return "\n".join(lines)


def _given_fields(options: Namespace) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in EDITABLE}
    fields = {name: value for name, value in values.items() if value is not None}
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    return fields


async def _edit(do: Do, options: Namespace) -> None:
    shown: LessonDetails = await do("show", {"id": options.id})
    lesson = shown.lesson
    changes = _given_fields(options)
    if changes:
        edited = await do("edit", {"id": lesson.id, "changes": changes})
    elif is_interactive():
        edited = await edit_in_editor(
            lesson, lambda after: do("edit", {"id": lesson.id, "changes": after})
        )
    else:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in EDITABLE if name != "tags")
        raise InputError("edit", "it changes nothing", f"Give one of {names}, --tag.")
    result = "as it was"
    if edited:
        result = "changed; the wording before is in its history"
        if (edited.guard, edited.wrong_call) != (lesson.guard, lesson.wrong_call):
            guard = edited.guard or "none, for these calls give none: say it with --guard"
            result += f". Guard: {guard}"
    _report(edited or lesson, options, result)


async def _guard(do: Do, options: Namespace, mode: GuardMode) -> None:
    after: Lesson = await do("guard", {"id": options.id, "mode": mode.value})
    meaning = {
        GuardMode.ENFORCE: "each call against it is refused",
        GuardMode.HOLD: "a call against it is refused once",
        GuardMode.TELL: "the agent is told at a call against it",
        GuardMode.OFF: "its guard does nothing",
    }
    _report(after, options, f"{after.guard}: {meaning[mode]}")


async def _try_guard(engine: Engine, options: Namespace) -> int:
    """Show what a lesson's guard would have met in the past sessions of this project; it changes nothing."""
    from mcp_reflect.cli.replay import write_replayed  # noqa: PLC0415 - needed here alone
    from mcp_reflect.services.guards import without_guard  # noqa: PLC0415 - same
    from mcp_reflect.services.replay import replay  # noqa: PLC0415 - same

    own, lessons = engine.scopes.own, engine.bank.lessons
    lesson = await lessons.get(own, await lessons.resolve_id(own, options.id), "id")
    if lesson.guard is None:
        raise without_guard(lesson)
    if not options.json:
        write_line(f"{lesson.id}: {visible(lesson.guard)}")
    write_replayed(await replay(engine.context, only=lesson.id), options)
    return 0


async def _pin(do: Do, options: Namespace, *, pinned: bool) -> None:
    after: Lesson = await do("pin", {"id": options.id, "pinned": pinned})
    _report(after, options, "every session begins with it" if pinned else "no longer pinned")


async def _merge(do: Do, options: Namespace) -> None:
    result: dict[str, Any] = await do("merge", {"ids": options.ids})
    text = f"{', '.join(result['merged'])} merged into {result['id']}.\n"
    write_result(
        options, result, f"{text}`mcp-reflect lessons undo {result['dream_id']}` puts it back."
    )


async def _undo(do: Do, options: Namespace) -> None:
    report_undone(await do("undo", {"id": options.id}), options)


async def _set_state(do: Do, options: Namespace, state: State, reason: str) -> None:
    result = (
        "active again" if state is State.ACTIVE else "retired; `lessons restore` brings it back"
    )
    shown: list[LessonDetails] = [
        await do("show", {"id": part}) for part in options.ids
    ]  # all are known before one changes
    for one in shown:
        _report(
            await do("state", {"id": one.lesson.id, "state": state.value, "reason": reason}),
            options,
            result,
        )


async def _erase(engine: Engine, options: Namespace) -> int:
    own = engine.scopes.own
    lesson = await engine.bank.lessons.get(
        own, await engine.bank.lessons.resolve_id(own, options.id), "id"
    )
    if lesson.is_kept_by_person or lesson.held:
        refuse_agent(speaker_of_process(), "id", "erase a lesson that a person keeps")
    if not options.yes and not confirm(
        f"{visible(lesson.text)}\nErase it for good?", "erasing cannot be undone"
    ):
        write_line("Nothing was erased.")
        return 1
    await engine.bank.lessons.erase(own, lesson.id, by=speaker_of_process())
    write_result(options, {"id": lesson.id, "state": "erased"}, f"{lesson.id}: erased.")
    return 0


_USES: Final[Mapping[str, Callable[[Do, Namespace], Awaitable[int | None]]]] = {
    "list": _list,
    "search": _list,
    "show": _show,
    "add": _add,
    "edit": _edit,
    "forget": lambda do, options: _set_state(
        do, options, State.RETIRED, f"forgotten: {options.reason}"
    ),
    "restore": lambda do, options: _set_state(do, options, State.ACTIVE, "restored"),
    "history": _history,
    "guard": lambda do, options: _guard(do, options, GuardMode(options.mode)),
    "enforce": lambda do, options: _guard(do, options, GuardMode.ENFORCE),
    "pin": lambda do, options: _pin(do, options, pinned=True),
    "unpin": lambda do, options: _pin(do, options, pinned=False),
    "approve": lambda do, options: decide(do, options, approved=True),
    "reject": lambda do, options: decide(do, options, approved=False),
    "merge": _merge,
    "undo": _undo,
    "review": review,
}


def _report(lesson: Lesson, options: Namespace, result: str) -> None:
    state = {"id": lesson.id, "state": lesson.state.value, "trust": lesson.trust.value}
    write_result(options, state, f"{lesson.id}: {result}.")
