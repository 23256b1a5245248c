"""The index entries of lessons: the terms that FTS5 finds a row by, how often it has each, and its word vector."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, State, Trust
from mcp_reflect.storage.repository import Writing
from mcp_reflect.storage.retrieval.terms import terms_of
from mcp_reflect.storage.retrieval.vectors import signs, text_of, word_vector
from mcp_reflect.storage.rows import Row, lesson_from, readable
from mcp_reflect.storage.values import Derived, Values
from mcp_reflect.text.program_words import words_for_programs
from mcp_reflect.text.signature import fingerprint
from mcp_reflect.text.stemmer import STOP_WORDS

_NAME_WEIGHT: Final = 0.6
"""The weight of one occurrence of a term in the task type or a tag; it is 1 in the texts."""

_CONTEXT_WEIGHT: Final = 0.3
"""The weight of one occurrence of a term in the context."""

ANALYZER: Final = 3
"""The version of `entry` and of the table of word vectors: another one makes another index of the same texts."""

LEAST_CHARS: Final = 12
"""Characters of the fingerprint of an error that identifies a lesson: "error" or "failed" identify nothing."""


def scope_number(scope: Scope) -> int:
    """Return the number of a scope in the index: 40 bits of a hash.

    Two scopes with the same number would share their counts, never their lessons: those are read by name.
    """
    name = f"{scope.tenant}\0{scope.project}"
    return int.from_bytes(blake2b(name.encode(), digest_size=5).digest())


def mark(name: str, value: str) -> str:
    """Return the term of all records that have something in common, such as a kind, a tag or an error.

    `mark("tag", "deploy")` is `_tag_` and a hash. No text has a term that begins with `_`.
    """
    return f"_{name}_{blake2b(value.encode(), digest_size=6).hexdigest()}"


def error_marks(errors: Iterable[str]) -> list[str]:
    """Return the terms of the records that one of these errors identifies."""
    fingerprints = sorted(set(map(fingerprint, errors)))
    return [mark("error", text) for text in fingerprints if len(text) >= LEAST_CHARS]


def entry(scope: Scope, lesson: Lesson) -> Values | None:
    """Return the index entry of a record, or None if recall may not show it. The project is the lesson's own.

    `terms` is a JSON object of each term's weighted count, `length` the weighted number of terms without stop words,
    `scope` the number of the scope. Making an entry takes longer than writing it: bulk imports make entries before
    they take the write lock.
    """
    if lesson.state is not State.ACTIVE or lesson.trust is Trust.QUARANTINED:
        return None
    text = "\n".join((lesson.text, lesson.why or "", *lesson.symptoms, *lesson.keywords))
    purposes = " ".join(words_for_programs(terms_of(text)))
    weighted = _weighted_terms(lesson, f"{text}\n{purposes}")
    # The mistake counts twice: it names the situation in which the lesson is wanted.
    shown_text = text_of(lesson.text, lesson.symptoms, lesson.keywords)
    embedded = "\n".join((lesson.mistake or "", shown_text, purposes))
    return {
        "id": Derived(lesson.id),
        "scope": scope_number(Scope(scope.tenant, lesson.project)),
        "length": round(weighted.length, 2),
        "terms": Derived(json.dumps(weighted.counts, ensure_ascii=False, separators=(",", ":"))),
        "vector": word_vector(embedded),
        "analyzer": ANALYZER,
    }


@dataclass(frozen=True, slots=True)
class WeightedTerms:
    """How often a record has each term, and how many terms without stop words: both by the weight of their place."""

    counts: dict[str, float]
    length: float


def _weighted_terms(lesson: Lesson, text: str) -> WeightedTerms:
    """Return the marks of a record, and the terms of its text, names and context, each by its place's weight."""
    counts: dict[str, float] = dict.fromkeys(_marks_of(lesson), 1)
    length = 0.0
    names = "\n".join(dict.fromkeys((lesson.task_type or "", *lesson.tags)))
    places = ((text, 1), (names, _NAME_WEIGHT), (lesson.context or "", _CONTEXT_WEIGHT))
    for words, weight in places:
        for term, count in Counter(terms_of(words)).items():
            counts[term] = round(counts.get(term, 0) + weight * count, 2)
            if term not in STOP_WORDS:
                length += weight * count
    return WeightedTerms(counts, length)


