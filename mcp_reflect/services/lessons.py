"""The use of lessons: the tools `recall_lessons`, `store_lesson` and `forget_lesson`, beside a person's `add`.

A lesson that a person keeps is never changed by an agent: its wish becomes a proposal (`proposals.py`). How a lesson is
edited is in `lesson_edits`.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.lesson import (
    Forgotten,
    Lesson,
    LessonDraft,
    Source,
    State,
    Stored,
    Trust,
)
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.outcome import Evidence
from mcp_reflect.models.proposal import ProposalKind
from mcp_reflect.models.recall import Recall
from mcp_reflect.models.shown_lesson import first_sentences
from mcp_reflect.schemas.imported_lessons import PersonsArguments
from mcp_reflect.schemas.lessons import (
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


async def add(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that a person wrote: it is trusted, and never quarantined."""
    sent = read(PersonsArguments, arguments, context.settings)
    scope = scope_of(context.scopes.own, sent.visibility)
    trusted = replace(sent.draft(Source.PERSON), trust=Trust.TRUSTED)
    draft, guard = await guarded(context, scope, trusted)
    stored = await context.bank.lessons.store(scope, draft, by=Speaker.PERSON)
    await _plant_roots(context, scope, stored, sent)
    return replace(stored, guard=guard)


def _similar_text(lesson_id: str, text: str) -> str:
    """Return the words for an agent about a lesson that is near in meaning to the one it sent.

    "les_3f2a90 is near in meaning: Build before the tests. If both say the same, send this again with replaces: …"
    """
    return _SIMILAR.format(id=short_id(lesson_id), text=first_sentences(text, _MAX_SIMILAR_CHARS))


async def _plant_roots(
    context: Context, scope: Scope, stored: Stored, sent: LessonArguments
) -> None:
    """Note a stored lesson's roots: the files and names that it is about, as they are now.

    The repositories that a Python program brings itself (`Bank.use`) keep none.
    """
    if not context.bank.has_own_lessons:
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


async def whole_id(context: Context, scope: Scope, name: str, field: str) -> str:
    """Return the whole id of a lesson that is named by a short one, as hooks show it; errors name the argument `field`.

    The repositories that a Python program brings itself (`Bank.use`) know whole ids alone.
    """
    if not context.bank.has_own_lessons:
        return name
    return await context.bank.lessons.resolve_id(scope, name, field)


def scope_of(scope: Scope, visibility: str) -> Scope:
    """Return the scope in which a lesson of this visibility is stored: all projects for "global", else `scope`."""
    if visibility == "global":
        return Scope(scope.tenant, GLOBAL)
    return scope
