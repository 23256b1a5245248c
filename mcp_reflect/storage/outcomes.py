"""Outcomes of using lessons: recorded once for each recall and lesson; the latest one counts."""

import json

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Evidence, Lesson, OutcomeDraft, Trust, Updated
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.effectiveness import EVIDENCE_WEIGHT, WeightedOutcome, total
from mcp_reflect.storage.lessons import add_links, lesson_by_id
from mcp_reflect.storage.recalls import recall_row
from mcp_reflect.storage.sqlite.database import Repository
from mcp_reflect.storage.sqlite.statements import Writing, lesson_from, scope_values


class OutcomeRepository(Repository):
    """Records what became of using lessons."""

    async def record(self, scope: Scope, draft: OutcomeDraft) -> tuple[Updated, ...]:
        """Write the outcome for every lesson it is about, and return these lessons' new effectiveness.

        A recall alone shares one outcome's weight over the lessons it showed; named lessons get it whole.
        """
        await self._bank.recalls.flush()
        values = {"success": draft.success, "evidence": draft.evidence.value, "now": self._clock.now()}

        def record(tx: Writing) -> tuple[Updated, ...]:
            lessons = _lessons(tx, scope, draft)
            if draft.recall_id is not None:  # the task's outcome counts whether its lessons were shown or held out
                tx.run("task_outcome_add", {"recall_id": draft.recall_id, **values})
            weight = EVIDENCE_WEIGHT[draft.evidence] / (1 if draft.lesson_ids else max(len(lessons), 1))
            recall_id = draft.recall_id or self._clock.new_id("out")
            updated: list[Updated] = []
            for lesson in lessons:
                own = {"recall_id": recall_id, "lesson_id": lesson.id, "weight": weight, "note": draft.note}
                tx.run("outcome_add", {**values, **own})
                updated.append(_updated(tx, scope, lesson))
            return tuple(updated)

        return await self._db.write(record)

    async def record_irrelevant(self, scope: Scope, draft: OutcomeDraft) -> tuple[Updated, ...]:
        """Link lessons to the recall whose task they did not fit. Their effectiveness does not change."""
        from mcp_reflect.models.reflection import Link  # noqa: PLC0415 - the hooks load this module, and link nothing

        await self._bank.recalls.flush()
        to_id = draft.recall_id or self._clock.new_id("out")
        link = Link(relation="irrelevant_to", to_kind="recall", to_id=to_id)

        def record(tx: Writing) -> tuple[Updated, ...]:
            lessons = _lessons(tx, scope, draft)
            for lesson in lessons:
                add_links(tx, lesson.id, (link,))
            return tuple(_answer(lesson, lesson.effectiveness) for lesson in lessons)

        return await self._db.write(record)


def add_measured_outcome(
    tx: Writing, scope: Scope, lesson_id: str, warning_id: str, *, success: float, now: float
) -> None:
    """Record what a call showed about a lesson that a warning quoted right before it, with a measurement's weight.

    The outcome is stored under the warning's id, so that one warning counts once; an erased lesson is skipped.
    """
    row = tx.row("lesson_by_id", {"id": lesson_id, **scope_values(scope)})
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
    tx.run("outcome_add", values)
    _updated(tx, scope, lesson_from(row))


def _lessons(tx: Writing, scope: Scope, draft: OutcomeDraft) -> list[Lesson]:
    """Return the lessons that the outcome is about, each once: those that are named, or else all of the recall."""
    shown: list[str] = []
    if draft.recall_id is not None:
        recall = recall_row(tx, scope, draft.recall_id)
        shown = json.loads(recall["lesson_ids"])
        if not shown and not recall["held_out"] and not draft.lesson_ids:
            raise InputError("recall_id", "that recall showed nothing", "There is no outcome to record for it.")
    lessons: dict[str, Lesson] = {}
    for place, lesson_id in enumerate(draft.lesson_ids):
        if draft.recall_id is not None and lesson_id not in shown:
            raise InputError(
                f"lesson_ids[{place}]",
                f"'{quoted(lesson_id)}' was not among what {draft.recall_id} showed",
                "Name lessons of that recall, or leave recall_id out.",
            )
        lessons[lesson_id] = lesson_by_id(tx, scope, lesson_id, f"lesson_ids[{place}]")
    if lessons:
        return list(lessons.values())
    rows = [tx.row("lesson_by_id", {"id": lesson_id, **scope_values(scope)}) for lesson_id in shown]
    return [lesson_from(row) for row in rows if row is not None]  # a lesson may have been erased since


def _answer(lesson: Lesson, effectiveness: float | None) -> Updated:
    return Updated(id=lesson.id, effectiveness=round(effectiveness or 0.0, 4), times_applied=lesson.times_applied)


def _updated(tx: Writing, scope: Scope, lesson: Lesson) -> Updated:
    """Recompute a lesson's totals, and those of the records that it was merged into."""
    effectiveness, target = recompute(tx, scope, lesson)
    seen = {lesson.id}
    while target is not None and target.id not in seen:
        seen.add(target.id)
        effectiveness, target = recompute(tx, scope, target)
    return _answer(lesson, effectiveness)


def recompute(tx: Writing, scope: Scope, lesson: Lesson) -> tuple[float | None, Lesson | None]:
    """Write a record's totals over all of its outcomes; a proven good outcome confirms the record.

    The outcomes of a merged record count for the record that it was merged into, and no longer for itself.

    Returns:
        The effectiveness (0..1, None without any outcome), and the record that this one was merged into, if any.
    """
    target = tx.row("merged_into", {"lesson_id": lesson.id, **scope_values(scope)})
    rows = tx.rows("outcome_fold", {"lesson_id": lesson.id}) if target is None else []
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
    tx.run("lesson_outcome", values)
    return totals.effectiveness, lesson_from(target) if target is not None else None
