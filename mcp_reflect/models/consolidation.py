"""A consolidation of the bank ("dream"): its plan and its result; and a filter for browsing records."""

from dataclasses import dataclass

from mcp_reflect.models.lesson import LessonDraft, RecordKind, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Records that say the same: `gone` are archived, `keep` is strengthened and may get the words of `wording`."""

    keep: str
    gone: tuple[str, ...]
    reason: str
    wording: LessonDraft | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalization:
    """A new lesson, and the records that it is derived from."""

    lesson: LessonDraft
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiving:
    """A useless record to be archived."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamPlan:
    """The changes of a dream. `looked_at` counts records; `clusters` are ids of similar ones.

    `refused` explains the proposals of the host or a model that are not in the plan.
    """

    looked_at: int
    clusters: tuple[tuple[str, ...], ...] = ()
    merges: tuple[Merge, ...] = ()
    generalizations: tuple[Generalization, ...] = ()
    archivings: tuple[Archiving, ...] = ()
    refused: tuple[str, ...] = ()
    thinker: str
    note: str | None = None
    tokens: int = 0

    @property
    def empty(self) -> bool:
        """True if it changes nothing."""
        return not (self.merges or self.generalizations or self.archivings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dream:
    """The result of a dream. `dream_id` is None where nothing changed."""

    dream_id: str | None
    status: str
    plan: DreamPlan
    added: tuple[str, ...] = ()
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The result of an undo: the records that are as before, and those that stay because they changed since."""

    dream_id: str
    restored: tuple[str, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Conditions on records; None and empty mean any. All `words` must occur, in any case (of ASCII letters).

    `held` asks for records in quarantine, False for others. Records without an outcome have no effectiveness (0..1).
    """

    words: tuple[str, ...] = ()
    kind: RecordKind | None = RecordKind.LESSON
    state: State | None = State.ACTIVE
    held: bool | None = None
    task_type: str | None = None
    tag: str | None = None
    min_effectiveness: float | None = None
    limit: int = 50
    offset: int = 0
