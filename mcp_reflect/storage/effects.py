"""In which sessions lessons were shown or held out, and how those sessions ended.

A lesson is held out of a session when it would have been shown, and is not: so its effect can be measured.
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
    """The sessions of a lesson with and without it, compared, and whether a person keeps the lesson."""

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
        """Return what is known of lessons, by id: of those of `ids`, or of all of the project (None).

        The query has one row for the sessions that were shown a lesson, and one for those from which it was held out.
        """
        values = scoped(scope, ids=list(ids or ()), all_lessons=int(ids is None))
        by_lesson: dict[str, Measured] = {}
        for row in await self.db.rows("shown_in_counts", values):
            lesson_id = row["lesson_id"]
            nothing_yet = Measured(Comparison(), is_kept_by_person=keeps(row))
            measured = by_lesson.get(lesson_id, nothing_yet)
            sessions = Arm(row["sessions"], int(row["good"]))
            if row["held_out"]:
                comparison = replace(measured.comparison, held_out=sessions)
            else:
                comparison = replace(measured.comparison, shown=sessions)
            by_lesson[lesson_id] = replace(nothing_yet, comparison=comparison)
        return by_lesson

    async def card(self, scope: Scope, session: str | None = None) -> SessionCard | None:
        """Return what became of a session, by its name or the beginning of it, or of the latest; None if there is none."""

        def read(reading: Reading) -> SessionCard | None:
            row = reading.row("card_session", scoped(scope, part=session or ""))
            if row is None:
                return None
            of_session = {"session": row["id"]}
            notes = from_json(SessionNotes, json.loads(row["notes"]))
            times = {
                "since": row["started_at"],
                "until": row["updated_at"] + _SECONDS_AFTER_SESSION,
            }
            followed = reading.lessons("card_followed", scope, **of_session)
            kept = reading.lessons("card_kept", scope, **of_session, **times)
            return SessionCard(
                session=row["id"],
                started_at=row["started_at"],
                followed=tuple(_words_of(lesson) for lesson in followed),
                heeded=_count_of_heeded(reading, scope, row["id"]),
                kept=tuple(_words_of(lesson) for lesson in kept),
                held=notes.last_word.held,
                corrected=notes.last_word.corrected + notes.last_word.ran,
                refused=len(notes.held),
            )

        return await self.db.look(scope.tenant, read)


def _count_of_heeded(reading: Reading, scope: Scope, session: str) -> int:
    """Return how many warnings of a session its agent heeded."""
    row = reading.row("card_heeded", scoped(scope, session=session))
    if row is None:
        return 0
    return row["count"]


def _words_of(lesson: Lesson) -> str:
    """Return what a card says of a lesson; of one that hooks would not show, no words of its own."""
    if suspicion_of(lesson):
        return short_id(lesson.id)
    return lesson.correction or lesson.text
