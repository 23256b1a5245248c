"""The repository of lessons, from the day when one is stored or merged to the day when it is retired or erased."""

import asyncio
import json
from dataclasses import replace
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import (
    Lesson,
    LessonDraft,
    RecordKind,
    State,
    Stored,
    Trust,
)
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
from mcp_reflect.security.redact import quoted
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage import lesson_merging, lesson_records, screening, similarity
from mcp_reflect.storage.outside_words import outside_words_for
from mcp_reflect.storage.repository import Reading, Repository, Writing, transaction
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.seen import refuse_changed_lessons
from mcp_reflect.storage.values import scoped

_LEAST_ID_CHARS: Final = 4
"""Characters of a part of an id that a person types in place of the whole."""

_MOST_NAMED_IDS: Final = 5
"""Ids that the error about an ambiguous part lists."""

_MOST_PINNED: Final = 3
"""Lessons with which a session begins: more of them would be read by nobody."""

_KEPT_AS_IT_IS: Final = "a person keeps a lesson that says the same; it stays as it is"
_FULL: Final = "archived at once: the bank is full of more important lessons"
_ERASING_STATEMENTS: Final = (
    "version_erase",
    "link_erase",
    "failure_erase",
    "proposal_erase",
    "followed_erase",
    "roots_cut",
    "shown_in_erase",
    "guard_cut",
    "lesson_erase",
    "reflection_erase",
    "index_rewrite",  # last: then none of the record's terms stays in the file
)
"""The named SQL that removes all that is stored of one record, in this order."""


