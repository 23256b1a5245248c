"""What a lesson was true of when it was stored: lines of files, and the versions of what it is about."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

WHOLE: Final = -1
"""As `FileRoot.most_gone`: any change of the file's lines counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRoot:
    """A file that a lesson names, as it was when the lesson was stored."""

    path: str  # in the repository
    digest: str | None = None  # of the whole file, None where its content may hold secrets
    size: int = 0  # bytes
    lines: tuple[str, ...] = ()  # digests of the lines that the lesson touches
    most_gone: int = 0  # lines of these that may go before the root counts as changed, or WHOLE
    absent: tuple[str, ...] = ()  # words of the lesson that the file did not have


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRoot:
    """A package that a lesson is about."""

    name: str
    version: str
    lock: str  # the path of the lock file that says so


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """All roots of a lesson."""

    files: tuple[FileRoot, ...] = ()
    versions: tuple[VersionRoot, ...] = ()
    valid_until: float | None = None  # seconds since 1970, where whoever stored it said so

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
    """What became of a lesson's roots."""

    standing: Standing = Standing.STANDS
    what_changed: str = ""  # "app.py is gone since"; empty where the roots stand


@dataclass(frozen=True, slots=True)
class Planted:
    """The roots of a stored lesson, and whether a person keeps it: such a lesson is marked and never hidden."""

    roots: Roots
    is_kept_by_person: bool
