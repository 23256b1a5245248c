"""Warnings of calls that are known to fail: what a session was told, and what came of it."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import Json, Scope, from_json
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.proposal import PREFIX, ProposalKind
from mcp_reflect.models.run import Failure, WorkedCall
from mcp_reflect.models.warning import (
    LAST_WORD_COUNTS,
    MAY_BE_EMPTY,
    SETTLED,
    TOLD,
    KnownCalls,
    KnownFailure,
    Sequel,
    SessionNotes,
    SessionState,
)
from mcp_reflect.storage.failures import failures_of, note_failure, note_worked
from mcp_reflect.storage.lesson_guards import (
    PASSED,
    guard_mode,
    guards_in_doubt,
    guards_met,
    is_guarded,
    note_passed,
)
from mcp_reflect.storage.outcomes import add_measured_outcome
from mcp_reflect.storage.proposals import add_proposal
from mcp_reflect.storage.repository import (
    Reading,
    Repository,
    Writing,
    brief_transaction,
    transaction,
)
from mcp_reflect.storage.rows import Row, record_from
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.values import Values, scoped

MOST_WRONG: Final = 3  # wrong warnings after which a failure gives no more warnings
MOST_HEADS: Final = 50  # the last successful calls of a session that are remembered
_SESSION_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "held_out": bool,
    "worked": lambda text: tuple(json.loads(text).items()),
    "shown": lambda text: tuple(json.loads(text)),
    "notes": lambda text: from_json(SessionNotes, json.loads(text)),
}


class WarningRepository(Repository):
    """Failing calls, sessions, and warnings."""

    async def worked_since(self, scope: Scope, since: float) -> frozenset[str]:
        """Return the heads of the calls that worked in sessions that hooks watched since then."""
        heads: set[str] = set()
        for row in await self.db.rows("sessions_since", scoped(scope, since=since)):
            heads.update(json.loads(row["worked"]))
        return frozenset(heads)

    async def transcript_of(self, scope: Scope, session: str) -> str | None:
        """Return the transcript of a session as the host's own command named it, None if none did."""
        row = await self.db.row("session_transcript", {"tenant": scope.tenant, "id": session})
        if row is None:
            return None
        return row["transcript"]

    @brief_transaction
    def name_transcript(
        self, tx: Writing, scope: Scope, state: SessionState, transcript: str
    ) -> None:
        """Keep the transcript of a session, which the host's own command names."""
        self._begin(tx, scope, state)
        tx.run("session_name_transcript", scoped(scope, id=state.id, transcript=transcript))

    async def known_calls(
        self,
        scope: Scope,
        session: str,
        *,
        held_out: bool,
        bare: str,
        loose: str,
        head: str,
        call: Call,
    ) -> tuple[SessionState, KnownCalls]:
        """Return the state of a session (a new one with `held_out`), and what is known of a call that is made in it.

        Known are failures of the call but for dates and ids, and this session's of the same head, the latest first.
        """

        def read(reading: Reading) -> tuple[SessionState, KnownCalls]:
            calls = failures_of(reading, "failure_calls", scope, bare=bare, loose=loose)
            heads = failures_of(reading, "failure_heads", scope, session=session, head=head)
            known_state = session_state(reading, scope, session)
            state = known_state or SessionState(id=session, held_out=held_out)
            lessons = _lessons(reading, scope, (*calls, *heads))
            met = guards_met(reading, scope, call)
            unread = call.script.why_partial
            if not (met or unread):
                met = guards_in_doubt(reading, scope, call)
                unread = MAY_BE_EMPTY
            against = tuple(lesson for lesson in met if not suspicion_of(lesson))
            mode = None
            if against:
                mode = guard_mode(reading, scope)
            return state, KnownCalls(
                same_call=calls,
                same_head=heads,
                unread=unread,
                lessons=lessons,
                guards=against,
                guard_mode=mode,
            )

        return await self.db.look(scope.tenant, read)

    async def session(self, scope: Scope, session: str, *, held_out: bool) -> SessionState:
        """Return the state of a session; a new one with `held_out` if it is not known."""
        state = await self.db.look(
            scope.tenant, lambda reading: session_state(reading, scope, session)
        )
        return state or SessionState(id=session, held_out=held_out)

    async def same_error(self, scope: Scope, tool: str, fingerprint: str) -> KnownCalls:
        """Return a tool's failures with the same error that may have a correction, the latest first, as `same_call`."""

        def read(reading: Reading) -> KnownCalls:
            found = failures_of(
                reading, "failure_by_error", scope, tool=tool, fingerprint=fingerprint
            )
            return KnownCalls(same_call=found, lessons=_lessons(reading, scope, found))

        return await self.db.look(scope.tenant, read)

    @transaction
    def note(
        self,
        tx: Writing,
        scope: Scope,
        state: SessionState,
        change: Callable[[SessionNotes], SessionNotes] | None = None,
        *,
        shown: Sequence[str] | None = None,
        warning: Values | None = None,
    ) -> str | None:
        """Note what was said in a session; return the id of the warning, if there was one, given or held out.

        `change` changes its notes, as they are at that moment. The lessons in `shown` count as shown once more, and are
        not shown again. `warning` has its failure (by row), lesson_id, match, certainty, exact, call_id, and its length
        in characters.
        """
        now = self.clock.now()
        own = scoped(scope, id=state.id, now=now)
        self._begin(tx, scope, state)
        if change is not None:
            notes = change((session_state(tx, scope, state.id) or state).notes)
            tx.run("session_noted", {**own, "notes": asdict(notes)})
        if shown is not None:
            # Some are noted with a prefix too.
            new = {name.rpartition(":")[2] for name in set(shown) - set(state.shown)}
            tx.run("lessons_applied", {"ids": sorted(new), "tenant": scope.tenant})
            tx.run("session_shown", {**own, "shown": list(dict.fromkeys((*state.shown, *shown)))})
        if warning is None:
            return None
        warning_id = self.clock.new_id("warn")
        tx.run(
            "warning_add",
            {**own, **warning, "id": warning_id, "session": state.id, "shown": not state.held_out},
        )
        return warning_id

    @brief_transaction
    def note_call(
        self,
        tx: Writing,
        scope: Scope,
        state: SessionState,
        call: WorkedCall,
        *,
        head: str,
        failure: Failure | None,
        judged: bool,
        recurrence: bool,
        changed: bool,
    ) -> bool:
        """Note a call's result, and what came of warnings.

        `judged`: the failure's error is kept already. Returns True if the session was shown a warning of this call.
        """
        now = self.clock.now()
        self._begin(tx, scope, state)
        current = session_state(tx, scope, state.id) or state
        step = current.step + 1
        warned = _settle(tx, scope, current.id, call.exact, worked=failure is None, now=now)
        worked = dict(current.worked)
        if failure is not None:
            note_failure(tx, scope, failure, now, session=state.id, step=step, judged=judged)
        else:
            note_worked(tx, scope, (call,), now)
            worked[head] = step
        last = dict(sorted(worked.items(), key=lambda item: item[1])[-MOST_HEADS:])
        values = scoped(
            scope, id=state.id, failed=failure is not None, recurrence=recurrence, changed=changed
        )
        tx.run("session_called", {**values, "worked": last, "now": now})
        return warned

    @brief_transaction
    def settle_guards(
        self,
        tx: Writing,
        scope: Scope,
        state: SessionState,
        call: Call,
        exact: str,
        *,
        worked: bool,
    ) -> None:
        """Record what the agent did after it was told of a lesson: the same call, or a correct one of the same kind.

        The same call is made at most once more; a call of another kind says nothing.
        """
        if call.script.is_partial:
            return  # what could not be read follows no lesson, and goes against none
        now = self.clock.now()
        met = {lesson.id for lesson in guards_met(tx, scope, call)}
        notes = (session_state(tx, scope, state.id) or state).notes
        for watched in notes.guarded:
            if watched.endswith(SETTLED):
                continue
            lesson_id, key = watched.split(" ")[:2]
            is_again = key == exact
            may_follow = worked and not is_again and lesson_id not in met
            if not is_again and not (may_follow and is_guarded(tx, scope, lesson_id, call)):
                continue
            after = watched.removesuffix(TOLD)
            # The call at which the agent was told is no answer to it: the next one counts.
            if not (is_again and watched.endswith(TOLD)):
                after += SETTLED
                self._note_answer(tx, scope, lesson_id, is_again=is_again, worked=worked)
            guarded = tuple(after if one == watched else one for one in notes.guarded)
            notes = replace(notes, guarded=guarded)
            tx.run("session_noted", scoped(scope, id=state.id, notes=asdict(notes), now=now))

    def _note_answer(
        self, tx: Writing, scope: Scope, lesson_id: str, *, is_again: bool, worked: bool
    ) -> None:
        """Record that an agent made a call once more that a guard spoke at, or a correct one in its place.

        What follows a lesson is noted of every call (`OutcomeRepository.note_followed`), so here is only the other.
        """
        now = self.clock.now()
        if is_again:
            add_measured_outcome(
                tx, scope, lesson_id, self.clock.new_id("warn"), success=float(not worked), now=now
            )
        doubted = note_passed(tx, scope, lesson_id, worked=is_again and worked)
        if doubted is not None:
            proposal_id = self.clock.new_id(PREFIX)
            add_proposal(
                tx, scope, doubted, ProposalKind.DISARM, PASSED, {},
                proposal_id=proposal_id, now=now,
            )  # fmt: skip

    @brief_transaction
    def note_correction(self, tx: Writing, scope: Scope, known: KnownFailure, worked: Json) -> None:
        """Keep the arguments that worked instead of a failing call's."""
        tx.run("failure_corrected", {"row": known.row, "worked": [worked], "tenant": scope.tenant})

    @transaction
    def end_session(self, tx: Writing, scope: Scope, session: str) -> None:
        """Settle the open warnings of a session that has ended: they count as heeded."""
        for row in tx.rows("warning_open", scoped(scope, session=session, exact="")):
            _close(tx, row, Sequel.HEEDED, self.clock.now())

    async def effect(self, scope: Scope) -> dict[str, Json]:
        """Return counts of known failures that came back, and of what was done after a warning that was due.

        Those of sessions that were warned stand beside those that were only watched (`held_out`). `last_messages` has
        the messages that were held or told, and what came of those that were held.
        """
        where = scoped(scope)
        sessions = {row["held_out"]: row for row in await self.db.rows("session_counts", where)}
        warnings = await self.db.rows("warning_counts", where)
        notes = [
            _SESSION_READERS["notes"](row["notes"])
            for row in await self.db.rows("session_notes", where)
        ]
        shown = [row for row in warnings if row["shown"]]
        held_out = [row for row in warnings if not row["shown"]]
        given = sum(row["count"] for row in shown)
        characters = sum(row["characters"] for row in shown)
        characters_per_warning = None
        if given:
            characters_per_warning = round(characters / given, 1)
        return {
            "warned": _group(sessions.get(0), shown),
            "held_out": _group(sessions.get(1), held_out),
            "warnings_given": given,
            "warnings_by_match": counts(shown, "match", "open"),
            "characters": characters,
            "characters_per_warning": characters_per_warning,
            "last_messages": _counts_of_last_messages(notes),
        }

    def _begin(self, tx: Writing, scope: Scope, state: SessionState) -> None:
        """Begin to watch a session, if it is new; then some of the oldest sessions and warnings go."""
        now = self.clock.now()
        if tx.run("session_begin", scoped(scope, id=state.id, held_out=state.held_out, now=now)):
            tx.drop_old("session", now, self.context.keep_days)
            tx.drop_old("warning", now, self.context.keep_days)


