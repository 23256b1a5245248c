"""The uses of lessons that agents and persons share: a lesson is recalled, stored, forgotten or edited.

The tools `recall_lessons`, `store_lesson` and `forget_lesson` are here, beside a person's `add` and the edit of both. A
lesson that a person keeps is never changed by an agent: its wish becomes a proposal (`proposals.py`).
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.lesson import (
    EDITABLE,
    Forgotten,
    Lesson,
    LessonDraft,
    Source,
    State,
    Stored,
    Trust,
)
from mcp_reflect.models.lesson_words import lesson_parts, short_id, text_of_parts
from mcp_reflect.models.outcome import Evidence
from mcp_reflect.models.proposal import ProposalKind
from mcp_reflect.models.recall import Recall
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
from mcp_reflect.models.shown_lesson import first_sentences
from mcp_reflect.schemas.imported_lessons import ImportArguments, PersonsArguments
from mcp_reflect.schemas.lessons import (
    MOST_OF_AGENT,
    ForgetArguments,
    LessonArguments,
    RecallArguments,
)
from mcp_reflect.schemas.reading import read
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.guards import guarded
from mcp_reflect.services.proposals import decide_or_keep
from mcp_reflect.speaker import Speaker

_LESSON_ID: Final = re.compile(r"les_[0-9a-z]{4,}")
_FIELDS_OF_GUARD: Final = frozenset({"mistake", "correction", "wrong_call", "right_call", "guard"})
"""The fields of a lesson from which its guard, or the guard's words, follow."""

_MAX_SIMILAR_CHARS: Final = 400  # of a lesson that is near in meaning
_REASON_BY_AGENT: Final = "the agent says that this is better"
_REASON_BY_PERSON: Final = "a person told the agent so"
_SIMILAR: Final = (
    "{id} is near in meaning: {text} If both say the same, send this again with replaces: {id}"
)


