"""The repository of proposals: changes that agents want of lessons which a person keeps, until the person decides."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, LessonDraft, State
from mcp_reflect.models.proposal import PREFIX, Proposal, ProposalKind, proposed_lesson
from mcp_reflect.models.shown_digest import (
    NOTHING_SEEN,
    Seen,
    digest_of_lesson,
    digest_of_proposal,
)
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage import lesson_records, screening
from mcp_reflect.storage.repository import Repository, Writing, transaction
from mcp_reflect.storage.rows import Row, readable, record_from
from mcp_reflect.storage.seen import refuse_other_than_seen
from mcp_reflect.storage.values import scoped

MOST_OF_A_LESSON: Final = 10
"""Open proposals about one lesson; a further one is not kept, and the answer says so."""

_MOST_WAITING: Final = 500
"""Proposals in the list that a person reviews."""

_MAX_REASON_CHARS: Final = 500
"""Characters of the reason of a proposal."""

_FIX: Final = "`mcp-reflect lessons review` lists what waits."
_READERS: Final[dict[str, Callable[[Any], Any]]] = {"kind": ProposalKind, "body": json.loads}


class ProposalRepository(Repository):
    """Keeps proposals, and does what a person approves."""

    @transaction
    def add(
        self,
        tx: Writing,
        scope: Scope,
        lesson: Lesson,
        kind: ProposalKind,
        reason: str,
        body: dict[str, Any],
    ) -> Proposal | None:
        """Keep a proposal; return it, the one that says the same, or None if the lesson has too many already."""
        return add_proposal(
            tx,
            scope,
            lesson,
            kind,
            reason,
            body,
            proposal_id=self.clock.new_id(PREFIX),
            now=self.clock.now(),
        )

    async def waiting(self, scope: Scope) -> list[Proposal]:
        """Return the open proposals about lessons in use, the first first."""
        rows = await self.db.rows("proposals_waiting", scoped(scope, limit=_MOST_WAITING))
        return readable(rows, _proposal, self.context.log)

    @transaction
    def settle_fulfilled(self, tx: Writing, scope: Scope, lesson_id: str) -> None:
        """Close the proposals that a lesson fulfills already, because a person made the same change by themselves."""
        lesson = lesson_records.lesson_by_id(tx, scope, lesson_id)
        own = Scope(scope.tenant, lesson.project)
        for row in tx.rows("proposals_of_lesson", scoped(own, lesson_id=lesson.id)):
            proposal = _proposal(row)
            if _is_fulfilled(proposal, lesson):
                closed = {"id": proposal.id, "state": "approved", "now": self.clock.now()}
                tx.run("proposal_decide", scoped(own, **closed))

    async def get(self, scope: Scope, proposal_id: str) -> Proposal:
        """Return an open proposal. NotFoundError if there is none with that id."""
        return await self.db.look(
            scope.tenant,
            lambda reading: _proposal(
                reading.existing("proposal_by_id", scope, "id", proposal_id, _FIX)
            ),
        )

    @transaction
    def decide(
        self,
        tx: Writing,
        scope: Scope,
        proposal_id: str,
        *,
        approved: bool,
        seen: Seen = NOTHING_SEEN,
    ) -> Lesson:
        """Do what a proposal wants, in a person's name, or drop it; return the lesson as it is then.

        For a proposal to replace a lesson that is the new lesson, which the person trusts from now on. ChangedError if
        the proposal, or the lesson, is not as the person was shown it (`seen`).
        """
        proposal = _proposal(tx.existing("proposal_by_id", scope, "id", proposal_id, _FIX))
        lesson = lesson_records.lesson_by_id(tx, scope, proposal.lesson_id)
        refuse_other_than_seen(seen, proposal.id, lambda: digest_of_proposal(proposal, lesson))
        refuse_other_than_seen(seen, lesson.id, lambda: digest_of_lesson(lesson))
        now = self.clock.now()
        if not approved:
            tx.run("proposal_decide", scoped(scope, id=proposal.id, state="rejected", now=now))
            return lesson
        tx.run("proposal_decide", scoped(scope, id=proposal.id, state="approved", now=now))
        after = proposed_lesson(lesson, proposal.kind, proposal.body)
        if not isinstance(after, Lesson):
            own = Scope(scope.tenant, lesson.project)
            return self._replace(tx, own, lesson, after, proposal.agent)
        after = replace(after, updated_at=now)
        if proposal.kind is ProposalKind.EDIT:
            after = screening.screened(after)
        reason = f"proposed: {proposal.reason}"
        lesson_records.revise(tx, scope, lesson, after, reason, by=Speaker.PERSON)
        return after

    def _replace(
        self, tx: Writing, scope: Scope, old: Lesson, draft: LessonDraft, agent: str | None
    ) -> Lesson:
        """Store the proposed lesson as one that a person trusts, in the place of the old one, and return it.

        Sessions begin with it if they began with the old one.
        """
        record = screening.record_of(draft, scope, self.clock)
        new = screening.screened(replace(record, agent=agent))
        if not new.suspicion:
            new = replace(new, pinned_at=old.pinned_at)
        lesson_records.insert(tx, scope, new, by=Speaker.PERSON)
        now = self.clock.now()
        lesson_records.supersede(tx, scope, old, new, now, by=Speaker.PERSON)
        return lesson_records.lesson_by_id(tx, scope, new.id)


def _is_fulfilled(proposal: Proposal, lesson: Lesson) -> bool:
    """Return whether a lesson is as a proposal wants it."""
    match proposal.kind:
        case ProposalKind.RETIRE:
            return lesson.state is State.RETIRED
        case ProposalKind.DISARM:
            return lesson.guard_mode is GuardMode.OFF
        case ProposalKind.EDIT:
            return _has_values(lesson, proposal.body)
        case ProposalKind.REPLACE:
            words = {name: proposal.body.get(name) for name in ("text", "mistake", "correction")}
            return _has_values(lesson, words)


def _has_values(lesson: Lesson, values: dict[str, Any]) -> bool:
    """Return whether the fields of a lesson have these values, as JSON has both."""
    present = {name: getattr(lesson, name, None) for name in values}
    return json.loads(json.dumps(present)) == values


def add_proposal(
    tx: Writing,
    scope: Scope,
    lesson: Lesson,
    kind: ProposalKind,
    reason: str,
    body: dict[str, Any],
    *,
    proposal_id: str,
    now: float,
) -> Proposal | None:
    """Keep a proposal about a lesson, in the lesson's own project; see `ProposalRepository.add`."""
    scope_of_lesson = Scope(scope.tenant, lesson.project)
    rows = tx.rows("proposals_of_lesson", scoped(scope_of_lesson, lesson_id=lesson.id))
    open_proposals = [_proposal(row) for row in rows]
    body_as_stored = json.loads(json.dumps(body, ensure_ascii=False))
    for open_proposal in open_proposals:
        if open_proposal.kind is kind and open_proposal.body == body_as_stored:
            return open_proposal
    if len(open_proposals) >= MOST_OF_A_LESSON:
        return None
    proposal = Proposal(
        id=proposal_id,
        lesson_id=lesson.id,
        kind=kind,
        reason=reason[:_MAX_REASON_CHARS],
        body=body,
        agent=screening.AGENT.get(),
        created_at=now,
    )
    values = {**asdict(proposal), "created_at": None}  # the statement takes the time as `now`
    tx.run("proposal_add", scoped(scope_of_lesson, now=now, **values))
    return proposal


def _proposal(row: Row) -> Proposal:
    """Return a row of `proposals` as the record; BankError if the row is damaged."""
    return record_from(row, Proposal, _READERS)
