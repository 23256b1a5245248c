"""Dreams, which consolidate a project: lessons that say the same are merged, and harmful ones are archived.

A plan, of rules alone (`planned`) or of a language model, is applied in one transaction, and undone in one.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import RULES, Scope
from mcp_reflect.models.dream import Archiving, Dream, DreamPlan, Generalization, Merge, Undone
from mcp_reflect.models.lesson import Lesson, LessonDraft, State, Trust
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage import lesson_merging, lesson_records, outcomes, screening
from mcp_reflect.storage.repository import Reading, Repository, Writing, transaction
from mcp_reflect.storage.rows import LISTS
from mcp_reflect.storage.seen import refuse_changed_lessons
from mcp_reflect.storage.similarity import alike, nearest, same_record
from mcp_reflect.storage.values import scoped
from mcp_reflect.text.signature import digest

BY_PERSON: Final = "a person merged them"
"""The reason of a merge that a person asked for: it may change what a person keeps."""

ALIKE: Final = 0.35
"""The least Jaccard similarity of the words of any two members of a cluster."""

MOST_RECORDS: Final = 600
"""The most important recent records of a project, over which a dream plans; comparing them takes about a second."""

_FIELDS_NOT_MERGED: Final = ("kind", "trust", "source", "context", "task_type", "external_id")
"""The fields that no merge changes."""

_RESTORED_FIELDS: Final = (
    *(field.name for field in fields(LessonDraft) if field.name not in _FIELDS_NOT_MERGED),
    "strength",
)
"""The fields that undoing restores: all that a merge can change, and the state."""

_RATE_PLACES: Final = 4  # decimal places to which the rates of two records are compared

_HARMFUL: Final = "its outcomes prove that it does more harm than good"


def planned(records: Sequence[Lesson]) -> DreamPlan:
    """Return the plan of rules alone: merge what says the same, archive what proved harmful.

    Rules write no new text. The same records give the same plan in any order, and an applied plan leaves nothing for the
    next one. The plan also names the clusters of similar records, of which a language model may make general lessons.
    """
    useless = [record for record in records if _is_useless(record)]
    useful = [record for record in records if not _is_useless(record)]
    groups = same_groups(useful)
    similar = clusters([best for best, *_others in groups])
    merges: list[Merge] = []
    for best, *others in groups:
        gone = tuple(record.id for record in others if not record.is_kept_by_person)
        if gone:
            merges.append(Merge(keep=best.id, gone=gone, reason="the same in other words"))
    return DreamPlan(
        looked_at=len(records),
        clusters=tuple(tuple(member.id for member in cluster) for cluster in similar),
        merges=tuple(merges),
        archivings=tuple(Archiving(id=record.id, reason=_HARMFUL) for record in useless),
        thinker=RULES,
    )


def _is_useless(record: Lesson) -> bool:
    """Return whether rules archive a record: its outcomes prove harm, it is not important, and no person keeps it."""
    is_important = record.importance >= lesson_records.NEVER_FROM
    return record.harmful and not is_important and not record.is_kept_by_person


def same_groups(records: Iterable[Lesson]) -> list[tuple[Lesson, ...]]:
    """Group the records that say the same; each group has its best record first.

    Beginning with the best, each record joins the first group whose best record says the same, or begins a new one.
    """
    best_first = sorted(records, key=_worth)
    return _grouped(best_first, lambda group, record: same_record(group[0], record))


def clusters(records: Sequence[Lesson]) -> list[tuple[Lesson, ...]]:
    """Return clusters of two and more records of one kind in which every two members are similar.

    A record joins the first cluster that it can, in the order of the texts, never in that of the records.
    """

    def is_similar_to_all(group: list[Lesson], record: Lesson) -> bool:
        if group[0].kind is not record.kind:
            return False
        return all(alike(record.text, other.text) >= ALIKE for other in group)

    in_order_of_texts = sorted(
        records, key=lambda record: (record.kind.value, record.text, record.id)
    )
    groups = _grouped(in_order_of_texts, is_similar_to_all)
    return [group for group in groups if len(group) > 1]


def _grouped(
    records: Iterable[Lesson], joins: Callable[[list[Lesson], Lesson], bool]
) -> list[tuple[Lesson, ...]]:
    """Put each record into the first group that it `joins`, or into a new one."""
    groups: list[list[Lesson]] = []
    for record in records:
        for group in groups:
            if joins(group, record):
                group.append(record)
                break
        else:
            groups.append([record])
    return [tuple(group) for group in groups]


def _worth(record: Lesson) -> tuple[int, float, int, float, str, str]:
    """Return the key that sorts the best first, by the contents of the records; the id decides between equal ones."""
    trust_rank = list(Trust).index(record.trust)  # the least trusted has the rank 0
    return (
        -trust_rank,
        -round(record.rate, _RATE_PLACES),
        -record.strength,
        -record.importance,
        record.text,
        record.id,
    )


class ConsolidationRepository(Repository):
    """Dreams: their plans archive records and link them, and delete none, so that a dream can be undone."""

    async def load(self, scope: Scope) -> list[Lesson]:
        """Return the important recent records of a project, without global ones."""
        return await self.db.look(scope.tenant, lambda reading: _records(reading, scope), long=True)

    async def last(self, scope: Scope) -> tuple[str, float]:
        """Return the digest of the records as the last dream left them, and its time; ("", 0) before the first.

        Records with the same digest have not changed since, so that a dream would find nothing to do.
        """
        row = await self.db.row("dream_last", scoped(scope))
        if row is None:
            return ("", 0.0)
        return (row["digest"], row["created_at"])

    async def latest(self, scope: Scope, limit: int = 20) -> list[dict[str, Any]]:
        """Return the dreams of a project, newest first."""
        rows = await self.db.rows("dream_list", scoped(scope, limit=limit))
        return [{**dict(row), "plan": json.loads(row["plan"])} for row in rows]

    @transaction
    def dream(
        self,
        tx: Writing,
        scope: Scope,
        plan_of: Callable[[list[Lesson]], DreamPlan],
        *,
        part: bool = False,
        by: Speaker = Speaker.AGENT,
        seen: Seen = NOTHING_SEEN,
    ) -> Dream:
        """Make a plan of the records and apply it, in one transaction: of two dreams at once, one finds nothing to do.

        `part` says that the plan is only a part of what was due: the next dream looks at the records again. ChangedError
        if a record is not as the person who asks for it was shown it (`seen`).
        """
        refuse_changed_lessons(tx, scope, seen)
        plan = plan_of(_records(tx, scope))
        if plan.empty and not plan.tokens:
            return Dream(dream_id=None, status="nothing_to_do", plan=plan, scope=str(scope))
        dream_id = self.clock.new_id("drm")
        now = self.clock.now()
        changes = _Changes(tx, scope, now, by)
        for generalization in plan.generalizations:
            record = screening.record_of(generalization.lesson, scope, self.clock)
            changes.generalize(generalization, screening.screened(record))
        for merge in plan.merges:
            changes.merge(merge, f"merged in dream {dream_id}")
        for archiving in plan.archivings:
            record = lesson_records.lesson_by_id(tx, scope, archiving.id)
            if not record.is_kept_by_person:
                archived = replace(record, state=State.ARCHIVED)
                changes.write(record, archived, f"archived: {archiving.reason}")
        lesson_records.archive_excess(tx, scope, self.context.size, now)
        digest_after = ""
        if not part:
            digest_after = digest_of(_records(tx, scope))
        values = scoped(
            scope,
            id=dream_id,
            digest=digest_after,
            tokens=plan.tokens,
            plan=json.loads(json.dumps(asdict(plan))),
            changes={"records": changes.records, "added": changes.added},
            now=now,
        )
        tx.run("dream_add", values)
        return Dream(
            dream_id=dream_id,
            status="applied",
            plan=plan,
            added=tuple(changes.added),
            scope=str(scope),
        )

    @transaction
    def undo(
        self, tx: Writing, scope: Scope, dream_id: str, *, by: Speaker = Speaker.AGENT
    ) -> Undone:
        """Restore the records that a dream changed, and archive those that it added, in one transaction.

        Records that changed since stay as they are, and their ids are `skipped` in the answer; so are those that a
        person keeps, unless a person asks.
        """
        now = self.clock.now()
        reason = f"dream {dream_id} undone"
        fix = "`mcp-reflect dream --list` shows the dreams."
        row = tx.existing("dream_by_id", scope, "dream_id", dream_id, fix)
        if row["state"] == "undone":
            raise InputError("dream_id", "that dream is undone already", "Name another one.")
        changes = json.loads(row["changes"])
        restored_ids: list[str] = []
        skipped_ids: list[str] = []
        for record_id, change in changes["records"].items():
            current = lesson_records.find(tx, scope, record_id)
            if current is None or not _may_undo(current, change, by):
                skipped_ids.append(record_id)
                continue
            restored = replace(current, **_fields_before(change["before"]), updated_at=now)
            lesson_records.revise(tx, scope, current, screening.judged(restored), reason, by=by)
            restored_ids.append(record_id)
        for merge in json.loads(row["plan"])["merges"]:
            for record_id in set(restored_ids).intersection(merge["gone"]):
                tx.run_many("link_remove", _merge_links(record_id, merge["keep"]))
        # Merged records get their outcomes back, and the kept record only its own.
        for record_id in restored_ids:
            outcomes.recompute(tx, scope, lesson_records.lesson_by_id(tx, scope, record_id))
        for record_id in changes["added"]:
            added_record = lesson_records.find(tx, scope, record_id)
            if added_record is not None and _may_change(added_record, by):
                lesson_records.set_state(tx, scope, record_id, State.ARCHIVED, reason, now, by=by)
        tx.run("dream_undone", scoped(scope, id=dream_id))
        lesson_records.archive_excess(tx, scope, self.context.size, now)
        return Undone(dream_id=dream_id, restored=tuple(restored_ids), skipped=tuple(skipped_ids))


@dataclass
class _Changes:
    """Writes the changes of a plan at `now`, and collects the values by which they can be undone."""

    tx: Writing
    scope: Scope
    now: float
    by: Speaker
    # By the id of a changed record: its fields before the change ("before"), and the time of the change ("after").
    records: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    added: list[str] = field(default_factory=list[str])  # the ids of new records

    def merge(self, merge: Merge, reason: str) -> None:
        """Merge records into the one to keep, archive them, and give their outcomes to that one.

        A person's lesson stays as it is, unless a person merges: records that say the same are only archived then.
        """
        kept = self._record(merge.keep)
        named_records = [self._record(record_id) for record_id in merge.gone]
        merged_records = [record for record in named_records if _may_change(record, self.by)]
        if not _may_change(kept, self.by):
            self.archive(merged_records, kept)
            return
        result = kept
        for record in merged_records:
            if record.text != kept.text:
                lesson_records.keep_version(self.tx, kept.id, f"merged from {record.id}", record)
            result = lesson_merging.merged(result, record)
        wording = merge.wording
        if wording is not None:
            reworded = replace(
                result,
                mistake=wording.mistake,
                correction=wording.correction,
                text=wording.text,
            )
            result = screening.redacted(reworded)
        self.write(kept, result, reason)
        self.archive(merged_records, kept)
        for record in merged_records:
            self.tx.run_many("link_add", _merge_links(record.id, kept.id))
        for record in (*merged_records, kept):
            outcomes.recompute(self.tx, self.scope, self._record(record.id))

    def _record(self, record_id: str) -> Lesson:
        """Return a record as the transaction sees it now."""
        return lesson_records.lesson_by_id(self.tx, self.scope, record_id)

    def archive(self, records: Sequence[Lesson], kept: Lesson) -> None:
        """Archive records that say the same as the one that is kept."""
        for record in records:
            self.write(record, replace(record, state=State.ARCHIVED), f"merged into {kept.id}")

    def generalize(self, generalization: Generalization, lesson: Lesson) -> None:
        """Add the general lesson with links to its sources, unless the bank has one that says the same."""
        if lesson_merging.first_equal(lesson, nearest(self.tx, self.scope, lesson)) is not None:
            return
        lesson_records.insert(self.tx, self.scope, lesson)
        self.added.append(lesson.id)
        for source_id in generalization.sources:
            links = [
                _link(lesson.id, "derived_from", source_id),
                _link(source_id, "source_of", lesson.id),
            ]
            self.tx.run_many("link_add", links)

    def write(self, before: Lesson, after: Lesson, reason: str) -> None:
        """Write a changed record with a version of its earlier wording, and note the values that undo the change."""
        after = replace(after, updated_at=self.now)
        lesson_records.revise(self.tx, self.scope, before, after, reason, by=self.by)
        fields_before = {name: getattr(before, name) for name in _RESTORED_FIELDS}
        self.records[before.id] = {"before": fields_before, "after": self.now}


def _link(from_id: str, relation: str, to_id: str) -> dict[str, str]:
    """Return the values of a link between two records."""
    return {"from_id": from_id, "relation": relation, "to_kind": "record", "to_id": to_id}


def _merge_links(merged_id: str, kept_id: str) -> list[dict[str, str]]:
    """Return the two links between a merged record and the one that was kept."""
    return [_link(merged_id, "merged_into", kept_id), _link(kept_id, "merged_from", merged_id)]


def digest_of(records: list[Lesson]) -> str:
    """Return 16 hex digits that identify the state of records, including the scores that outcomes change."""
    state = sorted(
        [lesson.id, lesson.updated_at, lesson.wins, lesson.losses, lesson.times_applied]
        for lesson in records
    )
    return digest(json.dumps(state))


def _records(reading: Reading, scope: Scope) -> list[Lesson]:
    """Return the records over which a dream plans."""
    return reading.lessons("dream_records", scope, limit=MOST_RECORDS)


def _may_change(record: Lesson, by: Speaker) -> bool:
    """Return whether a speaker may change a record: one that a person keeps, only a person may."""
    return by is Speaker.PERSON or not record.is_kept_by_person


def _may_undo(record: Lesson, change: dict[str, Any], by: Speaker) -> bool:
    """Return whether a speaker may change a record back: it must be as the dream left it at the time `after`."""
    return _may_change(record, by) and record.updated_at == change["after"]


def _fields_before(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a record's fields before a dream, from JSON, which has no enums and tuples."""
    lists = {name: tuple(stored[name]) for name in LISTS}
    return {**stored, **lists, "state": State(stored["state"])}
