"""The repository of warnings of calls that are known to fail, with the sessions that were given them.

Hooks ask here before each call of an agent, and note here how it ended, so that the effect of warnings is measured.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.places import Where
from mcp_reflect.guards.views import EVERYWHERE, views_of
from mcp_reflect.models.common import Json, Scope, from_json
from mcp_reflect.models.lesson import GuardMode, Lesson
from mcp_reflect.models.proposal import PREFIX, ProposalKind
from mcp_reflect.models.run import Failure, WorkedCall
from mcp_reflect.models.session_state import GuardStage, SessionNotes, SessionState
from mcp_reflect.models.warning import MAY_BE_EMPTY, KnownCalls, KnownFailure, Sequel
from mcp_reflect.storage.counting import counts, counts_of_last_messages, counts_of_sessions
from mcp_reflect.storage.failures import failures_of, note_failure, note_worked
from mcp_reflect.storage.lesson_guards import (
    PASSED,
    guard_mode,
    guards_in_doubt,
    guards_met,
    guards_of_others,
    is_guarded,
    note_passed,
)
from mcp_reflect.storage.outcomes import add_measured_outcome
from mcp_reflect.storage.project_folders import place_in
from mcp_reflect.storage.proposals import add_proposal
from mcp_reflect.storage.repository import (
    Reading,
    Repository,
    Writing,
    brief_transaction,
    transaction,
)
from mcp_reflect.storage.rows import record_from
from mcp_reflect.storage.screening import suspicion_of
from mcp_reflect.storage.values import Values, scoped
from mcp_reflect.storage.warning_settling import close_warning, settle_warnings

MOST_HEADS: Final = 50
"""The heads of the last successful calls of a session that are remembered."""


def _notes_from(text: str) -> SessionNotes:
    """Return the notes of a session, which are stored as JSON."""
    return from_json(SessionNotes, json.loads(text))


_SESSION_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "held_out": bool,
    "worked": lambda text: tuple(json.loads(text).items()),
    "shown": lambda text: tuple(json.loads(text)),
    "notes": _notes_from,
}


class WarningRepository(Repository):
    """Failing calls, the sessions that hooks watch, and the warnings that these were given.

    The head of a call is its tool with its kind: `shell:git push`, `read:src/a.py`. Two calls are compared by keys:

    | calls with the same | are the same but for         |
    |---------------------|------------------------------|
    | `exact_key`         | nothing                      |
    | `bare_key`          | quotation marks              |
    | `loose_key`         | dates, ids and the like      |

    In a session that is held out, warnings are noted and not given, so that their effect can be measured.
    """

    async def worked_since(self, scope: Scope, since: float) -> frozenset[str]:
        """Return the heads of the calls that worked in watched sessions since a time, in seconds since 1970."""
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
        bare_key: str,
        loose_key: str,
        head: str,
        call: Call,
        where: Where | None = None,
    ) -> tuple[SessionState, KnownCalls]:
        """Return the state of a session, and the knowledge of the bank about a call that it is about to make.

        The knowledge is earlier failures of the same call, failures of this session with the same head, the lessons
        about both, and the lessons whose guards the call goes against, also those of other projects in whose folders it
        works, where the host says `where` it is made. Failures come the latest first. A session that hooks did not watch
        before has a new state, with `held_out`.
        """

        def read_at_once(reading: Reading) -> tuple[SessionState, KnownCalls]:
            same_call = failures_of(
                reading, "failure_calls", scope, bare_key=bare_key, loose_key=loose_key
            )
            same_head = failures_of(reading, "failure_heads", scope, session=session, head=head)
            state = session_state(reading, scope, session)
            if state is None:
                state = SessionState(id=session, held_out=held_out)
            objections = _guards_against(reading, scope, call, where)
            mode: GuardMode | None = None
            if objections.lessons:
                mode = guard_mode(reading, scope)
            return state, KnownCalls(
                same_call=same_call,
                same_head=same_head,
                unread=objections.unread,
                lessons=_lessons_about(reading, scope, (*same_call, *same_head)),
                guards=objections.lessons,
                guard_mode=mode,
            )

        return await self.db.look(scope.tenant, read_at_once)

    async def session(self, scope: Scope, session: str, *, held_out: bool) -> SessionState:
        """Return the state of a session; a new one with `held_out` if it is not known."""
        state = await self.db.look(
            scope.tenant, lambda reading: session_state(reading, scope, session)
        )
        if state is None:
            return SessionState(id=session, held_out=held_out)
        return state

    async def same_error(self, scope: Scope, tool: str, fingerprint: str) -> KnownCalls:
        """Return a tool's failures with the same error that may have a correction, the latest first, as `same_call`.

        The fingerprint of an error is its text with placeholders for what differs each time, such as paths.
        """

        def read(reading: Reading) -> KnownCalls:
            failures = failures_of(
                reading, "failure_by_error", scope, tool=tool, fingerprint=fingerprint
            )
            return KnownCalls(same_call=failures, lessons=_lessons_about(reading, scope, failures))

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
        """Note the words of a hook in a session; return the id of the warning, None without one.

        `change` makes new notes of the session's notes as they are at that moment. The lessons in `shown` (see
        `SessionState.shown`) count as shown once more, and are not shown again. `warning` has the values of its row:
        failure (by row), lesson_id, match, certainty, exact, call_id, and characters. A warning that is held out is
        noted, too.
        """
        session_values = scoped(scope, id=state.id, now=self.clock.now())
        self._begin(tx, scope, state)
        if change is not None:
            current = session_state(tx, scope, state.id) or state
            tx.run("session_noted", {**session_values, "notes": asdict(change(current.notes))})
        if shown is not None:
            new_keys = set(shown) - set(state.shown)
            new_ids = {_id_in(key) for key in new_keys}
            tx.run("lessons_applied", {"ids": sorted(new_ids), "tenant": scope.tenant})
            all_shown = dict.fromkeys((*state.shown, *shown))
            tx.run("session_shown", {**session_values, "shown": list(all_shown)})
        if warning is None:
            return None
        warning_id = self.clock.new_id("warn")
        row = {**session_values, **warning, "id": warning_id, "session": state.id}
        tx.run("warning_add", {**row, "shown": not state.held_out})
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
        """Note the result of a call, and settle the open warnings of its session by it.

        Returns whether the session had been shown a warning of this call.

        - `failure`: None if the call worked.
        - `judged`: the failure's error was screened, and is in the bank already.
        - `recurrence`: a known failure came back.
        - `changed`: the call may have changed something.
        """
        now = self.clock.now()
        self._begin(tx, scope, state)
        current = session_state(tx, scope, state.id) or state
        step = current.step + 1
        was_warned = settle_warnings(
            tx, scope, current.id, call.exact_key, worked=failure is None, now=now
        )
        step_by_head = dict(current.worked)
        if failure is not None:
            note_failure(tx, scope, failure, now, session=state.id, step=step, judged=judged)
        else:
            note_worked(tx, scope, (call,), now)
            step_by_head[head] = step
        oldest_first = sorted(step_by_head.items(), key=lambda head_and_step: head_and_step[1])
        latest_heads = dict(oldest_first[-MOST_HEADS:])
        values = scoped(
            scope, id=state.id, failed=failure is not None, recurrence=recurrence, changed=changed
        )
        tx.run("session_called", {**values, "worked": latest_heads, "now": now})
        return was_warned

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
        """Record the agent's answer to a guard that spoke: the same call once more, or a correct one in its place.

        For each guard that spoke in the session and waits for an answer:

        | the call that ended                                  | it is                                           |
        |------------------------------------------------------|-------------------------------------------------|
        | is the one at which the guard spoke, and let it pass | no answer yet: the next call is                 |
        | is the same call once more                           | the answer: the agent made it anyway            |
        | is of the guard's kind, not against it, and worked   | the answer: the agent followed the lesson       |
        | is any other                                         | no answer                                       |

        A call that could not be read in full follows no lesson, and goes against none.
        """
        if call.script.is_partial:
            return
        now = self.clock.now()
        ids_against = {lesson.id for lesson in guards_met(tx, scope, call)}
        notes = (session_state(tx, scope, state.id) or state).notes
        for note in notes.guard_notes:
            if note.stage is GuardStage.SETTLED:
                continue
            is_same_call = note.exact_key == exact
            is_correct_call = (
                worked
                and not is_same_call
                and note.lesson_id not in ids_against
                and is_guarded(tx, scope, note.lesson_id, call)
            )
            if not is_same_call and not is_correct_call:
                continue
            if is_same_call and note.stage is GuardStage.CALL_RUNS:
                new_stage = GuardStage.WAITS
            else:
                new_stage = GuardStage.SETTLED
                self._note_answer(tx, scope, note.lesson_id, is_again=is_same_call, worked=worked)
            notes = notes.with_guard_stage(note, new_stage)
            tx.run("session_noted", scoped(scope, id=state.id, notes=asdict(notes), now=now))

    def _note_answer(
        self, tx: Writing, scope: Scope, lesson_id: str, *, is_again: bool, worked: bool
    ) -> None:
        """Record that an agent made the call of a guard once more (`is_again`), or a correct one in its place.

        | the agent's next call        | the lesson's outcome                        | the guard            |
        |------------------------------|---------------------------------------------|----------------------|
        | the same call, and it worked | bad                                         | comes into doubt     |
        | the same call, and it failed | good                                        | is in no doubt       |
        | a correct call               | none: `OutcomeRepository.note_followed` has | is in no doubt       |
        |                              | the outcomes of calls that follow a lesson  |                      |

        A person's guard that is in doubt too often stays, and it is proposed to turn it off.
        """
        now = self.clock.now()
        if is_again:
            add_measured_outcome(
                tx, scope, lesson_id, self.clock.new_id("warn"), success=float(not worked), now=now
            )
        doubted_lesson = note_passed(tx, scope, lesson_id, worked=is_again and worked)
        if doubted_lesson is not None:
            proposal_id = self.clock.new_id(PREFIX)
            add_proposal(
                tx,
                scope,
                doubted_lesson,
                ProposalKind.DISARM,
                PASSED,
                {},
                proposal_id=proposal_id,
                now=now,
            )

    @brief_transaction
    def note_correction(self, tx: Writing, scope: Scope, known: KnownFailure, worked: Json) -> None:
        """Keep the arguments that worked instead of a failing call's."""
        tx.run("failure_corrected", {"row": known.row, "worked": [worked], "tenant": scope.tenant})

    @transaction
    def end_session(self, tx: Writing, scope: Scope, session: str) -> None:
        """Settle the open warnings of a session that has ended: they count as heeded."""
        for row in tx.rows("warning_open", scoped(scope, session=session, exact="")):
            close_warning(tx, row, Sequel.HEEDED, self.clock.now())

    async def effect(self, scope: Scope) -> dict[str, Json]:
        """Return counts by which the effect of warnings is measured.

        Failures that came back, and the calls after a due warning, are counted for sessions that were warned
        (`warned`) beside those that were only watched (`held_out`). `last_messages` counts the last messages of agents
        that hooks held or commented on, and their corrections.
        """
        values = scoped(scope)
        session_rows = await self.db.rows("session_counts", values)
        sessions_by_group = {row["held_out"]: row for row in session_rows}
        warning_rows = await self.db.rows("warning_counts", values)
        note_rows = await self.db.rows("session_notes", values)
        shown_rows = [row for row in warning_rows if row["shown"]]
        held_out_rows = [row for row in warning_rows if not row["shown"]]
        given_count = sum(row["count"] for row in shown_rows)
        characters = sum(row["characters"] for row in shown_rows)
        characters_per_warning = None
        if given_count:
            characters_per_warning = round(characters / given_count, 1)
        notes = [_notes_from(row["notes"]) for row in note_rows]
        return {
            "warned": counts_of_sessions(sessions_by_group.get(0), shown_rows),
            "held_out": counts_of_sessions(sessions_by_group.get(1), held_out_rows),
            "warnings_given": given_count,
            "warnings_by_match": counts(shown_rows, "match", "open"),
            "characters": characters,
            "characters_per_warning": characters_per_warning,
            "last_messages": counts_of_last_messages(notes),
        }

    def _begin(self, tx: Writing, scope: Scope, state: SessionState) -> None:
        """Begin to watch a session, if it is new; then some of the oldest sessions and warnings go."""
        now = self.clock.now()
        values = scoped(scope, id=state.id, held_out=state.held_out, now=now)
        is_new = tx.run("session_begin", values) > 0
        if is_new:
            tx.drop_old("session", now, self.context.keep_days)
            tx.drop_old("warning", now, self.context.keep_days)


