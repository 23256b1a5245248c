"""Consolidation of a bank: clusters, the plan by rules or by a model, applied and undone in one transaction."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.common import RULES, Scope
from mcp_reflect.models.consolidation import Archiving, DreamPlan, Generalisation, Merge, Undone
from mcp_reflect.models.lesson import Kind, Lesson, State, Trust, lesson_text
from mcp_reflect.models.reflection import Link
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage import lessons, outcomes
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.lessons import NEVER_FROM, keep_within
from mcp_reflect.storage.recalls import rates
from mcp_reflect.storage.similarity import contradict, nearest, points, same_lesson, same_text, telling_words, tie
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import lesson_from, scope_values
from mcp_reflect.storage.sqlite.statements import Transaction

# Records that resemble each other. The same records give the same clusters, in whatever order they come.


ALIKE: Final = 0.35
"""The least share of words that any two members of a cluster have in common (Jaccard)."""

_TRUST: Final = (Trust.QUARANTINED, Trust.OBSERVED, Trust.CONFIRMED, Trust.TRUSTED)

Stop = Callable[[], bool]
"""Asked now and then whether to give up: the work is done beside a server's calls, and yields to them."""


class StoppedError(Exception):
    """The work was given up, for somebody else needs the machine."""


def same_record(one: Lesson, other: Lesson) -> bool:
    """Whether two records of a kind say the same in nearly the same words."""
    if one.kind is not other.kind or one.project != other.project:
        return False
    if one.kind is not Kind.LESSON:
        return same_text(one.text, other.text)
    if None not in (one.task_type, other.task_type) and one.task_type != other.task_type:
        return False
    mine, theirs = (one.mistake or "", one.correction or ""), (other.mistake or "", other.correction or "")
    return same_lesson(mine, theirs) and not contradict(mine, theirs)


def _parts(record: Lesson) -> tuple[str, ...]:
    return (record.mistake or "", record.correction or "") if record.kind is Kind.LESSON else (record.text,)


def same_groups(records: Iterable[Lesson], stop: Stop) -> list[tuple[Lesson, ...]]:
    """Every record in one group, the one to keep first. No two kept ones are the same: once more finds none.

    A record joins the first one kept, in order of worth, that says the same.
    """
    groups: list[list[Lesson]] = []
    near: dict[object, list[list[Lesson]]] = {}  # what carries the point differs in no two that are the same
    for record in sorted(records, key=_worth):
        _heed(stop)
        some = near.setdefault((record.kind, *map(points, _parts(record))), [])
        home = next((group for group in some if same_record(group[0], record)), None)
        if home is None:
            home = list[Lesson]()
            groups.append(home)
            some.append(home)
        home.append(record)
    return [tuple(group) for group in groups]


def clusters(records: Sequence[Lesson], stop: Stop) -> list[tuple[Lesson, ...]]:
    """Clusters of two and more, each of one kind: complete linkage, so every two members are alike.

    The most alike are joined first; equals are told apart by their texts, never by their place.
    """
    ordered = sorted(records, key=lambda record: (record.kind.value, record.text, record.id))
    words = [telling_words(record.text) for record in ordered]
    near: dict[tuple[int, int], float] = {}
    for place, mine in enumerate(words):
        _heed(stop)
        for other in range(place + 1, len(words)):
            if ordered[place].kind is not ordered[other].kind:
                break  # sorted by kind
            share = len(mine & words[other]) / (len(mine | words[other]) or 1)
            if share >= ALIKE:
                near[place, other] = share
    home = list(range(len(ordered)))
    members = {place: [place] for place in home}
    for one, other in sorted(near, key=lambda pair: (-round(near[pair], 9), pair)):
        first, second = sorted((home[one], home[other]))
        every = ((min(a, b), max(a, b)) for a in members[first] for b in members[second])
        if first != second and all(pair in near for pair in every):
            for place in members[second]:
                home[place] = first
            members[first] += members.pop(second)
    return [tuple(ordered[place] for place in sorted(group)) for group in members.values() if len(group) > 1]


def _worth(record: Lesson) -> tuple[int, float, int, float, str, str]:
    """The best first; what tells two apart is in the records, and the id only where they are equal in all."""
    evidence = (record.wins + 2) / (record.wins + record.losses + 4)
    return (
        -_TRUST.index(record.trust),
        -round(evidence, 4),
        -record.strength,
        -record.importance,
        record.text,
        record.id,
    )


