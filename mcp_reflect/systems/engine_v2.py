"""Reflection Engine V2: an agent's events and outcome go in, a reflection comes out, is stored, and is found again.

It is for programs written for the engine of that name: its classes, their fields and its three methods are here. The
reflection tells the facts of the events; a strategy is there where a language model wrote one. Tenant and project name
the scope in which it is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from mcp_reflect.config import Settings
from mcp_reflect.errors import NotFoundError
from mcp_reflect.llm.protocol import LLM
from mcp_reflect.models.common import to_json
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.models.run import EventType, Outcome
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.reflect import Generated
from mcp_reflect.sessions.reflector import STRATEGY_BONUS

SOURCE: Final = "reflection_engine_v2"
LAYER: Final = "rm"
_UNSCORED: Final = 0.5  # importance or confidence, by the document, where nobody gave one
_STRATEGY: Final = "strategy"


class NamedError(StrEnum):
    """The kinds of error that a caller may name; what it names is kept as it is."""

    TIMEOUT_ERROR = "timeout_error"
    TOOL_ERROR = "tool_error"
    LLM_ERROR = "llm_error"
    DATABASE_ERROR = "database_error"
    NETWORK_ERROR = "network_error"
    VALIDATION_ERROR = "validation_error"
    PERMISSION_ERROR = "permission_error"
    AUTHENTICATION_ERROR = "authentication_error"
    AUTH_ERROR = "auth_error"
    NOT_FOUND_ERROR = "not_found_error"
    RATE_LIMIT_ERROR = "rate_limit_error"
    RESOURCE_ERROR = "resource_error"
    RESOURCE_EXHAUSTION_ERROR = "resource_exhaustion_error"
    DEPENDENCY_ERROR = "dependency_error"
    CONFIGURATION_ERROR = "configuration_error"
    EXTERNAL_API_ERROR = "external_api_error"
    SYNTAX_ERROR = "syntax_error"
    ASSERTION_ERROR = "assertion_error"
    LOGIC_ERROR = "logic_error"
    CONFLICT_ERROR = "conflict_error"
    NO_RESULT_ERROR = "no_result_error"
    LOOP_ERROR = "loop_error"
    UNKNOWN_ERROR = "unknown_error"


def _now() -> datetime:
    """Return the time of an event that is made without one."""
    return datetime.now(UTC)


@dataclass
class ActorEvent:
    """One event of the run."""

    event_id: str
    event_type: EventType | str
    timestamp: datetime | str | None = field(default_factory=_now)
    content: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    tool_name: str | None = None
    error: dict[str, Any] | None = None


@dataclass
class ErrorInfo:
    """The error of the run as a whole."""

    error_category: NamedError | str
    error_message: str
    context: dict[str, Any] | None = None


@dataclass
class ReflectionContext:
    """A run: its events in order, its outcome, and whose it is."""

    events: list[ActorEvent]
    outcome: Outcome | str
    tenant_id: str
    project_id: str
    session_id: UUID | str | None = None
    error: ErrorInfo | None = None
    task_description: str | None = None
    task_goal: str | None = None
    related_memory_ids: list[UUID] | list[str] | None = None


@dataclass
class EngineV2Result:
    """A reflection that is not stored yet. What is changed in it before it is stored is stored as changed.

    `metadata` has outcome, task_description, event_count and session_id; `thinker`, the model or the rules; and, where
    something of the context could not be used, `ignored`.
    """

    reflection_text: str
    strategy_text: str | None = None
    importance: float = _UNSCORED
    confidence: float = _UNSCORED
    tags: list[str] = field(default_factory=list[str])
    error_category: NamedError | str | None = None
    source_event_ids: list[str] = field(default_factory=list[str])
    related_memory_ids: list[Any] = field(default_factory=list[Any])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    generated_at: datetime | None = None
    run: dict[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    generated: Generated | None = field(default=None, repr=False, compare=False)


class ReflectionEngineV2:
    """The reflector of the actor-evaluator-reflector pattern, over a bank.

    Without `settings` those of the environment are used; `llm` takes the place of the model that they name.
    """

    def __init__(self, settings: Settings | None = None, *, llm: LLM | None = None) -> None:
        self.settings = settings or Settings.from_env()
        self.llm = llm

    async def generate_reflection(
        self, context: ReflectionContext | Mapping[str, Any]
    ) -> EngineV2Result:
        """Reflect on a run and store nothing. InputError names what cannot be read."""
        fields = _object(context)
        sent: dict[str, Any] = {name: fields[name] for name in fields if fields[name] is not None}
        tenant = str(sent.pop("tenant_id", "local"))
        project = sent.pop("project_id", None)
        async with self._engine(tenant, project) as engine:
            try:
                generated = await engine.generate_reflection(sent)
            except NotFoundError:
                # Ids of another store: the result keeps them, and nothing is linked.
                run = {key: item for key, item in sent.items() if key != "related_memory_ids"}
                generated = await engine.generate_reflection(run)
        return _result(sent, generated)

    async def store_reflection(
        self,
        result: EngineV2Result,
        tenant_id: str,
        project_id: str,
        session_id: UUID | str | None = None,
    ) -> dict[str, str | None]:
        """Store a result, and its strategy as a record of its own; None for the id of a strategy that is not there."""
        async with self._engine(tenant_id, project_id) as engine:
            generated = _as_generated(result, session_id)
            if generated is not None and generated.scope == engine.scopes.own:
                stored = await engine.store_reflection(generated)
            else:
                stored = await engine.reflect(**_judged_run(result, session_id))
        return {"reflection_id": stored.reflection_id, "strategy_id": stored.strategy_id}

    async def query_reflections(
        self,
        tenant_id: str,
        project_id: str,
        query_text: str | None = None,
        k: int = 5,
        min_importance: float = 0.5,
        tags: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return at most `k` records with any of the tags: reflections, and strategies with the tag `strategy`."""
        wanted_tags = set(tags or ())
        async with self._engine(tenant_id, project_id) as engine:
            reflections = await engine.query_reflections(
                query_text, k, min_importance, sorted(wanted_tags - {_STRATEGY})
            )
        records: list[dict[str, Any]] = []
        for reflection in reflections:
            records += _records(reflection)
        if wanted_tags:
            records = [record for record in records if wanted_tags & {*record["tags"]}]
        return records[:k]

    def _engine(self, tenant: str, project: str | None) -> Engine:
        """Return the engine of a scope; without a project, that of the settings is used."""
        settings = self.settings
        if project:
            settings = replace(settings, project=project)
        return Engine(settings, tenant_id=tenant, llm=self.llm)


