"""Sessions that are watched: what they were warned of, what they then did, and what that proves."""

import json
from collections.abc import Sequence
from typing import Final

from mcp_reflect.bank import failures, outcomes
from mcp_reflect.bank.keeping import Keeping
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import Row, scope_values
from mcp_reflect.bank.sqlite.statements import Transaction, Writing
from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.run import Failure, WorkedCall
from mcp_reflect.models.warning import Due, KnownFailure, Sequel, SessionState

MOST_WRONG: Final = 3  # warnings that were wrong, after which their failure is not warned of any more
MOST_HEADS: Final = 50  # of a session, the last ones whose success is remembered


class Watch:
    """Keeps failing calls, sessions and warnings in the bank."""

    def __init__(self, db: Database, clock: Clock, keeping: Keeping) -> None:
        self._db = db
        self._clock = clock
        self._keeping = keeping

    async def session(self, scope: Scope, session: str, *, held_out: bool) -> SessionState:
        """What is remembered of a session; a new one, whose hold-out is as given, where it is not known."""
        row = await failures.session_row(self._db, scope, session)
        return SessionState(id=session, held_out=held_out) if row is None else _state(row)

    async def known(
        self, scope: Scope, session: str, *, bare: str, loose: str, head: str
    ) -> tuple[list[KnownFailure], list[KnownFailure]]:
        """Failures of the same call; and those of the session of what the call is a call of."""
        calls = await failures.of_call(self._db, scope, bare, loose)
        return calls, await failures.of_head(self._db, scope, session, head)

    async def same_error(self, scope: Scope, tool: str, fingerprint: str) -> list[KnownFailure]:
        """Failures of a tool with the same error that have a correction, the latest first."""
        return await failures.of_error(self._db, scope, tool, fingerprint)

    async def often(self, scope: Scope, limit: int) -> list[KnownFailure]:
        """The calls that failed most often, more than once, and have not worked since."""
        return await failures.often(self._db, scope, limit)

    async def lessons_of(self, scope: Scope, known: KnownFailure) -> list[Lesson]:
        """The lessons that the reflection on a failure brought."""
        return await failures.lessons_of(self._db, scope, known)

    async def warn(
        self,
        scope: Scope,
        state: SessionState,
        due: Due,
        *,
        exact: str,
        call_id: str | None,
        lesson: str | None,
        size: int,
    ) -> str:
        """Note a warning, given or held out; returns its id. `size` is what it cost, in characters."""
        warning_id = self._clock.new_id("warn")
        async with self._db.write() as tx:
            await self._begin(tx, scope, state)
            values = {
                "id": warning_id,
                "session": state.id,
                "failure": due.known.row,
                "lesson_id": lesson,
                "match": due.match.value,
                "certainty": due.certainty,
                "exact": exact,
                "call_id": call_id,
                "shown": int(not state.held_out),
                "characters": 0 if state.held_out else size,
                "now": self._clock.now(),
                **scope_values(scope),
            }
            await tx.run("warning_add", values)
        return warning_id

    async def show(self, scope: Scope, state: SessionState, lesson_ids: Sequence[str]) -> None:
        """Remember what a session has been shown, so that it is shown once."""
        async with self._db.write() as tx:
            await self._begin(tx, scope, state)
            shown = list(dict.fromkeys((*state.shown, *lesson_ids)))
            values = {"id": state.id, "shown": shown, "now": self._clock.now(), **scope_values(scope)}
            await tx.run("session_shown", values)

    async def called(
        self,
        scope: Scope,
        state: SessionState,
        call: WorkedCall,
        *,
        head: str,
        failure: Failure | None,
        recurrence: bool,
        changed: bool,
    ) -> bool:
        """Note what came of a call: failures and successes, the sequel of warnings, the session's count.

        Returns whether the session had been shown a warning of this call.
        """
        now = self._clock.now()
        async with self._db.write() as tx:
            await self._begin(tx, scope, state)
            row = await failures.session_row(tx, scope, state.id)
            current = state if row is None else _state(row)
            step = current.step + 1
            told = await self._settle(tx, scope, current, call.exact, worked=failure is None, now=now)
            if failure is not None:
                await failures.note(tx, scope, failure, now, session=state.id, step=step)
            else:
                await failures.note_worked(tx, scope, (call,), now)
            worked = {**dict(current.worked), **({head: step} if failure is None else {})}
            values = {
                "id": state.id,
                "failed": int(failure is not None),
                "recurrence": int(recurrence),
                "changed": int(changed),
                "worked": dict(sorted(worked.items(), key=lambda item: item[1])[-MOST_HEADS:]),
                "now": now,
                **scope_values(scope),
            }
            await tx.run("session_called", values)
            return told

    async def corrected(self, scope: Scope, known: KnownFailure, worked: Json) -> None:
        """Remember the arguments that worked instead of a failing call's."""
        async with self._db.write() as tx:
            await tx.run("failure_corrected", {"row": known.row, "worked": [worked], "tenant": scope.tenant})

    async def end(self, scope: Scope, session: str) -> None:
        """Warnings after which the session did nothing any more were heeded, as far as anybody can tell."""
        async with self._db.write() as tx:
            for row in await tx.rows("warning_open", {"session": session, "exact": "", **scope_values(scope)}):
                await self._close(tx, row, Sequel.HEEDED, self._clock.now())

    async def _begin(self, tx: Transaction, scope: Scope, state: SessionState) -> None:
        now = self._clock.now()
        values = {"id": state.id, "held_out": int(state.held_out), "now": now, **scope_values(scope)}

        def begin(writing: Writing) -> None:
            if writing.run("session_begin", values):
                self._keeping.drop_old(writing, now, "session", "warning")

        await tx.at_once(begin)

    async def _settle(
        self, tx: Transaction, scope: Scope, state: SessionState, exact: str, *, worked: bool, now: float
    ) -> bool:
        """Settle what waits: the same call says whether the warning was right, another one that it was heeded.

        Calls that run side by side end in any order, so the same call also settles what seemed heeded.
        """
        values = {"session": state.id, "exact": exact, **scope_values(scope)}
        mine = told = False
        for row in await tx.rows("warning_open", values):
            if row["exact"] != exact:
                await self._close(tx, row, Sequel.HEEDED, now)
                if worked:
                    await self._tell(tx, scope, row, Sequel.HEEDED)
            elif not mine:
                mine, told = True, bool(row["shown"])
                sequel = Sequel.WORKED if worked else Sequel.FAILED
                await self._close(tx, row, sequel, now)
                await self._tell(tx, scope, row, sequel)
        return told

    async def _close(self, tx: Transaction, row: Row, sequel: Sequel, now: float) -> None:
        await tx.run("warning_settle", {"id": row["id"], "sequel": sequel.value, "now": now, "tenant": row["tenant"]})

    async def _tell(self, tx: Transaction, scope: Scope, row: Row, sequel: Sequel) -> None:
        """What a sequel proves: of the failure in any case, of a lesson only where it was shown.

        A call that failed again says nothing of a lesson that was not followed.
        """
        if sequel is Sequel.WORKED:
            values = {"row": row["failure"], "most": MOST_WRONG, "now": self._clock.now(), "tenant": scope.tenant}
            await tx.run("failure_was_wrong", values)
        if row["shown"] and row["lesson_id"] and sequel is not Sequel.FAILED:
            good = sequel is Sequel.HEEDED
            await outcomes.proved(tx, scope, row["lesson_id"], row["id"], success=float(good), now=self._clock.now())


def _state(row: Row) -> SessionState:
    return SessionState(
        id=row["id"],
        held_out=bool(row["held_out"]),
        step=row["calls"],
        changed=row["changed"],
        worked=tuple(json.loads(row["worked"]).items()),
        shown=tuple(json.loads(row["shown"])),
    )
