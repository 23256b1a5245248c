"""Messages of JSON that have too many values: to parse 4 MB of empty lists takes the interpreter half a second.

A parser in C lets no other thread run meanwhile, so that a thread of its own would help nobody: such a message is
refused before it is parsed.
"""

from typing import Final

MOST_SEPARATORS: Final = 150_000
"""Commas and opening brackets outside of texts: some 4 MB of events or lessons have a third of that."""

_SEPARATORS: Final = (b",", b"[", b"{")
"""Before each value of a message stands one of these; inside of an object also before each name."""


_QUOTES_OF_SEPARATOR: Final = 4
"""Two quotation marks a text, and at most two texts (a name and its value) behind a separator."""


def is_dense(message: bytes | bytearray) -> bool:
    """Return whether a message has more values than are parsed.

    What stands inside of texts counts for nothing: `{"a": "1,2,3"}` has one separator, `[1, 2, 3]` has three.
    """
    if len(message) <= MOST_SEPARATORS or _count_separators(message) <= MOST_SEPARATORS:
        return False
    without_escapes = message.replace(rb"\\", b"").replace(rb"\"", b"")
    if without_escapes.count(b'"') > _QUOTES_OF_SEPARATOR * MOST_SEPARATORS:
        return True
    parts_between_quotes = without_escapes.split(b'"')
    parts_outside_texts = parts_between_quotes[::2]  # texts and the parts around them take turns
    return sum(map(_count_separators, parts_outside_texts)) > MOST_SEPARATORS


def _count_separators(text: bytes | bytearray) -> int:
    """Return how many commas and opening brackets a text has."""
    return sum(map(text.count, _SEPARATORS))
