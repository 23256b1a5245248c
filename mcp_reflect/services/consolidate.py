"""Dreams, which consolidate a project's records: those that say the same are merged, useless ones are archived.

A server runs one a day while nobody works, as sleep does for memory. A dream has a plan, by rules and by a language
model if there is one (`dream_proposals.py`), which is applied in one transaction and can be undone.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import HOST, Scope
from mcp_reflect.models.dream import Dream, DreamPlan, Merge, Undone
from mcp_reflect.models.lesson import Lesson, Source, State, Trust
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
from mcp_reflect.services.context import Context
from mcp_reflect.services.dream_proposals import (
    Answer,
    Proposals,
    ask_model,
    object_in,
    with_proposals,
)
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage.consolidation import BY_PERSON, digest_of, planned

_LEAST_MERGED: Final = 2  # records

_Planner: TypeAlias = Callable[[list[Lesson]], DreamPlan]
"""Returns a plan for the records as they are in the transaction that applies it."""


async def dream(
    context: Context, *, plan_only: bool = False, analysis: Answer | None = None
) -> Dream:
    """Plan the changes of the project's records, and apply them unless `plan_only`.

    `analysis` is the host's answer to the prompt `dream`; no model is asked then. InputError if it contains no object.
    """
    scope = context.scopes.own
    planner = await _planner(context, scope, analysis)
    if plan_only:
        records = await context.bank.consolidations.load(scope)
        plan = await asyncio.to_thread(planner, records)
        return Dream(dream_id=None, status="planned", plan=plan, scope=str(scope))
    return await _apply(context, planner)


async def merge(
    context: Context,
    kept_id: str,
    merged_ids: Sequence[str],
    *,
    by: Speaker = Speaker.AGENT,
    seen: Seen = NOTHING_SEEN,
) -> Dream:
    """Merge records of one kind because somebody says that they are the same; `undo` reverts it.

    The record `kept_id` keeps its text; the texts of the others become versions of it, and they are archived.
    InputError if they cannot be merged; ChangedError if one is not as the person was shown it (`seen`).
    """
    scope = context.scopes.own
    ids = (kept_id, *merged_ids)
    records = [await context.bank.lessons.get(scope, record_id, "id") for record_id in ids]
    _refuse_merge(records)
    kept, *merged = records
    merge = Merge(keep=kept.id, gone=tuple(record.id for record in merged), reason=BY_PERSON)
    plan = DreamPlan(looked_at=len(records), merges=(merge,), thinker="person")
    return await _apply(context, lambda _: plan, part=True, by=by, seen=seen)


def _refuse_merge(records: Sequence[Lesson]) -> None:
    """Raise InputError for records of which one cannot be merged into the first."""
    first = records[0]
    different_ids = {record.id for record in records}
    if len(different_ids) < max(len(records), _LEAST_MERGED):
        raise InputError(
            "id", "a record cannot be merged with itself", "Name two or more different ones."
        )
    for record in records:
        if record.state is not State.ACTIVE or record.trust is Trust.QUARANTINED:
            raise InputError(
                "id", f"'{record.id}' is not in use", "Restore it or decide about it first."
            )
        if record.kind is not first.kind or record.project != first.project:
            fault = f"'{record.id}' is of another kind or project than '{first.id}'"
            raise InputError("id", fault, "Merge records of one kind.")


async def _apply(
    context: Context,
    planner: _Planner,
    *,
    part: bool = False,
    by: Speaker = Speaker.AGENT,
    seen: Seen = NOTHING_SEEN,
) -> Dream:
    """Make a plan for the records as they are now and carry it out, in one transaction; return the changes.

    `part`: the plan is of some records only, so that the next dream looks at all of them again. A result without a
    `dream_id` changed nothing, and there is nothing to undo.
    """
    scope = context.scopes.own
    result = await context.bank.consolidations.dream(scope, planner, part=part, by=by, seen=seen)
    plan = result.plan
    if result.dream_id is not None:
        context.log.info(
            "dream_finished",
            dream_id=result.dream_id,
            looked_at=plan.looked_at,
            merged=len(plan.merges),
            added=len(result.added),
            archived=len(plan.archivings),
            thinker=plan.thinker,
        )
    return result


async def undo(context: Context, dream_id: str, *, by: Speaker = Speaker.AGENT) -> Undone:
    """Revert what a dream changed; records that changed since stay as they are."""
    undone = await context.bank.consolidations.undo(context.scopes.own, dream_id, by=by)
    context.log.info(
        "dream_undone",
        dream_id=dream_id,
        restored=len(undone.restored),
        skipped=len(undone.skipped),
    )
    return undone


async def due(context: Context) -> bool:
    """Return whether the dream of the day may begin: none was today (UTC), and something changed since the last one."""
    last_digest, last_time = await context.bank.consolidations.last(context.scopes.own)
    if last_time // DAY == context.clock.now() // DAY:
        return False
    records = await context.bank.consolidations.load(context.scopes.own)
    return len(records) >= _LEAST_MERGED and digest_of(records) != last_digest


async def _planner(context: Context, scope: Scope, analysis: Answer | None) -> _Planner:
    """Return the function that plans a dream: by rules, with the proposals of `analysis` or of a model.

    A model is asked here, before the transaction in which the plan is made and applied: it takes half a minute, in which
    nobody else could write.
    """
    if analysis is None:
        source = Source.MODEL
        proposed = await ask_model(context, scope)
    else:
        source = Source.AGENT
        proposed = Proposals(object_in(analysis), {"thinker": HOST})

    def plan_records(records: list[Lesson]) -> DreamPlan:
        """Return the plan for the records as they are in the transaction."""
        plan = with_proposals(planned(records), proposed.entries, records, source)
        return replace(plan, **proposed.plan_fields)

    return plan_records
