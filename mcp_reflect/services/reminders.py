"""What a session is reminded of: at its start what a person pinned, at a prompt the lessons that surely fit.

`services/hooks.py` asks here. A session that is held out, to compare, is shown nothing at prompts; what it would have
been shown is noted.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import Final

from mcp_reflect import services
from mcp_reflect.errors import BankError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import RecordKind, Trust
from mcp_reflect.models.recall import Hit, RecallQuery
from mcp_reflect.models.session_state import SessionState
from mcp_reflect.models.shown_lesson import HasWords
from mcp_reflect.models.warning import HookInput
from mcp_reflect.moments.texts import KEEP, LESSONS_HEAD, lessons_text, pinned_text
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.warnings import session_state
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.similarity import one_subject

MOST_LESSONS: Final = 3
"""Lessons that a prompt brings; more are not read."""

_ADVISING: Final = (RecordKind.LESSON, RecordKind.STRATEGY)
"""The records that say what to do. A reflection tells what happened."""

_MOST_FOR_CHILD: Final = 2  # lessons that the prompt of a subagent brings
_MOST_PROMPT: Final = 4_000  # characters of a prompt that lessons are recalled by
_MOST_CHARS: Final = 1_000_000  # of the hits: each is shortened where it is shown
_MOST_RECALLED: Final = 50  # hits, those that the session was shown before included
_SPARE: Final = 3  # more hits than are shown: they take the places of those whose ground is gone


async def at_start(
    context: Context, hook: HookInput, told_ids: AbstractSet[str] = frozenset()
) -> str | None:
    """Return what a person pinned, and the line on what to keep; None if there is nothing to say.

    A session that is resumed has read them; one that lost its context (`hook.anew`) reads all of it again. `told_ids`
    are of lessons that the session knows from elsewhere, as from `CLAUDE.md`.
    """
    scope = context.scopes.own
    state = await session_state(context, scope, hook.session)
    if hook.anew:
        state = replace(state, shown=())
    pinned = [
        lesson
        for lesson in await context.bank.lessons.pinned(scope)
        if lesson.id not in (*told_ids, *state.shown) and not suspicion_of(lesson)
    ]
    if pinned or hook.anew:
        await _note_shown(context, scope, state, pinned)
    texts: list[str] = []
    if context.settings.ask != "off" and not hook.resumed:
        texts.append(KEEP)
    if pinned:
        changes = await _changes_of(context, scope, [lesson.id for lesson in pinned])
        texts.append(pinned_text(pinned, changes))
    return "\n\n".join(texts) or None


async def at_prompt(
    context: Context, session: str, prompt: str, told_ids: AbstractSet[str] = frozenset()
) -> str | None:
    """Return the lessons that surely fit a prompt and that the session was not shown, three at most; else None.

    `told_ids` is as for `at_start`. A prompt that has lessons already, as that of an agent which another one started,
    gets no others.
    """
    if LESSONS_HEAD in prompt:
        return None
    scope = context.scopes.own
    state = await session_state(context, scope, session)
    query = RecallQuery(
        task=clean(prompt[:_MOST_PROMPT]),
        kinds=_ADVISING,
        limit=min(MOST_LESSONS + _SPARE + len(state.shown), _MOST_RECALLED),
        max_chars=_MOST_CHARS,
        strong_only=True,
    )
    if not query.task.strip():
        return None
    recall = await context.bank.recalls.recall(scope, query, applied=False)
    fitting = [hit for hit in recall.lessons if hit.id not in (*told_ids, *state.shown)]
    new, changes = await _not_doubted(context, scope, fitting)
    if not new:
        return None
    with suppress(BankError):
        await context.bank.effects.note_shown(scope, state.id, _ids(new), held_out=state.held_out)
    if state.held_out:
        return None
    await _note_shown(context, scope, state, new)
    return lessons_text(newest_of_a_subject_first(new), changes)


async def for_child(context: Context, hook: HookInput) -> str | None:
    """Return the lessons that surely fit the prompt of an agent which a call starts, two at most; else None.

    The child has read none of what its parent was shown. A prompt that has lessons gets no others.
    """
    prompt = hook.child_prompt or ""
    if LESSONS_HEAD in prompt:
        return None
    scope = context.scopes.own
    state = await session_state(context, scope, hook.session)
    query = RecallQuery(
        task=clean(prompt[:_MOST_PROMPT]),
        kinds=_ADVISING,
        limit=_MOST_FOR_CHILD + _SPARE,
        max_chars=_MOST_CHARS,
        strong_only=True,
    )
    recall = await context.bank.recalls.recall(scope, query, applied=False)
    showable, changes = await _not_doubted(context, scope, recall.lessons)
    new = showable[:_MOST_FOR_CHILD]
    if not new:
        return None
    with suppress(BankError):
        await context.bank.effects.note_shown(scope, state.id, _ids(new), held_out=state.held_out)
    if state.held_out:
        return None
    return lessons_text(newest_of_a_subject_first(new), changes)


async def _not_doubted(
    context: Context, scope: Scope, hits: Sequence[Hit]
) -> tuple[list[Hit], dict[str, str]]:
    """Return the hits to show, three at most, and by id what changed since they were stored.

    | the ground of the lesson (`services/ground.py`) | it is shown                                                   |
    |-------------------------------------------------|---------------------------------------------------------------|
    | stands                                          | first                                                         |
    | changed, or is gone and a person keeps it       | after these                                                   |
    | is gone                                         | not: a review asks whether it is still true                   |
    """
    first_hits = hits[: MOST_LESSONS + _SPARE]
    if not first_hits:
        return [], {}
    marks = await services.ground.marks_of(context, scope, _ids(first_hits))
    unchanged = [hit for hit in first_hits if hit.id not in marks]
    changed = [hit for hit in first_hits if hit.id in marks and not marks[hit.id].hides]
    remarks = {lesson_id: mark.what_changed for lesson_id, mark in marks.items()}
    return [*unchanged, *changed][:MOST_LESSONS], remarks


async def _changes_of(context: Context, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
    """Return what changed since lessons were stored, by the ids of those of which anything did."""
    marks = await services.ground.marks_of(context, scope, ids)
    return {lesson_id: mark.what_changed for lesson_id, mark in marks.items()}


def _ids(hits: Iterable[HasWords]) -> list[str]:
    """Return the ids of lessons, in order."""
    return [hit.id for hit in hits]


def newest_of_a_subject_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with each newer lesson before the older ones of its subject: it says what holds now."""
    ordered: list[Hit] = []
    for hit in hits:
        older_ones = [index for index, other in enumerate(ordered) if _goes_before(hit, other)]
        ordered.insert(older_ones[0] if older_ones else len(ordered), hit)
    return ordered


def _goes_before(hit: Hit, other: Hit) -> bool:
    """Return whether a lesson is newer than another one of its subject.

    An agent's newer lesson does not go before one that a person trusts.
    """
    is_newer = hit.id > other.id  # ids sort by time
    overrules_person = hit.trust is Trust.OBSERVED and other.trust is Trust.TRUSTED
    return is_newer and not overrules_person and one_subject(other.text, hit.text)


async def _note_shown(
    context: Context, scope: Scope, state: SessionState, shown: Iterable[HasWords]
) -> None:
    """Note that a session was shown lessons. Where that fails, they are shown once more: better than not at all."""
    with suppress(BankError):
        await context.bank.warnings.note(scope, state, shown=_ids(shown))