async def recall(context: Context, arguments: Mapping[str, Any], *, applied: bool = True) -> Recall:
    """Return the few lessons that fit a task, best first; one that may be outdated has a remark and stands behind.

    `applied` says whether they count as used; False is for a caller that only looks, as the board does. Where the task
    is an id, that lesson is returned, and counts as used: a caller who asks for one lesson has chosen it.
    """
    sent = read(RecallArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    if _LESSON_ID.fullmatch(sent.task):
        return replace(await _recall_by_id(context, scope, sent.task), ignored=sent.ignored)
    if applied:
        services.triggers.note_task(context, "recall_lessons", sent.task)
    result = await context.bank.recalls.recall(
        scope, sent.ask(), applied=applied, holdout=context.settings.holdout
    )
    if result.lessons:
        result = await services.ground.with_remarks(context, scope, result)
    context.log.info(
        "lessons_recalled",
        recall_id=result.recall_id,
        hits=len(result.lessons),
        project=scope.project,
    )
    return replace(result, ignored=sent.ignored)


async def _recall_by_id(context: Context, scope: Scope, name: str) -> Recall:
    """Return the lesson of an id, uncut: hooks and recalls shorten the longest ones, and name the id to ask for."""
    lesson_id = await whole_id(context, scope, name, "task")
    lesson = await context.bank.lessons.get(scope, lesson_id, "task")
    if lesson.state is not State.ACTIVE or lesson.trust is Trust.QUARANTINED:
        raise InputError("task", "that lesson is not in use", "Describe the task instead.")
    result = await context.bank.recalls.recall_by_id(scope, lesson)
    return await services.ground.with_remarks(context, scope, result)


async def store(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that an agent sends.

    | the lesson                                     | what happens                                              |
    |------------------------------------------------|-----------------------------------------------------------|
    | replaces one that a person keeps               | it becomes a proposal, which waits for the person         |
    | says the same as a stored one                  | the stored one is strengthened                            |
    | replaces another one                           | it is stored, and the other one is retired                |
    | is put into quarantine                         | nothing is replaced before a person approves it           |
    | any other                                      | it is stored; the answer names one that is near in meaning|
    """
    sent = read(LessonArguments, arguments, context.settings)
    scope = scope_of(context.scopes.named(sent.project), sent.visibility)
    if scope.project == GLOBAL:
        context.scopes.refuse_shared("visibility")
    lessons = context.bank.lessons
    replaced = await _lesson_to_replace(context, scope, sent)
    agents_draft = replace(sent.draft(Source.AGENT), told=sent.evidence is Evidence.USER)
    draft, guard = await guarded(context, scope, agents_draft)
    if replaced is not None and replaced.is_kept_by_person:
        return await _propose_replacement(context, scope, replaced, draft, sent)
    stored = await lessons.store(scope, draft)
    if replaced is not None and stored.status != "quarantined":
        await lessons.supersede(scope, replaced.id, stored.lesson_id)
        stored = replace(stored, similar=None)
    await _plant_roots(context, scope, stored, sent)
    if stored.similar and not stored.reason:
        stored = replace(stored, reason=_similar_text(*stored.similar))
    context.log.info(
        "lesson_stored", lesson_id=stored.lesson_id, status=stored.status, project=scope.project
    )
    evidence = "told" if draft.told else None
    return replace(stored, guard=guard, evidence=evidence, ignored=sent.ignored)


def _similar_text(lesson_id: str, text: str) -> str:
    """Return the words for an agent about a lesson that is near in meaning to the one it sent.

    "les_3f2a90 is near in meaning: Build before the tests. If both say the same, send this again with replaces: …"
    """
    return _SIMILAR.format(id=short_id(lesson_id), text=first_sentences(text, _MAX_SIMILAR_CHARS))


async def _plant_roots(
    context: Context, scope: Scope, stored: Stored, sent: LessonArguments
) -> None:
    """Note a stored lesson's roots: the files and names that it is about, as they are now.

    The repositories that a Python program brings itself (docs/python.md) keep none.
    """
    if not _is_own_bank(context):
        return
    valid_until = None
    if sent.valid_until is not None:
        valid_until = sent.valid_until.timestamp()
    await services.roots.plant_roots(
        context, scope, stored.lesson_id, files=sent.files, valid_until=valid_until
    )


async def _lesson_to_replace(
    context: Context, scope: Scope, sent: LessonArguments
) -> Lesson | None:
    """Return the lesson to be replaced, None if the call names none."""
    if sent.replaces is None:
        return None
    lesson_id = await whole_id(context, scope, sent.replaces, "replaces")
    replaced = await context.bank.lessons.get(scope, lesson_id, "replaces")
    if not context.scopes.shares and replaced.project == GLOBAL:
        context.scopes.refuse_shared("replaces")
    return replaced


async def _propose_replacement(
    context: Context, scope: Scope, kept: Lesson, draft: LessonDraft, sent: LessonArguments
) -> Stored:
    """Let the person decide whether an agent's lesson takes the place of one that they keep."""
    body = clean(asdict(draft))
    reason = _REASON_BY_PERSON if sent.evidence is Evidence.USER else _REASON_BY_AGENT
    new, answer = await decide_or_keep(
        context, scope, kept, ProposalKind.REPLACE, reason=reason, body=body
    )
    if new is None:
        return Stored(
            lesson_id=kept.id,
            status="proposed",
            reason=answer,
            text=None,
            scope=str(scope),
            ignored=sent.ignored,
        )
    return Stored(
        lesson_id=new.id,
        status="stored",
        reason=answer,
        text=new.text,
        scope=str(scope),
        ignored=sent.ignored,
    )


async def add(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that a person wrote: it is trusted, and never quarantined."""
    sent = read(PersonsArguments, arguments, context.settings)
    scope = scope_of(context.scopes.own, sent.visibility)
    trusted = replace(sent.draft(Source.PERSON), trust=Trust.TRUSTED)
    draft, guard = await guarded(context, scope, trusted)
    stored = await context.bank.lessons.store(scope, draft, by=Speaker.PERSON)
    await _plant_roots(context, scope, stored, sent)
    return replace(stored, guard=guard)


async def whole_id(context: Context, scope: Scope, name: str, field: str) -> str:
    """Return the whole id of a lesson that is named by a short one, as hooks show it; errors name the argument `field`.

    The repositories that a Python program brings itself know whole ids alone.
    """
    if not _is_own_bank(context):
        return name
    return await context.bank.lessons.resolve_id(scope, name, field)


def _is_own_bank(context: Context) -> bool:
    """Return whether the repository of lessons is ours: one that a Python program brings has fewer methods."""
    return hasattr(context.bank.lessons, "resolve_id")


async def forget(context: Context, arguments: Mapping[str, Any]) -> Forgotten:
    """Retire a lesson: no recall shows it, and it stays in the history.

    For a lesson that a person keeps, the person is asked or finds a proposal; the answer then says why it stays.
    """
    sent = read(ForgetArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    lesson_id = await whole_id(context, scope, sent.lesson_id, "lesson_id")
    before = await context.bank.lessons.get(scope, lesson_id)
    if not context.scopes.shares and before.project == GLOBAL:
        context.scopes.refuse_shared("lesson_id")
    reason: str | None = None
    if before.is_kept_by_person:
        retired, reason = await decide_or_keep(
            context, scope, before, ProposalKind.RETIRE, reason=sent.reason
        )
        after = retired or before
    else:
        after = await context.bank.lessons.set_state(
            scope, lesson_id, State.RETIRED, f"forgotten: {sent.reason}"
        )
        context.log.info("lesson_forgotten", lesson_id=after.id)
    return Forgotten(
        lesson_id=before.id,
        scope=str(Scope(scope.tenant, before.project)),
        ignored=sent.ignored,
        state=after.state,
        reason=reason,
    )


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
    if sent.ignored:  # notes such as "importance: it is above 1, 1 used": an edit does not guess
        field, _, fault = sent.ignored[0].partition(": ")
        raise InputError(field, fault, "Send a field of a lesson.")
    edited = {name: getattr(sent, name) for name in changes}
    if not changes.keys().isdisjoint(("mistake", "correction")):
        edited |= _words_after(before, edited)
    if not changes.keys().isdisjoint(_FIELDS_OF_GUARD):
        edited |= await _guard_after(context, before, edited)
    return edited


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


def scope_of(scope: Scope, visibility: str) -> Scope:
    """Return the scope in which a lesson of this visibility is stored: all projects for "global", else `scope`."""
    if visibility == "global":
        return Scope(scope.tenant, GLOBAL)
    return scope
