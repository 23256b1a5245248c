"""The lessons that a session is reminded of: at its start those that a person pinned, at a prompt those that surely fit.

`services/hooks.py` asks here. A session of the control group (`held_out`) is shown nothing at prompts, so that its end
can be compared; the lessons that it would have been shown are noted.
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

_KINDS_WITH_ADVICE: Final = (RecordKind.LESSON, RecordKind.STRATEGY)
"""The records that say what to do. A reflection tells what happened."""

_MOST_FOR_CHILD: Final = 2  # lessons that the prompt of a subagent brings
_MAX_PROMPT_CHARS: Final = 4_000  # of a prompt, by which lessons are recalled
_NO_CUT: Final = 1_000_000  # characters of all hits: each is shortened later, where it is shown
_MOST_RECALLED: Final = 50  # hits, those that the session was shown before included
_SPARE_HITS: Final = 3
"""Hits beyond those that are shown: they stand in for lessons that are outdated."""


async def at_start(
    context: Context, hook: HookInput, ids_in_files: AbstractSet[str] = frozenset()
) -> str | None:
    """Return the words for the start of a session, None for none.

    | the session                          | the line on what to keep | pinned lessons                        |
    |--------------------------------------|--------------------------|---------------------------------------|
    | is new                               | yes                      | those that it was not shown           |
    | lost its context (`hook.anew`)       | yes                      | all: it cannot know them any more     |
    | is resumed (`hook.resumed`)          | no: it has read the line | those that it was not shown           |

    The line is left out where the setting `ask` is "off". A lesson that a file such as `CLAUDE.md` brings
    (`ids_in_files`) is never repeated, nor is one that gives suspicious orders shown.
    """
    scope = context.scopes.own
    state = await session_state(context, scope, hook.session)
    if hook.anew:
        state = replace(state, shown=())
    known_ids = {*ids_in_files, *state.shown}
    new_lessons = [
        lesson
        for lesson in await context.bank.lessons.pinned(scope)
        if lesson.id not in known_ids and not suspicion_of(lesson)
    ]
    if new_lessons or hook.anew:
        await _note_shown(context, scope, state, new_lessons)
    texts: list[str] = []
    if context.settings.ask != "off" and not hook.resumed:
        texts.append(KEEP)
    if new_lessons:
        remarks = await _remarks_by_id(context, scope, _ids(new_lessons))
        texts.append(pinned_text(new_lessons, remarks))
    return "\n\n".join(texts) or None


async def at_prompt(
    context: Context, session: str, prompt: str, ids_in_files: AbstractSet[str] = frozenset()
) -> str | None:
    """Return the lessons that surely fit a prompt and that the session was not shown, three at most; else None.

    `ids_in_files` is as for `at_start`. A prompt that has lessons already, as that of an agent which another one started,
    gets no others.
    """
    if LESSONS_HEAD in prompt:
        return None
    scope = context.scopes.own
    state = await session_state(context, scope, session)
    most_hits = min(MOST_LESSONS + _SPARE_HITS + len(state.shown), _MOST_RECALLED)
    query = _query_of(prompt, most_hits)
    if not query.task.strip():
        return None
    recall = await context.bank.recalls.recall(scope, query, applied=False)
    known_ids = {*ids_in_files, *state.shown}
    new_hits = [hit for hit in recall.lessons if hit.id not in known_ids]
    hits, remarks = await _without_outdated(context, scope, new_hits)
    if not hits:
        return None
    await _note_for_comparison(context, scope, state, hits)
    if state.held_out:
        return None
    await _note_shown(context, scope, state, hits)
    return lessons_text(newest_of_a_subject_first(hits), remarks)


async def for_child(context: Context, hook: HookInput) -> str | None:
    """Return the lessons that surely fit the prompt of an agent which a call starts, two at most; else None.

    The child has read none of what its parent was shown. A prompt that has lessons gets no others.
    """
    prompt = hook.child_prompt or ""
    if LESSONS_HEAD in prompt:
        return None
    scope = context.scopes.own
    state = await session_state(context, scope, hook.session)
    query = _query_of(prompt, _MOST_FOR_CHILD + _SPARE_HITS)
    recall = await context.bank.recalls.recall(scope, query, applied=False)
    showable_hits, remarks = await _without_outdated(context, scope, recall.lessons)
    hits = showable_hits[:_MOST_FOR_CHILD]
    if not hits:
        return None
    await _note_for_comparison(context, scope, state, hits)
    if state.held_out:
        return None
    return lessons_text(newest_of_a_subject_first(hits), remarks)


def _query_of(prompt: str, most_hits: int) -> RecallQuery:
    """Return the query for lessons that surely fit a prompt: a reminder that fits weakly would be noise to the agent."""
    return RecallQuery(
        task=clean(prompt[:_MAX_PROMPT_CHARS]),
        kinds=_KINDS_WITH_ADVICE,
        limit=most_hits,
        max_chars=_NO_CUT,
        strong_only=True,
    )


async def _without_outdated(
    context: Context, scope: Scope, hits: Sequence[Hit]
) -> tuple[list[Hit], dict[str, str]]:
    """Return the hits to show, three at most, and by id the words of the remarks on them.

    | the remark on the lesson (`services/ground.py`)  | the lesson is shown                          |
    |--------------------------------------------------|----------------------------------------------|
    | none                                             | first                                        |
    | one that does not hide the lesson                | after these                                  |
    | one that hides it: a root is gone, or it hurt    | not: a review asks whether it is still true  |
    """
    first_hits = hits[: MOST_LESSONS + _SPARE_HITS]
    if not first_hits:
        return [], {}
    remarks = await services.ground.remarks_on(context, scope, _ids(first_hits))
    unchanged_hits = [hit for hit in first_hits if hit.id not in remarks]
    changed_hits = [hit for hit in first_hits if hit.id in remarks and not remarks[hit.id].hides]
    words_of_remarks = {lesson_id: remark.what_changed for lesson_id, remark in remarks.items()}
    return [*unchanged_hits, *changed_hits][:MOST_LESSONS], words_of_remarks


async def _remarks_by_id(context: Context, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
    """Return the words of the remarks on lessons, by the ids of those that have one."""
    remarks = await services.ground.remarks_on(context, scope, ids)
    return {lesson_id: remark.what_changed for lesson_id, remark in remarks.items()}


def _ids(lessons: Iterable[HasWords]) -> list[str]:
    """Return the ids of lessons, in order."""
    return [lesson.id for lesson in lessons]


def newest_of_a_subject_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with each newer lesson before the older ones of its subject: the newer one says what is true now.

    Hits of different subjects stay in their order.
    """
    ordered_hits: list[Hit] = []
    for hit in hits:
        indexes_of_older = [
            index for index, other in enumerate(ordered_hits) if _goes_before(hit, other)
        ]
        new_index = indexes_of_older[0] if indexes_of_older else len(ordered_hits)
        ordered_hits.insert(new_index, hit)
    return ordered_hits


def _goes_before(hit: Hit, other: Hit) -> bool:
    """Return whether a lesson is newer than another one of its subject.

    An agent's newer lesson does not go before one that a person trusts.
    """
    is_newer = hit.id > other.id  # ids sort by time
    overrules_person = hit.trust is Trust.OBSERVED and other.trust is Trust.TRUSTED
    return is_newer and not overrules_person and one_subject(other.text, hit.text)


async def _note_for_comparison(
    context: Context, scope: Scope, state: SessionState, hits: Sequence[Hit]
) -> None:
    """Note the lessons that a session is shown, or would be if it were not held out.

    How sessions of both groups end is compared later, to find lessons that help or hurt. Where the bank cannot be
    written, this session is not compared.
    """
    with suppress(BankError):
        await context.bank.effects.note_shown(scope, state.id, _ids(hits), held_out=state.held_out)


async def _note_shown(
    context: Context, scope: Scope, state: SessionState, lessons: Iterable[HasWords]
) -> None:
    """Note that a session was shown lessons, so that no lesson is repeated in it.

    Where the bank cannot be written, they are shown once more: better than not at all.
    """
    with suppress(BankError):
        await context.bank.warnings.note(scope, state, shown=_ids(lessons))