def _lessons(
    reading: Reading, scope: Scope, failures: Iterable[KnownFailure]
) -> dict[str, tuple[Lesson, ...]]:
    """Return the active lessons that may be shown, by the reflection that noted one of the failures last."""
    by_reflection: dict[str, tuple[Lesson, ...]] = {}
    for name in {known.reflection_id for known in failures if known.reflection_id}:
        lessons = reading.lessons("failure_lesson", scope, reflection_id=name)
        by_reflection[name] = tuple(one for one in lessons if not suspicion_of(one))
    return by_reflection


def session_state(reading: Reading, scope: Scope, session: str) -> SessionState | None:
    """Return the state of a watched session, None if there is none."""
    row = reading.row("session_by_id", scoped(scope, id=session))
    if row is None:
        return None
    return record_from(row, SessionState, _SESSION_READERS)


def _settle(
    tx: Writing, scope: Scope, session: str, exact: str, *, worked: bool, now: float
) -> bool:
    """Settle open warnings: the same call shows whether its warning was right, another call that it was heeded.

    Parallel calls end in any order, so the same call also settles a warning that seemed heeded. Returns whether a
    warning of this call had been shown.
    """
    settled = shown = False
    for row in tx.rows("warning_open", scoped(scope, session=session, exact=exact)):
        if row["exact"] != exact:
            _close(tx, row, Sequel.HEEDED, now)
        elif not settled:  # one call settles one warning of it
            settled = True
            shown = bool(row["shown"])
            if worked:
                _close_as_wrong(tx, scope, row, now)
            else:
                _close(tx, row, Sequel.FAILED, now)
    return shown


