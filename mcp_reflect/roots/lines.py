"""The lines of a file as they are compared, and digests by which they are known again without being kept."""

from hashlib import blake2b
from typing import Final

_LEAST_LINE: Final = 3  # characters of a line that means something


def lines_of(content: bytes) -> list[str]:
    """Return the lines of a file that say something, without their indentation: moving or indenting is no change."""
    lines = map(normalized, content.decode("utf-8", "replace").splitlines())
    return [line for line in lines if len(line) >= _LEAST_LINE]


def normalized(line: str) -> str:
    """Return a line without indentation and with single blanks."""
    return " ".join(line.split())


def digest_of_line(line: str) -> str:
    """Return a short digest of a line: 6 bytes are enough to tell the lines of one file apart."""
    return blake2b(line.encode(), digest_size=6).hexdigest()


def digest_of(content: bytes) -> str:
    """Return the digest of a whole file."""
    return blake2b(content, digest_size=12).hexdigest()
