"""Outcomes of using lessons: the latest one of each recall and lesson, and the totals of each lesson."""

import json
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.following import follows
from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, Trust
from mcp_reflect.models.outcome import Evidence, OutcomeDraft, Updated
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage import lesson_records
from mcp_reflect.storage.recalls import RecallRepository, recall_row
from mcp_reflect.storage.repository import BankContext, Repository, Writing
from mcp_reflect.storage.rows import Row, lesson_from
from mcp_reflect.storage.values import scoped

# Totals over outcomes. People are shown a moving average; ranking uses wins and losses, each weighted by its evidence.
# Both are made anew of all outcomes, in the order in which they were first recorded, so that recording the same outcome
# twice changes nothing. An agent's own word counts least; a test or a measurement that was seen counts whole.
START: Final = 0.5
"""The moving average before the first outcome: nobody knows."""

RATE: Final = 0.3
"""The share of the way to 0 or 1 by which one outcome of full weight moves the average."""

BACKED_WEIGHT: Final = 0.6
"""The weight of an agent's own word with results or a quotation that nobody saw but the agent."""

EVIDENCE_WEIGHT: Final[dict[Evidence, float]] = {
    Evidence.SELF: 0.3,
    Evidence.USER: 0.8,
    Evidence.METRIC: 1.0,
    Evidence.TEST: 1.0,
}

MAX_SELF_REPORTED: Final = 1.0
"""The weight of all self-reported outcomes together: that of one proven outcome, less what is proven already.

So no amount of praise lifts a lesson above one that a test has proved.
"""

SHOWN_SECONDS: Final = 6 * 3600.0
"""Hooks and tools know no common session: a recall of these last hours is of the session whose calls are seen."""

PROVING_SESSIONS: Final = 2
"""Sessions that were shown a lesson and followed it, and whose calls worked, after which it is confirmed."""

FOLLOWED_NOTE: Final = "hooks saw a call that follows it"

_OF_SESSION: Final = "session "
"""Stands before the id of a session, where an outcome has one in place of the id of a recall."""

_MOST_SHOWN: Final = 100
"""Lessons that a call is compared with."""

_MOST_CALLS: Final = 50
"""Ids of calls that are kept of a session and lesson."""


@dataclass(frozen=True, slots=True)
class WeightedOutcome:
    """An outcome: success is 1, 0.5 or 0, weight in (0, 1]; `proven` unless it is only an agent's own word."""

    success: float
    weight: float
    proven: bool = True


class Totals(NamedTuple):
    """The sum of a lesson's outcomes; `effectiveness` is None before the first.

    `proof` is the weight of the proven ones; from `MAX_SELF_REPORTED` on, wins and losses count these alone.
    """

    effectiveness: float | None
    wins: float
    losses: float
    proof: float


def total(outcomes: Iterable[WeightedOutcome]) -> Totals:
    """Return the totals over all outcomes, oldest first.

    One proven success of weight 1 gives the average 0.65 (from 0.5 on, 0.3 of the way to 1), wins 1, losses 0, proof 1.
    """
    average: float | None = None
    proven = _Weights()
    self_reported = _Weights()
    for outcome in outcomes:
        if average is None:
            average = START
        average += RATE * outcome.weight * (outcome.success - average)
        if outcome.proven:
            proven.add(outcome)
        else:
            self_reported.add(outcome)
    share = _share_that_counts(proven, self_reported)
    wins = proven.wins + share * self_reported.wins
    weight = proven.weight + share * self_reported.weight
    losses = max(weight - wins, 0.0)
    return Totals(average, wins, losses, proven.weight)


@dataclass(slots=True)
class _Weights:
    """The weight of outcomes of one kind, and that of the good ones among them."""

    weight: float = 0.0
    wins: float = 0.0

    def add(self, outcome: WeightedOutcome) -> None:
        """Add the weight of an outcome."""
        self.weight += outcome.weight
        self.wins += outcome.weight * outcome.success


def _share_that_counts(proven: _Weights, self_reported: _Weights) -> float:
    """Return the share (0..1) of the self-reported weight that counts: see MAX_SELF_REPORTED.

    With no proof, outcomes of the weight 4 count a quarter each; from a proven weight of 1 on they count nothing.
    """
    if not self_reported.weight:
        return 0.0
    allowed = max(MAX_SELF_REPORTED - proven.weight, 0.0)
    return min(1.0, allowed / self_reported.weight)


