"""What a person decides on the dashboard."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, State
from mcp_reflect.security.redact import quoted
from mcp_reflect.services.results import compact
from mcp_reflect.storage.effectiveness import rounded_effectiveness

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine


CHANGEABLE: Final = ("mistake", "correction", "why", "task_type", "importance", "tags")


async def act(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    """Do one action: `said` in words, `row` (the lesson after it) or `reload`, where more than one record changed.

    Raises InputError for what is no action, or has other values than it takes, and stores nothing then.
    """
    name = sent.get("action")
    if not isinstance(name, str) or name not in ACTIONS:
        raise InputError("action", f"there is no '{quoted(name)}'", f"Send one of {', '.join(ACTIONS)}.")
    return await ACTIONS[name](engine, sent)


async def more(engine: "Engine", lesson_id: str) -> dict[str, Any]:
    """What the board fetches of one lesson when it is asked for: its wordings, ties and standing."""
    scope = engine.scopes.own
    lesson = await engine.bank.lessons.get(scope, lesson_id, "id")
    return {
        "standing": rounded_effectiveness(await engine.bank.lessons.effectiveness(scope, lesson)),
        "versions": compact(await engine.bank.lessons.history(scope, lesson.id)),
        "links": await engine.bank.lessons.links(scope, lesson.id),
    }


async def _approve(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    lesson = await engine.bank.lessons.decide(engine.scopes.own, _text(sent, "id"), approved=True)
    return await _changed(engine, lesson, "Approved: trusted, and recalled from now on.")


async def _reject(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    lesson = await engine.bank.lessons.decide(engine.scopes.own, _text(sent, "id"), approved=False)
    return await _changed(engine, lesson, "Rejected: retired, and recalled no more.")


async def _forget(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    reason = _text(sent, "reason") if sent.get("reason") else "a person said so"
    lesson = await engine.bank.lessons.set_state(
        engine.scopes.own, _text(sent, "id"), State.RETIRED, f"forgotten: {quoted(reason, 500)}"
    )
    return await _changed(engine, lesson, "Forgotten: out of every recall. Restore brings it back.")


async def _archive(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    lesson = await engine.bank.lessons.set_state(
        engine.scopes.own, _text(sent, "id"), State.ARCHIVED, "archived by a person"
    )
    return await _changed(engine, lesson, "Archived: out of every recall. Restore brings it back.")


async def _restore(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    lesson = await engine.bank.lessons.set_state(engine.scopes.own, _text(sent, "id"), State.ACTIVE, "restored")
    return await _changed(engine, lesson, "Restored: in use again.")


async def _edit(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    changes: Any = sent.get("changes")
    if not isinstance(changes, dict) or not changes or not set(changes) <= set(CHANGEABLE):  # pyright: ignore[reportUnknownArgumentType]
        raise InputError("changes", "it is no object of fields to change", f"Send any of {', '.join(CHANGEABLE)}.")
    lesson = await engine.edit_lesson(_text(sent, "id"), changes)  # pyright: ignore[reportUnknownArgumentType]
    said = f"Changed, and held in quarantine: {lesson.held}." if lesson.held else "Changed; the wording before is kept."
    return await _changed(engine, lesson, said)


async def _merge(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    from mcp_reflect.services.consolidate import merge  # noqa: PLC0415 - needed here alone

    gone: Any = sent.get("gone")
    if not isinstance(gone, list) or not all(isinstance(name, str) for name in gone):  # pyright: ignore[reportUnknownVariableType]
        raise InputError("gone", "it is no list of ids", "Send the ids that the proposal names.")
    done = await merge(engine.context, _text(sent, "keep"), gone)  # pyright: ignore[reportUnknownArgumentType]
    return {"said": f"Merged in dream {done.dream_id}; undoing it puts all back.", "reload": True}


async def _undo(engine: "Engine", sent: Mapping[str, Any]) -> dict[str, Any]:
    undone = await engine.undo_dream(_text(sent, "id"))
    stay = f" {len(undone.skipped)} were changed since and stay." if undone.skipped else ""
    return {"said": f"Undone: {len(undone.restored)} records are as they were.{stay}", "reload": True}


async def _changed(engine: "Engine", lesson: Lesson, said: str) -> dict[str, Any]:
    return {"said": said, "row": await engine.bank.views.row(engine.scopes.own, lesson)}


def _text(sent: Mapping[str, Any], name: str) -> str:
    value = sent.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(name, "it is missing", "Send it as text.")
    return value


ACTIONS: Final[dict[str, Callable[["Engine", Mapping[str, Any]], Awaitable[dict[str, Any]]]]] = {
    "approve": _approve,
    "reject": _reject,
    "forget": _forget,
    "archive": _archive,
    "restore": _restore,
    "edit": _edit,
    "merge": _merge,
    "undo": _undo,
}