def _id_in(shown_key: str) -> str:
    """Return the id of the lesson in a key of `SessionState.shown`: `guard:les_4f2a` gives `les_4f2a`."""
    return shown_key.rpartition(":")[2]


class _Objections(NamedTuple):
    """The guards against a call."""

    lessons: tuple[Lesson, ...]
    unread: str  # why the call could not be read for certain, empty where it could


def _guards_against(reading: Reading, scope: Scope, call: Call, where: Where | None) -> _Objections:
    """Return the lessons whose guards a call goes against, without those that hooks must not show.

    If the call meets no guard for certain, guards are looked for that it meets where an unknown variable is empty:
    `rm -rf $BUILD/dist` may be `rm -rf /dist`. Where the folder of the call is known, each project is asked about the
    part of the call that works in its folders (`views_of`), else this project about all of it.
    """
    part_by_project: Mapping[str, Call] = {EVERYWHERE: call, scope.project: call}
    if where is not None:
        part_by_project = views_of(call, place_in(reading, scope, where))
    whole_call = part_by_project[EVERYWHERE]
    own_part = part_by_project.get(scope.project)
    if own_part is None:
        own_part = call.part((), ())
    lessons = guards_met(reading, scope, own_part, whole_call)
    lessons += guards_of_others(reading, scope, part_by_project, guards_met)
    unread = call.script.why_partial
    if not lessons and not unread:
        lessons = guards_in_doubt(reading, scope, own_part, whole_call)
        lessons += guards_of_others(reading, scope, part_by_project, guards_in_doubt)
        unread = MAY_BE_EMPTY
    showable_lessons = tuple(lesson for lesson in lessons if not suspicion_of(lesson))
    return _Objections(showable_lessons, unread)


def _lessons_about(
    reading: Reading, scope: Scope, failures: Iterable[KnownFailure]
) -> dict[str, tuple[Lesson, ...]]:
    """Return the active lessons about some failures that may be shown, by the id of a reflection.

    A failure has the id of the reflection that noted it last: that reflection's lessons are about it.
    """
    lessons_by_reflection: dict[str, tuple[Lesson, ...]] = {}
    for reflection_id in {failure.reflection_id for failure in failures if failure.reflection_id}:
        lessons = reading.lessons("failure_lesson", scope, reflection_id=reflection_id)
        showable = tuple(lesson for lesson in lessons if not suspicion_of(lesson))
        lessons_by_reflection[reflection_id] = showable
    return lessons_by_reflection


def session_state(reading: Reading, scope: Scope, session: str) -> SessionState | None:
    """Return the state of a watched session, None if there is none."""
    row = reading.row("session_by_id", scoped(scope, id=session))
    if row is None:
        return None
    return record_from(row, SessionState, _SESSION_READERS)
