"""The repository of findings, which rules notice in sessions: knowledge that cost effort, and may become a lesson.

The last calls of each session, in which rules look for findings, are stored beside them.
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
    Seen,
    SessionCall,
    StoredFinding,
)
from mcp_reflect.security.redact import clean
from mcp_reflect.storage.repository import Repository, Writing, brief_transaction, transaction
from mcp_reflect.storage.rows import Row, damage_told, readable, record_from
from mcp_reflect.storage.values import Derived, scoped

MOST_CALLS: Final = 40
"""The last calls that are stored of each session."""

_MOST_WAITING: Final = 500
"""Findings in the list that a person reviews."""

_MOST_EVIDENCE: Final = 10
"""The latest sessions of a finding whose lines are stored as evidence."""

_HIGHEST_NUMBER: Final = 2**31 - 1
"""No call of a session has a higher number."""

_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "state": FindingState,
    "finding": lambda text: from_json(Finding, json.loads(text)),
    "seen": lambda text: tuple(from_json(Seen, one) for one in json.loads(text)),
}


class FindingRepository(Repository):
    """Findings, with the last calls of the sessions in which they are noticed."""

    @brief_transaction
    def note_call(
        self,
        tx: Writing,
        scope: Scope,
        session: str,
        number_call_and_find: Callable[[Sequence[SessionCall]], tuple[SessionCall, Finding | None]],
        choose: Callable[[Sequence[StoredFinding]], StoredFinding | None] | None,
    ) -> Finding | None:
        """Store a call of a session, and the finding that it completes; return the finding to ask the agent about now.

        1. `number_call_and_find` takes the last calls of the session, and returns the call with its number and the
           finding that it completes. It runs in this transaction, since parallel calls must get different numbers.
        2. Both are stored; a finding that a person kept or dropped is not noted again.
        3. `choose` picks one of all findings of the session; without it the agent is not asked.
        """
        call_rows = tx.rows("session_calls", scoped(scope, session=session))
        calls = readable(call_rows, _call_from, self.context.log)
        call, finding = number_call_and_find(calls)
        key = scoped(scope, session=session, number=call.number)
        tx.run("session_call_add", {**key, "call": compact({**asdict(call), "number": None})})
        tx.run("session_call_trim", {**key, "last": call.number - MOST_CALLS})
        if finding is not None and _is_to_be_noted(tx, scope, session, finding):
            new_id = self.clock.new_id("fnd")
            values = {"id": new_id, "thing": finding.thing, "body": asdict(finding)}
            tx.run("finding_add", scoped(scope, session=session, now=self.clock.now(), **values))
        if choose is None:
            return None
        finding_rows = tx.rows("findings_of_session", scoped(scope, session=session))
        chosen = choose(readable(finding_rows, _finding_from, self.context.log))
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
        """Store the words of a language model for a finding."""
        tx.run(
            "finding_reword",
            scoped(scope, id=finding_id, body=asdict(finding), now=self.clock.now()),
        )

    @transaction
    def settle(
        self, tx: Writing, scope: Scope, finding_id: str, state: FindingState, lesson_id: str | None
    ) -> None:
        """Set the state of a finding: a lesson was made of it, it was dropped, or it is open again.

        NotFoundError for an unknown id.
        """
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

        | name       | it counts                                                |
        |------------|----------------------------------------------------------|
        | `sessions` | sessions that were shown lessons                         |
        | `shown`    | the lessons that these were shown                        |
        | `judged`   | uses of lessons whose outcome was measured               |
        | `followed` | those of them in which the agent followed the lesson     |
        | `failures` | findings of which a lesson was made                      |
        | `before`   | sessions that met such a failure before the lesson       |
        | `since`    | sessions that met one after it                           |
        """
        values = scoped(scope)
        session_rows = await self.db.rows("sessions_shown", values)
        shown_by_session = [json.loads(row["shown"]) for row in session_rows]
        judged_count = 0
        followed_count = 0
        measured = await self.db.row("outcomes_measured", values)
        if measured is not None:
            judged_count = int(measured["told"])
            followed_count = round(measured["followed"])
        kept_findings = await self.db.rows("findings_kept", values)
        before_lesson = 0
        since_lesson = 0
        for finding in kept_findings:
            for session in json.loads(finding["seen"]):
                session_time = session["at"]
                if session_time is None:
                    continue
                if session_time < finding["created_at"]:
                    before_lesson += 1
                else:
                    since_lesson += 1
        return {
            "shown": sum(map(len, shown_by_session)),
            "sessions": len(shown_by_session),
            "judged": judged_count,
            "followed": followed_count,
            "failures": len(kept_findings),
            "before": before_lesson,
            "since": since_lesson,
        }

    @transaction
    def learn(
        self,
        tx: Writing,
        scope: Scope,
        files: Sequence[tuple[str, int, float]],
        findings: Sequence[tuple[Finding, Seen]],
        weigh: Callable[[Finding, int, int, float], float],
    ) -> None:
        """Store the findings of past sessions, and that their files (key, size, time of change) were read.

        Findings of the same thing are one: each session that shows it is evidence, and counts once however often its file
        is read. `weigh` returns the cost of a finding from its numbers of sessions, occurrences and seconds.
        """
        findings_by_thing = defaultdict[str, list[tuple[Finding, Seen]]](list)
        for finding, evidence in findings:
            findings_by_thing[finding.thing].append((finding, evidence))
        for thing, findings_of_thing in findings_by_thing.items():
            first_finding, _ = findings_of_thing[0]
            history = self._history_of(tx, scope, thing, first_finding)
            for finding, evidence in findings_of_thing:
                history.finding = _better(history.finding, finding)
                history.seen_by_session[evidence.session] = clean(asdict(evidence))
            self._write_history(tx, scope, thing, history, weigh)
        for key, size, changed in files:
            tx.run("session_read", scoped(scope, file=Derived(key), size=size, changed=changed))

    def _write_history(
        self,
        tx: Writing,
        scope: Scope,
        thing: str,
        history: "_History",
        weigh: Callable[[Finding, int, int, float], float],
    ) -> None:
        """Write a finding with all sessions that show its thing, and with the cost of these (`weigh`)."""
        sessions = history.sessions_in_order()
        times = sum(session["times"] for session in sessions)
        seconds = sum(session["seconds"] for session in sessions)
        values = {
            "id": history.id,
            "thing": thing,
            "body": asdict(history.finding),
            "session": sessions[-1]["session"],
            "seen": Derived(json.dumps(sessions)),
            "now": self.clock.now(),
            "sessions": max(len(sessions), history.session_count),
            "weight": weigh(history.finding, len(sessions), times, seconds),
        }
        tx.run("finding_learn", scoped(scope, **values))

    def _history_of(
        self, tx: Writing, scope: Scope, thing: str, first_finding: Finding
    ) -> "_History":
        """Return the stored history of a thing; that of a new or a damaged one begins with its first finding."""
        row = tx.row("finding_by_thing", scoped(scope, thing=thing))
        if row is None:
            return _History(self.clock.new_id("fnd"), first_finding)
        for history in readable([row], _history_from, self.context.log):
            return history
        return _History(row["id"], first_finding)

    @transaction
    def end_session(self, tx: Writing, scope: Scope, session: str) -> None:
        """Drop the calls of a session that has ended; its findings stay."""
        tx.run("session_call_trim", scoped(scope, session=session, last=_HIGHEST_NUMBER))


