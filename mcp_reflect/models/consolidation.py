"""A consolidation of the bank ("dream"): its plan, its result, and filters for browsing records."""

from dataclasses import dataclass

from mcp_reflect.models.lesson import LessonDraft, RecordKind, State

# A dream: what is to be done with the bank's records, planned first, then applied, and undone if a person wants.


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A mistake and its correction in new words; only the host or a language model writes any."""

    mistake: str
    correction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Records that say the same: `gone` are archived, `keep` is strengthened, and gets `wording` where there is one."""

    keep: str
    gone: tuple[str, ...]
    reason: str
    wording: Wording | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalisation:
    """A new lesson, and the records that it is derived from."""

    lesson: LessonDraft
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiving:
    """A record that has proved useless, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamPlan:
    """What a dream would do. `clusters` are ids of records that resemble each other, `ties` the new ones of them.

    `refused` says in words what the host or a model proposed that was not taken; `looked_at` counts records.
    """

    looked_at: int
    clusters: tuple[tuple[str, ...], ...] = ()
    ties: tuple[tuple[str, str], ...] = ()
    merges: tuple[Merge, ...] = ()
    generalisations: tuple[Generalisation, ...] = ()
    archivings: tuple[Archiving, ...] = ()
    refused: tuple[str, ...] = ()
    thinker: str
    note: str | None = None
    tokens: int = 0

    @property
    def empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.ties or self.merges or self.generalisations or self.archivings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dream:
    """What `dream` returns: `dream_id` is null where nothing was changed, `skipped` what had changed meanwhile."""

    dream_id: str | None
    status: str
    plan: DreamPlan
    added: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What `undo` returns: the records that are as they were, and those that had changed since and stay."""

    dream_id: str
    restored: tuple[str, ...]
    skipped: tuple[str, ...]


# Which records a person wants to see.


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a record must be; null and empty mean any. All `words` must be in it, in whatever case (of ASCII letters).

    `held` asks for what waits in quarantine, false for what does not. Effectiveness is in 0..1; a record without an
    outcome has none, and is not found by it.
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
