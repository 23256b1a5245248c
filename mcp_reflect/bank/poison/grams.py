"""The words of a text as places in a table of weights: words, neighbours, and runs of letters within a word.

The table is small and has no names: a word's place is its checksum, and a few words share each place. `model` sums
what stands there, `benchmarks.door_train` learns it.
"""

from collections.abc import Iterable
from typing import Final
from zlib import crc32

BITS: Final = 18
NEIGHBOURS: Final = 1.5  # what they count beside words and runs: best in cross-validation over writers, of .7 to 1.5
_PLACES: Final = (1 << BITS) - 1
_SHORTEST: Final = 2  # letters of a run
_LONGEST: Final = 5
_MOST_DIGITS: Final = 4
_MOST_LETTERS: Final = 40  # of a word of which runs are taken: longer ones are codes, or sentences without blanks
_TURN: Final = 2654435761  # multiplicative hashing (Knuth, TAOCP 6.4), so that `a b` and `b a` have two places


def place(word: str) -> int:
    """The place of a word; numbers count by their length alone."""
    if word.isdigit():
        word = "0" * min(len(word), _MOST_DIGITS)
    return crc32(word.encode("utf-8", "surrogatepass")) & _PLACES


def runs(word: str) -> list[int]:
    """The places of the runs of 2 to 5 letters of a word, its beginning and end marked; one for each."""
    marked = f"<{word[:_MOST_LETTERS]}>".encode("utf-32-le", "surrogatepass")
    size = len(marked) // 4
    return [
        crc32(marked[4 * at : 4 * (at + length)]) & _PLACES
        for length in range(_SHORTEST, _LONGEST + 1)
        for at in range(size - length + 1)
    ]


def neighbours(places: Iterable[int]) -> set[int]:
    """The places of each word together with the one behind it, given the words' places in their order."""
    found: set[int] = set()
    before = 0
    for one in places:
        found.add((before * _TURN + one) * _TURN >> 15 & _PLACES)
        before = one
    return found
