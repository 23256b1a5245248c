"""Record whether lessons helped, and how much that counts: by what stands behind the word of who says so.

An agent's own word counts least, then its word with a person's or an output behind it (`backed`); a call that hooks
saw, which does as the lesson says and ended so, is proof.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.evidence.following import names_calls
from mcp_reflect.evidence.runs import agrees, doubt_of
from mcp_reflect.models.common import Scope
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import (
    Evidence,
    Lesson,
    OutcomeDraft,
    OutcomeResult,
    Updated,
    short_id,
)
from mcp_reflect.models.proposal import ProposalKind
from mcp_reflect.schemas.lessons import OutcomeArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.services.context import Context
from mcp_reflect.services.lessons import whole_id
from mcp_reflect.services.proposals import decide_or_keep

_SESSION_SECONDS: Final = 6 * 3600.0
"""Hooks and tools know no common session: those of these hours are looked at."""

_PARTIAL: Final = 0.5
_SUCCESS: Final[Mapping[object, float]] = {"partial": _PARTIAL, "irrelevant": 0.0}
"""The success, 0 to 1, that a word stands for; True and False are 1 and 0."""

_HELD_OUT: Final = "the lessons of that recall were held out: counted for the comparison"
_QUOTED: Final = "you quote the person: it counts for more than your own word, but is not proof"
_UNUSED: Final = "the calls that hooks saw follow none of them: name the lesson_ids that helped"
_IRRELEVANT: Final = "noted that they did not fit that task; their worth is unchanged"
_NO_CALL: Final = "hooks saw no call that follows a lesson: it counts as your word"


@dataclass(frozen=True, slots=True)
class _Part:
    """An outcome of some of the lessons, and why it counts for less than was sent (None: it does not)."""

    outcome: OutcomeDraft
    reason: str | None = None


async def record_outcome(
    context: Context, arguments: Mapping[str, Any], *, seen: bool = False
) -> OutcomeResult:
    """Record whether lessons helped; `seen` says that the caller is a program that saw what it reports.

    What an agent says is its own word, unless hooks saw a call that follows the lesson and ended so. An irrelevant
    lesson keeps its worth. That a lesson is wrong which a person keeps becomes a proposal, which waits for the person.
    """
    # In a thread: long outputs take a while, and other calls go on meanwhile.
    sent = await asyncio.to_thread(read, OutcomeArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    draft = await _outcome_of(context, scope, sent)
    if sent.success == "irrelevant":
        return await _note_irrelevant(context, scope, draft, sent.ignored)
    draft = await _with_followed_lessons(context, scope, draft)
    answer_of_person = None
    if not seen:
        draft, answer_of_person = await _without_kept(context, scope, draft)
    if answer_of_person and not draft.lesson_ids:
        return OutcomeResult(
            updated=(), evidence="self", reason=answer_of_person, ignored=sent.ignored
        )
    results = [ToolResult(**result.model_dump()) for result in sent.tool_results]
    parts = await _by_proof(context, scope, draft, results, seen=seen)
    updated: list[Updated] = []
    for part in parts:
        updated += await context.bank.outcomes.record(scope, part.outcome)
    if draft.success == 1:
        await services.roots.confirm_roots(context, scope, [lesson.id for lesson in updated])
    last = parts[-1]
    reason = answer_of_person or last.reason
    if not reason and not updated:
        reason = _UNUSED if draft.of_task else _HELD_OUT
    evidence = "told" if last.outcome.backed else last.outcome.evidence.value
    context.log.info(
        "outcome_recorded", success=sent.success, evidence=evidence, lessons=len(updated)
    )
    return OutcomeResult(
        updated=tuple(updated), evidence=evidence, reason=reason, ignored=sent.ignored
    )


async def _outcome_of(context: Context, scope: Scope, sent: OutcomeArguments) -> OutcomeDraft:
    """Return the outcome that was sent, with the whole ids of its lessons."""
    ids = [
        await whole_id(context, scope, name, f"lesson_ids[{place}]")
        for place, name in enumerate(sent.lesson_ids)
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


async def _without_kept(
    context: Context, scope: Scope, draft: OutcomeDraft
) -> tuple[OutcomeDraft, str | None]:
    """Return an outcome without the lessons that a person keeps, if it says that they did not help: they decide.

    Such a lesson gets a proposal to retire it. The text says so to the agent; None if there is no such lesson.
    """
    if draft.success == 1 or draft.of_task:
        return draft, None
    answer: str | None = None
    other_ids: list[str] = []
    for lesson_id in await _named_ids(context, scope, draft):
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if lesson.is_kept_by_person:
            answer = await _propose_to_retire(context, scope, lesson, draft)
        else:
            other_ids.append(lesson_id)
    if answer is None:
        return draft, None
    return replace(draft, lesson_ids=tuple(other_ids)), answer


async def _named_ids(context: Context, scope: Scope, draft: OutcomeDraft) -> Sequence[str]:
    """Return the lessons that an outcome names, else those that its recall showed."""
    if draft.lesson_ids or not draft.recall_id:
        return draft.lesson_ids
    shown = await context.bank.recalls.lessons_of(scope, draft.recall_id)
    return [lesson.id for lesson in shown]


async def _propose_to_retire(
    context: Context, scope: Scope, lesson: Lesson, draft: OutcomeDraft
) -> str:
    """Propose to a person to retire their lesson, if it failed altogether; return what the agent is told."""
    if draft.success != 0:
        return f"a person keeps {short_id(lesson.id)}: its worth is unchanged"
    reason = f"it was wrong: {draft.note or 'no reason given'}"
    _, answer = await decide_or_keep(context, scope, lesson, ProposalKind.RETIRE, reason=reason)
    return answer


async def _by_proof(
    context: Context,
    scope: Scope,
    draft: OutcomeDraft,
    results: Sequence[ToolResult],
    *,
    seen: bool,
) -> list[_Part]:
    """Return an outcome in parts by what stands behind each: one part, unless hooks proved it of some lessons alone.

    `results` are outputs that the caller sent as evidence; `seen` is as for `record_outcome`.
    """
    as_own_word = replace(draft, evidence=Evidence.SELF)
    if draft.evidence is Evidence.SELF:
        return [_Part(draft)]
    doubt = await asyncio.to_thread(doubt_of, draft, results)
    if doubt and (seen or draft.evidence is Evidence.USER):
        return [_Part(as_own_word, doubt)]
    if seen:
        return [_Part(draft)]
    if draft.evidence is Evidence.USER:
        return [_Part(replace(as_own_word, backed=True), _QUOTED)]
    if await asyncio.to_thread(agrees, draft.success == 1, results) is False:
        return [_Part(as_own_word, doubt)]
    return await _by_calls(context, scope, draft, has_results=bool(results))


async def _by_calls(
    context: Context, scope: Scope, draft: OutcomeDraft, *, has_results: bool
) -> list[_Part]:
    """Return an outcome in two parts: the lessons that hooks saw followed, and the rest, which is the agent's word."""
    proven = await _proven_by_hooks(context, scope, draft)
    parts: list[_Part] = []
    if proven:
        parts.append(_Part(replace(draft, lesson_ids=tuple(sorted(proven)))))
    unproven = tuple(lesson_id for lesson_id in draft.lesson_ids if lesson_id not in proven)
    if unproven or not proven:
        as_word = replace(draft, evidence=Evidence.SELF, lesson_ids=unproven, backed=has_results)
        parts.append(_Part(as_word, await _why_unproven(context, scope, unproven)))
    return parts