def _heed(stop: Stop) -> None:
    if stop():
        raise StoppedError


# What rules would do with a bank's records at rest: merge what says the same, tie what resembles, archive the
# useless.
#
# Rules write no new text. The same records give the same plan in whatever order they come, and a plan that was
# applied leaves nothing for the next one.


# Where nobody ever proved anything, an agent's own word is enough to archive (not to hide): shown so often, and of so
# little use by its own account.
OFTEN: Final = 8
LITTLE: Final = 0.25


def planned(
    records: Sequence[Lesson], rates: Rates, tied: Mapping[str, tuple[str, ...]], stop: Stop = lambda: False
) -> DreamPlan:
    """The plan of rules alone; `tied` says which records are tied as similar already."""
    useless = {record.id: reason for record in records if (reason := useless_reason(record, rates))}
    groups = same_groups((record for record in records if record.id not in useless), stop)
    found = clusters([group[0] for group in groups], stop)
    pairs = [(cluster[0].id, member.id) for cluster in found for member in cluster[1:]]
    return DreamPlan(
        looked_at=len(records),
        clusters=tuple(tuple(member.id for member in cluster) for cluster in found),
        ties=tuple(pair for pair in pairs if pair[1] not in tied.get(pair[0], ())),
        merges=tuple(
            Merge(keep=group[0].id, gone=tuple(one.id for one in group[1:]), reason="the same in other words")
            for group in groups
            if len(group) > 1
        ),
        archivings=tuple(Archiving(id=name, reason=reason) for name, reason in useless.items()),
        thinker=RULES,
    )


def may_archive(record: Lesson) -> bool:
    """Whether a record may be archived by itself at all."""
    return record.importance < NEVER_FROM and record.trust is not Trust.TRUSTED


def useless_reason(record: Lesson, rates: Rates) -> str | None:
    """Why a record has proved useless, null where it has not."""
    if not may_archive(record):
        return None
    if rates.harmful(record):
        return "its outcomes prove that it does more harm than good"
    tried = record.times_applied >= OFTEN and record.effectiveness is not None
    if tried and record.proof == 0 and (record.effectiveness or 0.0) < LITTLE:
        return f"shown {record.times_applied} times and of no use by its agents' own account"
    return None


# Dreams in the bank: what is looked at, the plan applied in one transaction, undone in one, and who may dream now.


MOST_RECORDS: Final = 600  # the most important recent ones of a project; comparing them takes about a second
SIMILAR: Final = "similar"
_MERGED: Final = ("merged_into", "merged_from")
_DAY: Final = 86_400
_RESTORED: Final = "state text mistake correction why symptoms keywords tags importance confidence strength".split()


