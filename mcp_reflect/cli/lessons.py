"""What a person does with lessons: `mcp-reflect lessons`, a function for each action.

`do` carries out a use of `services.curation` by its name, in the bank here or at a team's service (`cli.running`).
"""

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_reflect.cli.agreeing import agrees_about
from mcp_reflect.cli.dream import report_undone
from mcp_reflect.cli.lesson_arguments import STATES, add_lessons_arguments
from mcp_reflect.cli.lesson_editor import edit_in_editor
from mcp_reflect.cli.lesson_text import TEXT_COLUMN, history_text, lesson_page, list_rows
from mcp_reflect.cli.output import (
    ask,
    confirm,
    is_interactive,
    quotation,
    table,
    write_json,
    write_line,
    write_result,
)
from mcp_reflect.cli.running import Do, with_engine, with_uses
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
from mcp_reflect.models.shown_digest import seen_lessons
from mcp_reflect.speaker import Speaker, refuse_agent, speaker_of_process, speaker_to_service
from mcp_reflect.text.one_line import one_line, visible

if TYPE_CHECKING:
    from mcp_reflect.services.curation import LessonDetails, Listed
    from mcp_reflect.services.engine import Engine
    from mcp_reflect.services.reviews import Waiting

__all__ = ["add_lessons_arguments", "run_lessons"]

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


class _GuardWords(NamedTuple):
    """What a mode of a guard does, in words: before the person agrees, and when it is set."""

    act: str
    """Completes "Shall I …"."""

    result: str


_GUARD_WORDS: Final[Mapping[GuardMode, _GuardWords]] = {
    GuardMode.ENFORCE: _GuardWords(
        "refuse each call against it", "each call against it is refused"
    ),
    GuardMode.HOLD: _GuardWords(
        "refuse a call against it once", "a call against it is refused once"
    ),
    GuardMode.TELL: _GuardWords(
        "tell the agent at a call against it", "the agent is told at a call against it"
    ),
    GuardMode.OFF: _GuardWords("turn its guard off", "its guard does nothing"),
}


def run_lessons(options: Namespace) -> int | None:
    """Find lessons, look at one, and change it; without an action, list the newest."""
    if options.action == "erase":
        return with_engine(lambda engine: _erase(engine, options))
    if options.action == "guard" and options.mode is None:
        return with_engine(lambda engine: _try_guard(engine, options))
    try:
        return with_uses(options, lambda do: _USES[options.action](do, options))
    except NotFoundError as error:  # its words are for agents
        fix = "List them: mcp-reflect lessons."
        raise NotFoundError(error.field, error.fault, fix) from None


