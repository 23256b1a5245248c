"""Record whether lessons helped in a task, so that recall shows the good ones first and doubts the others.

An outcome is checked, its lessons are found (`followed_lessons.py`), it is weighed by its evidence
(`outcome_evidence.py`), and stored. Lessons that a person keeps are changed by that person alone.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.models.common import Scope
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.outcome import PARTIAL, Evidence, OutcomeDraft, OutcomeResult, Updated
from mcp_reflect.models.proposal import ProposalKind
from mcp_reflect.schemas.lessons import OutcomeArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.services.context import Context
from mcp_reflect.services.followed_lessons import with_followed_lessons
from mcp_reflect.services.lessons import whole_id
from mcp_reflect.services.outcome_evidence import OutcomePart, parts_by_evidence
from mcp_reflect.services.proposals import decide_or_keep

_SUCCESS: Final[Mapping[object, float]] = {"partial": PARTIAL, "irrelevant": 0.0}
"""The success, 0 to 1, that a word stands for; True and False are 1 and 0."""

# What the agent reads of why its outcome counts for less than it sent.
_HELD_OUT: Final = "the lessons of that recall were held out: counted for the comparison"
_UNUSED: Final = "the calls that hooks saw follow none of them: name the lesson_ids that helped"
_IRRELEVANT: Final = "noted that they did not fit that task; their worth is unchanged"


@dataclass(frozen=True, slots=True)
class _WithoutKept:
    """An outcome without the lessons that a person keeps: the person decides about those."""

    draft: OutcomeDraft
    answers: tuple[str, ...] = ()
    """For the agent, on each of the kept lessons: "a person keeps les_3f2a90: its worth is unchanged"."""


async def record_outcome(
    context: Context, arguments: Mapping[str, Any], *, by_program: bool = False
) -> OutcomeResult:
    """Record whether lessons helped.

    | the outcome                                          | what is recorded                                        |
    |------------------------------------------------------|---------------------------------------------------------|
    | "irrelevant"                                         | that the lessons did not fit; their worth is unchanged  |
    | an agent's, against a lesson that a person keeps     | nothing of that lesson: it waits for the person         |
    | any other                                            | as much as its evidence counts (`parts_by_evidence`)    |

    `by_program`: the caller is a program that saw what it reports, not an agent.
    """
    # In a thread: long outputs take a while, and other calls go on meanwhile.
    sent = await asyncio.to_thread(read, OutcomeArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    draft = await _outcome_of(context, scope, sent)
    if sent.success == "irrelevant":
        return await _note_irrelevant(context, scope, draft, sent.ignored)
    draft = await with_followed_lessons(context, scope, draft)
    answers: tuple[str, ...] = ()
    if not by_program:
        without_kept = await _without_kept(context, scope, draft)
        draft, answers = without_kept.draft, without_kept.answers
    if answers and not draft.lesson_ids:
        return OutcomeResult(
            updated=(), evidence="self", reason=_joined(answers), ignored=sent.ignored
        )
    results = [ToolResult(**result.model_dump()) for result in sent.tool_results]
    parts = await parts_by_evidence(context, scope, draft, results, by_program=by_program)
    updated: list[Updated] = []
    for part in parts:
        updated += await context.bank.outcomes.record(scope, part.outcome)
    if draft.success == 1:
        await services.roots.confirm_roots(context, scope, [lesson.id for lesson in updated])
    evidence = parts[-1].evidence
    context.log.info(
        "outcome_recorded", success=sent.success, evidence=evidence, lessons=len(updated)
    )
    return OutcomeResult(
        updated=tuple(updated),
        evidence=evidence,
        reason=_reason_of(parts, answers, has_counted=bool(updated)),
        ignored=sent.ignored,
    )


def _reason_of(
    parts: Sequence[OutcomePart], answers: Sequence[str], *, has_counted: bool
) -> str | None:
    """Return why the outcome counts for less than the agent sent, None where it does not.

    `answers` are those about the lessons that a person keeps. The reasons of all parts are in the text, so that an agent
    does not take the reason of the second part for that of the first.

    | answers, or reasons of parts | a lesson was counted | the reason                                        |
    |------------------------------|----------------------|---------------------------------------------------|
    | some                         | any                  | all of them                                       |
    | none                         | yes                  | None                                              |
    | none                         | no                   | no lesson was used, or all of them were held out  |
    """
    reasons = [*answers, *(part.reason for part in parts if part.reason)]
    if reasons:
        return _joined(reasons)
    if has_counted:
        return None
    return _UNUSED if parts[-1].outcome.of_task else _HELD_OUT


def _joined(reasons: Sequence[str]) -> str:
    """Return several reasons as the one text of an answer."""
    return "; ".join(reasons)


async def _outcome_of(context: Context, scope: Scope, sent: OutcomeArguments) -> OutcomeDraft:
    """Return the outcome that was sent, with the whole ids of its lessons."""
    ids = [
        await whole_id(context, scope, lesson_id, f"lesson_ids[{index}]")
        for index, lesson_id in enumerate(sent.lesson_ids)
    ]
    return OutcomeDraft(
        success=float(_SUCCESS.get(sent.success, sent.success)),
        recall_id=sent.recall_id,
        lesson_ids=tuple(ids),
        evidence=sent.evidence,
        note=sent.note,
    )


async def _note_irrelevant(
    context: Context, scope: Scope, draft: OutcomeDraft, ignored: tuple[str, ...]
) -> OutcomeResult:
    """Note that lessons did not fit a task. Nothing proves that, so it is the agent's word."""
    as_own_word = replace(draft, evidence=Evidence.SELF)
    updated = await context.bank.outcomes.record(scope, as_own_word, irrelevant=True)
    return OutcomeResult(
        updated=updated, evidence="self", reason=_IRRELEVANT, counts=False, ignored=ignored
    )


async def _without_kept(context: Context, scope: Scope, draft: OutcomeDraft) -> _WithoutKept:
    """Return an agent's outcome without the lessons that a person keeps, if it says that they did not help.

    The person decides about these. One that failed altogether gets a proposal to retire it.
    """
    if draft.success == 1 or draft.of_task:
        return _WithoutKept(draft)
    answers: list[str] = []
    other_ids: list[str] = []
    for lesson_id in await _named_ids(context, scope, draft):
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if lesson.is_kept_by_person:
            answers.append(await _propose_to_retire(context, scope, lesson, draft))
        else:
            other_ids.append(lesson_id)
    if not answers:
        return _WithoutKept(draft)
    return _WithoutKept(replace(draft, lesson_ids=tuple(other_ids)), tuple(answers))


async def _named_ids(context: Context, scope: Scope, draft: OutcomeDraft) -> Sequence[str]:
    """Return the ids of the lessons that an outcome names, else of those that its recall showed."""
    if draft.lesson_ids or not draft.recall_id:
        return draft.lesson_ids
    shown_lessons = await context.bank.recalls.lessons_of(scope, draft.recall_id)
    return [lesson.id for lesson in shown_lessons]


async def _propose_to_retire(
    context: Context, scope: Scope, lesson: Lesson, draft: OutcomeDraft
) -> str:
    """Propose to a person to retire their lesson, if it failed altogether; return what the agent is told."""
    if draft.success != 0:
        return f"a person keeps {short_id(lesson.id)}: its worth is unchanged"
    reason = f"it was wrong: {draft.note or 'no reason given'}"
    _, answer = await decide_or_keep(context, scope, lesson, ProposalKind.RETIRE, reason=reason)
    return answer
