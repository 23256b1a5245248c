"""What rules read off a trace: findings, corrections that were seen, and what follows from them."""

from dataclasses import dataclass
from enum import StrEnum

from mcp_reflect.records.failure import Failure, WorkedCall
from mcp_reflect.records.json import Json
from mcp_reflect.records.trace import ErrorCategory


class FindingKind(StrEnum):
    """The kinds of things that rules find in a trace."""

    FAILING_EVENT = "failing_event"
    LOOP = "loop"
    ZERO_RESULTS = "zero_results"
    REPEATED_ERROR = "repeated_error"
    RECOVERED = "recovered"
    NO_ANSWER = "no_answer"
    USER_OBJECTION = "user_objection"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was seen, in a short sentence that names the events it was seen in."""

    kind: FindingKind
    event_ids: tuple[str, ...]
    text: str
    category: ErrorCategory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One argument that differs between two calls. `path` is nested (`filters.dates[0]`), `""` the whole.

    `before` is null for an argument that was added, `after` for one that was left out; `added` and
    `removed` tell that from a null that was sent.
    """

    path: str
    before: Json
    after: Json
    added: bool = False
    removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A call that failed and the related later call that worked: a lesson that was seen, not guessed.

    `changes` is empty where the same call worked the second time; `steps` are then the events between
    the two that made the difference. `confidence` is in 0..1, by the table in `reflect/rules/scores.py`.
    """

    failed_event_id: str
    worked_event_id: str
    tool: str
    category: ErrorCategory
    changes: tuple[Change, ...]
    mistake: str
    correction: str
    symptoms: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What the rules can say of a run. Importance and confidence are in 0..1, null where nothing was seen.

    `first_failing_event` is the earliest event that failed; `category` is that of the failure that
    mattered most, which is a later one where the first was put right. `calls` counts the calls that were
    made, `wasted` those of them that failed or went round in a loop.
    """

    summary: str
    category: ErrorCategory | None = None
    first_failing_event: str | None = None
    findings: tuple[Finding, ...] = ()
    corrections: tuple[Correction, ...] = ()
    importance: float | None = None
    confidence: float | None = None
    source_event_ids: tuple[str, ...] = ()
    strategy: str | None = None
    strengths: tuple[str, ...] = ()
    improvements: tuple[str, ...] = ()
    recommendation: str | None = None
    failures: tuple[Failure, ...] = ()
    worked: tuple[WorkedCall, ...] = ()
    calls: int = 0
    wasted: int = 0
