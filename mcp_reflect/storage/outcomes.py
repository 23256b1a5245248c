"""Outcomes of using lessons: recorded once for each recall and lesson; the latest one counts."""

import json

from mcp_reflect.clock import Clock
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Evidence, Lesson, OutcomeDraft, Trust, Updated
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage import lessons
from mcp_reflect.storage.effectiveness import EVIDENCE_WEIGHT, Told, worth
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import Row, lesson_from, scope_values
from mcp_reflect.storage.sqlite.statements import Transaction


async def record(db: Database, scope: Scope, draft: OutcomeDraft, clock: Clock) -> tuple[Updated, ...]:
    """Write the outcome for every lesson it is about, and what that makes of them.

    A recall alone shares one outcome's weight over what it showed; named lessons get it whole.
    """
    async with db.write() as tx:
        lesson_ids = await _about(tx, scope, draft)
        if draft.recall_id is not None:
            await _note_task(tx, draft.recall_id, draft, clock.now())
        weight = EVIDENCE_WEIGHT[draft.evidence] / (1 if draft.lesson_ids else max(len(lesson_ids), 1))
        recall_id = draft.recall_id or clock.new_id("out")
        updated: list[Updated] = []
        for place, lesson_id in enumerate(lesson_ids):
            try:
                found = await lessons.lesson(tx, scope, lesson_id, f"lesson_ids[{place}]")
            except NotFoundError:
                if draft.lesson_ids:
                    raise
                continue  # shown then, and erased since
            values = {
                "recall_id": recall_id,
                "lesson_id": found.id,
                "success": draft.success,
                "evidence": draft.evidence.value,
                "weight": weight,
                "note": draft.note,
                "now": clock.now(),
            }
            await tx.run("outcome_add", values)
            updated.append(await _retold(tx, scope, found))
        return tuple(updated)


async def proved(tx: Transaction, scope: Scope, lesson_id: str, told_by: str, *, success: float, now: float) -> None:
    """Note what a call showed of a lesson that was told right before it: it has the weight of a measurement.

    `told_by` names the warning, so that one warning proves one thing; a lesson that was erased is left alone.
    """
    row = await tx.row("lesson_by_id", {"id": lesson_id, **scope_values(scope)})
    if row is None:
        return
    values = {
        "recall_id": told_by,
        "lesson_id": lesson_id,
        "success": success,
        "evidence": Evidence.METRIC.value,
        "weight": EVIDENCE_WEIGHT[Evidence.METRIC],
        "note": "seen in the calls after a warning",
        "now": now,
    }
    await tx.run("outcome_add", values)
    await _retold(tx, scope, lesson_from(row))


async def _about(tx: Transaction, scope: Scope, draft: OutcomeDraft) -> tuple[str, ...]:
    """The ids of the lessons that the outcome is about, each once."""
    if draft.recall_id is None:
        return tuple(dict.fromkeys(draft.lesson_ids))
    recall = await _recall(tx, scope, draft.recall_id)
    shown: list[str] = json.loads(recall["lesson_ids"])
    for place, lesson_id in enumerate(draft.lesson_ids):
        if lesson_id not in shown:
            raise InputError(
                f"lesson_ids[{place}]",
                f"'{quoted(lesson_id)}' was not among what {draft.recall_id} showed",
                "Name lessons of that recall, or leave recall_id out.",
            )
    if not shown and not recall["held_out"]:
        raise InputError("recall_id", "that recall showed nothing", "There is no outcome to record for it.")
    return tuple(dict.fromkeys(draft.lesson_ids)) or tuple(shown)


async def recalled(reader: Database | Transaction, scope: Scope, recall_id: str) -> list[str]:
    """The ids that a recall of this scope showed; NotFoundError where there was no such recall."""
    return json.loads((await _recall(reader, scope, recall_id))["lesson_ids"])


async def _recall(reader: Database | Transaction, scope: Scope, recall_id: str) -> Row:
    row = await reader.row("recall_by_id", {"id": recall_id, **scope_values(scope)})
    if row is None:
        raise NotFoundError(
            "recall_id", f"there is no '{quoted(recall_id)}' in {scope}", "Send the id that recall_lessons gave."
        )
    return row


async def _note_task(tx: Transaction, recall_id: str, draft: OutcomeDraft, now: float) -> None:
    """How the task went, whether its lessons were shown or held out: what their use is measured by."""
    values = {"recall_id": recall_id, "success": draft.success, "evidence": draft.evidence.value, "now": now}
    await tx.run("task_outcome_add", values)


async def _retold(tx: Transaction, scope: Scope, lesson: Lesson) -> Updated:
    """Fold the outcomes of a lesson anew, and of the record that it was merged into, where it lives on."""
    effectiveness, kept = await refold(tx, scope, lesson)
    seen = {lesson.id}
    while kept is not None and kept.id not in seen:
        seen.add(kept.id)
        effectiveness, kept = await refold(tx, scope, kept)
    return Updated(id=lesson.id, effectiveness=round(effectiveness or 0.0, 4), times_applied=lesson.times_applied)


async def refold(tx: Transaction, scope: Scope, lesson: Lesson) -> tuple[float | None, Lesson | None]:
    """Write what all outcomes of a record make of it: its effectiveness, 0..1, null without any outcome.

    Those of records that were merged into it count, and no longer for them: such a record comes with the one that it
    was merged into, others with null. A proven good outcome confirms a record.
    """
    into = await tx.row("merged_into", {"lesson_id": lesson.id, **scope_values(scope)})
    rows = await tx.rows("outcome_fold", {"lesson_id": lesson.id}) if into is None else []
    result = worth(Told(row["success"], row["weight"], row["evidence"] != Evidence.SELF.value) for row in rows)
    proven = any(row["success"] == 1 and row["evidence"] in ("test", "metric") for row in rows)
    trust = Trust.CONFIRMED if proven and lesson.trust is Trust.OBSERVED else lesson.trust
    await tx.run(
        "lesson_outcome",
        {
            "id": lesson.id,
            "effectiveness": result.effectiveness,
            "wins": result.wins,
            "losses": result.losses,
            "proof": result.proof,
            "trust": trust.value,
            "tenant": scope.tenant,
        },
    )
    return result.effectiveness, lesson_from(into) if into is not None else None
