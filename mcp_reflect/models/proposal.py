"""What an agent wants changed of a lesson that a person keeps: it waits until a person decides."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

PREFIX: Final = "pro"
"""Of the id of a proposal."""


class ProposalKind(StrEnum):
    """What would become of the lesson."""

    REPLACE = "replace"  # another one takes its place
    EDIT = "edit"
    RETIRE = "retire"
    DISARM = "disarm"  # its guard is turned off


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of a lesson that waits for a person.

    `body` has the new lesson of REPLACE as a draft, and the new values of EDIT; else it is empty. `agent` names the
    program whose agent proposed it.
    """

    id: str
    lesson_id: str
    kind: ProposalKind
    reason: str
    body: dict[str, Any]
    agent: str | None
    created_at: float
