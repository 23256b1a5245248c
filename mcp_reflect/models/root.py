"""What a lesson was true of when it was stored: lines of files, and the versions of what it is about."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

WHOLE: Final = -1
"""In place of the number of lines of a file that may go: any change of it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRoot:
    """A file that a lesson names, by its path in the repository.

    `digest` and `size` (bytes) are of the whole file; the digest is None where the content may hold secrets. `lines` are
    digests of the lines that the lesson touches; so many of them as `most_gone` says may go before the root counts as
    changed (WHOLE: any change counts). `absent` are words of the lesson that the file did not have.
    """

    path: str
    digest: str | None = None
    size: int = 0
    lines: tuple[str, ...] = ()
    most_gone: int = 0
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRoot:
    """A package that a lesson is about, and its version in a lock file, which is named by its path."""

    name: str
    version: str
    lock: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """All roots of a lesson; `valid_until` is the time (seconds since 1970) until which it was said to hold."""

    files: tuple[FileRoot, ...] = ()
    versions: tuple[VersionRoot, ...] = ()
    valid_until: float | None = None

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to look at."""
        return not self.files and not self.versions and self.valid_until is None


class Standing(StrEnum):
    """Whether a lesson still stands on what it was true of; what cannot be measured stands."""

    STANDS = "stands"
    CHANGED = "changed"  # it is shown, with what changed
    DOUBTED = "doubted"  # a root is gone: it is asked about once


@dataclass(frozen=True, slots=True)
class Ground:
    """What became of a lesson's roots; `told` says it in a few words, empty where they stand."""

    standing: Standing = Standing.STANDS
    told: str = ""


@dataclass(frozen=True, slots=True)
class Planted:
    """The roots of a stored lesson, and whether a person keeps it: such a lesson is marked and never hidden."""

    roots: Roots
    is_kept_by_person: bool
