"""Which rows of a block hold a term, in few bytes: a list of places where they are few, else a bit for each place.

A block is 16,384 places of one scope, counted from 0 in the order in which lessons came. How many places there are
says which of the two forms the bytes have, so nothing else need be kept.
"""

import struct
from collections.abc import Iterable
from typing import Final

BLOCK_BITS: Final = 14
BLOCK: Final = 1 << BLOCK_BITS
LISTED: Final = 64  # so many places are a list of two bytes each; a longer list would take longer to read than bits


def bits_of(found: int, places: bytes) -> int:
    """The `found` rows of a block that `places` names, as an integer with a bit for each."""
    if found > LISTED:
        return int.from_bytes(places, "little")
    listed = struct.unpack(f"<{found}H", places)
    if found <= 8:
        rows = 0
        for place in listed:
            rows |= 1 << place
        return rows
    buffer = bytearray((max(listed) >> 3) + 1)
    for place in listed:
        buffer[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(buffer, "little")


def with_places(found: int, places: bytes, more: Iterable[int]) -> tuple[int, bytes]:
    """The posting with `more` rows, none of which it holds yet."""
    added = list(more)
    if found + len(added) <= LISTED:
        return found + len(added), places + struct.pack(f"<{len(added)}H", *added)
    rows = bytearray(places) if found > LISTED else bytearray()
    if found <= LISTED:
        added += struct.unpack(f"<{found}H", places)
        found = 0
    longest = (max(added) >> 3) + 1
    if len(rows) < longest:
        rows.extend(bytes(longest - len(rows)))
    for place in added:
        rows[place >> 3] |= 1 << (place & 7)
    return found + len(added), bytes(rows)


def without_place(found: int, places: bytes, place: int) -> tuple[int, bytes]:
    """The posting without one row that it holds."""
    rows = bits_of(found, places) & ~(1 << place)
    if found - 1 > LISTED:
        return found - 1, rows.to_bytes((rows.bit_length() + 7) // 8, "little")
    kept = [one for one in range(rows.bit_length()) if rows >> one & 1]
    return found - 1, struct.pack(f"<{found - 1}H", *kept)
