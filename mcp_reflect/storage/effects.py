"""In which sessions lessons were shown or held out, and how those sessions ended."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcp_reflect.models.common import Scope
from mcp_reflect.storage.repository import Repository, Writing, brief_transaction, scoped


@dataclass(frozen=True, slots=True)
class Arm:
    """Sessions with a proven ending: how many there are, and in how many of them it was good."""

    sessions: int = 0
    good: int = 0


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

    async def arms(
        self, scope: Scope, ids: Sequence[str] | None = None
    ) -> dict[str, tuple[Arm, Arm]]:
        """Return by lesson the sessions that were shown it and followed it, and those from which it was held out."""
        values = scoped(scope, ids=list(ids or ()), all_lessons=int(ids is None))
        found: dict[str, tuple[Arm, Arm]] = {}
        for row in await self.db.rows("shown_in_counts", values):
            arm = Arm(row["sessions"], int(row["good"]))
            shown, held = found.get(row["lesson_id"], (Arm(), Arm()))
            found[row["lesson_id"]] = (shown, arm) if row["held_out"] else (arm, held)
        return found
