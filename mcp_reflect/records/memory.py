"""A reflection as it is written into the bank, with all that belongs to it, in one transaction."""

from dataclasses import dataclass

from mcp_reflect.records.failure import Failure, WorkedCall
from mcp_reflect.records.json import Json
from mcp_reflect.records.lesson import LessonDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A tie from a record to another one, or to an event, tool, file or error code."""

    relation: str
    to_kind: str
    to_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionDraft:
    """What reflecting on a run made. `body` is the tool's result without the ids that storing gives.

    `digest` names the run and the judgement: the same one again is the same reflection. `run_digest` names the run
    alone: who judges it anew can be told what is there.
    """

    task: str
    task_type: str | None
    outcome: str
    run_id: str | None
    thinker: str
    trace: Json
    body: Json
    digest: str
    run_digest: str
    face: LessonDraft
    strategy: LessonDraft | None
    lessons: tuple[LessonDraft, ...]
    failures: tuple[Failure, ...]
    worked: tuple[WorkedCall, ...] = ()
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReflection:
    """A reflection in the bank. Times are seconds since 1970 (UTC)."""

    id: str
    project: str
    task: str
    outcome: str
    thinker: str
    trace: Json
    body: Json
    digest: str
    version: int
    created_at: float
    updated_at: float
