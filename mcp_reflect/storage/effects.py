"""In which sessions lessons were shown or held out, and how those sessions ended."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mcp_reflect.models.common import Scope
from mcp_reflect.models.effect import Arm, Comparison
from mcp_reflect.storage.repository import (
    Repository,
    Writing,
    brief_transaction,
    keeps,
    scoped,
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The comparison of a lesson's sessions, and whether a person keeps the lesson."""

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
        """Return what is known of lessons, by id: of those of `ids`, or of all of the project."""
        values = scoped(scope, ids=list(ids or ()), all_lessons=int(ids is None))
        found: dict[str, Measured] = {}
        for row in await self.db.rows("shown_in_counts", values):
            arm = Arm(row["sessions"], int(row["good"]))
            before = found.get(row["lesson_id"])
            comparison = before.comparison if before else Comparison()
            name = "held_out" if row["held_out"] else "shown"
            after = replace(comparison, **{name: arm})
            found[row["lesson_id"]] = Measured(after, is_kept_by_person=keeps(row))
        return found
