"""What rules found hard-won in sessions, the calls in which they look for it, and lessons in instruction files."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from mcp_reflect.models.common import Json, Scope, compact, from_json
from mcp_reflect.models.finding import (
    Finding,
    FindingState,
    Promotion,
    Seen,
    SessionCall,
    StoredFinding,
)
from mcp_reflect.security.redact import clean
from mcp_reflect.storage.repository import Repository, Writing, brief_transaction, transaction
from mcp_reflect.storage.rows import Row, readable, record_from
from mcp_reflect.storage.values import Derived, scoped

MOST_CALLS: Final = 40  # of a session that are kept
_MOST_WAITING: Final = 500
_MOST_EVIDENCE: Final = 10  # sessions of which the lines are kept
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "state": FindingState,
    "finding": lambda text: from_json(Finding, json.loads(text)),
    "seen": lambda text: tuple(from_json(Seen, one) for one in json.loads(text)),
}


class FindingRepository(Repository):
    """Findings, the last calls of sessions, and the promotions of a project by file."""

    @brief_transaction
    def note_call(
        self,
        tx: Writing,
        scope: Scope,
        session: str,
        look: Callable[[Sequence[SessionCall]], tuple[SessionCall, Finding | None]],
        choose: Callable[[Sequence[StoredFinding]], StoredFinding | None] | None,
    ) -> Finding | None:
        """Keep a call of a session and what it completes; return the finding that the session is to be asked about now.

        `look` is given the last calls of the session, and returns the next one and what it completes. `choose` picks
        of all findings of the session the one to ask about; None: it is not asked. What somebody kept or dropped is not
        found again.
        """
        call, found = look(
            [_call(row) for row in tx.rows("session_calls", scoped(scope, session=session))]
        )
        own = scoped(scope, session=session, number=call.number)
        tx.run("session_call_add", {**own, "call": compact({**asdict(call), "number": None})})
        tx.run("session_call_trim", {**own, "last": call.number - MOST_CALLS})
        if found is not None and _is_new(tx, scope, session, found):
            values = {"id": self.clock.new_id("fnd"), "thing": found.thing, "body": asdict(found)}
            tx.run("finding_add", scoped(scope, session=session, now=self.clock.now(), **values))
        if choose is None:
            return None
        of_session = tx.rows("findings_of_session", scoped(scope, session=session))
        chosen = choose(readable(of_session, _stored, self.context.log))
        if chosen is None:
            return None
        tx.run("finding_asked", scoped(scope, id=chosen.id, asked=1, now=self.clock.now()))
        return chosen.finding

    async def open_in(self, scope: Scope, session: str) -> list[StoredFinding]:
        """Return the open findings of a session, in order."""
        rows = await self.db.rows("findings_of_session", scoped(scope, session=session))
        return [
            found
            for found in readable(rows, _stored, self.context.log)
            if found.state is FindingState.OPEN
        ]

    async def waiting(self, scope: Scope, *, every_project: bool = False) -> list[StoredFinding]:
        """Return the open findings of a project, or of every one, those that cost most first."""
        rows = await self.db.rows(
            "findings_waiting", scoped(scope, limit=_MOST_WAITING, every=int(every_project))
        )
        return readable(rows, _stored, self.context.log)

    @transaction
    def note_asked(self, tx: Writing, scope: Scope, ids: Sequence[str], times: int) -> None:
        """Note how often a session was asked about these findings."""
        for name in ids:
            tx.run("finding_asked", scoped(scope, id=name, asked=times, now=self.clock.now()))

    @transaction
    def reword(self, tx: Writing, scope: Scope, finding_id: str, finding: Finding) -> None:
        """Keep a finding with the words of a language model."""
        tx.run(
            "finding_reword",
            scoped(scope, id=finding_id, body=asdict(finding), now=self.clock.now()),
        )

    @transaction
    def settle(
        self, tx: Writing, scope: Scope, finding_id: str, state: FindingState, lesson_id: str | None
    ) -> None:
        """Keep a finding as a lesson, or drop it. NotFoundError for an unknown id."""
        tx.existing(
            "finding_by_id", scope, "id", finding_id, "List them: mcp-reflect lessons review"
        )
        values = {"id": finding_id, "state": state, "lesson_id": lesson_id, "now": self.clock.now()}
        tx.run("finding_settle", scoped(scope, **values))

    async def files_read(self, tenant: str) -> dict[str, tuple[int, float]]:
        """Return the size and the time of change of each file of a past session that was read, by its key."""
        rows = await self.db.rows("sessions_read", {"tenant": tenant})
        return {row["file"]: (row["size"], row["changed"]) for row in rows}

    async def helped(self, scope: Scope) -> dict[str, Json]:
        """Return how often lessons were shown and followed, and failures met again.

        `before` and `since` count past sessions around the time at which a lesson was made of each of `failures`.
        """
        where = scoped(scope)
        shown = [json.loads(row["shown"]) for row in await self.db.rows("sessions_shown", where)]
        measured = await self.db.row("outcomes_measured", where)
        kept = [
            (json.loads(row["seen"]), row["created_at"])
            for row in await self.db.rows("findings_kept", where)
        ]
        times: list[tuple[float, float]] = []
        for sessions, made in kept:
            times += [(seen["at"], made) for seen in sessions if seen["at"] is not None]
        return {
            "shown": sum(map(len, shown)),
            "sessions": len(shown),
            "judged": int(measured["told"]) if measured else 0,
            "followed": round(measured["followed"]) if measured else 0,
            "failures": len(kept),
            "before": sum(at < made for at, made in times),
            "since": sum(at >= made for at, made in times),
        }

    @transaction
    def learn(
        self,
        tx: Writing,
        scope: Scope,
        files: Sequence[tuple[str, int, float]],
        found: Sequence[tuple[Finding, Seen]],
        weigh: Callable[[Finding, int, int, float], float],
    ) -> None:
        """Keep what past sessions showed, and that their files (key, size, time of change) were read.

        A session counts once for a thing however often it is read. `weigh` returns the cost of a finding from its
        numbers of sessions, occurrences and seconds.
        """
        by_thing = defaultdict[str, list[tuple[Finding, Seen]]](list)
        for pair in found:
            by_thing[pair[0].thing].append(pair)
        for thing, pairs in by_thing.items():
            known = self._known(tx, scope, thing, pairs[0][0])
            for finding, one in pairs:
                known.finding = _better(known.finding, finding)
                known.seen[one.session] = clean(asdict(one))
            every = known.in_order()
            times = sum(one["times"] for one in every)
            seconds = sum(one["seconds"] for one in every)
            values = {
                "id": known.id,
                "thing": thing,
                "body": asdict(known.finding),
                "session": every[-1]["session"],
                "seen": Derived(json.dumps(every)),
                "now": self.clock.now(),
                "sessions": max(len(every), known.sessions),
                "weight": weigh(known.finding, len(every), times, seconds),
            }
            tx.run("finding_learn", scoped(scope, **values))
        for key, size, changed in files:
            tx.run("session_read", scoped(scope, file=Derived(key), size=size, changed=changed))

    def _known(self, tx: Writing, scope: Scope, thing: str, first: Finding) -> "_Known":
        """Return what is kept of a thing; of a new one what was found `first`."""
        row = tx.row("finding_by_thing", scoped(scope, thing=thing))
        if row is None:
            return _Known(self.clock.new_id("fnd"), first)
        return _Known(
            id=row["id"],
            finding=from_json(Finding, json.loads(row["finding"])),
            seen={one["session"]: one for one in json.loads(row["seen"])},
            sessions=row["sessions"],
        )

    @transaction
    def end_session(self, tx: Writing, scope: Scope, session: str) -> None:
        """Drop the calls of a session that has ended; its findings stay."""
        tx.run("session_call_trim", scoped(scope, session=session, last=2**31 - 1))

    async def promotions(self, scope: Scope) -> list[Promotion]:
        """Return the promotions of a project, by file."""
        rows = await self.db.rows("promotions", scoped(scope))
        return [from_json(Promotion, json.loads(row["body"])) for row in rows]

    @transaction
    def put_promotion(
        self, tx: Writing, scope: Scope, file: str, promotion: Promotion | None
    ) -> None:
        """Keep a promotion in place of the file's earlier one; None forgets that one."""
        own = scoped(scope, file=file, now=self.clock.now())
        if promotion is None:
            tx.run("promotion_drop", own)
        else:
            tx.run("promotion_put", {**own, "body": asdict(promotion)})


