"""Consolidation of a bank ("dream"): the plan by rules, its changes applied and undone, each in one transaction."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import RULES, Scope
from mcp_reflect.models.lesson import (
    Archiving,
    Dream,
    DreamPlan,
    Generalization,
    Lesson,
    LessonDraft,
    Merge,
    State,
    Trust,
    Undone,
)
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage import lesson_merging, lesson_records, outcomes, screening
from mcp_reflect.storage.repository import Reading, Repository, Writing, transaction
from mcp_reflect.storage.rows import LISTS
from mcp_reflect.storage.similarity import alike, nearest, same_record
from mcp_reflect.storage.values import scoped
from mcp_reflect.text.signature import digest

# The plan of rules: merge what says the same, archive what proved useless. Rules write no new text. The same records
# give the same plan in any order, and an applied plan leaves nothing for the next one.

BY_PERSON: Final = "a person merged them"
"""The reason of a merge that a person asked for: it may change what a person keeps."""

ALIKE: Final = 0.35  # the minimum Jaccard similarity of the words of any two members of a cluster

_HARMFUL: Final = "its outcomes prove that it does more harm than good"


def planned(records: Sequence[Lesson]) -> DreamPlan:
    """Return the plan of rules alone."""
    useless = {
        record.id
        for record in records
        if record.importance < lesson_records.NEVER_FROM
        and not record.is_kept_by_person
        and record.harmful
    }
    groups = [
        (first, *(record for record in others if not record.is_kept_by_person))
        for first, *others in same_groups(one for one in records if one.id not in useless)
    ]
    similar = clusters([first for first, *_ in groups])
    return DreamPlan(
        looked_at=len(records),
        clusters=tuple(tuple(member.id for member in cluster) for cluster in similar),
        merges=tuple(
            Merge(
                keep=first.id,
                gone=tuple(record.id for record in others),
                reason="the same in other words",
            )
            for first, *others in groups
            if others
        ),
        archivings=tuple(
            Archiving(id=record.id, reason=_HARMFUL) for record in records if record.id in useless
        ),
        thinker=RULES,
    )


def same_groups(records: Iterable[Lesson]) -> list[tuple[Lesson, ...]]:
    """Group the records that say the same, the best first: each joins the first group whose best one says the same."""
    return _grouped(
        sorted(records, key=_worth), lambda group, record: same_record(group[0], record)
    )


def clusters(records: Sequence[Lesson]) -> list[tuple[Lesson, ...]]:
    """Return clusters of two and more records of one kind in which every two members are similar.

    A record joins the first cluster that it can, in the order of the texts, never in that of the records.
    """

    def joins(group: list[Lesson], record: Lesson) -> bool:
        return group[0].kind is record.kind and all(
            alike(record.text, other.text) >= ALIKE for other in group
        )

    ordered = sorted(records, key=lambda record: (record.kind.value, record.text, record.id))
    return [group for group in _grouped(ordered, joins) if len(group) > 1]


def _grouped(
    records: Iterable[Lesson], joins: Callable[[list[Lesson], Lesson], bool]
) -> list[tuple[Lesson, ...]]:
    groups: list[list[Lesson]] = []
    for record in records:
        group = next((group for group in groups if joins(group, record)), None)
        if group is None:
            groups.append([record])
        else:
            group.append(record)
    return [tuple(group) for group in groups]


def _worth(record: Lesson) -> tuple[int, float, int, float, str, str]:
    """Sort the best first, by what is in the records, and by id only if they are equal in everything else."""
    trust = -list(Trust).index(record.trust)
    return (
        trust,
        -round(record.rate, 4),
        -record.strength,
        -record.importance,
        record.text,
        record.id,
    )


MOST_RECORDS: Final = (
    600  # the most important recent ones of a project; comparing them takes about a second
)
# The fields that undoing restores: what a merge can change, and the state.
_KEPT: Final = ("kind", "trust", "source", "context", "task_type", "external_id")
_RESTORED: Final = (
    *(field.name for field in fields(LessonDraft) if field.name not in _KEPT),
    "strength",
)


class ConsolidationRepository(Repository):
    """Dreams. Their plans add and supersede: every record stays, and is linked."""

    async def load(self, scope: Scope) -> list[Lesson]:
        """Return the important recent records of a project, without global ones."""
        return await self.db.look(scope.tenant, lambda reading: _records(reading, scope), long=True)

    async def last(self, scope: Scope) -> tuple[str, float]:
        """Return the digest of the records as the last dream left them, and its time; ("", 0) before the first."""
        row = await self.db.row("dream_last", scoped(scope))
        if row:
            return (row["digest"], row["created_at"])
        return ("", 0.0)

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
    ) -> Dream:
        """Plan over the records and apply the plan, in one transaction: of two dreams at once, one finds nothing to do.

        `part` says that the plan is a part of what was due: the next dream looks at the records again.
        """
        plan = plan_of(_records(tx, scope))
        if plan.empty and not plan.tokens:
            return Dream(dream_id=None, status="nothing_to_do", plan=plan, scope=str(scope))
        dream_id, now = self.clock.new_id("drm"), self.clock.now()
        changes = _Changes(tx, scope, now, by)
        for new in plan.generalizations:
            changes.generalize(
                new, screening.screened(screening.record_of(new.lesson, scope, self.clock))
            )
        for merge in plan.merges:
            changes.merge(merge, f"merged in dream {dream_id}")
        for archiving in plan.archivings:
            record = lesson_records.lesson_by_id(tx, scope, archiving.id)
            if record.is_kept_by_person:
                continue
            changes.write(
                record, replace(record, state=State.ARCHIVED), f"archived: {archiving.reason}"
            )
        lesson_records.archive_excess(tx, scope, self.context.size, now)
        state = "" if part else digest_of(_records(tx, scope))
        values = scoped(scope, id=dream_id, digest=state, tokens=plan.tokens, now=now)
        undoing = {"records": changes.records, "added": changes.added}
        tx.run(
            "dream_add",
            {**values, "plan": json.loads(json.dumps(asdict(plan))), "changes": undoing},
        )
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
        """Restore what a dream changed, in one transaction; records that changed since stay as they are."""
        now, reason = self.clock.now(), f"dream {dream_id} undone"
        fix = "`mcp-reflect dream --list` shows the dreams."
        row = tx.existing("dream_by_id", scope, "dream_id", dream_id, fix)
        if row["state"] == "undone":
            raise InputError("dream_id", "that dream is undone already", "Name another one.")
        changes = json.loads(row["changes"])
        restored: list[Lesson] = []
        skipped: list[str] = []
        for name, change in changes["records"].items():
            current = lesson_records.find(tx, scope, name)
            if (
                current is None
                or not _may_undo(current, by)
                or current.updated_at != change["after"]
            ):
                skipped.append(name)
                continue
            earlier = replace(current, **_fields_before(change["before"]), updated_at=now)
            lesson_records.revise(tx, scope, current, screening.judged(earlier), reason, by=by)
            restored.append(current)
        names = {record.id for record in restored}
        for merge in json.loads(row["plan"])["merges"]:
            for name in names.intersection(merge["gone"]):
                tx.run_many("link_remove", _merge_links(name, merge["keep"]))
        # Merged records get their outcomes back, and the kept record only its own.
        for record in restored:
            outcomes.recompute(tx, scope, lesson_records.lesson_by_id(tx, scope, record.id))
        for name in changes["added"]:
            added = lesson_records.find(tx, scope, name)
            if added is not None and _may_undo(added, by):
                lesson_records.set_state(tx, scope, name, State.ARCHIVED, reason, now, by=by)
        tx.run("dream_undone", scoped(scope, id=dream_id))
        lesson_records.archive_excess(tx, scope, self.context.size, now)
        return Undone(
            dream_id=dream_id,
            restored=tuple(record.id for record in restored),
            skipped=tuple(skipped),
        )


@dataclass
class _Changes:
    """The changes of a plan as they are written at `now`, with what undoes them."""

    tx: Writing
    scope: Scope
    now: float
    by: Speaker
    records: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    added: list[str] = field(default_factory=list[str])

    def merge(self, merge: Merge, reason: str) -> None:
        keep, *gone = (
            lesson_records.lesson_by_id(self.tx, self.scope, name)
            for name in (merge.keep, *merge.gone)
        )
        # A person's lesson stays as it is, whatever says the same.
        by_person = self.by is Speaker.PERSON
        after, gone = keep, [one for one in gone if by_person or not one.is_kept_by_person]
        if keep.is_kept_by_person and not by_person:
            self.archive(gone, keep)
            return
        for record in gone:
            if record.text != keep.text:
                lesson_records.keep_version(self.tx, keep.id, f"merged from {record.id}", record)
            after = lesson_merging.merged(after, record)
        if merge.wording is not None:
            new = merge.wording
            after = screening.redacted(
                replace(after, mistake=new.mistake, correction=new.correction, text=new.text)
            )
        self.write(keep, after, reason)
        self.archive(gone, keep)
        for record in gone:
            self.tx.run_many("link_add", _merge_links(record.id, keep.id))
        for record in (*gone, keep):
            outcomes.recompute(
                self.tx, self.scope, lesson_records.lesson_by_id(self.tx, self.scope, record.id)
            )

    def archive(self, gone: Sequence[Lesson], keep: Lesson) -> None:
        for record in gone:
            self.write(record, replace(record, state=State.ARCHIVED), f"merged into {keep.id}")

    def generalize(self, new: Generalization, lesson: Lesson) -> None:
        """Add the new lesson unless it is there already, with links to its sources."""
        if lesson_merging.first_equal(lesson, nearest(self.tx, self.scope, lesson)) is not None:
            return
        lesson_records.insert(self.tx, self.scope, lesson)
        self.added.append(lesson.id)
        for name in new.sources:
            self.tx.run_many(
                "link_add",
                [_link(lesson.id, "derived_from", name), _link(name, "source_of", lesson.id)],
            )

    def write(self, before: Lesson, after: Lesson, reason: str) -> None:
        after = replace(after, updated_at=self.now)
        lesson_records.revise(self.tx, self.scope, before, after, reason, by=self.by)
        fields_before = {name: getattr(before, name) for name in _RESTORED}
        self.records[before.id] = {"before": fields_before, "after": self.now}


def _link(one: str, relation: str, other: str) -> dict[str, str]:
    return {"from_id": one, "relation": relation, "to_kind": "record", "to_id": other}


def _merge_links(gone: str, keep: str) -> list[dict[str, str]]:
    return [_link(gone, "merged_into", keep), _link(keep, "merged_from", gone)]


def digest_of(records: list[Lesson]) -> str:
    """Return 16 hex digits that name the state of records, including the scores that outcomes change."""
    state = sorted(
        [lesson.id, lesson.updated_at, lesson.wins, lesson.losses, lesson.times_applied]
        for lesson in records
    )
    return digest(json.dumps(state))


def _records(reading: Reading, scope: Scope) -> list[Lesson]:
    return reading.lessons("dream_records", scope, limit=MOST_RECORDS)


def _may_undo(record: Lesson, by: Speaker) -> bool:
    """Return whether a record may be changed back: one that a person keeps by a person alone."""
    return by is not Speaker.AGENT or not record.is_kept_by_person


def _fields_before(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a record's fields before a dream, from JSON."""
    fields = {**stored, "state": State(stored["state"])}
    return fields | {name: tuple(fields[name]) for name in LISTS}
