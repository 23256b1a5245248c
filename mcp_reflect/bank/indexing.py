"""The index: what makes active records findable, kept with them in the same transaction."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_reflect.bank.features import Features, features_of, scope_number
from mcp_reflect.bank.postings import BLOCK, BLOCK_BITS, with_places, without_place
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
    by_scope: dict[int, list[Entry]] = {}
    for entry in made:
        by_scope.setdefault(entry.number, []).append(entry)
    for number, group in by_scope.items():
        sizes = await tx.row("index_sizes", {"scopes": [number]})
        first = 0 if sizes is None else sizes["places"]
        await _add(tx, number, list(enumerate(group, first)))
        await _resize(tx, number, group, places=len(group))


async def remove(tx: Transaction, record_id: str) -> None:
    """Take a record out of the index, with the words that only it held; one that is not in it stays out."""
    row = await tx.row("index_of", {"id": record_id})
    if row is not None:
        await _remove(tx, row)


async def renew(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Bring the index up to a changed record; where its words are the same, nothing is written."""
    row = await tx.row("index_of", {"id": lesson.id})
    made = entries([(scope, lesson)])
    after = made[0].features.counts if made else None
    if after == (features_from(row).counts if row else None):
        return
    if row is not None:
        await _remove(tx, row)
    if row is not None and made and row["scope"] == made[0].number:
        await _add(tx, made[0].number, [(row["place"], made[0])])  # its place is free: a new one would only cost room
        await _resize(tx, made[0].number, made)
    else:
        await add(tx, made)


def _number(scope: Scope, lesson: Lesson) -> int:
    return scope_number(Scope(scope.tenant, lesson.project))


async def _add(tx: Transaction, number: int, placed: Sequence[tuple[int, Entry]]) -> None:
    """Write entries of a scope at their places."""
    await tx.run_many(
        "index_add_features",
        [
            {
                "id": entry.id,
                "scope": number,
                "place": place,
                "length": entry.features.length,
                "terms": Derived(json.dumps(entry.features.counts, ensure_ascii=False)),
            }
            for place, entry in placed
        ],
    )
    blocks: dict[int, dict[str, list[int]]] = {}
    for place, entry in placed:
        terms = blocks.setdefault(place >> BLOCK_BITS, {})
        for term in entry.features.counts:
            terms.setdefault(term, []).append(place % BLOCK)
    for block, terms in blocks.items():
        await _post(tx, number, block, terms)
    await _count(tx, "index_count", number, (entry.features for _, entry in placed))


async def _post(tx: Transaction, number: int, block: int, terms: Mapping[str, Sequence[int]]) -> None:
    """Write that places of a block, counted from its first, hold terms."""
    scope = {"scope": number, "block": block}
    changed: list[dict[str, Any]] = []
    there: set[str] = set()
    for row, term, before, listed in await tx.rows("index_held", {**scope, "terms": list(terms)}):
        there.add(term)
        found, places = with_places(before, listed, terms[term])
        changed.append({"row": row, "found": found, "places": places})
    new: list[dict[str, Any]] = []
    for term in sorted(terms.keys() - there):  # in the order of their index, so that neighbours are written together
        found, places = with_places(0, b"", terms[term])
        new.append({**scope, "term": Derived(term), "found": found, "places": places})
    await tx.run_many("index_change_posting", changed)
    await tx.run_many("index_add_posting", new)


async def _remove(tx: Transaction, row: Any) -> None:
    features, number, place = features_from(row), row["scope"], row["place"]
    block, offset = place >> BLOCK_BITS, place % BLOCK
    held = await tx.rows("index_held", {"scope": number, "block": block, "terms": list(features.counts)})
    for posting in held:
        if posting["found"] == 1:
            await tx.run("index_drop_posting", {"row": posting["row"]})
        else:
            found, places = without_place(posting["found"], posting["places"], offset)
            await tx.run("index_change_posting", {"row": posting["row"], "found": found, "places": places})
    await tx.run("index_remove_features", {"row": features.row})
    await _count(tx, "index_uncount", number, [features])
    await tx.run("index_forget", {"scope": number, "terms": list(features.counts)})
    values = {"scope": number, "found": -1, "length": -round(features.length), "places": 0}
    await tx.run("index_resize", values)


async def _resize(tx: Transaction, number: int, made: Sequence[Entry], *, places: int = 0) -> None:
    """Count rows that came into a scope, and the places handed out for them."""
    length = sum(round(entry.features.length) for entry in made)
    await tx.run("index_resize", {"scope": number, "found": len(made), "length": length, "places": places})


async def _count(tx: Transaction, name: str, number: int, changed: Iterable[Features]) -> None:
    """Count the rows that terms came into or left."""
    terms = Counter[str]()
    for features in changed:
        terms.update(features.counts.keys())
    # In the order of the table, so that neighbours are written together; one statement for all of a scope.
    pairs = Derived(json.dumps(sorted(terms.items()), ensure_ascii=False))
    await tx.run(name, {"scope": number, "terms": pairs})