def _marks_of(lesson: Lesson) -> list[str]:
    """Return the terms by which a record is found for its kind, its tags and its errors, whatever its words are."""
    marks = [mark("kind", lesson.kind)]
    marks += [mark("tag", tag) for tag in lesson.tags]
    marks += error_marks(lesson.symptoms)
    return marks


def renew(writing: Writing, scope: Scope, lesson: Lesson) -> None:
    """Bring the index up to date with a changed record."""
    remove(writing, lesson.id)
    new_entry = entry(scope, lesson)
    if new_entry is not None:
        add(writing, [new_entry])


def add(writing: Writing, entries: Sequence[Values]) -> None:
    """Index stored records, on the database's thread. One that has its word vector keeps it."""
    writing.run_many("index_add_features", entries)
    documents = [{**one, "terms": document(one["scope"], one["terms"])} for one in entries]
    writing.run_many("index_add_terms", documents)
    vectors = [{**one, "signs": signs(one["vector"])} for one in entries if one["vector"]]
    writing.run_many("vector_add_words", vectors)
    _count(writing, entries, 1)


def remove(writing: Writing, *record_ids: str) -> None:
    """Remove records from the index, those that are there."""
    indexed: list[Row] = []
    for record_id in record_ids:
        indexed += writing.rows("index_of", {"id": record_id})
    for row in indexed:
        terms = document(row["scope"], row["terms"])
        writing.run("index_remove_terms", {"row": row["row"], "terms": terms})
        writing.run("index_remove_features", {"row": row["row"]})
    _count(writing, indexed, -1)


def renew_outdated(writing: Writing, limit: int) -> int:
    """Update the index entries of some records that an older analyzer made; return how many."""
    rows = writing.rows("index_outdated", {"version": ANALYZER, "limit": limit})
    for row in rows:
        remove(writing, row["id"])
        writing.run("vector_remove_words", {"id": row["id"]})
    entries = readable(rows, _entry_of_row, writing.log)
    add(writing, [one for one in entries if one is not None])
    return len(rows)


def _entry_of_row(row: Row) -> Values | None:
    """Return the index entry of a stored record, None if recall may not show it."""
    return entry(Scope(row["tenant"], row["project"]), lesson_from(row))


def scoped_terms(scope: int, terms: Iterable[str]) -> list[str]:
    """Return terms as the index has them, with the prefix of their scope: so that a search reads one scope alone."""
    prefix = f"{scope:010x}_"
    return [prefix + term for term in terms]


def document(scope: int, terms: str) -> Derived:
    """Return the text that FTS5 indexes for a row: its distinct terms, each with the prefix of the scope.

    `document(26, '{"proxi": 2, "cach": 1}')` is `000000001a_proxi 000000001a_cach`.
    """
    return Derived(" ".join(scoped_terms(scope, json.loads(terms))))


def _count(writing: Writing, entries: Sequence[Values | Row], sign: int) -> None:
    """Add entries to the counts of rows and terms of their scopes, or (`sign` -1) subtract them."""
    for scope in {indexed["scope"] for indexed in entries}:
        entries_of_scope = [indexed for indexed in entries if indexed["scope"] == scope]
        row_counts: Counter[str] = Counter()  # by term
        for indexed in entries_of_scope:
            row_counts.update(json.loads(indexed["terms"]).keys())
        # One statement for all, in the order of the table, so that neighbors are written together.
        changes = {term: sign * rows for term, rows in sorted(row_counts.items())}
        terms_with_counts = Derived(json.dumps(changes, ensure_ascii=False))
        writing.run("index_count", {"scope": scope, "terms": terms_with_counts})
        if sign < 0:
            removed_terms = Derived(json.dumps([*row_counts]))
            writing.run("index_forget", {"scope": scope, "terms": removed_terms})
        size = {
            "rows": sign * len(entries_of_scope),
            "length": sign * sum(round(indexed["length"]) for indexed in entries_of_scope),
        }
        writing.run("index_resize", {"scope": scope, **size})
