"""What is done with a lesson: recall, store, forget and edit it, for an agent's tools or for a person."""

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
_OF_GUARD: Final = frozenset({"mistake", "correction", "wrong_call", "right_call", "guard"})
"""The fields of a lesson from which its guard, or what it says, follows."""

_MOST_SIMILAR: Final = 400  # characters of a lesson that is near in meaning
_AGENTS_WORD: Final = "the agent says that this is better"
_PERSONS_WORD: Final = "a person told the agent so"
_SIMILAR: Final = (
    "{id} is near in meaning: {text} If both say the same, send this again with replaces: {id}"
)


async def recall(context: Context, arguments: Mapping[str, Any], *, applied: bool = True) -> Recall:
    """Return the few lessons that fit a task, best first; one whose facts have changed says so and stands behind.

    `applied` says whether they count as used; False is for a caller that only looks, as the board does. An id in the
    place of a task always counts: a caller who asks for one lesson has chosen it.
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
        result = await services.ground.marked(context, scope, result)
    context.log.info(
        "lessons_recalled",
        recall_id=result.recall_id,
        hits=len(result.lessons),
        project=scope.project,
    )
    return replace(result, ignored=sent.ignored)


async def _recall_by_id(context: Context, scope: Scope, name: str) -> Recall:
    """Return the lesson of an id whole: hooks and recalls shorten the longest ones."""
    lesson_id = await whole_id(context, scope, name, "task")
    lesson = await context.bank.lessons.get(scope, lesson_id, "task")
    if lesson.state is not State.ACTIVE or lesson.trust is Trust.QUARANTINED:
        raise InputError("task", "that lesson is not in use", "Describe the task instead.")
    result = await context.bank.recalls.recall_by_id(scope, lesson)
    return await services.ground.marked(context, scope, result)


async def store(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that an agent sends, or strengthen the one that says the same.

    One that replaces a lesson which a person keeps becomes a proposal, which waits for the person.
    """
    sent = read(LessonArguments, arguments, context.settings)
    scope = scope_of(context.scopes.named(sent.project), sent.visibility)
    if scope.project == GLOBAL:
        context.scopes.refuse_shared("visibility")
    lessons = context.bank.lessons
    old = await _to_replace(context, scope, sent)
    of_agent = replace(sent.draft(Source.AGENT), told=sent.evidence is Evidence.USER)
    draft, guard = await guarded(context, scope, of_agent)
    if old is not None and old.is_kept_by_person:
        return await _propose_replacement(context, scope, old, draft, sent)
    stored = await lessons.store(scope, draft)
    if old is not None and stored.status != "quarantined":
        await lessons.supersede(scope, old.id, stored.lesson_id)
        stored = replace(stored, similar=None)
    await _plant(context, scope, stored, sent)
    if stored.similar and not stored.reason:
        stored = replace(stored, reason=_similar_text(*stored.similar))
    context.log.info(
        "lesson_stored", lesson_id=stored.lesson_id, status=stored.status, project=scope.project
    )
    evidence = "told" if draft.told else None
    return replace(stored, guard=guard, evidence=evidence, ignored=sent.ignored)


def _similar_text(lesson_id: str, text: str) -> str:
    """Return what an agent is told of a lesson that is near in meaning to the one it sent."""
    return _SIMILAR.format(id=short_id(lesson_id), text=first_sentences(text, _MOST_SIMILAR))


async def _plant(context: Context, scope: Scope, stored: Stored, sent: LessonArguments) -> None:
    """Note a stored lesson's roots: the files and names that it is about. Repositories of a caller keep none."""
    if not hasattr(context.bank.lessons, "resolve_id"):  # a caller's own, not ours
        return
    valid_until = None
    if sent.valid_until is not None:
        valid_until = sent.valid_until.timestamp()
    await services.roots.plant_roots(
        context, scope, stored.lesson_id, files=sent.files, valid_until=valid_until
    )


async def _to_replace(context: Context, scope: Scope, sent: LessonArguments) -> Lesson | None:
    """Return the lesson to be replaced, None if the call names none."""
    if sent.replaces is None:
        return None
    lesson_id = await whole_id(context, scope, sent.replaces, "replaces")
    old = await context.bank.lessons.get(scope, lesson_id, "replaces")
    if not context.scopes.shares and old.project == GLOBAL:
        context.scopes.refuse_shared("replaces")
    return old


async def _propose_replacement(
    context: Context, scope: Scope, old: Lesson, draft: LessonDraft, sent: LessonArguments
) -> Stored:
    """Let the person decide whether an agent's lesson takes the place of one that they keep."""
    body = clean(asdict(draft))
    reason = _PERSONS_WORD if sent.evidence is Evidence.USER else _AGENTS_WORD
    new, answer = await decide_or_keep(
        context, scope, old, ProposalKind.REPLACE, reason=reason, body=body
    )
    if new is None:
        return Stored(
            lesson_id=old.id,
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
    await _plant(context, scope, stored, sent)
    return replace(stored, guard=guard)


async def whole_id(context: Context, scope: Scope, name: str, field: str) -> str:
    """Return the whole id of a lesson that is named by a short one, as hooks show it; errors name the argument `field`.

    Repositories of a caller know whole ids alone.
    """
    lessons = context.bank.lessons
    if not hasattr(lessons, "resolve_id"):
        return name
    return await lessons.resolve_id(scope, name, field)


async def forget(context: Context, arguments: Mapping[str, Any]) -> Forgotten:
    """Retire a lesson: no recall shows it, and it stays in the history.

    For one that a person keeps, the person is asked or finds a proposal; the answer then says why it stays.
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
    if is_one_text and "mistake" not in edited and lesson_parts(before.text)[1]:
        mistake = ""  # it was advice, which the new correction replaces
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
    if not changes.keys().isdisjoint(_OF_GUARD):
        edited |= await _guard_after(context, before, edited)
    return edited


async def _guard_after(
    context: Context, before: Lesson, edited: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the guard of an edited lesson, and why it is off, if it is.

    One that was derived follows the calls; one that a person wrote stays until they change it.
    """
    scope = context.scopes.own
    derived, _ = await guarded(context, scope, replace(before, guard=None))
    guard = None  # to be derived anew
    if "guard" in edited:
        guard = edited["guard"]
    elif before.guard != derived.guard:  # a person wrote it
        guard = before.guard
    after, _ = await guarded(context, scope, replace(before, **{**edited, "guard": guard}))
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

    An agent raises its importance as far as in a lesson of its own.
    """
    lessons = context.bank.lessons
    before = await lessons.get(context.scopes.own, lesson_id)
    edited = await checked_changes(context, before, changes)
    if by is Speaker.AGENT and "importance" in edited:
        most = max(MOST_OF_AGENT, before.importance)
        edited["importance"] = min(edited["importance"], most)
    return await lessons.edit(context.scopes.own, lesson_id, edited, by=by, seen=seen)


def scope_of(scope: Scope, visibility: str) -> Scope:
    """Return the scope in which a lesson of this visibility is stored: all projects for "global", else `scope`."""
    if visibility == "global":
        return Scope(scope.tenant, GLOBAL)
    return scope