async def _proven_by_hooks(context: Context, scope: Scope, draft: OutcomeDraft) -> frozenset[str]:
    """Return the lessons that calls of the last hours did as told and ended as the outcome says.

    A partial success shows in no call.
    """
    if draft.success == _PARTIAL:
        return frozenset()
    return await context.bank.outcomes.followed_lately(
        scope, draft.lesson_ids, worked=draft.success == 1
    )


async def _why_unproven(context: Context, scope: Scope, ids: Sequence[str]) -> str:
    """Return why an outcome counts as the agent's word: hooks saw no call that does as the lesson says."""
    if not ids:
        return _NO_CALL
    name = short_id(ids[0])
    lesson = await context.bank.lessons.get(scope, ids[0])
    if not names_calls(lesson):
        return f"{name} names no right call, so no call proves it: it counts as your word"
    return (
        f"hooks saw no call of the last hours that does as {name} says and ended so: "
        "it counts as your word"
    )


async def _with_followed_lessons(
    context: Context, scope: Scope, draft: OutcomeDraft
) -> OutcomeDraft:
    """Return an outcome that names a recall alone with the lessons of it that the session's calls followed.

    Where hooks saw calls and none followed one, `of_task` says that the outcome is the task's and no lesson's.
    """
    if not draft.recall_id or draft.lesson_ids:
        return draft
    acts = await _acts_of_session(context, scope)
    if not acts:
        return draft
    shown = await context.bank.recalls.lessons_of(scope, draft.recall_id)
    if not shown:
        return draft
    used = [lesson.id for lesson in shown if _advises_an_act(lesson, acts)]
    followed = await context.bank.outcomes.followed_lately(
        scope, [lesson.id for lesson in shown], worked=draft.success == 1
    )
    used += [lesson_id for lesson_id in followed if lesson_id not in used]
    return replace(draft, lesson_ids=tuple(used), of_task=not used)


async def _acts_of_session(context: Context, scope: Scope) -> list[re.Pattern[str]]:
    """Return patterns that find, in a lesson's words, the programs and files of the calls that worked lately.

    The bank keeps a call's head, `shell:git push`, `read:src/a.py` or `search`: its last part is what advice names.
    """
    since = context.clock.now() - _SESSION_SECONDS
    acts: list[re.Pattern[str]] = []
    for head in await context.bank.warnings.worked_since(scope, since):
        act = head.partition(":")[2] or head
        acts.append(re.compile(rf"(?<!\w){re.escape(act)}(?!\w)", re.IGNORECASE))
    return acts


def _advises_an_act(lesson: Lesson, acts: Sequence[re.Pattern[str]]) -> bool:
    """Return whether a lesson's advice names one of the programs or files."""
    advice = lesson.correction or lesson.text
    return any(act.search(advice) for act in acts)