@dataclass(slots=True)
class _History:
    """A finding with the sessions that show its thing."""

    id: str
    finding: Finding
    seen_by_session: dict[str, Any] = field(default_factory=dict[str, Any])
    """`Seen` as JSON, by the name of its session."""
    session_count: int = 1
    """All sessions that there ever were, also those that are not stored any more."""

    def sessions_in_order(self) -> list[Any]:
        """Return the sessions as JSON, the latest last; only the latest ones have their lines as evidence."""
        sessions = sorted(self.seen_by_session.values(), key=lambda session: session["at"] or 0.0)
        for older_session in sessions[:-_MOST_EVIDENCE]:
            older_session["lines"] = []
        return sessions


def _history_from(row: Row) -> _History:
    """Return a row of `findings` with its sessions; BankError if it is damaged."""
    with damage_told(row):
        return _History(
            id=row["id"],
            finding=from_json(Finding, json.loads(row["finding"])),
            seen_by_session={seen["session"]: seen for seen in json.loads(row["seen"])},
            session_count=row["sessions"],
        )


def _is_to_be_noted(tx: Writing, scope: Scope, session: str, finding: Finding) -> bool:
    """Return whether a finding is to be noted: nobody has decided about its thing, and this session did not find it."""
    stored_row = tx.row("finding_by_thing", scoped(scope, thing=finding.thing))
    if stored_row is None:
        return True
    return stored_row["state"] == FindingState.OPEN and stored_row["session"] != session


def _call_from(row: Row) -> SessionCall:
    """Return a row of `session_calls` as the call, whose number is a column of its own; BankError if it is damaged."""
    with damage_told(row):
        return from_json(SessionCall, {**json.loads(row["call"]), "number": row["number"]})


def _better(earlier: Finding, later: Finding) -> Finding:
    """Return the finding that shows more: the one in a model's words, else with a call that worked, else the later one."""

    def shown_facts(finding: Finding) -> tuple[bool, bool]:
        return finding.wording is not None, finding.worked is not None

    if shown_facts(earlier) > shown_facts(later):
        return earlier
    return later


def _finding_from(row: Row) -> StoredFinding:
    """Return a row of `findings` as the record; BankError if the row is damaged."""
    return record_from(row, StoredFinding, _READERS)
