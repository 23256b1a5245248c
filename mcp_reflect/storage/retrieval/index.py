"""The index of terms: FTS5 finds rows that share terms with a question, `features` holds what scores them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from typing import Final

from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.lesson import Lesson, State, Trust
from mcp_reflect.storage.retrieval.terms import STOP_WORDS, terms_of
from mcp_reflect.storage.retrieval.vectors import signs, text_of, word_vector
from mcp_reflect.storage.sqlite.statements import Derived, Reading, Writing

# The weight of one occurrence of a term: in task type and tags, and in the context; elsewhere 1.
_NAME_WEIGHT: Final = 0.6
_CONTEXT_WEIGHT: Final = 0.3
_NUMBER_BYTES: Final = 5

BUDGET: Final = 1_000
"""Postings that are read for a question in one scope: those of its rarest terms."""

_COMMON_TERMS: Final = 4  # of a question whose terms are all beyond the budget, so many are combined in pairs
_HELD_ROWS: Final = 5  # quarantined rows of which recall says that they are held back

Groups = tuple[tuple[str, ...], ...]
"""Marks that a row must have: one at least of each group."""


# What is written for a lesson.


@dataclass(frozen=True, slots=True)
class Entry:
    """The index entry of one record, with its vector. `scope` is the number of its scope.

    `terms` is a JSON object of each term's weighted count, `length` the weighted number of terms that are no stop
    words. A quarantined record is `held`: it is searched apart, and its terms are not counted.
    """

    id: str
    scope: int
    held: bool
    length: float
    terms: Derived
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class Features:
    """The terms of a row with their weighted counts, and its length (see `Entry`)."""

    row: int
    length: float
    counts: Mapping[str, float]


def scope_number(scope: Scope) -> int:
    """The number of a scope in the index: 40 bits of a hash.

    Two scopes with the same number would share their counts, never their lessons: those are read by name.
    """
    return int.from_bytes(blake2b(f"{scope.tenant}\0{scope.project}".encode(), digest_size=_NUMBER_BYTES).digest())


def kind_mark(kind: str) -> str:
    """The term of all records of a kind; no text has a term that begins like this."""
    return f"_kind_{kind}"


def tag_mark(tag: str) -> str:
    """The term of all records with a tag."""
    return f"_tag_{_digest(tag)}"


def type_mark(task_type: str) -> str:
    """The term of all records of a task type."""
    return f"_type_{_digest(task_type)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def entry(scope: Scope, lesson: Lesson) -> Entry | None:
    """Return the index entry of a record, or None if it is not active. The project is the lesson's own.

    Making an entry takes longer than writing it: bulk imports make entries before they take the write lock.
    """
    if lesson.state is not State.ACTIVE:
        return None
    text = "\n".join((lesson.text, lesson.why or "", *lesson.symptoms, *lesson.keywords))
    names = "\n".join(dict.fromkeys((lesson.task_type or "", *lesson.tags)))
    types = (lesson.task_type,) if lesson.task_type else ()
    marks = (kind_mark(lesson.kind.value), *map(tag_mark, lesson.tags), *map(type_mark, types))
    held = lesson.trust is Trust.QUARANTINED
    counts: dict[str, float] = dict.fromkeys(marks, 1)
    length = 0.0
    for part, weight in ((text, 1), (names, _NAME_WEIGHT), (lesson.context or "", _CONTEXT_WEIGHT)):
        for term, count in Counter(terms_of(part)).items():
            counts[term] = round(counts.get(term, 0) + weight * count, 2)
            if term not in STOP_WORDS:
                length += weight * count
    return Entry(
        id=lesson.id,
        scope=scope_number(Scope(scope.tenant, lesson.project)),
        held=held,
        length=round(length, 2),
        terms=Derived(json.dumps(counts, ensure_ascii=False, separators=(",", ":"))),
        vector=None
        if lesson.trust is Trust.QUARANTINED
        else word_vector(text_of(lesson.text, lesson.symptoms, lesson.keywords)),
    )


def erase(writing: Writing, record_id: str) -> None:
    """Take a record out of the index and rewrite the index, so that none of its terms stays in the file."""
    remove(writing, record_id)
    writing.run("index_rewrite", {})


def renew(writing: Writing, scope: Scope, lesson: Lesson) -> None:
    """Bring the index up to date with a changed record."""
    new = entry(scope, lesson)
    row = writing.row("index_of", {"id": lesson.id})
    if row and new and (row["scope"], row["held"], row["terms"]) == (new.scope, new.held, new.terms):
        add_vectors(writing, [new])  # a change of the text takes the vector away, even where the terms stay
        return
    remove(writing, lesson.id)
    if new:
        add(writing, [new])


def add(writing: Writing, entries: Sequence[Entry]) -> None:
    """Index stored records, on the database's thread."""
    writing.run_many(
        "index_add_features",
        [
            {"id": Derived(one.id), "scope": one.scope, "held": one.held, "length": one.length, "terms": one.terms}
            for one in entries
        ],
    )
    writing.run_many(
        "index_add_terms",
        [{"id": Derived(one.id), "terms": document(one.scope, one.terms, held=one.held)} for one in entries],
    )
    add_vectors(writing, entries)
    by_scope: dict[int, list[Entry]] = {}
    for one in entries:
        if not one.held:
            by_scope.setdefault(one.scope, []).append(one)
    for number, group in by_scope.items():
        _count(writing, number, group, 1)


