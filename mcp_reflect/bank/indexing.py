"""The index: what makes active records findable, kept with them in the same transaction."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_reflect.bank.features import Features, features_of, postings, scope_number
from mcp_reflect.bank.sqlite.database import Derived, Transaction
from mcp_reflect.bank.sqlite.rows import features_from
from mcp_reflect.records.lesson import Lesson, State
from mcp_reflect.records.scope import Scope


@dataclass(frozen=True, slots=True)
class Entry:
    """What goes into the index for one record: its id, its scope's number and its terms."""

    id: str
    number: int
    features: Features


def entries(written: Sequence[tuple[Scope, Lesson]]) -> list[Entry]:
    """Records as the index will hold them; those that are not active stay out. The scope's tenant counts.

    It takes longer than writing them: who writes many makes them before the lock is taken.
    """
    return [
        Entry(lesson.id, _number(scope, lesson), features_of(lesson))
        for scope, lesson in written
        if lesson.state is State.ACTIVE
    ]


async def add(tx: Transaction, made: Sequence[Entry]) -> None:
    """Make stored records findable."""
    await tx.run_many(
        "index_add_features",
        [
            {
                "id": entry.id,
                "scope": entry.number,
                "length": entry.features.length,
                "terms": Derived(json.dumps(entry.features.counts, ensure_ascii=False)),
            }
            for entry in made
        ],
    )
    await tx.run_many(
        "index_add_terms",
        [{"id": entry.id, "terms": Derived(postings(entry.number, entry.features.counts))} for entry in made],
    )
    await _count(tx, [(entry.number, entry.features) for entry in made], 1)


async def remove(tx: Transaction, record_id: str) -> None:
    """Take a record out of the index; one that is not in it stays out."""
    row = await tx.row("index_of", {"id": record_id})
    if row is None:
        return
    features = features_from(row)
    # Exactly what went in: anything else would leave its postings behind.
    gone = {"row": features.row, "terms": Derived(postings(row["scope"], features.counts))}
    await tx.run("index_remove_terms", gone)
    await tx.run("index_remove_features", {"row": features.row})
    await _count(tx, [(row["scope"], features)], -1)


async def renew(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Bring the index up to a changed record; where its words are the same, nothing is written."""
    row = await tx.row("index_of", {"id": lesson.id})
    after = features_of(lesson).counts if lesson.state is State.ACTIVE else None
    if after != (features_from(row).counts if row else None):
        await remove(tx, lesson.id)
        await add(tx, entries([(scope, lesson)]))


async def erase(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Take a record out so that no byte of its words is left in the index."""
    await remove(tx, lesson.id)
    await tx.run("index_forget", {"scope": _number(scope, lesson)})
    await tx.run("index_optimize", {})


def _number(scope: Scope, lesson: Lesson) -> int:
    return scope_number(Scope(scope.tenant, lesson.project))


async def _count(tx: Transaction, changed: Sequence[tuple[int, Features]], sign: int) -> None:
    """Count rows and terms that came in (sign 1) or left (-1)."""
    terms: dict[int, Counter[str]] = {}
    rows: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    for number, features in changed:
        terms.setdefault(number, Counter()).update(features.counts.keys())
        rows[number] += 1
        lengths[number] += round(features.length)
    # In the order of the table, so that neighbours are written together; one statement for all of a scope.
    await tx.run_many(
        "index_count" if sign > 0 else "index_uncount",
        [
            {"scope": number, "terms": Derived(json.dumps(sorted(terms[number].items()), ensure_ascii=False))}
            for number in sorted(terms)
        ],
    )
    await tx.run_many(
        "index_resize",
        [{"scope": number, "found": sign * rows[number], "length": sign * lengths[number]} for number in sorted(rows)],
    )
