"""The index: what makes active records findable, kept with them in the same transaction."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_reflect.bank.features import HELD, features_read, scope_number, terms_kept
from mcp_reflect.bank.postings import BLOCK, BLOCK_BITS, with_places, without_place
from mcp_reflect.bank.sqlite.rows import features_from
from mcp_reflect.bank.sqlite.statements import Derived, Transaction, Writing
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, State


@dataclass(frozen=True, slots=True)
class Entry:
    """What goes into the index for one record: its id, its scope's number and its terms.

    `length` is how many terms tell something, `written` the terms as they are kept.
    """

    id: str
    number: int
    length: float
    terms: tuple[str, ...]
    written: Derived


def entry(scope: Scope, lesson: Lesson) -> Entry | None:
    """A record as the index will hold it; null for one that is not active. The scope's tenant counts.

    It takes as long as writing it: who writes many makes them before the lock is taken.
    """
    if lesson.state is not State.ACTIVE:
        return None
    kept = Derived(terms_kept(lesson))
    features = features_read(0, kept)
    return Entry(lesson.id, _number(scope, lesson), features.length, tuple(features.counts), kept)


async def remove(tx: Transaction, record_id: str) -> None:
    """Take a record out of the index, with the words that only it held; one that is not in it stays out."""
    await tx.at_once(lambda writing: _remove(writing, record_id))


async def renew(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Bring the index up to a changed record; where its words are the same, nothing is written."""
    made = entry(scope, lesson)
    await tx.at_once(lambda writing: _renew(writing, lesson.id, made))


def add_at_once(writing: Writing, made: Sequence[Entry]) -> None:
    """Make stored records findable, where one is on the bank's thread already."""
    by_scope: dict[int, list[Entry]] = {}
    for entry in made:
        by_scope.setdefault(entry.number, []).append(entry)
    for number, group in by_scope.items():
        sizes = writing.rows("index_sizes", {"scopes": [number]})
        _place(writing, number, sizes[0]["places"] if sizes else 0, group)
        _resize(writing, number, group, places=len(group))


def _renew(writing: Writing, record_id: str, made: Entry | None) -> None:
    before = writing.rows("index_of", {"id": record_id})
    if not before or made is None:
        _remove(writing, record_id)
        add_at_once(writing, [made] if made else [])
    elif before[0]["terms"] != made.written:
        _remove(writing, record_id)
        if before[0]["scope"] == made.number:  # its place is free: a new one would only cost room
            _place(writing, made.number, before[0]["place"], [made])
            _resize(writing, made.number, [made])
        else:
            add_at_once(writing, [made])


def _number(scope: Scope, lesson: Lesson) -> int:
    return scope_number(Scope(scope.tenant, lesson.project))


def _place(writing: Writing, number: int, first: int, made: Sequence[Entry]) -> None:
    """Write entries of a scope at places from `first` on."""
    writing.run_many(
        "index_add_features",
        [
            {"id": Derived(entry.id), "scope": number, "place": place, "terms": entry.written}
            for place, entry in enumerate(made, first)
        ],
    )
    blocks: dict[int, dict[str, list[int]]] = {}
    for place, entry in enumerate(made, first):
        terms = blocks.setdefault(place >> BLOCK_BITS, {})
        for term in entry.terms:
            terms.setdefault(term, []).append(place % BLOCK)
    for block, terms in blocks.items():
        _post(writing, number, block, terms)
    _count(writing, "index_count", number, (entry.terms for entry in made))


def _post(writing: Writing, number: int, block: int, terms: Mapping[str, Sequence[int]]) -> None:
    """Write that places of a block, counted from its first, hold terms."""
    scope = {"scope": number, "block": block}
    changed: list[dict[str, Any]] = []
    there: set[str] = set()
    for row, term, before, listed in writing.rows("index_held", {**scope, "terms": list(terms)}):
        there.add(term)
        found, places = with_places(before, listed, terms[term])
        changed.append({"row": row, "found": found, "places": places})
    new: list[dict[str, Any]] = []
    for term in sorted(terms.keys() - there):  # in the order of their index, so that neighbours are written together
        found, places = with_places(0, b"", terms[term])
        new.append({**scope, "term": Derived(term), "found": found, "places": places})
    writing.run_many("index_change_posting", changed)
    writing.run_many("index_add_posting", new)


def _remove(writing: Writing, record_id: str) -> None:
    for row in writing.rows("index_of", {"id": record_id}):
        features, number, place = features_from(row), row["scope"], row["place"]
        terms = list(features.counts)
        block, offset = place >> BLOCK_BITS, place % BLOCK
        for posting in writing.rows("index_held", {"scope": number, "block": block, "terms": terms}):
            if posting["found"] == 1:
                writing.run("index_drop_posting", {"row": posting["row"]})
            else:
                found, places = without_place(posting["found"], posting["places"], offset)
                writing.run("index_change_posting", {"row": posting["row"], "found": found, "places": places})
        writing.run("index_remove_features", {"row": features.row})
        _count(writing, "index_uncount", number, [terms])
        writing.run("index_forget", {"scope": number, "terms": terms})
        told = HELD not in features.counts
        values = {"scope": number, "found": -told, "length": -told * round(features.length), "places": 0}
        writing.run("index_resize", values)


def _resize(writing: Writing, number: int, made: Sequence[Entry], *, places: int = 0) -> None:
    """Count rows that came into a scope, and the places handed out: what is in quarantine has no more than a place."""
    lengths = [round(entry.length) for entry in made if HELD not in entry.terms]
    writing.run("index_resize", {"scope": number, "found": len(lengths), "length": sum(lengths), "places": places})


def _count(writing: Writing, name: str, number: int, changed: Iterable[Sequence[str]]) -> None:
    """Count the rows that terms came into or left, of which each is given once for a row.

    What is in quarantine is not counted: it would make the words of others common, and its own ones known.
    """
    terms = Counter[str]()
    for held in changed:
        if HELD not in held:
            terms.update(held)
    # In the order of the table, so that neighbours are written together; one statement for all of a scope.
    counted = Derived(json.dumps(dict(sorted(terms.items())), ensure_ascii=False))
    writing.run(name, {"scope": number, "terms": counted})