def add_vectors(writing: Writing, entries: Iterable[Entry]) -> None:
    """Store the word vectors of indexed records that have none."""
    rows = [
        {"id": Derived(one.id), "scope": one.scope, "signs": signs(one.vector), "vector": one.vector}
        for one in entries
        if one.vector is not None
    ]
    writing.run_many("vector_add_words", rows)


def remove(writing: Writing, record_id: str) -> None:
    """Take a record out of the index; one that is not in it stays out."""
    for row in writing.rows("index_of", {"id": record_id}):
        stored = Entry(record_id, row["scope"], bool(row["held"]), row["length"], Derived(row["terms"]), None)
        writing.run(
            "index_remove_terms", {"row": row["row"], "terms": document(stored.scope, stored.terms, held=stored.held)}
        )
        writing.run("index_remove_features", {"row": row["row"]})
        if not stored.held:
            _count(writing, stored.scope, [stored], -1)


def document(scope: int, terms: str, *, held: bool) -> Derived:
    """Return the text that FTS5 indexes for a row: its distinct terms, each with the prefix of the scope."""
    prefix = _prefix(scope, held=held)
    return Derived(" ".join(prefix + term for term in json.loads(terms)))


def _prefix(number: int, *, held: bool = False) -> str:
    return f"{number:010x}{'h' if held else '_'}"


def _count(writing: Writing, number: int, entries: Sequence[Entry], sign: int) -> None:
    """Add entries of a scope to its counts of rows and terms, or (`sign` -1) subtract them."""
    terms = Counter[str]()
    for one in entries:
        terms.update(json.loads(one.terms).keys())
    # One statement for all, in the order of the table, so that neighbors are written together.
    counted = Derived(json.dumps({term: sign * rows for term, rows in sorted(terms.items())}, ensure_ascii=False))
    writing.run("index_count", {"scope": number, "terms": counted})
    if sign < 0:
        writing.run("index_forget", {"scope": number, "terms": list(terms)})
    length = sign * sum(round(one.length) for one in entries)
    writing.run("index_resize", {"scope": number, "rows": sign * len(entries), "length": length})


# What is read for a question.


