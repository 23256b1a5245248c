"""Outcomes of using lessons: recorded once for each recall and lesson; the latest one counts."""

import json

from mcp_reflect.clock import Clock
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Evidence, Lesson, OutcomeDraft, Trust, Updated
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.effectiveness import EVIDENCE_WEIGHT, WeightedOutcome, total
from mcp_reflect.storage.lessons import add_links, lesson_by_id
from mcp_reflect.storage.recalls import RecallLog, recall_row
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import lesson_from, scope_values
from mcp_reflect.storage.sqlite.statements import Transaction


class OutcomeRepository:
    """Records what became of using lessons."""

    def __init__(self, db: Database, clock: Clock, recall_log: RecallLog) -> None:
        self._db = db
        self._clock = clock
        self._recall_log = recall_log

    async def record(self, scope: Scope, draft: OutcomeDraft) -> tuple[Updated, ...]:
        """Write the outcome for every lesson it is about, and return these lessons' new effectiveness.

        A recall alone shares one outcome's weight over the lessons it showed; named lessons get it whole.
        """
        await self._recall_log.flush()
        now = self._clock.now()
        async with self._db.write() as tx:
            lesson_ids = await _lesson_ids(tx, scope, draft)
            if draft.recall_id is not None:  # the task's outcome counts whether its lessons were shown or held out
                task = {"recall_id": draft.recall_id, "success": draft.success, "evidence": draft.evidence.value}
                await tx.run("task_outcome_add", {**task, "now": now})
            weight = EVIDENCE_WEIGHT[draft.evidence] / (1 if draft.lesson_ids else max(len(lesson_ids), 1))
            recall_id = draft.recall_id or self._clock.new_id("out")
            updated: list[Updated] = []
            for place, lesson_id in enumerate(lesson_ids):
                try:
                    lesson = await lesson_by_id(tx, scope, lesson_id, f"lesson_ids[{place}]")
                except NotFoundError:
                    if draft.lesson_ids:
                        raise
                    continue  # shown then, and erased since
                values = {
                    "recall_id": recall_id,
                    "lesson_id": lesson.id,
                    "success": draft.success,
                    "evidence": draft.evidence.value,
                    "weight": weight,
                    "note": draft.note,
                    "now": now,
                }
                await tx.run("outcome_add", values)
                updated.append(await _updated(tx, scope, lesson))
            return tuple(updated)

    async def record_irrelevant(self, scope: Scope, draft: OutcomeDraft) -> tuple[Updated, ...]:
        """Link lessons to the recall whose task they did not fit. Their effectiveness does not change."""
        from mcp_reflect.models.reflection import Link  # noqa: PLC0415 - the hooks load this module, and link nothing

        await self._recall_log.flush()
        async with self._db.write() as tx:
            updated: list[Updated] = []
            for place, lesson_id in enumerate(await _lesson_ids(tx, scope, draft)):
                lesson = await lesson_by_id(tx, scope, lesson_id, f"lesson_ids[{place}]")
                to_id = draft.recall_id or self._clock.new_id("out")
                link = Link(relation="irrelevant_to", to_kind="recall", to_id=to_id)
                await add_links(tx, lesson.id, (link,))
                effectiveness = round(lesson.effectiveness or 0.0, 4)
                updated.append(Updated(id=lesson.id, effectiveness=effectiveness, times_applied=lesson.times_applied))
            return tuple(updated)


async def add_measured_outcome(
    tx: Transaction, scope: Scope, lesson_id: str, warning_id: str, *, success: float, now: float
) -> None:
    """Record what a call showed about a lesson that a warning quoted right before it, with a measurement's weight.

    The outcome is stored under the warning's id, so that one warning counts once; an erased lesson is skipped.
    """
    row = await tx.row("lesson_by_id", {"id": lesson_id, **scope_values(scope)})
    if row is None:
        return
    values = {
        "recall_id": warning_id,
        "lesson_id": lesson_id,
        "success": success,
        "evidence": Evidence.METRIC.value,
        "weight": EVIDENCE_WEIGHT[Evidence.METRIC],
        "note": "seen in the calls after a warning",
        "now": now,
    }
    await tx.run("outcome_add", values)
    await _updated(tx, scope, lesson_from(row))


async def _lesson_ids(tx: Transaction, scope: Scope, draft: OutcomeDraft) -> tuple[str, ...]:
    """Return the ids of the lessons that the outcome is about, each once."""
    if draft.recall_id is None:
        return tuple(dict.fromkeys(draft.lesson_ids))
    recall = await recall_row(tx, scope, draft.recall_id)
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


async def _updated(tx: Transaction, scope: Scope, lesson: Lesson) -> Updated:
    """Recompute a lesson's totals, and those of the records that it was merged into."""
    effectiveness, target = await recompute(tx, scope, lesson)
    seen = {lesson.id}
    while target is not None and target.id not in seen:
        seen.add(target.id)
        effectiveness, target = await recompute(tx, scope, target)
    return Updated(id=lesson.id, effectiveness=round(effectiveness or 0.0, 4), times_applied=lesson.times_applied)


async def recompute(tx: Transaction, scope: Scope, lesson: Lesson) -> tuple[float | None, Lesson | None]:
    """Write a record's totals over all of its outcomes; a proven good outcome confirms the record.

    The outcomes of a merged record count for the record that it was merged into, and no longer for itself.

    Returns:
        The effectiveness (0..1, None without any outcome), and the record that this one was merged into, if any.
    """
    target = await tx.row("merged_into", {"lesson_id": lesson.id, **scope_values(scope)})
    rows = await tx.rows("outcome_fold", {"lesson_id": lesson.id}) if target is None else []
    totals = total(WeightedOutcome(row["success"], row["weight"], row["evidence"] != Evidence.SELF) for row in rows)
    proven = any(row["success"] == 1 and row["evidence"] in (Evidence.TEST, Evidence.METRIC) for row in rows)
    trust = Trust.CONFIRMED if proven and lesson.trust is Trust.OBSERVED else lesson.trust
    values = {
        "id": lesson.id,
        "effectiveness": totals.effectiveness,
        "wins": totals.wins,
        "losses": totals.losses,
        "proof": totals.proof,
        "trust": trust.value,
        "tenant": scope.tenant,
    }
    await tx.run("lesson_outcome", values)
    return totals.effectiveness, lesson_from(target) if target is not None else None
