"""Dreams, which tidy up a project's records: what one plans, what it changed, and what an undo put back."""

from dataclasses import dataclass

from mcp_reflect.models.lesson import LessonDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Records that say the same, of which one stays."""

    keep: str  # the id of the one that stays, and is strengthened
    gone: tuple[str, ...]  # the ids of those that are archived
    reason: str
    wording: LessonDraft | None = None  # new words for the one that stays


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
    """The changes that a dream would make."""

    looked_at: int  # how many records
    clusters: tuple[tuple[str, ...], ...] = ()  # ids of records that are similar
    merges: tuple[Merge, ...] = ()
    generalizations: tuple[Generalization, ...] = ()
    archivings: tuple[Archiving, ...] = ()
    refused: tuple[str, ...] = ()  # why proposals of the host or a model are not in the plan
    thinker: str
    note: str | None = None
    tokens: int = 0

    @property
    def empty(self) -> bool:
        """True if it changes nothing."""
        return not (self.merges or self.generalizations or self.archivings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dream:
    """The result of a dream."""

    dream_id: str | None  # None if nothing changed
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