def _object(value: Any) -> dict[str, Any]:
    """Return a dataclass or mapping as an object of plain values, an empty one for anything else."""
    as_json = to_json(value)
    if not isinstance(as_json, dict):
        return {}
    return as_json


def _score_or_half(score: float | None) -> float:
    """Return an importance or confidence as the document has it: a number, .5 where nobody gave one."""
    if score is None:
        return _UNSCORED
    return score


def _result(run: dict[str, Any], generated: Generated) -> EngineV2Result:
    """Return what was generated for a run, under the names of the document."""
    reflection = generated.reflection
    metadata = {
        "outcome": run.get("outcome"),
        "task_description": run.get("task_description"),
        "event_count": len(run.get("events") or ()),
        "session_id": run.get("session_id"),
        "thinker": reflection.thinker,
        "ignored": list(reflection.ignored),
        "note": reflection.note,
    }
    return EngineV2Result(
        reflection_text=reflection.reflection,
        strategy_text=reflection.strategy,
        importance=_score_or_half(reflection.importance),
        confidence=_score_or_half(reflection.confidence),
        tags=list(reflection.tags),
        error_category=_category(reflection.error_category),
        source_event_ids=list(reflection.source_event_ids),
        related_memory_ids=list(run.get("related_memory_ids") or ()),
        metadata={name: value for name, value in metadata.items() if value not in (None, [])},
        generated_at=datetime.fromisoformat(reflection.generated_at),
        run=run,
        generated=generated,
    )


def _category(word: str | None) -> NamedError | str | None:
    """Return a kind of error as the document's enum has it; the word itself where it is none of these."""
    if word in {*NamedError}:
        return NamedError(word)
    return word


def _as_generated(result: EngineV2Result, session_id: UUID | str | None) -> Generated | None:
    """Return what was generated, if it is to be stored as it is: the caller changed nothing in it, nor the session."""
    if result.generated is None or result != _result(result.run, result.generated):
        return None
    is_same_session = session_id is None or str(session_id) == result.run.get("session_id")
    if not is_same_session:
        return None
    return result.generated


def _judged_run(result: EngineV2Result, session_id: UUID | str | None) -> dict[str, Any]:
    """Return the run with the result as its analysis, for a result that the caller changed or made itself."""
    analysis = {
        "reflection": result.reflection_text,
        "strategy": result.strategy_text,
        "importance": result.importance,
        "confidence": result.confidence,
        "tags": list(result.tags),
    }
    run_in_short = {
        "task_description": result.metadata.get("task_description"),
        "outcome": result.metadata.get("outcome") or Outcome.PARTIAL,
    }
    run_as_sent = {
        name: value for name, value in result.run.items() if name != "related_memory_ids"
    }
    judged = {**run_in_short, **run_as_sent, "analysis": analysis}
    if session_id is not None:
        judged["session_id"] = session_id
    return judged


def _records(stored: Reflection) -> list[dict[str, Any]]:
    """Return a stored reflection as a record of the memory layer, and its strategy, if it has one, as another."""
    importance = _score_or_half(stored.importance)
    record: dict[str, Any] = {
        "id": stored.reflection_id,
        "content": stored.reflection,
        "source": SOURCE,
        "layer": LAYER,
        "importance": importance,
        "confidence": stored.confidence,
        "tags": list(stored.tags),
        "metadata": {"error_category": stored.error_category, "thinker": stored.thinker},
        "created_at": stored.generated_at,
    }
    if not stored.strategy:
        return [record]
    strategy = {
        **record,
        "id": stored.strategy_id,
        "content": stored.strategy,
        "importance": min(1.0, round(importance * STRATEGY_BONUS, 4)),
        "tags": [_STRATEGY, *record["tags"]],
    }
    return [record, strategy]