class OutcomeRepository(Repository):
    """Records what became of using lessons."""

    def __init__(self, context: BankContext, recalls: RecallRepository) -> None:
        super().__init__(context)
        self._recalls = recalls

    async def record(
        self, scope: Scope, draft: OutcomeDraft, *, irrelevant: bool = False
    ) -> tuple[Updated, ...]:
        """Write the outcome for every lesson that it is about, and return the new effectiveness of each.

        If a recall is named without lessons, those that it showed share the weight of one outcome; named lessons get it
        whole. `irrelevant` lessons are linked to the recall whose task they did not fit, and their effectiveness stays.
        """
        await self._recalls.flush()
        recall_id = draft.recall_id or self.clock.new_id("out")
        values = {
            "success": draft.success,
            "evidence": draft.evidence,
            "now": self.clock.now(),
            "recall_id": recall_id,
        }

        def record(tx: Writing) -> tuple[Updated, ...]:
            """Write the outcomes in one transaction."""
            lessons: list[Lesson] = []
            if not draft.of_task:
                lessons = _lessons_of(tx, scope, draft)
            if irrelevant:
                link = {"relation": "irrelevant_to", "to_kind": "recall", "to_id": recall_id}
                tx.run_many("link_add", [{"from_id": lesson.id, **link} for lesson in lessons])
                return tuple(_answer(lesson, lesson.effectiveness) for lesson in lessons)
            # The task's outcome counts whether its lessons were shown or held out.
            if draft.recall_id is not None:
                tx.run("task_outcome_add", values)
            outcome = {**values, "weight": _weight_of(draft, len(lessons)), "note": draft.note}
            tx.run_many("outcome_add", [{**outcome, "lesson_id": lesson.id} for lesson in lessons])
            return tuple(_answer(lesson, recompute(tx, scope, lesson)) for lesson in lessons)

        return await self.db.write(scope.tenant, record)

    async def note_followed(
        self,
        scope: Scope,
        session: str,
        call: Call,
        *,
        shown: Sequence[str],
        worked: bool,
        call_id: str | None,
    ) -> None:
        """Note which lessons a call of a session follows; if the call worked, that is a good outcome of each.

        The call is compared with the lessons that hooks showed the session (`shown`, ids), and with those of recalls of
        the last hours. A call with an id counts once, however often it is reported.
        """
        await self._recalls.flush()
        now = self.clock.now()
        where = {"ids": list(shown), "since": now - SHOWN_SECONDS, "limit": _MOST_SHOWN}
        lessons_shown = await self.db.look(
            scope.tenant, lambda reading: reading.lessons("lessons_to_follow", scope, **where)
        )
        followed = [lesson for lesson in lessons_shown if follows(lesson, call)]
        if not followed:
            return

        def note(tx: Writing) -> None:
            for lesson in followed:
                _note_followed(tx, scope, lesson, session, worked=worked, call_id=call_id, now=now)

        await self.db.write(scope.tenant, note, brief=True)

    async def followed_lately(
        self, scope: Scope, ids: Sequence[str], *, worked: bool
    ) -> frozenset[str]:
        """Return which of some lessons any session followed in the last hours, by a call that `worked` or that failed."""
        values = scoped(scope, ids=list(ids), since=self.clock.now() - SHOWN_SECONDS)
        rows = await self.db.rows("followed_lately", values)
        return frozenset(row["lesson_id"] for row in rows if bool(row["worked"]) is worked)


def _weight_of(draft: OutcomeDraft, lesson_count: int) -> float:
    """Return the weight of an outcome for each lesson: named ones get it whole, those of a recall share it."""
    weight = EVIDENCE_WEIGHT[draft.evidence]
    if draft.backed:
        weight = BACKED_WEIGHT
    if draft.lesson_ids:
        return weight
    return weight / max(lesson_count, 1)


def _note_followed(
    tx: Writing,
    scope: Scope,
    lesson: Lesson,
    session: str,
    *,
    worked: bool,
    call_id: str | None,
    now: float,
) -> None:
    """Note that a call of a session follows a lesson, and record the success of one that worked as an outcome.

    A call that failed is no outcome: it may have failed for any reason. A call that was reported before is skipped.
    """
    of_lesson = scoped(scope, lesson_id=lesson.id, session=session)
    before = tx.row("followed_in", of_lesson)
    call_ids: list[str] = []
    if before is not None:
        call_ids = json.loads(before["calls"])
    if call_id is not None and call_id in call_ids:
        return
    if call_id:
        call_ids.append(call_id)
    kept_ids = call_ids[-_MOST_CALLS:]
    tx.run("followed_put", {**of_lesson, "worked": worked, "calls": kept_ids, "now": now})
    if not worked:
        return
    outcome = {
        "recall_id": f"{_OF_SESSION}{session}",
        "lesson_id": lesson.id,
        "success": 1.0,
        "evidence": Evidence.METRIC,
        "weight": EVIDENCE_WEIGHT[Evidence.METRIC],
        "note": FOLLOWED_NOTE,
        "now": now,
    }
    tx.run("outcome_add", outcome)
    recompute(tx, scope, lesson)


