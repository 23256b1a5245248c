"""Which stored lessons could say the same as another one, or the opposite: those of nearly the same situation.

Both ask that most words of the mistake are shared (see `merging`), so that the rarest words tell most lessons apart
without a look at them: where a part s of n words must be shared, a text with none of the n - ⌈s·n⌉ + 1 rarest does
not share enough (prefix filtering; Chaudhuri, Ganti and Kaushik 2006, "A Primitive Operator for Similarity Joins").
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from mcp_reflect.bank.analysis import words_of
from mcp_reflect.bank.candidates import lessons_at
from mcp_reflect.bank.features import HELD
from mcp_reflect.bank.gathering import Top, read_blocks
from mcp_reflect.bank.lexical import Counts
from mcp_reflect.bank.merging import SAME_WORDS, shared, telling_words
from mcp_reflect.bank.slices import Sums
from mcp_reflect.bank.sqlite.statements import Reading, Transaction
from mcp_reflect.bank.stopwords import STOP_WORDS
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Kind, Lesson

COMPARED: Final = 30  # lessons whose words are compared
MORE_WORDS: Final = 2  # words beyond the rarest that are looked up, as many more of which must be shared


async def nearest(tx: Transaction, scope: Scope, lesson: Lesson) -> list[Lesson]:
    """The active lessons out of quarantine, of the scope and global, of nearly the same situation.

    As a transaction sees them, those whose whole text is most alike first. The lesson itself is among them where it
    is stored.
    """
    return await tx.look(lambda reading: _nearest(reading, scope, lesson))


def _nearest(reading: Reading, scope: Scope, lesson: Lesson) -> list[Lesson]:
    index = Counts(reading, scope)
    situation, todo = telling_words(lesson.mistake or ""), _telling(lesson.correction or "")
    rows = _rows(index, _telling(lesson.mistake or ""), len(situation), todo)
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


def _rows(index: Counts, words: Sequence[str], count: int, todo: Sequence[str]) -> list[int]:
    """Rows that share so many of the rarest words that they may share enough of all (of `count` at least).

    Of too many, those that share most of what is `todo`, then the newest.
    """
    index.look_up(words)
    total = max(len(words), count)
    rarest = total - math.ceil(SAME_WORDS * total) + 1
    asked = sorted(words, key=lambda word: (index.rows_with(word), word))[: rarest + MORE_WORDS]
    least = max(len(asked) - rarest + 1, 1)
    rows: list[int] = []
    for number in index.numbers:
        places = index.places[number]
        alike = {
            block: found
            for block, bits in read_blocks(index.reading, number, places, (*asked, HELD)).items()
            if (found := (counts := _counted(bits, asked)).above(least - 1, counts.any() & ~bits.get(HELD, 0)))
        }
        many = sum(found.bit_count() for found in alike.values()) > COMPARED
        more = read_blocks(index.reading, number, places, todo) if many else {}
        top = Top(COMPARED)
        for block, found in alike.items():
            top.take(block, _counted(more.get(block, {}), todo), found)
        values = {"scope": number, "places": top.places()}
        rows += [row["row"] for row in index.reading.rows("index_rows", values)]
    return rows


def _counted(bits: Mapping[str, int], words: Sequence[str]) -> Sums:
    """How many of the words each row of a block holds."""
    counts = Sums()
    for word in words:
        counts.add(bits.get(word, 0), 1)
    return counts
