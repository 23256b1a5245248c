"""Which stored lessons could say the same as another one, or the opposite: those of nearly the same situation.

Both ask that most words of the mistake are shared (see `merging`), so that the rarest words tell most lessons apart
without a look at them: where a part s of n words must be shared, a text with none of the n - ⌈s·n⌉ + 1 rarest does
not share enough (prefix filtering; Chaudhuri, Ganti and Kaushik 2006, "A Primitive Operator for Similarity Joins").
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from mcp_reflect.bank.analysis import words_of
from mcp_reflect.bank.candidates import lessons_at
from mcp_reflect.bank.lexical import Counts
from mcp_reflect.bank.merging import SAME_WORDS, shared, telling_words
from mcp_reflect.bank.postings import any_of
from mcp_reflect.bank.sqlite.database import Reading, Transaction
from mcp_reflect.bank.stopwords import STOP_WORDS
from mcp_reflect.records.lesson import Kind, Lesson
from mcp_reflect.records.scope import Scope

COMPARED: Final = 30  # lessons whose words are compared
MORE_WORDS: Final = 2  # words beyond the rarest that are looked up, as many more of which must be shared
SCANNED: Final = 60_000  # postings that SQLite may go over: some 100 ns each


async def nearest(tx: Transaction, scope: Scope, lesson: Lesson) -> list[Lesson]:
    """The active lessons, of the scope and global, of nearly the same situation, as a transaction sees them.

    Those whose whole text is most alike come first. The lesson itself is among them where it is stored.
    """
    return await tx.look(lambda reading: _nearest(reading, scope, lesson))


def _nearest(reading: Reading, scope: Scope, lesson: Lesson) -> list[Lesson]:
    index = Counts(reading, scope)
    situation = telling_words(lesson.mistake or "")
    rows = _rows(index, _telling(lesson.mistake or ""), len(situation))
    if len(rows) > COMPARED:
        rows = _alike(index, rows, _telling(lesson.correction or ""))
    found = lessons_at(reading, scope, rows).values() if rows else ()
    words = telling_words(lesson.text)
    near = [
        (-shared(words, telling_words(other.text)), other.id, other)
        for other in found
        if other.kind is Kind.LESSON and shared(situation, telling_words(other.mistake or "")) >= SAME_WORDS
    ]
    return [other for _, _, other in sorted(near, key=lambda one: one[:2])]


def _telling(text: str) -> list[str]:
    words = list(words_of(text))
    return [word for word in words if word not in STOP_WORDS] or words


def _rows(index: Counts, words: Sequence[str], count: int) -> list[int]:
    """Rows that share so many of the rarest words that they may share enough of all (of `count` at least)."""
    index.look_up(words)
    total = max(len(words), count)
    rarest = total - math.ceil(SAME_WORDS * total) + 1
    asked = sorted(words, key=lambda word: (index.rows_with(word), word))[: rarest + MORE_WORDS]
    rows: list[int] = []
    for number in index.numbers:
        found = index.found[number]
        least, left = max(len(asked) - rarest + 1, 1), SCANNED
        known = [word for word in asked if word in found]
        while len(known) >= least > 1 and sum(found[word] for word in known) > left:
            known.pop()  # the most common one: that a row may have it is taken for granted
            least -= 1
        counts: Counter[int] = Counter()
        for place, word in enumerate(known if len(known) >= least else ()):
            # Who has none of the first ones cannot have enough any more: SQLite leaves those rows out.
            first = known[: len(known) - least + 1]
            match = any_of(number, [word]) + (f" AND {any_of(number, first)}" if place >= len(first) else "")
            counts.update(index.reading.numbers("index_postings", {"match": match, "limit": SCANNED}))
        rows += [row for row, held in counts.items() if held >= least]
    return rows


def _alike(index: Counts, rows: Sequence[int], words: Sequence[str]) -> list[int]:
    """Of rows of one situation those that share most of what to do, then the newest."""
    index.look_up(words)
    counts = Counter(dict.fromkeys(rows, 0))
    for number in index.numbers:
        left = SCANNED
        for word in sorted(words, key=lambda word: (index.found[number].get(word, 0), word)):
            left -= index.found[number].get(word, 0)
            if left < 0:
                break
            held = index.reading.numbers("index_postings", {"match": any_of(number, [word]), "limit": SCANNED})
            counts.update(counts.keys() & set(held))
    return sorted(counts, key=lambda row: (-counts[row], -row))[:COMPARED]
