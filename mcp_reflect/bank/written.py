"""A record as it is written: its row, what the index holds of it, the errors it is known by, and a digest of its words.

Making it takes longer than writing it and needs no bank: who writes many records makes them before the lock is taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_reflect.bank import indexing, symptoms
from mcp_reflect.bank.sqlite.rows import lesson_values
from mcp_reflect.bank.sqlite.statements import Bound, Transaction, Writing, bound
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson


@dataclass(frozen=True, slots=True)
class Written:
    """A record's values as they are bound, its entry in the index (null where it is not active), its symptoms."""

    row: Bound
    entry: indexing.Entry | None
    symptoms: tuple[Bound, ...]


def written(scope: Scope, lesson: Lesson) -> Written:
    """A record as it is written; its project is its own, its tenant the scope's."""
    known_by = tuple(map(bound, symptoms.values_of(scope, lesson)))
    return Written(bound(lesson_values(scope, lesson)), indexing.entry(scope, lesson), known_by)


async def add(tx: Transaction, records: Sequence[Written]) -> None:
    """Store records, and make them findable."""
    await tx.at_once(lambda writing: add_at_once(writing, records))


def add_at_once(writing: Writing, records: Sequence[Written]) -> None:
    """Store records, and make them findable, where one is on the bank's thread already."""
    writing.run_many("lesson_add", [record.row for record in records])
    indexing.add_at_once(writing, [record.entry for record in records if record.entry])
    if known_by := [values for record in records for values in record.symptoms]:
        writing.run_many("symptom_add", known_by)