async def _list(do: Do, options: Namespace) -> None:
    """Print the lessons that the options choose, the newest first."""
    kind: RecordKind | None = None
    if options.kind != "all":
        kind = RecordKind(options.kind)
    condition = Filter(
        words=tuple(options.words),
        kind=kind,
        task_type=options.task_type,
        tag=options.tag,
        limit=options.limit,
        **STATES[options.state],
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
    waiting: Waiting = await do("review", {})
    items = (*waiting.lessons, *waiting.findings, *waiting.proposals, *waiting.doubted)
    count = len(items) + waiting.withheld
    if not count:
        return ""
    return f"{count} wait for you to decide: mcp-reflect lessons review."


async def _show(do: Do, options: Namespace) -> None:
    """Print one lesson and all that is known about it; as JSON its fields stand beside what else is known."""
    details: LessonDetails = await do("show", {"id": options.id})
    if options.json:
        other_details = asdict(details)
        del other_details["lesson"]
        write_json({**plain(details.lesson), **other_details})
    else:
        facts = {"sessions": details.effect, "since then": details.since}
        write_line(lesson_page(details.lesson, details.guards, facts))


async def _history(do: Do, options: Namespace) -> None:
    """Print a lesson's earlier wordings, outcomes and recalls."""
    history: dict[str, Any] = await do("history", {"id": options.id})
    write_result(options, history, history_text(history))


async def _add(do: Do, options: Namespace) -> int:
    """Store a lesson of the options, or of answers where none are given; return the exit status."""
    fields = _fields_in_options(options)
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
    """Return what became of a new lesson, and the guard that its calls give.

    A person's lesson is trusted in the bank here. At a service the token decides, so that nothing is said of trust. Of
    anybody else's it is said that a person has to vouch for it.
    """
    speaker = speaker_of_process()
    if options.url:
        speaker = speaker_to_service()
    is_person = speaker is Speaker.PERSON
    status = stored.status
    if is_person and not options.url:
        status = f"{status}, trusted"
    lines = [
        f"{stored.lesson_id}: {status}. `mcp-reflect recall` finds it from now on.",
        f"Guard: {one_line(stored.guard or _NO_GUARD)}.",
    ]
    if not is_person:
        lines.append(_OBSERVED.format(id=stored.lesson_id))
    return "\n".join(lines)


def _fields_in_options(options: Namespace) -> dict[str, Any]:
    """Return the fields of a lesson that the options set."""
    values = {name: getattr(options, name) for name in EDITABLE}
    fields = {name: value for name, value in values.items() if value is not None}
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    return fields


async def _edit(do: Do, options: Namespace) -> None:
    """Change a lesson by the options; without any, in the person's editor. InputError where there is neither."""
    shown: LessonDetails = await do("show", {"id": options.id})
    lesson = shown.lesson

    async def store(changes: Mapping[str, Any]) -> Lesson:
        """Change the lesson, unless it is not any more as it was shown."""
        sent = {"id": lesson.id, "seen": seen_lessons(lesson), "changes": changes}
        return await do("edit", sent)

    changes = _fields_in_options(options)
    edited: Lesson | None = None
    if changes:
        if agrees_about(options, [lesson], "change it so"):
            edited = await store(changes)
    elif is_interactive():
        edited = await edit_in_editor(lesson, store)
    else:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in EDITABLE if name != "tags")
        raise InputError("edit", "it changes nothing", f"Give one of {names}, --tag.")
    if edited is None:
        _report(lesson, options, "as it was")
    else:
        _report(edited, options, _edit_text(lesson, edited))


def _edit_text(before: Lesson, after: Lesson) -> str:
    """Return what an edit did: the wording is changed, and perhaps the guard, which is derived from the calls."""
    text = "changed; the wording before is in its history"
    if (after.guard, after.wrong_call) == (before.guard, before.wrong_call):
        return text
    guard = after.guard or "none, for these calls give none: say it with --guard"
    return f"{text}. Guard: {one_line(guard)}"


async def _lesson_now(do: Do, short_or_whole_id: str) -> Lesson:
    """Return a lesson as it is now, to which the act that follows is bound: if it changes meanwhile, nothing is done."""
    shown: LessonDetails = await do("show", {"id": short_or_whole_id})
    return shown.lesson


async def _guard(do: Do, options: Namespace, mode: GuardMode) -> int:
    """Set what a lesson's guard does, and say what that means; return the exit status."""
    lesson = await _lesson_now(do, options.id)
    words = _GUARD_WORDS[mode]
    if lesson.guard is not None and not agrees_about(options, [lesson], words.act):
        return 1
    sent = {"id": lesson.id, "mode": mode.value, "seen": seen_lessons(lesson)}
    after: Lesson = await do("guard", sent)
    _report(after, options, f"{one_line(after.guard or '')}: {words.result}")
    return 0


async def _try_guard(engine: "Engine", options: Namespace) -> int:
    """Show what a lesson's guard would have met in the past sessions of this project; it changes nothing."""
    from mcp_reflect.cli.replay import write_replayed  # noqa: PLC0415 - needed here alone
    from mcp_reflect.services.guards import without_guard  # noqa: PLC0415 - same
    from mcp_reflect.services.replay import replay  # noqa: PLC0415 - same

    scope, lessons = engine.scopes.own, engine.bank.lessons
    lesson = await lessons.get(scope, await lessons.resolve_id(scope, options.id), "id")
    if lesson.guard is None:
        raise without_guard(lesson)
    if not options.json:
        write_line(f"{lesson.id}: {visible(lesson.guard)}")
    write_replayed(await replay(engine.context, only=lesson.id), options)
    return 0