def add_measured_outcome(
    tx: Writing, scope: Scope, lesson_id: str, warning_id: str, *, success: float, now: float
) -> None:
    """Record what a call showed about a lesson that a warning quoted right before it, with a measurement's weight.

    The outcome is stored under the warning's id, so that one warning counts once; an erased lesson is skipped.
    """
    lesson = lesson_records.find(tx, scope, lesson_id)
    if lesson is None:
        return
    outcome = {
        "recall_id": warning_id,
        "lesson_id": lesson_id,
        "success": success,
        "evidence": Evidence.METRIC,
        "weight": EVIDENCE_WEIGHT[Evidence.METRIC],
        "note": "seen in the calls after a warning",
        "now": now,
    }
    tx.run("outcome_add", outcome)
    recompute(tx, scope, lesson)


def _lessons_of(tx: Writing, scope: Scope, draft: OutcomeDraft) -> list[Lesson]:
    """Return the lessons that the outcome is about, each once: those that are named, or else all of the recall.

    InputError if a named one was not among those of the recall, or if nothing was shown and nothing is named.
    """
    shown_ids: list[str] = []
    if draft.recall_id is not None:
        recall = recall_row(tx, scope, draft.recall_id)
        shown_ids = json.loads(recall["lesson_ids"])
        if not shown_ids and not recall["held_out"] and not draft.lesson_ids:
            raise InputError(
                "recall_id", "that recall showed nothing", "There is no outcome to record for it."
            )
    named: dict[str, Lesson] = {}
    for place, lesson_id in enumerate(draft.lesson_ids):
        field = f"lesson_ids[{place}]"
        if draft.recall_id is not None and lesson_id not in shown_ids:
            fault = f"'{quoted(lesson_id)}' was not among the lessons of {draft.recall_id}"
            raise InputError(field, fault, "Name lessons of that recall, or leave recall_id out.")
        named[lesson_id] = lesson_records.lesson_by_id(tx, scope, lesson_id, field)
    if named:
        return list(named.values())
    of_recall = (lesson_records.find(tx, scope, lesson_id) for lesson_id in shown_ids)
    return [lesson for lesson in of_recall if lesson is not None]  # one may have been erased since


def _answer(lesson: Lesson, effectiveness: float | None) -> Updated:
    """Return what the answer says of a lesson: its new effectiveness (0..1), None before its first outcome."""
    if effectiveness is not None:
        effectiveness = round(effectiveness, 4)
    return Updated(id=lesson.id, effectiveness=effectiveness, times_applied=lesson.times_applied)


def recompute(
    tx: Writing, scope: Scope, lesson: Lesson, seen: AbstractSet[str] = frozenset()
) -> float | None:
    """Write a record's totals over all of its outcomes; sessions that followed it with success confirm the record.

    The outcomes of a record that was merged count for the record that it was merged into, and no longer for itself: so
    this goes on to that record, which may have been merged as well. `seen` has the ids that were passed on the way, so
    that a circle ends. Returns the effectiveness (0..1) of the last record, None without any outcome.
    """
    merged_into = tx.row("merged_into", scoped(scope, lesson_id=lesson.id))
    rows: Sequence[Row] = ()
    if merged_into is None:
        rows = tx.rows("outcome_fold", {"lesson_id": lesson.id})
    totals = total(
        WeightedOutcome(row["success"], row["weight"], proven=row["evidence"] != Evidence.SELF)
        for row in rows
    )
    trust = lesson.trust
    if trust is Trust.OBSERVED and merged_into is None and _is_proven(tx, scope, lesson.id):
        trust = Trust.CONFIRMED
    tx.run(
        "lesson_outcome",
        {**totals._asdict(), "id": lesson.id, "trust": trust, "tenant": scope.tenant},
    )
    if merged_into is None or merged_into["id"] in seen:
        return totals.effectiveness
    return recompute(tx, scope, lesson_from(merged_into), seen | {lesson.id})


def _is_proven(tx: Writing, scope: Scope, lesson_id: str) -> bool:
    """Return whether enough sessions followed a lesson with success: see PROVING_SESSIONS."""
    row = tx.row("followed_sessions", scoped(scope, lesson_id=lesson_id))
    return row is not None and row["count"] >= PROVING_SESSIONS
