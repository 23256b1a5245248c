"""Terms of texts, and their index: FTS5 finds rows that share terms with a question, `features` counts a row's."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations
from typing import Final

from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.lesson import Lesson, State, Trust
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.storage.repository import (
    Derived,
    Reading,
    Row,
    Values,
    Writing,
    lesson_from,
    readable,
)
from mcp_reflect.storage.retrieval.vectors import signs, text_of, word_vector
from mcp_reflect.text.program_words import words_for_programs
from mcp_reflect.text.signature import fingerprint
from mcp_reflect.text.stemmer import ENGLISH, STOP_WORDS, stem

LONGEST: Final = 64  # characters of a term; longer terms are cut

# Thai, Chinese, Japanese, Korean: no spaces between words.
_UNSPACED: Final = (
    "\u0e00-\u0e7f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u1100-\u11ff"
)
# Vowel signs and the like, which `re` does not take for letters: Arabic and Hebrew points, the scripts of India.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff"
_LETTERS: Final = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}])+"

# Letters and digits with the signs that join them, or a run of a script without spaces; and their parts.
_CHUNK: Final = lazy_compile(rf"[{_UNSPACED}]+|{_LETTERS}(?:[._/:\\@'’-]+{_LETTERS})*")
_PART: Final = lazy_compile(rf"(?:[^\W_]|[{_MARKS}])+")
_RUN: Final = lazy_compile(rf"[{_UNSPACED}]")
_ASCII_CHUNK: Final = lazy_compile(
    r"[^\W_]+(?:[._/:\\@'-]+[^\W_]+)*"
)  # most texts are ASCII: these compile faster
_ASCII_PART: Final = lazy_compile(r"[^\W_]+")
_CAMEL: Final = lazy_compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNFOLDED: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})


def terms_of(text: str) -> list[str]:
    """Return the terms of a text in order, with stop words; an identifier gives itself and then its parts.

    Words are folded (NFKC, case, diacritics) and stemmed; runs of scripts without spaces give pairs of letters. Terms
    hold letters, digits and `_`.
    """
    return [term for chunk in _chunks(text) for term, _ in _terms(chunk) if term]


def words_of(text: str) -> dict[str, str]:
    """Return each term of a text once, in order, with the word at its first place in the text."""
    words: dict[str, str] = {}
    for chunk in _chunks(text):
        for term, word in _terms(chunk):
            if term:  # an accent without a letter gives an empty term
                words.setdefault(term, word)
    return words


@lru_cache(maxsize=10_000)
def telling_words(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without stop words if there are others."""
    words = {word.lower() for word in _ASCII_PART.findall(text)}
    return frozenset(map(stem, words - ENGLISH or words))