async def _pin(do: Do, options: Namespace, *, pinned: bool) -> int:
    """Let every session begin with a lesson, or no longer; return the exit status."""
    lesson = await _lesson_now(do, options.id)
    if pinned and not agrees_about(options, [lesson], "begin every session with it"):
        return 1
    sent = {"id": lesson.id, "pinned": pinned, "seen": seen_lessons(lesson)}
    after: Lesson = await do("pin", sent)
    result = "no longer pinned"
    if pinned:
        result = "every session begins with it"
    _report(after, options, result)
    return 0


async def _merge(do: Do, options: Namespace) -> int:
    """Merge lessons into the first one, and say how to undo it; return the exit status."""
    lessons = [await _lesson_now(do, short_or_whole_id) for short_or_whole_id in options.ids]
    if not agrees_about(options, lessons, "archive all of them but the first, which stays"):
        return 1
    sent = {"ids": [lesson.id for lesson in lessons], "seen": seen_lessons(*lessons)}
    result: dict[str, Any] = await do("merge", sent)
    text = f"{', '.join(result['merged'])} merged into {result['id']}.\n"
    write_result(
        options, result, f"{text}`mcp-reflect lessons undo {result['dream_id']}` puts it back."
    )
    return 0


async def _undo(do: Do, options: Namespace) -> None:
    """Undo a merge."""
    report_undone(await do("undo", {"id": options.id}), options)


async def _set_state(do: Do, options: Namespace, state: State, reason: str) -> None:
    """Retire lessons or bring them back; a name that fits none is an error before any of them changes."""
    result = "retired; `lessons restore` brings it back"
    if state is State.ACTIVE:
        result = "active again"
    lessons = [await _lesson_now(do, short_or_whole_id) for short_or_whole_id in options.ids]
    for lesson in lessons:
        sent = {"id": lesson.id, "state": state.value, "reason": reason}
        after = await do("state", {**sent, "seen": seen_lessons(lesson)})
        _report(after, options, result)


async def _erase(engine: "Engine", options: Namespace) -> int:
    """Remove a lesson for good, after asking; return the exit status."""
    scope, lessons = engine.scopes.own, engine.bank.lessons
    lesson = await lessons.get(scope, await lessons.resolve_id(scope, options.id), "id")
    if lesson.is_kept_by_person or lesson.held:
        refuse_agent(speaker_of_process(), "id", "erase a lesson that a person keeps")
    question = f"{quotation(lesson.text)}\nErase it for good?"
    if not options.yes and not confirm(question, "erasing cannot be undone"):
        write_line("Nothing was erased.")
        return 1
    seen = seen_lessons(lesson)
    await lessons.erase(scope, lesson.id, by=speaker_of_process(), seen=seen)
    write_result(options, {"id": lesson.id, "state": "erased"}, f"{lesson.id}: erased.")
    return 0


async def _review(do: Do, options: Namespace) -> None:
    """List what waits, or ask a person about each."""
    from mcp_reflect.cli.review import review  # noqa: PLC0415 - it loads the replay of sessions

    await review(do, options)


async def _decide(do: Do, options: Namespace, *, approved: bool) -> int:
    """Approve what waits, or reject it; return the exit status."""
    from mcp_reflect.cli.review import decide  # noqa: PLC0415 - same

    return await decide(do, options, approved=approved)


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
    "approve": lambda do, options: _decide(do, options, approved=True),
    "reject": lambda do, options: _decide(do, options, approved=False),
    "merge": _merge,
    "undo": _undo,
    "review": _review,
}


def _report(lesson: Lesson, options: Namespace, result: str) -> None:
    """Print what became of a lesson."""
    state = {"id": lesson.id, "state": lesson.state.value, "trust": lesson.trust.value}
    write_result(options, state, f"{lesson.id}: {result}.")
