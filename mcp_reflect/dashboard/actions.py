"""Carry out what a person decides on the dashboard."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import compact
from mcp_reflect.models.lesson import EDITABLE, Lesson, State
from mcp_reflect.security.redact import quoted
from mcp_reflect.services.curation import reopened, settled
from mcp_reflect.services.promote import refresh
from mcp_reflect.storage.views import lesson_row

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine


async def act(engine: "Engine", request: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out the action that `request["action"]` names.

    Returns:
        `said`, the result in words, and `row` (the lesson after it) or `reload` (more than one record changed).

    Raises:
        InputError: For an unknown action or wrong values; nothing is stored then.
    """
    name = request.get("action")
    if not isinstance(name, str) or name not in ACTIONS:
        raise InputError("action", f"there is no '{quoted(name)}'", f"Send one of {', '.join(ACTIONS)}.")
    done = await ACTIONS[name](engine, request)
    await refresh(engine.context)
    return done


async def lesson_details(engine: "Engine", lesson_id: str) -> dict[str, Any]:
    """Return what the dashboard fetches only for a lesson that is opened: its versions and links."""
    scope = engine.scopes.own
    lesson = await engine.bank.lessons.get(scope, lesson_id, "id")
    return {
        "versions": compact(await engine.bank.lessons.history(scope, lesson.id)),
        "links": await engine.bank.lessons.links(scope, lesson.id),
    }


async def _decide(engine: "Engine", request: Mapping[str, Any]) -> dict[str, Any]:
    approved = request["action"] == "approve"
    lesson = await engine.bank.lessons.decide(engine.scopes.own, _text(request, "id"), approved=approved)
    said = "Approved: trusted, and recalled from now on." if approved else "Rejected: retired, and no longer recalled."
    return _changed(lesson, said)


_STATES: Final = {
    "forget": (State.RETIRED, "forgotten", "Forgotten: out of every recall. Restore brings it back."),
    "archive": (State.ARCHIVED, "archived", "Archived: out of every recall. Restore brings it back."),
    "restore": (State.ACTIVE, "restored", "Restored: in use again."),
}


async def _set_state(engine: "Engine", request: Mapping[str, Any]) -> dict[str, Any]:
    state, done, said = _STATES[request["action"]]
    reason = f"{done}: {quoted(request.get('reason') or 'a person said so', 500)}"
    lesson = await engine.bank.lessons.set_state(engine.scopes.own, _text(request, "id"), state, reason)
    return _changed(lesson, said)


async def _edit(engine: "Engine", request: Mapping[str, Any]) -> dict[str, Any]:
    changes: Any = request.get("changes")
    if not isinstance(changes, dict) or not changes or not set(cast("dict[str, Any]", changes)) <= set(EDITABLE):
        raise InputError("changes", "it is not an object of fields to change", f"Send any of {', '.join(EDITABLE)}.")
    lesson = await engine.edit_lesson(_text(request, "id"), cast("dict[str, Any]", changes))
    said = f"Changed, and quarantined: {lesson.held}." if lesson.held else "Changed; the wording before is in History."
    return _changed(lesson, said)


async def _merge(engine: "Engine", request: Mapping[str, Any]) -> dict[str, Any]:
    from mcp_reflect.services.consolidate import merge  # noqa: PLC0415 - slow to import, needed here alone

    merged_ids: Any = request.get("gone")
    if not isinstance(merged_ids, list) or not all(isinstance(name, str) for name in cast("list[Any]", merged_ids)):
        raise InputError("gone", "it is not a list of ids", "Send the ids that the proposal names.")
    dream = await merge(engine.context, _text(request, "keep"), cast("list[str]", merged_ids))
    return {"said": f"Merged in dream {dream.dream_id}; undoing it puts all back.", "reload": True}


async def _settle(engine: "Engine", request: Mapping[str, Any]) -> dict[str, Any]:
    kept = request["action"] == "keep"
    changes: Any = request.get("changes") or {}
    if not isinstance(changes, dict) or not set(cast("dict[str, Any]", changes)) <= {"mistake", "correction"}:
        raise InputError("changes", "it is not an object of words to change", "Send mistake or correction.")
    sent: dict[str, Any] = {"id": _text(request, "id"), "approved": kept, "changes": changes}
    done = await settled(engine, sent, whole=True)
    undo = {"finding": sent["id"], "lesson": done.get("lesson_id") if done.get("is_new") else None}
    said = "Kept: a lesson of yours, trusted." if kept else "Dropped: it is not found again."
    return {"said": said, "reload": True, "undo": undo}


async def _reopen(engine: "Engine", request: Mapping[str, Any]) -> dict[str, Any]:
    lesson = request.get("lesson")
    sent = {"finding": _text(request, "finding"), "lesson": _text(request, "lesson") if lesson is not None else None}
    await reopened(engine, sent, whole=True)
    return {"said": "Undone: it waits again.", "reload": True}


async def _undo(engine: "Engine", request: Mapping[str, Any]) -> dict[str, Any]:
    undone = await engine.undo_dream(_text(request, "id"))
    stay = f" {len(undone.skipped)} were changed since and stay." if undone.skipped else ""
    return {"said": f"Undone: {len(undone.restored)} records are as they were.{stay}", "reload": True}


def _changed(lesson: Lesson, said: str) -> dict[str, Any]:
    return {"said": said, "row": lesson_row(lesson)}


def _text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(name, "it is missing", "Send it as text.")
    return value


ACTIONS: Final[Mapping[str, Callable[["Engine", Mapping[str, Any]], Awaitable[dict[str, Any]]]]] = {
    "approve": _decide,
    "reject": _decide,
    "forget": _set_state,
    "archive": _set_state,
    "restore": _set_state,
    "edit": _edit,
    "merge": _merge,
    "undo": _undo,
    "keep": _settle,
    "drop": _settle,
    "reopen": _reopen,
}
