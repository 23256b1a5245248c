"""What a session is reminded of: at its start what a person pinned, at a prompt the lessons that surely fit."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import Final

from mcp_reflect import services
from mcp_reflect.errors import BankError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Hit, RecallQuery, RecordKind, Trust
from mcp_reflect.models.shown_lesson import HasWords
from mcp_reflect.models.warning import HookInput, SessionState
from mcp_reflect.moments.texts import KEEP, LESSONS_HEAD, lessons_text, pinned_text
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.warnings import session_state
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.similarity import one_subject

MOST_LESSONS: Final = 3
"""Lessons that a prompt brings; more are not read."""

_MOST_FOR_CHILD: Final = 2  # lessons that the prompt of a subagent brings
_MOST_PROMPT: Final = 4_000  # characters of a prompt that lessons are recalled by
_MOST_CHARS: Final = 1_000_000  # of the hits: each is shortened where it is shown
_MOST_RECALLED: Final = 50
_MOST_HIDDEN: Final = 3  # lessons that stand for those whose ground is gone


async def at_start(
    context: Context, hook: HookInput, told: AbstractSet[str] = frozenset()
) -> str | None:
    """Return what a person pinned, and the line on what to keep; a session that is resumed has read them.

    `told` has the ids of lessons that the session knows from elsewhere.
    """
    scope = context.scopes.own
    state = await session_state(context, scope, hook.session)
    if hook.anew:
        state = replace(state, shown=())
    pinned = [
        lesson
        for lesson in await context.bank.lessons.pinned(scope)
        if lesson.id not in (*told, *state.shown) and not suspicion_of(lesson)
    ]
    if pinned or hook.anew:
        await _note_shown(context, scope, state, pinned)
    asks = context.settings.ask != "off" and not hook.resumed
    told_of = await _told_changes(context, scope, [lesson.id for lesson in pinned])
    texts = [*([KEEP] if asks else []), *([pinned_text(pinned, told_of)] if pinned else [])]
    return "\n\n".join(texts) or None


async def at_prompt(
    context: Context, session: str, prompt: str, told: AbstractSet[str] = frozenset()
) -> str | None:
    """Return the lessons that surely fit a prompt, three at most, none of which the session was shown; else None.

    The prompt of an agent that another one started may have lessons already.
    """
    if LESSONS_HEAD in prompt:
        return None
    scope = context.scopes.own
    state = await session_state(context, scope, session)
    query = RecallQuery(
        task=clean(prompt[:_MOST_PROMPT]),
        kinds=(
            RecordKind.LESSON,
            RecordKind.STRATEGY,
        ),  # a reflection tells what happened, not what to do
        limit=min(MOST_LESSONS + _MOST_HIDDEN + len(state.shown), _MOST_RECALLED),
        max_chars=_MOST_CHARS,
        strong_only=True,
    )
    if not query.task.strip():
        return None
    recall = await context.bank.recalls.recall(scope, query, applied=False)
    fitting = [hit for hit in recall.lessons if hit.id not in (*told, *state.shown)]
    new, changes = await _standing(context, scope, fitting)
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
        kinds=(RecordKind.LESSON, RecordKind.STRATEGY),
        limit=_MOST_FOR_CHILD + _MOST_HIDDEN,
        max_chars=_MOST_CHARS,
        strong_only=True,
    )
    recall = await context.bank.recalls.recall(scope, query, applied=False)
    standing, changes = await _standing(context, scope, recall.lessons)
    new = standing[:_MOST_FOR_CHILD]
    if not new:
        return None
    with suppress(BankError):
        await context.bank.effects.note_shown(scope, state.id, _ids(new), held_out=state.held_out)
    return None if state.held_out else lessons_text(newest_of_a_subject_first(new), changes)


async def _standing(
    context: Context, scope: Scope, hits: Sequence[Hit]
) -> tuple[list[Hit], dict[str, str]]:
    """Return the hits to show, three at most, and what changed since of those whose ground did.

    What an agent stored is left out where its ground is gone: a review asks whether it is still true. One whose ground
    changed stands behind an equal one that stands.
    """
    looked_at = hits[: MOST_LESSONS + _MOST_HIDDEN]
    if not looked_at:
        return [], {}
    marks = await services.ground.marks_of(context, scope, _ids(looked_at))
    left = [hit for hit in looked_at if hit.id not in marks or not marks[hit.id].hides]
    left.sort(key=lambda hit: hit.id in marks and not marks[hit.id].hides)
    return left[:MOST_LESSONS], {name: mark.told for name, mark in marks.items()}


async def _told_changes(context: Context, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
    if not ids:
        return {}
    return {
        name: mark.told
        for name, mark in (await services.ground.marks_of(context, scope, ids)).items()
    }


def _ids(hits: Iterable[HasWords]) -> list[str]:
    return [hit.id for hit in hits]


def newest_of_a_subject_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with each newer lesson before the older ones of its subject: it says what holds now.

    Ids sort by time. What only an agent tells comes before no lesson that a person trusts.
    """
    ordered: list[Hit] = []
    for hit in hits:
        older = (
            place
            for place, other in enumerate(ordered)
            if other.id < hit.id
            and not (other.trust is Trust.TRUSTED and hit.trust is Trust.OBSERVED)
            and one_subject(other.text, hit.text)
        )
        ordered.insert(next(older, len(ordered)), hit)
    return ordered


async def _note_shown(
    context: Context, scope: Scope, state: SessionState, shown: Iterable[HasWords]
) -> None:
    with suppress(BankError):  # shown again the next time, which is better than not at all
        await context.bank.warnings.note(scope, state, shown=[one.id for one in shown])