class Dreams:
    """What dreaming reads and writes. A plan adds and supersedes: every record stays, and is linked."""

    def __init__(self, db: Database, clock: Clock, size: int | None) -> None:
        self._db = db
        self._clock = clock
        self._size = size

    async def look(self, scope: Scope) -> tuple[list[Lesson], Rates, dict[str, tuple[str, ...]]]:
        """The important recent records of a project (not the global ones), its rates, and which are tied as similar."""
        values = {"limit": MOST_RECORDS, **scope_values(scope)}
        records = [lesson_from(row) for row in await self._db.rows("dream_records", values)]
        tied: dict[str, tuple[str, ...]] = {}
        ids = [record.id for record in records]
        for row in await self._db.rows("links_among", {"ids": ids, "relation": SIMILAR}):
            tied[row["from_id"]] = (*tied.get(row["from_id"], ()), row["to_id"])
        return records, await self._db.look(lambda reading: rates(reading, scope)), tied

    async def lease(self, scope: Scope, holder: str, seconds: float) -> bool:
        """Take or renew the right to dream for `seconds`; false where another process has it."""
        now = self._clock.now()
        async with self._db.write() as tx:
            values = {"name": "dream", "holder": holder, "now": now, "until": now + seconds, **scope_values(scope)}
            return await tx.run("lease_take", values) == 1

    async def release(self, scope: Scope, holder: str) -> None:
        """Give it back."""
        async with self._db.write() as tx:
            await tx.run("lease_drop", {"name": "dream", "holder": holder, **scope_values(scope)})

    async def today(self, scope: Scope) -> tuple[int, int]:
        """How many dreams at idle a project had since midnight (UTC), and the tokens that all its dreams took."""
        since = self._clock.now() // _DAY * _DAY
        row = await self._db.row("dreams_since", {"since": since, **scope_values(scope)})
        return (row["idle"], row["tokens"]) if row else (0, 0)

    async def seen(self, scope: Scope, digest: str) -> bool:
        """Whether the last dream left the records as they are now."""
        row = await self._db.row("dream_last", scope_values(scope))
        return row is not None and row["digest"] == digest

    async def dreamt(self, scope: Scope, limit: int = 20) -> list[dict[str, Any]]:
        """The dreams of a project, newest first."""
        rows = await self._db.rows("dream_list", {"limit": limit, **scope_values(scope)})
        return [{**dict(row), "plan": json.loads(row["plan"])} for row in rows]

    async def apply(
        self, scope: Scope, plan: DreamPlan, looked: list[Lesson], *, idle: bool, part: bool = False
    ) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Do what the plan says, in one transaction: the dream's id, the ids it added, and those it passed over.

        A record that changed since it was looked at is passed over, with all that rests on it. `part` says that the
        plan is not all that was due, so that the next dream looks over the same records again.
        """
        dream_id = self._clock.new_id("drm")
        async with self._db.write() as tx:
            work = _Applying(tx, scope, dream_id, self._clock, {one.id: one for one in looked})
            for merge in plan.merges:
                await work.merge(merge)
            for made in plan.generalisations:
                await work.generalise(made)
            for archiving in plan.archivings:
                await work.archive(archiving)
            for one, other in plan.ties:
                await work.tie(one, SIMILAR, other)
                await work.tie(other, SIMILAR, one)
            for name in await keep_within(tx, scope, self._size, self._clock.now()):
                await work.left_out(name)
            rows = await tx.rows("dream_records", {"limit": MOST_RECORDS, **scope_values(scope)})
            values = {
                "id": dream_id,
                "plan": json.loads(json.dumps(asdict(plan))),
                "changes": work.changes,
                "digest": "" if part else digest_of([lesson_from(row) for row in rows]),
                "tokens": plan.tokens,
                "idle": int(idle),
                "now": self._clock.now(),
                **scope_values(scope),
            }
            await tx.run("dream_add", values)
        return dream_id, tuple(work.changes["added"]), tuple(work.skipped)

    async def undo(self, scope: Scope, dream_id: str) -> Undone:
        """Put back what a dream changed, in one transaction; what somebody changed since stays as it is."""
        async with self._db.write() as tx:
            row = await tx.row("dream_by_id", {"id": dream_id, **scope_values(scope)})
            if row is None:
                fix = "`mcp-reflect dream --list` shows the dreams."
                raise NotFoundError("dream_id", f"there is no '{quoted(dream_id)}' in {scope}", fix)
            if row["state"] == "undone":
                raise InputError("dream_id", "that dream is undone already", "Name another one.")
            changes = json.loads(row["changes"])
            restored: list[str] = []
            skipped: list[str] = []
            for name, change in changes["records"].items():
                current = await lessons.lesson(tx, scope, name) if await _there(tx, scope, name) else None
                if current is None or current.updated_at != change["after"]:
                    skipped.append(name)
                    continue
                await lessons.keep_version(tx, name, f"dream {dream_id} undone", current)
                now = self._clock.now()
                await lessons.change(tx, scope, replace(current, **_fields(change["before"]), updated_at=now))
                restored.append(name)
            for name in changes["added"]:
                await lessons.set_state(tx, scope, name, State.ARCHIVED, f"dream {dream_id} undone", self._clock.now())
            await tx.run_many("link_remove", changes["links"])
            # What was merged has its outcomes back, and the kept record only its own.
            for name in sorted({link["from_id"] for link in changes["links"] if link["relation"] in _MERGED}):
                if await _there(tx, scope, name):
                    await outcomes.refold(tx, scope, await lessons.lesson(tx, scope, name))
            await tx.run("dream_undone", {"id": dream_id, **scope_values(scope)})
            await keep_within(tx, scope, self._size, self._clock.now())
        return Undone(dream_id=dream_id, restored=tuple(restored), skipped=tuple(skipped))


class _Applying:
    """A plan on its way into the bank, with what is needed to undo it."""

    def __init__(self, tx: Transaction, scope: Scope, dream_id: str, clock: Clock, looked: dict[str, Lesson]) -> None:
        self._tx = tx
        self._scope = scope
        self._dream = dream_id
        self._clock = clock
        self._looked = looked
        self.changes: dict[str, Any] = {"records": {}, "added": [], "links": []}
        self.skipped: list[str] = []

    async def merge(self, merge: Merge) -> None:
        keep = await self._unchanged(merge.keep)
        gone = [one for name in merge.gone if (one := await self._unchanged(name)) is not None]
        if keep is None or not gone:
            return
        after = keep
        for one in gone:
            if one.text != keep.text:
                await lessons.keep_version(self._tx, keep.id, f"merged from {one.id}", one)
            after = lessons.joined(after, one)
        if merge.wording is not None:
            text = lesson_text(merge.wording.mistake, merge.wording.correction)
            words = {"mistake": merge.wording.mistake, "correction": merge.wording.correction, "text": text}
            after = lessons.cleaned(replace(after, **words))
        await self._change(keep, after, f"merged in dream {self._dream}")
        for one in gone:
            await self._change(one, replace(one, state=State.ARCHIVED), f"merged into {keep.id}")
            await self.tie(one.id, "merged_into", keep.id)
            await self.tie(keep.id, "merged_from", one.id)
        for name in (*(one.id for one in gone), keep.id):
            await outcomes.refold(self._tx, self._scope, await lessons.lesson(self._tx, self._scope, name))

    async def generalise(self, made: Generalisation) -> None:
        sources = [await self._unchanged(name) for name in made.sources]
        if None in sources:
            return
        lesson = lessons.made(made.lesson, self._scope, self._clock)
        if await lessons.twin(self._tx, self._scope, lesson) is not None:
            return
        await lessons.add_lessons(self._tx, self._scope, lesson)
        await tie(self._tx, lesson, await nearest(self._tx, self._scope, lesson))
        self.changes["added"].append(lesson.id)
        for name in made.sources:
            await self.tie(lesson.id, "derived_from", name)
            await self.tie(name, "source_of", lesson.id)

    async def archive(self, archiving: Archiving) -> None:
        record = await self._unchanged(archiving.id)
        if record is not None and may_archive(record):
            await self._change(record, replace(record, state=State.ARCHIVED), f"archived: {archiving.reason}")

    async def left_out(self, name: str) -> None:
        """Note a record that the limit on the bank's size archived now, so that undoing brings it back."""
        if name in self.changes["added"]:
            return
        gone = await lessons.lesson(self._tx, self._scope, name)
        before = replace(gone, state=State.ACTIVE)
        kept = self.changes["records"].setdefault(name, {"before": _first(before)})
        kept["after"] = gone.updated_at

    async def tie(self, one: str, relation: str, other: str) -> None:
        link = Link(relation=relation, to_kind="record", to_id=other)
        if await self._tx.run("link_add", {"from_id": one, **asdict(link)}):
            self.changes["links"].append({"from_id": one, **asdict(link)})

    async def _unchanged(self, name: str) -> Lesson | None:
        """The record as it was looked at, or as this dream left it; null where somebody changed it meanwhile."""
        row = await self._tx.row("lesson_by_id", {"id": name, **scope_values(self._scope)})
        current = None if row is None else lesson_from(row)
        before = self._looked.get(name)
        mine = self.changes["records"].get(name)
        expected = mine["after"] if mine else before and before.updated_at
        if current is None or current.state is not State.ACTIVE or current.updated_at != expected:
            self.skipped.append(name)
            return None
        return current

    async def _change(self, before: Lesson, after: Lesson, reason: str) -> None:
        await lessons.keep_version(self._tx, before.id, reason, before)
        now = self._clock.now()
        await lessons.change(self._tx, self._scope, replace(after, updated_at=now))
        kept = self.changes["records"].setdefault(before.id, {"before": _first(before)})
        kept["after"] = now


def digest_of(records: list[Lesson]) -> str:
    """What names the state of records: 16 hex digits; scores that outcomes move count too."""
    state = sorted([one.id, one.updated_at, one.wins, one.losses, one.times_applied] for one in records)
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16]


async def _there(tx: Transaction, scope: Scope, name: str) -> bool:
    return await tx.row("lesson_by_id", {"id": name, **scope_values(scope)}) is not None


def _first(before: Lesson) -> dict[str, Any]:
    """The fields that undoing puts back."""
    return {name: getattr(before, name) for name in _RESTORED}


def _fields(before: dict[str, Any]) -> dict[str, Any]:
    """The kept fields as the record has them."""
    lists = {name: tuple(before[name]) for name in ("symptoms", "keywords", "tags")}
    return {**before, **lists, "state": State(before["state"])}
