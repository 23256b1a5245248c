"""The edit of a lesson: some of its fields change, and the text and the guard that follow from them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import EDITABLE, Lesson
from mcp_reflect.models.lesson_words import lesson_parts, text_of_parts
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
from mcp_reflect.schemas.faults import refusal_of_note
from mcp_reflect.schemas.imported_lessons import ImportArguments
from mcp_reflect.schemas.lessons import MOST_OF_AGENT
from mcp_reflect.schemas.reading import read
from mcp_reflect.services.context import Context
from mcp_reflect.services.guards import guarded
from mcp_reflect.speaker import Speaker

_FIELDS_OF_TEXT: Final = ("mistake", "correction")
_FIELDS_OF_GUARD: Final = frozenset({*_FIELDS_OF_TEXT, "wrong_call", "right_call", "guard"})
"""The fields of a lesson from which its guard, or the guard's words, follow."""


async def edit(
    context: Context,
    lesson_id: str,
    changes: Mapping[str, Any],
    *,
    by: Speaker = Speaker.AGENT,
    seen: Seen = NOTHING_SEEN,
) -> Lesson:
    """Change fields of a lesson. The earlier wording stays as a version.

    An agent may raise the importance no higher than that of a lesson which it stores itself: importance decides which
    lessons stay in a full bank.
    """
    lessons = context.bank.lessons
    before = await lessons.get(context.scopes.own, lesson_id)
    edited = await checked_changes(context, before, changes)
    if by is Speaker.AGENT and "importance" in edited:
        highest = max(MOST_OF_AGENT, before.importance)
        edited["importance"] = min(edited["importance"], highest)
    return await lessons.edit(context.scopes.own, lesson_id, edited, by=by, seen=seen)


async def checked_changes(
    context: Context, before: Lesson, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the new values of a lesson's fields, with the text and the guard that follow from them.

    InputError for a field that cannot be changed, and for a value that cannot be stored as it was sent.
    """
    if not changes or not changes.keys() <= set(EDITABLE):
        fault = "it is not an object of fields to change"
        raise InputError("changes", fault, f"Send any of {', '.join(EDITABLE)}.")
    values = {
        "mistake": before.mistake or before.text,
        "correction": before.correction or before.text,
        **changes,
    }
    sent = read(ImportArguments, values, context.settings)
    if sent.ignored:  # an edit does not guess, as `read` does: "importance: it is above 1, 1 used"
        raise refusal_of_note(sent.ignored[0], "Send a field of a lesson.")
    edited = {name: getattr(sent, name) for name in changes}
    if not changes.keys().isdisjoint(_FIELDS_OF_TEXT):
        edited |= _words_after(before, edited)
    if not changes.keys().isdisjoint(_FIELDS_OF_GUARD):
        edited |= await _guard_after(context, before, edited)
    return edited


def _words_after(before: Lesson, edited: Mapping[str, Any]) -> dict[str, str]:
    """Return the mistake, the correction and the text of a lesson after an edit of some of its fields.

    | the lesson                       | the edit     | afterwards                                            |
    |----------------------------------|--------------|-------------------------------------------------------|
    | has a mistake and a correction   | any          | both, edited, and the text that both make             |
    | is one text, which is advice     | `correction` | the new correction alone: it replaces the advice      |
    | is one text, which is a mistake  | `correction` | both                                                  |
    | is one text                      | `mistake`    | the new text                                          |
    """
    mistake = edited.get("mistake", before.mistake) or ""
    correction = edited.get("correction", before.correction) or ""
    is_one_text = before.text == before.mistake
    _, advice_in_text = lesson_parts(before.text)
    if is_one_text and "mistake" not in edited and advice_in_text:
        mistake = ""
    text = text_of_parts(mistake, correction)
    if is_one_text and not correction:
        text = mistake
    return {"mistake": mistake, "correction": correction, "text": text or before.text}


async def _guard_after(
    context: Context, before: Lesson, edited: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the guard of an edited lesson, and why it is off, if it is.

    | the guard                                              | after the edit                      |
    |--------------------------------------------------------|-------------------------------------|
    | is edited itself                                       | as it was sent                      |
    | is another than the calls make: a person wrote it      | as it was                           |
    | was derived from the calls                             | derived anew from the edited calls  |
    """
    scope = context.scopes.own
    derived, _ = await guarded(context, scope, replace(before, guard=None))
    guard: str | None = None  # to be derived anew
    if "guard" in edited:
        guard = edited["guard"]
    elif before.guard != derived.guard:
        guard = before.guard
    edited_lesson = replace(before, **{**edited, "guard": guard})
    after, _ = await guarded(context, scope, edited_lesson)
    return {"guard": after.guard, "unarmed": after.unarmed}