def _chunks(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_CHUNK.findall(text)
    return _CHUNK.findall(unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=100_000)
def _terms(chunk: str) -> tuple[tuple[str, str], ...]:
    if not chunk.isascii() and _RUN.match(chunk):
        pairs = [chunk[place : place + 2] for place in range(len(chunk) - 1)] or [chunk]
        return tuple(zip(pairs, pairs, strict=True))
    parts = (_ASCII_PART if chunk.isascii() else _PART).findall(_without_apostrophe(chunk))
    if len(parts) == 1:
        return _word_terms(parts[0])
    whole = "_".join(map(_folded, parts))[:LONGEST]
    inner = [pair for part in parts for pair in _word_terms(part) if len(pair[0]) > 1]
    return ((whole, chunk), *inner)


def _word_terms(word: str) -> tuple[tuple[str, str], ...]:
    """Return the term of a word; of one in camelCase also those of its parts."""
    inner = (
        _CAMEL.findall(word) if word.isascii() and not word.islower() and not word.isdigit() else ()
    )
    parts = tuple((_stemmed(part.lower()), part.lower()) for part in inner if len(part) > 1)
    if len(parts) > 1:
        return ((_stemmed(_folded(word))[:LONGEST], word), *parts)
    return ((_stemmed(_folded(word))[:LONGEST], word.lower()),)


def _stemmed(word: str) -> str:
    return word if word in STOP_WORDS else stem(word)


def _without_apostrophe(chunk: str) -> str:
    """Return `don't` as dont, `server's` as server, `l'erreur` as erreur."""
    head, *tail = chunk.replace("’", "'").split("'")
    if len(tail) != 1:
        return "".join((head, *tail))
    if tail[0].lower() == "s":
        return head
    return tail[0] if len(head) <= 2 and len(tail[0]) > 2 else head + tail[0]


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", word.casefold())
    bare = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", bare).translate(_UNFOLDED)


# The index.

# The weight of one occurrence of a term: in task type and tags, and in the context; elsewhere 1.
_NAME_WEIGHT: Final = 0.6
_CONTEXT_WEIGHT: Final = 0.3

BUDGET: Final = 400
"""Postings that are read for a question in one scope: those of its rarest terms."""

ANALYZER: Final = 3
"""The version of `entry` and of the table of word vectors: another one makes another index of the same texts."""

_COMMON_TERMS: Final = (
    4  # of a question whose terms are all beyond the budget, so many are combined in pairs
)

LEAST_CHARS: Final = 12
"""Of the fingerprint of an error that identifies a lesson: "error" or "failed" identify nothing."""


def scope_number(scope: Scope) -> int:
    """Return the number of a scope in the index: 40 bits of a hash.

    Two scopes with the same number would share their counts, never their lessons: those are read by name.
    """
    return int.from_bytes(
        blake2b(f"{scope.tenant}\0{scope.project}".encode(), digest_size=5).digest()
    )


def mark(name: str, value: str) -> str:
    """Return the term of all records of a kind, with a tag or error; no text has a term that begins with `_`."""
    return f"_{name}_{blake2b(value.encode(), digest_size=6).hexdigest()}"


def error_marks(errors: Iterable[str]) -> list[str]:
    """Return the terms of the records that one of these errors identifies."""
    return [
        mark("error", text)
        for text in sorted(set(map(fingerprint, errors)))
        if len(text) >= LEAST_CHARS
    ]


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
    text = f"{text}\n{purposes}"
    names = "\n".join(dict.fromkeys((lesson.task_type or "", *lesson.tags)))
    marks = (
        mark("kind", lesson.kind),
        *(mark("tag", tag) for tag in lesson.tags),
        *error_marks(lesson.symptoms),
    )
    counts: dict[str, float] = dict.fromkeys(marks, 1)
    length = 0.0
    for part, weight in ((text, 1), (names, _NAME_WEIGHT), (lesson.context or "", _CONTEXT_WEIGHT)):
        for term, count in Counter(terms_of(part)).items():
            counts[term] = round(counts.get(term, 0) + weight * count, 2)
            if term not in STOP_WORDS:
                length += weight * count
    # The mistake counts twice: it names the situation in which the lesson is wanted.
    words = "\n".join(
        (lesson.mistake or "", text_of(lesson.text, lesson.symptoms, lesson.keywords), purposes)
    )
    return {
        "id": Derived(lesson.id),
        "scope": scope_number(Scope(scope.tenant, lesson.project)),
        "length": round(length, 2),
        "terms": Derived(json.dumps(counts, ensure_ascii=False, separators=(",", ":"))),
        "vector": word_vector(words),
        "analyzer": ANALYZER,
    }


def renew(writing: Writing, scope: Scope, lesson: Lesson) -> None:
    """Bring the index up to date with a changed record."""
    remove(writing, lesson.id)
    if new := entry(scope, lesson):
        add(writing, [new])


def add(writing: Writing, entries: Sequence[Values]) -> None:
    """Index stored records, on the database's thread. One that has its word vector keeps it."""
    writing.run_many("index_add_features", entries)
    writing.run_many(
        "index_add_terms",
        [{**one, "terms": document(one["scope"], one["terms"])} for one in entries],
    )
    vectors = [{**one, "signs": signs(one["vector"])} for one in entries if one["vector"]]
    writing.run_many("vector_add_words", vectors)
    _count(writing, entries, 1)


def remove(writing: Writing, *record_ids: str) -> None:
    """Remove records from the index, those that are there."""
    gone: list[Row] = []
    for record_id in record_ids:
        gone += writing.rows("index_of", {"id": record_id})
    for row in gone:
        writing.run(
            "index_remove_terms", {"row": row["row"], "terms": document(row["scope"], row["terms"])}
        )
        writing.run("index_remove_features", {"row": row["row"]})
    _count(writing, gone, -1)


def renew_outdated(writing: Writing, limit: int) -> int:
    """Update the index entries of some records that an older analyzer made; return how many."""
    rows = writing.rows("index_outdated", {"version": ANALYZER, "limit": limit})
    for row in rows:
        remove(writing, row["id"])
        writing.run("vector_remove_words", {"id": row["id"]})
    entries = readable(
        rows, lambda row: entry(Scope(row["tenant"], row["project"]), lesson_from(row)), writing.log
    )
    add(writing, [one for one in entries if one])
    return len(rows)


def document(scope: int, terms: str) -> Derived:
    """Return the text that FTS5 indexes for a row: its distinct terms, each with the prefix of the scope."""
    return Derived(" ".join(f"{scope:010x}_{term}" for term in json.loads(terms)))


def _count(writing: Writing, entries: Sequence[Values | Row], sign: int) -> None:
    """Add entries to the counts of rows and terms of their scopes, or (`sign` -1) subtract them."""
    for scope in {one["scope"] for one in entries}:
        own = [one for one in entries if one["scope"] == scope]
        terms = Counter(term for one in own for term in json.loads(one["terms"]))
        # One statement for all, in the order of the table, so that neighbors are written together.
        counted = Derived(
            json.dumps(
                {term: sign * rows for term, rows in sorted(terms.items())}, ensure_ascii=False
            )
        )
        writing.run("index_count", {"scope": scope, "terms": counted})
        if sign < 0:
            writing.run("index_forget", {"scope": scope, "terms": Derived(json.dumps([*terms]))})
        length = sign * sum(round(one["length"]) for one in own)
        writing.run("index_resize", {"scope": scope, "rows": sign * len(own), "length": length})


class TermCounts:
    """The size of a scope with its global lessons, and how many rows hold a term."""

    def __init__(self, reading: Reading, scope: Scope) -> None:
        self.reading = reading
        scopes = [scope_number(scope), scope_number(Scope(scope.tenant, GLOBAL))]
        sizes = [row for row in reading.rows("index_sizes", {"scopes": scopes}) if row["rows"]]
        self.numbers: list[int] = [row["scope"] for row in sizes]
        self.size: int = sum(row["rows"] for row in sizes)
        length: int = sum(row["length"] for row in sizes)
        self.average = length / self.size if self.size else 0.0
        self.by_scope: dict[int, dict[str, int]] = {number: {} for number in self.numbers}

    def look_up(self, terms: Sequence[str]) -> dict[str, int]:
        """Return how many rows hold each of these terms."""
        for scope, term, rows in self.reading.rows(
            "index_terms", {"scopes": self.numbers, "terms": terms}
        ):
            self.by_scope[scope][term] = rows
        return {term: sum(known.get(term, 0) for known in self.by_scope.values()) for term in terms}

    def newest(self, scope: int, groups: Iterable[Iterable[str]], most: int) -> list[int]:
        """Return the newest rows of a scope that hold a term of each group."""
        match = self.reading.matching(
            [[f"{scope:010x}_{term}" for term in some] for some in groups]
        )
        return [
            row["row"] for row in self.reading.rows("index_search", {"match": match, "limit": most})
        ]


def find_rows(
    counts: TermCounts,
    weights: Mapping[str, float],
    limit: int,
    groups: Sequence[Sequence[str]] = (),
) -> list[int]:
    """Return at most `limit` rows that share most of the weight of these terms, the heaviest and newest first.

    A row must have a mark of each group. The terms must be looked up in `counts`; the rarest are read first, as far as
    BUDGET goes.
    """
    sums: dict[int, float] = {}
    for number, known in counts.by_scope.items():
        rare, common, left = list[str](), list[str](), BUDGET
        for term in sorted(weights.keys() & known.keys(), key=lambda term: (known[term], term)):
            left -= known[term]
            (rare if left >= 0 else common).append(term)
        for term in rare:
            for row in counts.newest(number, ((term,), *groups), BUDGET):
                sums[row] = sums.get(row, 0.0) + weights[term]
        if len(sums) < limit:
            common = common[:_COMMON_TERMS]
            for terms in (*combinations(common, 2), *((term,) for term in common)):
                for row in counts.newest(number, (*((term,) for term in terms), *groups), limit):
                    sums[row] = max(sums.get(row, 0.0), sum(weights[term] for term in terms))
    return sorted(sums, key=lambda row: (-sums[row], -row))[:limit]
