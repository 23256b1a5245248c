"""Rows of the tables as models, and back."""

import json
import sqlite3
from typing import Any, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Kind, Lesson, Source, State, Trust
from mcp_reflect.storage.content_hash import digest_of
from mcp_reflect.storage.retrieval.features import Features, features_read

Row = sqlite3.Row
"""A row as other rooms may name it: only this one knows SQLite."""


# A recall reads dozens of records: looked up like this, it takes half the time.
_KINDS: Final = {kind.value: kind for kind in Kind}
_STATES: Final = {state.value: state for state in State}
_TRUSTS: Final = {trust.value: trust for trust in Trust}
_SOURCES: Final = {source.value: source for source in Source}


def _words(listed: str) -> tuple[str, ...]:
    return () if listed == "[]" else tuple(json.loads(listed))


def lesson_from(row: sqlite3.Row) -> Lesson:
    """A row of `lessons` as the record."""
    held: Any = row
    if type(row) is sqlite3.Row:  # which goes through all of its names for each one that is asked for
        held = dict(zip(row.keys(), row, strict=True))
    return Lesson(
        id=held["id"],
        project=held["project"],
        kind=_KINDS[held["kind"]],
        state=_STATES[held["state"]],
        trust=_TRUSTS[held["trust"]],
        source=_SOURCES[held["source"]],
        text=held["text"],
        mistake=held["mistake"],
        correction=held["correction"],
        why=held["why"],
        task_type=held["task_type"],
        context=held["context"],
        context_hash=held["context_hash"],
        held=held["held"],
        symptoms=_words(held["symptoms"]),
        keywords=_words(held["keywords"]),
        tags=_words(held["tags"]),
        importance=held["importance"],
        confidence=held["confidence"],
        external_id=held["external_id"],
        reflection_id=held["reflection_id"],
        strength=held["strength"],
        times_applied=held["times_applied"],
        effectiveness=held["effectiveness"],
        wins=held["wins"],
        losses=held["losses"],
        proof=held["proof"],
        created_at=held["created_at"],
        updated_at=held["updated_at"],
    )


def features_from(row: sqlite3.Row) -> Features:
    """A row of `features` as the record."""
    return features_read(row["row"], row["terms"])


def lesson_values(scope: Scope, lesson: Lesson) -> dict[str, Any]:
    """The record as values to bind; its project is the record's own, its tenant the scope's."""
    return {
        "id": lesson.id,
        "tenant": scope.tenant,
        "project": lesson.project,
        "kind": lesson.kind.value,
        "state": lesson.state.value,
        "trust": lesson.trust.value,
        "source": lesson.source.value,
        "text": lesson.text,
        "mistake": lesson.mistake,
        "correction": lesson.correction,
        "why": lesson.why,
        "task_type": lesson.task_type,
        "context": lesson.context,
        "context_hash": lesson.context_hash,
        "held": lesson.held,
        "symptoms": lesson.symptoms,
        "keywords": lesson.keywords,
        "tags": lesson.tags,
        "importance": lesson.importance,
        "confidence": lesson.confidence,
        "external_id": lesson.external_id,
        "digest": digest_of(scope, lesson),
        "reflection_id": lesson.reflection_id,
        "strength": lesson.strength,
        "times_applied": lesson.times_applied,
        "effectiveness": lesson.effectiveness,
        "wins": lesson.wins,
        "losses": lesson.losses,
        "created_at": lesson.created_at,
        "updated_at": lesson.updated_at,
    }


def scope_values(scope: Scope) -> dict[str, Any]:
    """The scope as values to bind."""
    return {"tenant": scope.tenant, "project": scope.project}
