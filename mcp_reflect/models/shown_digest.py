"""Digests of what a person is shown: an act of theirs counts for that alone, and not for what became of it since."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from mcp_reflect.models.finding import StoredFinding
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.proposal import Proposal

Seen = Mapping[str, str]
"""Of each record that a person was shown its id and the digest of what they saw."""

NOTHING_SEEN: Final[Seen] = {}
"""Of an act that is bound to nothing: an agent's, or one of code."""

_HEX_DIGITS: Final = 32
_NOT_SHOWN: Final = frozenset(
    "context_hash suspicion rules_version reflection_id strength confidence times_applied effectiveness wins losses proof "
    "guard_repeats created_at updated_at".split()
)
"""Fields of a lesson that its use changes, and those that say nothing of what it tells, does, or how far it is trusted."""
_SHOWN: Final = tuple(field.name for field in fields(Lesson) if field.name not in _NOT_SHOWN)


def digest_of_lesson(lesson: Lesson) -> str:
    """Return the digest of a lesson's words, calls, guard, mode, project, state and trust."""
    return _digest({name: getattr(lesson, name) for name in _SHOWN})


def seen_lessons(*lessons: Lesson) -> dict[str, str]:
    """Return what a person is shown of lessons that they see as they are."""
    return {lesson.id: digest_of_lesson(lesson) for lesson in lessons}


def digest_of_proposal(proposal: Proposal, lesson: Lesson) -> str:
    """Return the digest of what an agent wants, and of the lesson as it is."""
    return _digest(
        [proposal.id, proposal.kind, proposal.body, proposal.reason, digest_of_lesson(lesson)]
    )


def digest_of_finding(stored: StoredFinding) -> str:
    """Return the digest of a finding's facts, and of its lesson in the words of a model."""
    return _digest([stored.id, asdict(stored.finding)])


def _digest(value: Any) -> str:
    """Return the digest of a value, the same for equal values: 32 hex digits of the SHA-256 of its JSON."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS]
