"""A store made elsewhere: lessons and reflections in memory, found by the words that they share with a task."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.common import RULES, Json, Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, State, Stored
from mcp_reflect.models.outcome import OutcomeDraft, Updated
from mcp_reflect.models.recall import Fit, Hit, Recall, RecallQuery
from mcp_reflect.models.reflection import ReflectionDraft, StoredReflection

_SHOWN = "id kind text mistake correction task_type tags importance confidence times_applied trust source".split()


class MemoryStore:
    """Its four parts are itself but for the reflections."""

    def __init__(self) -> None:
        self.by_id: dict[str, Lesson] = {}
        self.recalled: dict[str, list[str]] = {}
        self.lessons = self.recalls = self.outcomes = self
        self.reflections = MemoryReflections(self)

    async def store(self, scope: Scope, draft: LessonDraft) -> Stored:
        lesson_id = f"les_{len(self.by_id):08d}"
        times: dict[str, Any] = {"created_at": 0.0, "updated_at": 0.0}
        self.by_id[lesson_id] = Lesson(
            **_fields(draft), **times, id=lesson_id, project=scope.project
        )
        return Stored(lesson_id=lesson_id, status="stored", scope=str(scope))

    async def get(self, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson:
        if lesson_id not in self.by_id:
            raise NotFoundError(
                field, f"there is no {lesson_id} in {scope}", "Send the id of a recall."
            )
        return self.by_id[lesson_id]

    async def set_state(self, scope: Scope, lesson_id: str, state: State, reason: str) -> Lesson:
        self.by_id[lesson_id] = replace(await self.get(scope, lesson_id), state=state, why=reason)
        return self.by_id[lesson_id]

    async def recall(
        self, scope: Scope, ask: RecallQuery, *, applied: bool = True, holdout: float = 0.0
    ) -> Recall:
        assert applied
        assert not holdout
        words = set(" ".join((ask.task, *ask.symptoms)).lower().split())
        found = [item for item in self.by_id.values() if words & set(item.text.lower().split())]
        active = [
            item
            for item in found
            if item.state is State.ACTIVE and item.kind in (ask.kinds or (item.kind,))
        ]
        recall_id = f"rec_{len(self.recalled)}"
        self.recalled[recall_id] = [item.id for item in active[: ask.limit]]
        hits = tuple(_hit(item) for item in active[: ask.limit])
        return Recall(recall_id=recall_id, lessons=hits, scope=str(scope))

    async def lessons_of(self, scope: Scope, recall_id: str) -> list[Lesson]:
        return [await self.get(scope, name) for name in self.recalled[recall_id]]

    async def record(
        self, scope: Scope, draft: OutcomeDraft, *, irrelevant: bool = False
    ) -> tuple[Updated, ...]:
        updated: list[Updated] = []
        for name in draft.lesson_ids or self.recalled[draft.recall_id or ""]:
            lesson = await self.get(scope, name)
            worth = lesson.effectiveness if irrelevant else draft.success
            self.by_id[name] = replace(
                lesson, effectiveness=worth, times_applied=lesson.times_applied + 1
            )
            updated.append(
                Updated(id=name, effectiveness=worth or 0.0, times_applied=lesson.times_applied + 1)
            )
        return tuple(updated)


class MemoryReflections:
    """Reflections; their lessons go to the store."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._stored: dict[str, StoredReflection] = {}

    async def store(self, scope: Scope, draft: ReflectionDraft) -> StoredReflection:
        name = f"ref_{len(self._stored):08d}"
        lessons = [await self._store.store(scope, lesson) for lesson in draft.lessons]
        learned: list[Json] = [
            {"id": lesson.lesson_id, "status": lesson.status} for lesson in lessons
        ]
        own = {"reflection_id": name, "lessons": learned}
        told: dict[str, Any] = {
            "trace": draft.run,
            **{field: draft.run[field] for field in ("task", "outcome")},
        }
        told |= {
            "thinker": draft.reflection.thinker,
            "digest": draft.digest,
            "body": {**draft.body, **own},
        }
        stored = StoredReflection(
            **told, id=name, project=scope.project, version=1, created_at=0, updated_at=0
        )
        self._stored[name] = stored
        return stored

    async def next_version(
        self, scope: Scope, before: StoredReflection, draft: ReflectionDraft
    ) -> StoredReflection:
        stored = replace(await self.store(scope, draft), id=before.id, version=before.version + 1)
        self._stored[before.id] = replace(stored, body={**stored.body, "reflection_id": before.id})
        return self._stored[before.id]

    async def by_id(self, scope: Scope, reflection_id: str) -> StoredReflection:
        if reflection_id not in self._stored:
            raise NotFoundError(
                "reflection_id", f"there is no {reflection_id} in {scope}", "Send the id of one."
            )
        return self._stored[reflection_id]

    async def of_same_run(
        self, scope: Scope, run_digest: str, *, by_model: bool
    ) -> list[StoredReflection]:
        same = [item for item in self._of(scope) if item.digest == run_digest]
        return [item for item in same if (item.thinker != RULES) == by_model]

    async def metrics_before(self, scope: Scope, component: str) -> dict[str, Json]:
        runs: list[Any] = [item.trace for item in self._of(scope)]
        same = [
            run["execution"]
            for run in runs
            if run.get("execution", {}).get("component") == component
        ]
        return same[-1].get("metrics", {}) if same else {}

    async def important(
        self, scope: Scope, *, limit: int, min_importance: float, tags: Sequence[str] = ()
    ) -> list[StoredReflection]:
        bodies: list[tuple[StoredReflection, Any]] = [(item, item.body) for item in self._of(scope)]
        tagged = [(item, body) for item, body in bodies if not tags or {*tags} & {*body["tags"]}]
        return [item for item, body in tagged if (body["importance"] or 0) >= min_importance][
            :limit
        ]

    def _of(self, scope: Scope) -> list[StoredReflection]:
        return [item for item in self._stored.values() if item.project == scope.project]


def _fields(draft: LessonDraft) -> dict[str, Any]:
    return {name: getattr(draft, name) for name in LessonDraft.__dataclass_fields__}


def _hit(lesson: Lesson) -> Hit:
    shown = {name: value for name, value in asdict(lesson).items() if name in _SHOWN}
    return Hit(**shown, age_days=0, score=0.9, fit=Fit.STRONG, why="shares words")