def _close_as_wrong(tx: Writing, scope: Scope, row: Row, now: float) -> None:
    """Settle a warning whose call worked: its failure counts as wrong, and so does the lesson that was shown with it."""
    _close(tx, row, Sequel.WORKED, now)
    values = {"row": row["failure"], "most": MOST_WRONG, "now": now, "tenant": scope.tenant}
    tx.run("failure_was_wrong", values)
    if row["shown"] and row["lesson_id"]:
        add_measured_outcome(tx, scope, row["lesson_id"], row["id"], success=0.0, now=now)


def _close(tx: Writing, row: Row, sequel: Sequel, now: float) -> None:
    """Settle a warning by what the agent did after it."""
    values = {"id": row["id"], "sequel": sequel, "now": now, "tenant": row["tenant"]}
    tx.run("warning_settle", values)


def _group(sessions: Row | None, warnings: Sequence[Row]) -> dict[str, Json]:
    """Return what came of the sessions that were warned, or of those that were only watched; `sessions` counts them."""
    watched = 0
    recurrences = 0
    if sessions is not None:
        watched = sessions["sessions"]
        recurrences = sessions["recurrences"]
    return {
        "sessions": watched,
        "recurrences": recurrences,
        "warnings_due": sum(row["count"] for row in warnings),
        "sequels": counts(warnings, "sequel", "open"),
    }


def _counts_of_last_messages(notes: Sequence[SessionNotes]) -> dict[str, Json]:
    """Return how many last messages of all sessions were held or told, and what came of them."""
    last_words = [one.last_word for one in notes]
    return {name: sum(getattr(one, name) for one in last_words) for name in LAST_WORD_COUNTS}


def counts(rows: Iterable[Row], name: str, without: str) -> dict[str, Json]:
    """Return the sums of `count` by the value of a column, `without` for rows that have none."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row[name] or without] += row["count"]
    return dict(sorted(sums.items()))
