"""The repository of outcomes: the latest one of each use of a lesson, and the totals by which lessons are ranked."""

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
"""The most weight of all self-reported outcomes together: that of one proven outcome, less the proven weight.

No amount of praise lifts a lesson above one that a test has proved.
"""

SHOWN_SECONDS: Final = 6 * 3600.0
"""Hooks and tools share no id of a session: a recall of these last hours is taken for one of the session at hand."""

PROVING_SESSIONS: Final = 2
"""Sessions that were shown a lesson and followed it, and whose calls worked, after which it is confirmed."""

FOLLOWED_NOTE: Final = "hooks saw a call that follows it"

_SESSION_PREFIX: Final = "session "
"""Stands before the id of a session, where an outcome has one in place of the id of a recall."""

_MOST_COMPARED: Final = 100
"""Lessons that a call is compared with."""

_MOST_CALL_IDS: Final = 50
"""Ids of calls that are stored of a session and lesson."""

_ANSWER_PLACES: Final = 4  # decimal places of an effectiveness in an answer


@dataclass(frozen=True, slots=True)
class WeightedOutcome:
    """An outcome as it counts for the totals of a lesson."""

    success: float  # 1, 0.5 or 0
    weight: float  # in (0, 1], by its evidence
    proven: bool = True  # False for an agent's own word


class Totals(NamedTuple):
    """The sum of a lesson's outcomes."""

    effectiveness: float | None  # a moving average for people, None before the first outcome
    wins: float  # the weight of good outcomes
    losses: float  # the weight of bad ones
    proof: float  # the weight of proven ones; from MAX_SELF_REPORTED on, these alone count


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
    """Records whether lessons helped, and which lessons the calls of sessions followed."""

    def __init__(self, context: BankContext, recalls: RecallRepository) -> None:
        super().__init__(context)
        self._recalls = recalls

    async def record(
        self, scope: Scope, draft: OutcomeDraft, *, irrelevant: bool = False
    ) -> tuple[Updated, ...]:
        """Write the outcome for every lesson that it is about, and return the new effectiveness of each.

        | the outcome                           | is written                                                            |
        |---------------------------------------|-----------------------------------------------------------------------|
        | names lessons                         | with its whole weight for each                                        |
        | names a recall alone                  | for each lesson that the recall showed, with an equal share           |
        | names a recall                        | also for the task, whether its lessons were shown or held out         |
        | says that they are `irrelevant`       | as a link to the recall whose task they did not fit, and nothing else |
        """
        await self._recalls.flush()
        recall_id = draft.recall_id or self.clock.new_id("out")
        values = {
            "success": draft.success,
            "evidence": draft.evidence,
            "now": self.clock.now(),
            "recall_id": recall_id,
        }

        def write(tx: Writing) -> tuple[Updated, ...]:
            lessons: list[Lesson] = []
            if not draft.of_task:
                lessons = _lessons_of(tx, scope, draft)
            if irrelevant:
                link = {"relation": "irrelevant_to", "to_kind": "recall", "to_id": recall_id}
                tx.run_many("link_add", [{"from_id": lesson.id, **link} for lesson in lessons])
                return tuple(_answer(lesson, lesson.effectiveness) for lesson in lessons)
            if draft.recall_id is not None:
                tx.run("task_outcome_add", values)
            outcome = {**values, "weight": _weight_of(draft, len(lessons)), "note": draft.note}
            tx.run_many("outcome_add", [{**outcome, "lesson_id": lesson.id} for lesson in lessons])
            return tuple(_answer(lesson, recompute(tx, scope, lesson)) for lesson in lessons)

        return await self.db.write(scope.tenant, write)

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
        shown_lessons = await self.lessons(
            "lessons_to_follow",
            scope,
            ids=list(shown),
            since=now - SHOWN_SECONDS,
            limit=_MOST_COMPARED,
        )
        followed_lessons = [lesson for lesson in shown_lessons if follows(lesson, call)]
        if not followed_lessons:
            return

        def note(tx: Writing) -> None:
            for lesson in followed_lessons:
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
    """Return the weight of an outcome for each of its lessons.

    | the outcome                                | its weight                          |
    |--------------------------------------------|-------------------------------------|
    | is by evidence                             | as EVIDENCE_WEIGHT says             |
    | is an agent's word, backed                 | BACKED_WEIGHT                       |
    | names lessons                              | for each the whole weight           |
    | names a recall of `lesson_count` lessons   | for each an equal share             |
    """
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
    key = scoped(scope, lesson_id=lesson.id, session=session)
    earlier_row = tx.row("followed_in", key)
    call_ids: list[str] = []
    if earlier_row is not None:
        call_ids = json.loads(earlier_row["calls"])
    if call_id is not None and call_id in call_ids:
        return
    if call_id:
        call_ids.append(call_id)
    latest_ids = call_ids[-_MOST_CALL_IDS:]
    tx.run("followed_put", {**key, "worked": worked, "calls": latest_ids, "now": now})
    if not worked:
        return
    outcome = {
        "recall_id": f"{_SESSION_PREFIX}{session}",
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
    """Record whether a lesson was right that a warning quoted right before a call, with a measurement's weight.

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
    named_lessons: dict[str, Lesson] = {}
    for index, lesson_id in enumerate(draft.lesson_ids):
        field = f"lesson_ids[{index}]"
        if draft.recall_id is not None and lesson_id not in shown_ids:
            fault = f"'{quoted(lesson_id)}' was not among the lessons of {draft.recall_id}"
            raise InputError(field, fault, "Name lessons of that recall, or leave recall_id out.")
        named_lessons[lesson_id] = lesson_records.lesson_by_id(tx, scope, lesson_id, field)
    if named_lessons:
        return list(named_lessons.values())
    shown_lessons = (lesson_records.find(tx, scope, lesson_id) for lesson_id in shown_ids)
    # A lesson may have been erased since it was shown.
    return [lesson for lesson in shown_lessons if lesson is not None]


def _answer(lesson: Lesson, effectiveness: float | None) -> Updated:
    """Return a lesson for the answer with its new effectiveness (0..1), None before its first outcome."""
    if effectiveness is not None:
        effectiveness = round(effectiveness, _ANSWER_PLACES)
    return Updated(id=lesson.id, effectiveness=effectiveness, times_applied=lesson.times_applied)


def recompute(
    tx: Writing, scope: Scope, lesson: Lesson, visited_ids: AbstractSet[str] = frozenset()
) -> float | None:
    """Write a record's totals over all of its outcomes; sessions that followed it with success confirm the record.

    The outcomes of a merged record count for the record that it was merged into, and no longer for itself. That record
    is computed next, and may have been merged as well; `visited_ids` end a circle of such records. Returns the
    effectiveness (0..1) of the last record, None without any outcome.
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
    if merged_into is None or merged_into["id"] in visited_ids:
        return totals.effectiveness
    return recompute(tx, scope, lesson_from(merged_into), visited_ids | {lesson.id})


def _is_proven(tx: Writing, scope: Scope, lesson_id: str) -> bool:
    """Return whether enough sessions followed a lesson with success: see PROVING_SESSIONS."""
    row = tx.row("followed_sessions", scoped(scope, lesson_id=lesson_id))
    return row is not None and row["count"] >= PROVING_SESSIONS