class LessonRepository(Repository):
    """The records that recall can show: lessons, strategies, and the summaries of reflections.

    Every method that takes an id raises NotFoundError if the scope has no such record.
    """

    async def store(
        self, scope: Scope, draft: LessonDraft, *, by: Speaker = Speaker.AGENT
    ) -> Stored:
        """Store a lesson, or strengthen the stored one that says the same.

        1. The words of outputs and of quarantined lessons are read: orders that repeat them came from outside.
        2. The lesson is screened for such orders, in a thread and before the bank is locked, since that takes longer
           than writing.
        3. It is added or merged. If the project is full then, the least important records are archived, which may be
           this one.
        """
        outside_words = await self.db.look(
            scope.tenant, lambda reading: outside_words_for(reading, scope, self.clock.now())
        )

        def screen() -> Lesson:
            record = screening.record_of(draft, scope, self.clock)
            return screening.screened(
                record,
                [outside_words.outputs()],
                outside_words.quarantined,
                seen=outside_words.phrases(),
            )

        lesson = await asyncio.to_thread(screen)

        def store_screened(tx: Writing) -> Stored:
            added = lesson_merging.add_or_merge(tx, scope, lesson, by=by)
            archived_ids = lesson_records.archive_excess(
                tx, scope, self.context.size, self.clock.now()
            )
            answer = _answer_about(tx, scope, lesson, added)
            if added.id in archived_ids and answer.reason is None:
                return replace(answer, reason=_FULL)
            return answer

        return await self.db.write(scope.tenant, store_screened)

    @transaction
    def supersede(
        self,
        tx: Writing,
        scope: Scope,
        old_id: str,
        new_id: str,
        *,
        by: Speaker = Speaker.AGENT,
    ) -> None:
        """Retire the old lesson in favor of the new one, which takes over its wording and how often it was learned.

        Nothing happens if both are one lesson, or if the old one is out of use already.
        """
        old = lesson_records.lesson_by_id(tx, scope, old_id)
        new = lesson_records.lesson_by_id(tx, scope, new_id)
        if old.id != new.id and old.state is State.ACTIVE:
            lesson_records.supersede(tx, scope, old, new, self.clock.now(), by=by)

    async def get(self, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson:
        """Return the record with that id; NotFoundError names `field`."""
        return await self.db.look(
            scope.tenant,
            lambda reading: lesson_records.lesson_by_id(reading, scope, lesson_id, field),
        )

    async def resolve_id(self, scope: Scope, part: str, field: str = "id") -> str:
        """Return the whole id of a lesson that a person names by a part of it.

        | `part`                                                   | the result                               |
        |----------------------------------------------------------|------------------------------------------|
        | has fewer than 4 characters                              | `part`: too many ids would fit           |
        | is the start of one id, or its end: `4f2a`, `les_4f2a`   | that id: `les_01…4f2a`                   |
        | is an id itself, or part of none                         | `part`                                   |
        | is the start or end of several ids                       | InputError, which names `field`          |
        """
        if len(part) < _LEAST_ID_CHARS:
            return part
        end = part.removeprefix("les_")
        if len(end) < _LEAST_ID_CHARS:
            end = part
        values = scoped(scope, part=part, end=end, limit=_MOST_NAMED_IDS)
        rows = await self.db.rows("lesson_ids_like", values)
        fitting_ids = [str(row["id"]) for row in rows]
        if len(fitting_ids) == 1:
            return fitting_ids[0]
        if not fitting_ids or part in fitting_ids:
            return part
        raise InputError(
            field,
            f"'{quoted(part)}' is the start or end of {', '.join(fitting_ids)}",
            "Give more characters.",
        )

    async def projects(self, tenant: str) -> dict[str, int]:
        """Return the number of active lessons of each project; the empty name is global."""
        return {
            row["project"]: row["count"]
            for row in await self.db.rows("lesson_projects", {"tenant": tenant})
        }

    async def latest(
        self,
        scope: Scope,
        *,
        kind: RecordKind | None = RecordKind.LESSON,
        state: State | None = State.ACTIVE,
        limit: int = 50,
        held: bool = False,
    ) -> list[Lesson]:
        """Return records, newest first; None means any kind or state. `held` selects those in quarantine."""
        query = "lesson_list"
        if held:
            query = "lesson_list_held"
        return await self.lessons(query, scope, kind=kind, state=state, limit=limit)

    async def pinned(self, scope: Scope) -> list[Lesson]:
        """Return the lessons with which every session begins, the first pinned first."""
        return await self.lessons("lessons_pinned", scope, limit=_MOST_PINNED)

    @transaction
    def pin(
        self,
        tx: Writing,
        scope: Scope,
        lesson_id: str,
        *,
        pinned: bool,
        seen: Seen = NOTHING_SEEN,
    ) -> Lesson:
        """Pin a lesson for a person, so that every session begins with it, or unpin it; return it as it is then.

        InputError if it may not be shown to sessions, or if too many are pinned. ChangedError, here and below, if a
        lesson is not as the person was shown it (`seen`).
        """
        refuse_changed_lessons(tx, scope, seen)
        before = lesson_records.lesson_by_id(tx, scope, lesson_id)
        was_pinned = before.pinned_at is not None
        if was_pinned is pinned:
            return before
        pinned_at: float | None = None
        if pinned:
            _refuse_pin(tx, scope, before)
            pinned_at = self.clock.now()
        after = replace(before, pinned_at=pinned_at)
        lesson_records.change(tx, scope, after, by=Speaker.PERSON)
        return after

    async def for_start(self, scope: Scope, limit: int = 50) -> list[Lesson]:
        """Return the lessons that matter most to a session that begins.

        Those that a person or an agent wrote come before those that rules made of runs.
        """
        return await self.lessons("lessons_for_start", scope, limit=limit)

    async def task_types(self, scope: Scope) -> list[str]:
        """Return the task types of a scope's lessons, the most frequent first."""
        return [row["task_type"] for row in await self.db.rows("task_types", scoped(scope))]

    async def history(self, scope: Scope, record_id: str) -> list[dict[str, Any]]:
        """Return the earlier and other wordings of a record, oldest first, each with why it was replaced."""
        await self.get(scope, record_id)  # NotFoundError for an unknown id
        versions: list[dict[str, Any]] = []
        for row in await self.db.rows("version_list", scoped(scope, record_id=record_id)):
            about_version = {name: row[name] for name in ("version", "reason", "created_at")}
            wording = json.loads(row["body"])
            versions.append(about_version | wording)
        return versions

    async def links(self, scope: Scope, record_id: str) -> list[dict[str, str]]:
        """Return the links of a record: its reflection, events, tools, and the records that it was merged with."""
        await self.get(scope, record_id)  # NotFoundError for an unknown id
        rows = await self.db.rows("link_list", scoped(scope, from_id=record_id))
        return [dict(row) for row in rows]

    @transaction
    def set_state(
        self,
        tx: Writing,
        scope: Scope,
        lesson_id: str,
        state: State,
        reason: str,
        *,
        by: Speaker = Speaker.AGENT,
        seen: Seen = NOTHING_SEEN,
    ) -> Lesson:
        """Retire, archive or restore a lesson; its former state stays in its history."""
        refuse_changed_lessons(tx, scope, seen)
        now = self.clock.now()
        lesson = lesson_records.set_state(tx, scope, lesson_id, state, reason, now, by=by)
        if state is State.ACTIVE:
            # If the project is full now, another lesson is archived: the restored one is spared.
            lesson_records.archive_excess(
                tx, Scope(scope.tenant, lesson.project), self.context.size, now, spare=lesson_id
            )
        return lesson

    @transaction
    def decide(
        self,
        tx: Writing,
        scope: Scope,
        lesson_id: str,
        *,
        approved: bool,
        of_agents: bool = False,
        seen: Seen = NOTHING_SEEN,
    ) -> Lesson:
        """Record a person's decision: an approved lesson is trusted from now on, a rejected one is retired.

        | the lesson                                     | approved         | rejected                   |
        |------------------------------------------------|------------------|----------------------------|
        | is in quarantine                               | is trusted       | is retired                 |
        | is in use, and no person trusts it yet         | is trusted       | only with `of_agents`      |
        | is trusted already, or out of use              | InputError       | InputError                 |

        `of_agents`: the setting `review` lets lessons that agents stored wait for a person, too.
        """
        refuse_changed_lessons(tx, scope, seen)
        before = lesson_records.lesson_by_id(tx, scope, lesson_id)
        waits = before.trust is Trust.QUARANTINED
        if approved or of_agents:
            waits = before.trust is not Trust.TRUSTED
        if not waits or before.state is not State.ACTIVE:
            fix = "`mcp-reflect lessons review` lists the lessons that are."
            raise InputError("id", f"'{quoted(lesson_id)}' is not in quarantine", fix)
        now = self.clock.now()
        if not approved:
            return lesson_records.set_state(
                tx, scope, lesson_id, State.RETIRED, "rejected", now, by=Speaker.PERSON
            )
        after = replace(before, trust=Trust.TRUSTED, held=None, updated_at=now)
        lesson_records.revise(tx, scope, before, after, "approved", by=Speaker.PERSON)
        return after

    @transaction
    def edit(
        self,
        tx: Writing,
        scope: Scope,
        lesson_id: str,
        changes: dict[str, Any],
        *,
        by: Speaker = Speaker.AGENT,
        seen: Seen = NOTHING_SEEN,
    ) -> Lesson:
        """Change a lesson's fields; the wording before stays as a version."""
        refuse_changed_lessons(tx, scope, seen)
        before = lesson_records.lesson_by_id(tx, scope, lesson_id)
        after = screening.screened(replace(before, **changes, updated_at=self.clock.now()))
        lesson_records.revise(tx, scope, before, after, "edited", by=by)
        return after

    async def erase(
        self,
        scope: Scope,
        lesson_id: str,
        *,
        by: Speaker = Speaker.AGENT,
        seen: Seen = NOTHING_SEEN,
    ) -> None:
        """Remove a record with its index entries, history, links and outcomes, and overwrite their bytes."""

        def erase(tx: Writing) -> None:
            refuse_changed_lessons(tx, scope, seen)
            lesson = lesson_records.lesson_by_id(tx, scope, lesson_id)
            lesson_records.refuse_change(lesson, None, by)
            values = {"id": lesson.id, "tenant": scope.tenant}
            index.remove(tx, lesson_id)
            for statement in _ERASING_STATEMENTS:
                tx.run(statement, values)

        await self.db.write(scope.tenant, erase)
        await self.db.truncate_log()


def _refuse_pin(reading: Reading, scope: Scope, lesson: Lesson) -> None:
    """Raise InputError if a lesson may not be pinned: no session may be shown it, or enough are pinned already."""
    if lesson.state is not State.ACTIVE or lesson.trust is Trust.QUARANTINED:
        fix = (
            "Restore or approve it first: mcp-reflect lessons restore, mcp-reflect lessons approve."
        )
        raise InputError("id", "that lesson is not in use", fix)
    if reason := screening.suspicion_of(lesson):
        fix = "Write a lesson of your own: mcp-reflect lessons add."
        raise InputError("id", f"hooks do not show that lesson: {reason}", fix)
    pinned = reading.lessons("lessons_pinned", scope, limit=_MOST_PINNED)
    if len(pinned) >= _MOST_PINNED:
        ids = ", ".join(short_id(pinned_lesson.id) for pinned_lesson in pinned)
        fix = f"Unpin one of {ids} first: mcp-reflect lessons unpin ID."
        raise InputError("id", f"{_MOST_PINNED} lessons are pinned already", fix)


def _answer_about(tx: Writing, scope: Scope, lesson: Lesson, added: lesson_merging.Added) -> Stored:
    """Return the answer to whoever stored a lesson.

    | the lesson                          | the answer has                                                              |
    |-------------------------------------|-----------------------------------------------------------------------------|
    | is in quarantine                    | the reason                                                                  |
    | was merged into a stored one        | the stored one's text; why it stays, where only a person may change it      |
    | was stored                          | its text, and a lesson that may say the same in other words: the author decides |
    """
    answer = Stored(lesson_id=added.id, status=added.status, scope=str(scope))
    if added.status == "quarantined":
        return replace(answer, reason=f"{lesson.held}; a person decides")
    if added.status == "merged":
        stored_lesson = lesson_records.lesson_by_id(tx, scope, added.id)
        reason: str | None = None
        if stored_lesson.is_kept_by_person and not lesson.is_kept_by_person:
            reason = _KEPT_AS_IT_IS
        return replace(answer, reason=reason, text=stored_lesson.text)
    near_lesson = similarity.near_meaning(lesson, added.near)
    similar: tuple[str, str] | None = None  # its id and text
    if near_lesson is not None:
        similar = (near_lesson.id, near_lesson.text)
    return replace(answer, text=lesson.text, similar=similar)
