"""Messages of JSON that have too many values: to parse 4 MB of empty lists takes the interpreter half a second.

A parser in C lets no other thread run meanwhile, so that a thread of its own would help nobody: such a message is
refused before it is parsed.
"""

from typing import Final

MOST_SIGNS: Final = 150_000
"""Commas and opening brackets outside of texts: some 4 MB of events or lessons have a third of that."""

_SIGNS: Final = (b",", b"[", b"{")


def is_dense(message: bytes | bytearray) -> bool:
    """Return whether a message has more values than are parsed; texts in it count for nothing, however long."""
    if len(message) <= MOST_SIGNS or _count(message) <= MOST_SIGNS:
        return False
    without_escapes = message.replace(rb"\\", b"").replace(rb"\"", b"")
    if (
        without_escapes.count(b'"') > 4 * MOST_SIGNS
    ):  # each text has two, and needs a sign before it
        return True
    outside_of_texts = without_escapes.split(b'"')[::2]  # every second part stands between quotes
    return sum(map(_count, outside_of_texts)) > MOST_SIGNS


def _count(text: bytes | bytearray) -> int:
    """Return how many commas and opening brackets there are."""
    return sum(map(text.count, _SIGNS))
