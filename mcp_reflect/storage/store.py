"""A store of lessons and reflections that is made elsewhere: the methods that the tools call.

Each takes the scope first and raises NotFoundError for an id that the scope does not have.
"""

from collections.abc import Sequence
from typing import Protocol

from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, OutcomeDraft, Recall, RecallQuery, State, Stored, Updated
from mcp_reflect.models.reflection import ReflectionDraft, StoredReflection


class Lessons(Protocol):
    """Lessons, strategies and reflections as records that are recalled."""

    async def store(self, scope: Scope, draft: LessonDraft) -> Stored: ...
    async def get(self, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson: ...
    async def set_state(self, scope: Scope, lesson_id: str, state: State, reason: str) -> Lesson: ...


class Recalls(Protocol):
    """Recalls. `applied` counts the lessons as used, `holdout` is the share of tasks that get none."""

    async def recall(self, scope: Scope, ask: RecallQuery, *, applied: bool = True, holdout: float = 0.0) -> Recall: ...
    async def lessons_of(self, scope: Scope, recall_id: str) -> list[Lesson]: ...


class Outcomes(Protocol):
    """Outcomes of using lessons. `irrelevant` leaves their effectiveness as it is."""

    async def record(self, scope: Scope, draft: OutcomeDraft, *, irrelevant: bool = False) -> tuple[Updated, ...]: ...


class Reflections(Protocol):
    """Reflections with the runs that they are about. Storing one also stores its strategy and lessons."""

    async def store(self, scope: Scope, draft: ReflectionDraft) -> StoredReflection: ...
    async def next_version(
        self, scope: Scope, before: StoredReflection, draft: ReflectionDraft
    ) -> StoredReflection: ...
    async def by_id(self, scope: Scope, reflection_id: str) -> StoredReflection: ...
    async def of_same_run(self, scope: Scope, run_digest: str, *, by_model: bool) -> list[StoredReflection]: ...
    async def metrics_before(self, scope: Scope, component: str) -> dict[str, Json]: ...
    async def important(
        self, scope: Scope, *, limit: int, min_importance: float, tags: Sequence[str] = ()
    ) -> list[StoredReflection]: ...


class Store(Protocol):
    """What a bank learned. Sessions, counts, searches and statistics stay in the bank's own file."""

    @property
    def lessons(self) -> Lessons: ...
    @property
    def recalls(self) -> Recalls: ...
    @property
    def outcomes(self) -> Outcomes: ...
    @property
    def reflections(self) -> Reflections: ...