class TermCounts:
    """The size of a scope with its global lessons, and how many rows hold a term. Quarantine is not counted."""

    def __init__(self, reading: Reading, scope: Scope) -> None:
        self.reading = reading
        self.numbers = list(dict.fromkeys((scope_number(scope), scope_number(Scope(scope.tenant, GLOBAL)))))
        sizes = reading.rows("index_sizes", {"scopes": self.numbers})
        self.size: int = sum(row["rows"] for row in sizes)
        self.length: int = sum(row["length"] for row in sizes)
        self.average = self.length / self.size if self.size else 0.0
        self.by_scope: dict[int, dict[str, int]] = {number: {} for number in self.numbers}
        self._totals: dict[str, int] = {}

    def look_up(self, terms: Iterable[str]) -> None:
        """Read the counts of these terms."""
        new = [term for term in dict.fromkeys(terms) if term not in self._totals]
        if not new:
            return
        self._totals.update(dict.fromkeys(new, 0))
        for scope, term, rows in self.reading.rows("index_terms", {"scopes": self.numbers, "terms": new}):
            self.by_scope[scope][term] = rows
            self._totals[term] += rows

    def rows_with(self, term: str) -> int:
        """How many rows hold a term that was looked up."""
        return self._totals.get(term, 0)


def find_rows(counts: TermCounts, weights: Mapping[str, float], limit: int, groups: Groups = ()) -> list[int]:
    """Return at most `limit` rows that share most of the weight of these terms, the heaviest first.

    The terms have to be looked up in `counts`. The rarest are read first, as far as BUDGET goes; equal rows are
    ordered from the newest.
    """
    sums: dict[int, float] = {}
    for number in counts.numbers:
        for row, weight in _sums(counts, number, weights, limit, groups).items():
            sums[row] = sums.get(row, 0.0) + weight
    return sorted(sums, key=lambda row: (-sums[row], -row))[:limit]


def _sums(
    counts: TermCounts, number: int, weights: Mapping[str, float], limit: int, groups: Groups
) -> dict[int, float]:
    """The weight that rows of one scope share, of the terms within the budget."""
    known = counts.by_scope[number]
    rarest = sorted((term for term in weights if known.get(term)), key=lambda term: (known[term], term))
    prefix, sums, left = _prefix(number), dict[int, float](), BUDGET
    common: list[str] = []
    for term in rarest:
        if known[term] > left:
            common.append(term)
            continue
        left -= known[term]
        for row in _search(counts.reading, prefix, (term,), groups, BUDGET):
            sums[row] = sums.get(row, 0.0) + weights[term]
    if len(sums) < limit:
        common = common[:_COMMON_TERMS]
        for terms in (*combinations(common, 2), *((term,) for term in common)):
            weight = sum(weights[term] for term in terms)
            for row in _search(counts.reading, prefix, terms, groups, limit):
                sums[row] = max(sums.get(row, 0.0), weight)
    return sums


def _search(reading: Reading, prefix: str, terms: Sequence[str], groups: Groups, limit: int) -> list[int]:
    """The newest rows that hold all terms and a mark of each group."""
    match = " AND ".join(_any_of(prefix, group) for group in (*((term,) for term in terms), *groups))
    return [row["row"] for row in reading.rows("index_search", {"match": match, "limit": limit})]


def find_held(counts: TermCounts, terms: Iterable[str]) -> list[int]:
    """Return a few quarantined rows that hold one of the terms."""
    wanted = list(terms)
    match = " OR ".join(_any_of(_prefix(number, held=True), wanted) for number in counts.numbers)
    rows = counts.reading.rows("index_search", {"match": match, "limit": _HELD_ROWS}) if wanted else ()
    return [row["row"] for row in rows]


def _any_of(prefix: str, terms: Iterable[str]) -> str:
    return "(" + " OR ".join(f'"{prefix}{term}"' for term in terms) + ")"


def features_of(reading: Reading, rows: Sequence[int]) -> list[Features]:
    """Return what the given rows are scored by; rows that left the index are missing."""
    return [
        Features(row["row"], row["length"], json.loads(row["terms"]))
        for row in reading.rows("index_features", {"rows": rows})
    ]