@dataclass(slots=True)
class _Known:
    """A finding that is kept or about to be: in which sessions it was seen, by their names, and in how many ever."""

    id: str
    finding: Finding
    seen: dict[str, Any] = field(default_factory=dict[str, Any])
    sessions: int = 1

    def in_order(self) -> list[Any]:
        """Return where it was seen, the latest last; only the latest ones keep their lines."""
        every = sorted(self.seen.values(), key=lambda one: one["at"] or 0.0)
        for one in every[:-_MOST_EVIDENCE]:
            one["lines"] = []
        return every


def _is_new(tx: Writing, scope: Scope, session: str, found: Finding) -> bool:
    """Return whether a session finds what nobody has decided about, and it did not find before."""
    before = tx.row("finding_by_thing", scoped(scope, thing=found.thing))
    if before is None:
        return True
    return before["state"] == FindingState.OPEN and before["session"] != session


def _call(row: Row) -> SessionCall:
    return from_json(SessionCall, {**json.loads(row["call"]), "number": row["number"]})


def _better(one: Finding, other: Finding) -> Finding:
    """Return the finding that shows more: in a model's words, with the call that worked; the later one of equals."""
    return max(
        (other, one),
        key=lambda finding: (finding.wording is not None, finding.worked is not None),
    )


def _stored(row: Row) -> StoredFinding:
    return record_from(row, StoredFinding, _READERS)
