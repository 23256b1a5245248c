"""Findings: what rules noticed in sessions that was learned with effort, and may become a lesson.

The calls in which rules look for them are kept here, too, and which lessons were written into instruction files.
"""

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
from mcp_reflect.storage.rows import Row, damage_told, readable, record_from
from mcp_reflect.storage.values import Derived, scoped

MOST_CALLS: Final = 40
"""The last calls that are kept of each session."""

_MOST_WAITING: Final = 500
"""Findings in the list that a person reviews."""

_MOST_EVIDENCE: Final = 10
"""The latest sessions of a finding whose lines are kept as evidence."""

_EVERY_NUMBER: Final = 2**31 - 1
"""No call of a session has a higher number."""

_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "state": FindingState,
    "finding": lambda text: from_json(Finding, json.loads(text)),
    "seen": lambda text: tuple(from_json(Seen, one) for one in json.loads(text)),
}


class FindingRepository(Repository):
    """Findings, the last calls of sessions, and the promotions of a project: which lessons a file was given."""

    @brief_transaction
    def note_call(
        self,
        tx: Writing,
        scope: Scope,
        session: str,
        look: Callable[[Sequence[SessionCall]], tuple[SessionCall, Finding | None]],
        choose: Callable[[Sequence[StoredFinding]], StoredFinding | None] | None,
    ) -> Finding | None:
        """Keep a call of a session, and the finding that it completes; return the finding to ask the agent about now.

        `look` is given the last calls of the session, and returns the call to keep and the finding that it completes.
        `choose` picks one of all findings of the session to ask the agent about; without it the agent is not asked. A
        finding that a person kept or dropped is not noted again.
        """
        rows = tx.rows("session_calls", scoped(scope, session=session))
        call, finding = look(readable(rows, _call_from, self.context.log))
        of_call = scoped(scope, session=session, number=call.number)
        tx.run("session_call_add", {**of_call, "call": compact({**asdict(call), "number": None})})
        tx.run("session_call_trim", {**of_call, "last": call.number - MOST_CALLS})
        if finding is not None and _is_new(tx, scope, session, finding):
            new_id = self.clock.new_id("fnd")
            values = {"id": new_id, "thing": finding.thing, "body": asdict(finding)}
            tx.run("finding_add", scoped(scope, session=session, now=self.clock.now(), **values))
        if choose is None:
            return None
        rows = tx.rows("findings_of_session", scoped(scope, session=session))
        chosen = choose(readable(rows, _finding_from, self.context.log))
        if chosen is None:
            return None
        tx.run("finding_asked", scoped(scope, id=chosen.id, asked=1, now=self.clock.now()))
        return chosen.finding

    async def open_in(self, scope: Scope, session: str) -> list[StoredFinding]:
        """Return the open findings of a session, in order."""
        rows = await self.db.rows("findings_of_session", scoped(scope, session=session))
        findings = readable(rows, _finding_from, self.context.log)
        return [finding for finding in findings if finding.state is FindingState.OPEN]

    async def waiting(self, scope: Scope, *, every_project: bool = False) -> list[StoredFinding]:
        """Return the open findings of a project, or of every one, those that cost most first."""
        rows = await self.db.rows(
            "findings_waiting", scoped(scope, limit=_MOST_WAITING, every=int(every_project))
        )
        return readable(rows, _finding_from, self.context.log)

    @transaction
    def note_asked(self, tx: Writing, scope: Scope, ids: Sequence[str], times: int) -> None:
        """Note how often a session was asked about these findings."""
        for finding_id in ids:
            tx.run("finding_asked", scoped(scope, id=finding_id, asked=times, now=self.clock.now()))

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
        """Return how often lessons were shown and followed, and how often failures came back.

        `shown` counts the lessons of all `sessions`; of `judged` uses, so many `followed` the lesson. `failures` counts
        findings of which a lesson was made, `before` and `since` the sessions that met one before and after that.
        """
        where = scoped(scope)
        lessons_shown = [
            json.loads(row["shown"]) for row in await self.db.rows("sessions_shown", where)
        ]
        judged = followed = 0
        measured = await self.db.row("outcomes_measured", where)
        if measured is not None:
            judged = int(measured["told"])
            followed = round(measured["followed"])
        kept_findings = await self.db.rows("findings_kept", where)
        before = since = 0
        for finding in kept_findings:
            lesson_made_at = finding["created_at"]
            for session in json.loads(finding["seen"]):
                seen_at = session["at"]
                if seen_at is None:
                    continue
                if seen_at < lesson_made_at:
                    before += 1
                else:
                    since += 1
        return {
            "shown": sum(map(len, lessons_shown)),
            "sessions": len(lessons_shown),
            "judged": judged,
            "followed": followed,
            "failures": len(kept_findings),
            "before": before,
            "since": since,
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
        for finding, seen in found:
            by_thing[finding.thing].append((finding, seen))
        for thing, sightings in by_thing.items():
            first_finding, _ = sightings[0]
            history = self._history_of(tx, scope, thing, first_finding)
            for finding, seen in sightings:
                history.finding = _better(history.finding, finding)
                history.seen_by_session[seen.session] = clean(asdict(seen))
            self._keep(tx, scope, thing, history, weigh)
        for key, size, changed in files:
            tx.run("session_read", scoped(scope, file=Derived(key), size=size, changed=changed))

    def _keep(
        self,
        tx: Writing,
        scope: Scope,
        thing: str,
        history: "_History",
        weigh: Callable[[Finding, int, int, float], float],
    ) -> None:
        """Write a finding with all sessions in which its thing was seen, and with what these cost (`weigh`)."""
        seen = history.seen_in_order()
        times = sum(session["times"] for session in seen)
        seconds = sum(session["seconds"] for session in seen)
        values = {
            "id": history.id,
            "thing": thing,
            "body": asdict(history.finding),
            "session": seen[-1]["session"],
            "seen": Derived(json.dumps(seen)),
            "now": self.clock.now(),
            "sessions": max(len(seen), history.sessions),
            "weight": weigh(history.finding, len(seen), times, seconds),
        }
        tx.run("finding_learn", scoped(scope, **values))

    def _history_of(self, tx: Writing, scope: Scope, thing: str, first: Finding) -> "_History":
        """Return what the bank has of a thing that was found; a new or a damaged one begins with its `first` finding."""
        row = tx.row("finding_by_thing", scoped(scope, thing=thing))
        if row is None:
            return _History(self.clock.new_id("fnd"), first)
        for history in readable([row], _history_from, self.context.log):
            return history
        return _History(row["id"], first)

    @transaction
    def end_session(self, tx: Writing, scope: Scope, session: str) -> None:
        """Drop the calls of a session that has ended; its findings stay."""
        tx.run("session_call_trim", scoped(scope, session=session, last=_EVERY_NUMBER))

    async def promotions(self, scope: Scope) -> list[Promotion]:
        """Return the promotions of a project, by file."""
        rows = await self.db.rows("promotions", scoped(scope))
        return readable(rows, _promotion_from, self.context.log)

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
class _History:
    """A finding with the sessions in which its thing was seen; `sessions` counts all that there ever were.

    `seen_by_session` has `Seen` as JSON, by the name of its session.
    """

    id: str
    finding: Finding
    seen_by_session: dict[str, Any] = field(default_factory=dict[str, Any])
    sessions: int = 1

    def seen_in_order(self) -> list[Any]:
        """Return the sessions in which it was seen, the latest last; only the latest ones keep their lines."""
        seen = sorted(self.seen_by_session.values(), key=lambda session: session["at"] or 0.0)
        for older in seen[:-_MOST_EVIDENCE]:
            older["lines"] = []
        return seen


def _history_from(row: Row) -> _History:
    """Return a row of `findings` with its sessions; BankError if it is damaged."""
    with damage_told(row):
        return _History(
            id=row["id"],
            finding=from_json(Finding, json.loads(row["finding"])),
            seen_by_session={seen["session"]: seen for seen in json.loads(row["seen"])},
            sessions=row["sessions"],
        )


def _is_new(tx: Writing, scope: Scope, session: str, finding: Finding) -> bool:
    """Return whether a finding is to be noted: nobody has decided about its thing, and this session did not find it."""
    before = tx.row("finding_by_thing", scoped(scope, thing=finding.thing))
    if before is None:
        return True
    return before["state"] == FindingState.OPEN and before["session"] != session


def _call_from(row: Row) -> SessionCall:
    """Return a row of `session_calls` as the call, whose number is a column of its own; BankError if it is damaged."""
    with damage_told(row):
        return from_json(SessionCall, {**json.loads(row["call"]), "number": row["number"]})


def _promotion_from(row: Row) -> Promotion:
    """Return a row of `promotions` as the record; BankError if it is damaged."""
    with damage_told(row):
        return from_json(Promotion, json.loads(row["body"]))


def _better(earlier: Finding, later: Finding) -> Finding:
    """Return the finding that shows more.

    That is one in a model's words, else one with the call that worked, else the later one.
    """

    def how_much_it_shows(finding: Finding) -> tuple[bool, bool]:
        return finding.wording is not None, finding.worked is not None

    if how_much_it_shows(earlier) > how_much_it_shows(later):
        return earlier
    return later


def _finding_from(row: Row) -> StoredFinding:
    """Return a row of `findings` as the record; BankError if the row is damaged."""
    return record_from(row, StoredFinding, _READERS)
