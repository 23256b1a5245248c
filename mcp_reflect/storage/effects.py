"""The effect of lessons: the endings of the sessions that followed one, beside those from which it was held out.

A lesson is held out of a session where it would have been shown, and is not, so that its effect can be measured. The
two sides are not chosen alike: with the lesson count the sessions that were shown it *and followed it*, without it all
from which it was held out, since nobody knows which of them would have followed it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.models.card import SessionCard
from mcp_reflect.models.common import Scope, from_json
from mcp_reflect.models.effect import Arm, Comparison
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.session_state import SessionNotes
from mcp_reflect.storage.repository import Reading, Repository, Writing, brief_transaction
from mcp_reflect.storage.rows import keeps
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.values import scoped

_SECONDS_AFTER_SESSION: Final = 60.0
"""A lesson that a person keeps so soon after the last call of a session is counted for that session."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured effect of a lesson, and whether a person keeps the lesson."""

    comparison: Comparison
    is_kept_by_person: bool


class EffectRepository(Repository):
    """The sessions of lessons, from which their help and harm are counted."""

    @brief_transaction
    def note_shown(
        self, tx: Writing, scope: Scope, session: str, ids: Iterable[str], *, held_out: bool
    ) -> None:
        """Note that a session was shown lessons, or that it was held out and would have been."""
        own = scoped(scope, session=session, held_out=held_out, now=self.clock.now())
        tx.run_many("shown_in_put", [{**own, "lesson_id": name} for name in ids])

    @brief_transaction
    def note_ending(self, tx: Writing, scope: Scope, session: str, *, good: bool | None) -> None:
        """Note how a session ended as far as its runs prove it; the latest of its ends counts."""
        values = scoped(scope, session=session, ending=good, now=self.clock.now())
        tx.run("shown_in_end", values)

    async def of(self, scope: Scope, ids: Iterable[str] | None = None) -> dict[str, Measured]:
        """Return the measured effects of lessons, by id: of those of `ids`, or of all of the project (None).

        The query has up to two rows for a lesson: one for the sessions that were shown it and followed it, and one for
        those from which it was held out. Both go into one comparison.
        """
        values = scoped(scope, ids=list(ids or ()), all_lessons=int(ids is None))
        measured_by_id: dict[str, Measured] = {}
        for row in await self.db.rows("shown_in_counts", values):
            lesson_id = row["lesson_id"]
            comparison = Comparison()
            if lesson_id in measured_by_id:
                comparison = measured_by_id[lesson_id].comparison
            sessions = Arm(row["sessions"], int(row["good"]))
            arm = "held_out" if row["held_out"] else "shown"  # fields of a Comparison
            comparison = replace(comparison, **{arm: sessions})
            measured_by_id[lesson_id] = Measured(comparison, is_kept_by_person=keeps(row))
        return measured_by_id

    async def card(self, scope: Scope, session: str | None = None) -> SessionCard | None:
        """Return the card of a session: the lessons that it followed and kept, and the warnings that it heeded.

        The session is known by its name or the beginning of it; without one, the latest is meant. None if there is none.
        """

        def read_card(reading: Reading) -> SessionCard | None:
            row = reading.row("card_session", scoped(scope, part=session or ""))
            if row is None:
                return None
            session_id = row["id"]
            notes = from_json(SessionNotes, json.loads(row["notes"]))
            followed_lessons = reading.lessons("card_followed", scope, session=session_id)
            kept_lessons = reading.lessons(
                "card_kept",
                scope,
                session=session_id,
                since=row["started_at"],
                until=row["updated_at"] + _SECONDS_AFTER_SESSION,
            )
            return SessionCard(
                session=session_id,
                started_at=row["started_at"],
                followed=tuple(_words_of(lesson) for lesson in followed_lessons),
                heeded=_count_of_heeded(reading, scope, session_id),
                kept=tuple(_words_of(lesson) for lesson in kept_lessons),
                held=notes.last_word.held,
                corrected=notes.last_word.corrected + notes.last_word.ran,
                refused=len(notes.held),
            )

        return await self.db.look(scope.tenant, read_card)


def _count_of_heeded(reading: Reading, scope: Scope, session: str) -> int:
    """Return how many warnings of a session its agent heeded."""
    row = reading.row("card_heeded", scoped(scope, session=session))
    if row is None:
        return 0
    return row["count"]


def _words_of(lesson: Lesson) -> str:
    """Return the words of a lesson on a card; a lesson that hooks would not show is named by its id alone."""
    if suspicion_of(lesson):
        return short_id(lesson.id)
    return lesson.correction or lesson.text
