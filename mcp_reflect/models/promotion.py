"""Lessons that were written into a file which a host gives to its model."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A block of ours in a file of a project.

    `lessons` are the ids of those in the block, `said` of those that the rest of the file says already. `lead` is what
    was put in front of the block to part it from the rest, `head` the beginning of a file that was made for the block.
    """

    file: str
    lessons: tuple[str, ...]
    said: tuple[str, ...] = ()
    lead: str = ""
    head: str = ""
    made: bool = False
