"""Digests of tool outputs: they tell later whether a typed line was in an output, and nothing can be read in them."""

from hashlib import blake2b
from typing import Final

from mcp_reflect.patterns import lazy_compile

_END_CHARS: Final = 20_000  # of an output, read at each end
_END_LINES: Final = 40
_MOST_HASHES: Final = 200
_HASH_BYTES: Final = 4
_WORD: Final = lazy_compile(r"\w+(?:[.,:/=-]\w+)*")
_COUNT: Final = lazy_compile(r"\b\d+ [^\W\d_]+")


def digest(text: str) -> bytes:
    """Return short hashes of the first and last lines of an output and of the counts in them, as `43 passed`."""
    lines = _lines(text if len(text) <= 2 * _END_CHARS else f"{text[:_END_CHARS]}\n{text[-_END_CHARS:]}")
    ends = (*lines[:_END_LINES], *lines[-_END_LINES:])
    parts = dict.fromkeys((*ends, *(count for line in reversed(ends) for count in _COUNT.findall(line))))
    return b"".join(sorted(map(_hash, [*parts][:_MOST_HASHES])))


def shown_part(text: str, output: bytes) -> str:
    """Return the lines of `text` that the output with that digest has, or of which it has every count.

    Empty where they are single words: any output may have these.
    """
    known = {output[place : place + _HASH_BYTES] for place in range(0, len(output), _HASH_BYTES)}
    shown = [line for line in _lines(text) if _hash(line) in known or _has_counts(line, known)]
    return "\n".join(shown) if any(" " in line for line in shown) else ""


def _has_counts(line: str, known: set[bytes]) -> bool:
    counts = _COUNT.findall(line)
    return bool(counts) and all(_hash(count) in known for count in counts)


def _lines(text: str) -> list[str]:
    """Return the words of each line that has any, in lower case: rulers and indents are not kept when it is typed."""
    lines = (" ".join(_WORD.findall(line.lower())) for line in text.splitlines())
    return [line for line in lines if line]


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=_HASH_BYTES).digest()
