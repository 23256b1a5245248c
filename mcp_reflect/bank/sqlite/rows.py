"""Rows of the bank's tables as records, and back."""

import json
import sqlite3
from typing import Any, Final

from mcp_reflect.bank.features import Features
from mcp_reflect.records.lesson import Kind, Lesson, Source, State, Trust
from mcp_reflect.records.scope import Scope

Row = sqlite3.Row
"""A row as other rooms may name it: only this one knows SQLite."""


_DECODER: Final = json.JSONDecoder()  # without the looks at white space around that `loads` takes

# A recall reads dozens of records: looked up like this, it takes half the time.
_KINDS: Final = {kind.value: kind for kind in Kind}
_STATES: Final = {state.value: state for state in State}
_TRUSTS: Final = {trust.value: trust for trust in Trust}
_SOURCES: Final = {source.value: source for source in Source}


def _words(listed: str) -> tuple[str, ...]:
    return () if listed == "[]" else tuple(json.loads(listed))


def lesson_from(row: sqlite3.Row) -> Lesson:
    """A row of `lessons` as the record."""
    return Lesson(
        id=row["id"],
        project=row["project"],
        kind=_KINDS[row["kind"]],
        state=_STATES[row["state"]],
        trust=_TRUSTS[row["trust"]],
        source=_SOURCES[row["source"]],
        text=row["text"],
        mistake=row["mistake"],
        correction=row["correction"],
        why=row["why"],
        task_type=row["task_type"],
        context=row["context"],
        context_hash=row["context_hash"],
        held=row["held"],
        symptoms=_words(row["symptoms"]),
        keywords=_words(row["keywords"]),
        tags=_words(row["tags"]),
        importance=row["importance"],
        confidence=row["confidence"],
        external_id=row["external_id"],
        reflection_id=row["reflection_id"],
        strength=row["strength"],
        times_applied=row["times_applied"],
        effectiveness=row["effectiveness"],
        wins=row["wins"],
        losses=row["losses"],
        proof=row["proof"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def features_from(row: sqlite3.Row) -> Features:
    """A row of `features` as the record."""
    return Features(row["row"], _DECODER.raw_decode(row["terms"])[0], row["length"])


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
