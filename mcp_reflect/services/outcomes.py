"""Record whether lessons helped, by what stands behind the word of who says so."""

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
from mcp_reflect.models.lesson import Evidence, Lesson, OutcomeDraft, OutcomeResult, short_id
from mcp_reflect.models.proposal import ProposalKind
from mcp_reflect.schemas.lessons import OutcomeArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.services.context import Context
from mcp_reflect.services.lessons import whole_id
from mcp_reflect.services.proposals import decide_or_keep

_SESSION_SECONDS: Final = 6 * 3600.0
"""Hooks and tools know no common session: those of these hours are looked at."""

_SUCCESS: Final[Mapping[object, float]] = {"partial": 0.5, "irrelevant": 0.0}
_HELD_OUT: Final = "the lessons of that recall were held out: counted for the comparison"
_QUOTED: Final = "you quote the person: it counts for more than your own word, but is not proof"
_UNUSED: Final = "the calls that hooks saw follow none of them: name the lesson_ids that helped"
_IRRELEVANT: Final = "noted that they did not fit that task; their worth is unchanged"
_NO_CALL: Final = "hooks saw no call that follows a lesson: it counts as your word"


@dataclass(frozen=True, slots=True)
class _Part:
    """Some lessons of an outcome with what stands behind it, and why it counts for less than was sent."""

    outcome: OutcomeDraft
    reason: str | None = None


async def record_outcome(
    context: Context, arguments: Mapping[str, Any], *, seen: bool = False
) -> OutcomeResult:
    """Record whether lessons helped; `seen` says that the caller is a program that saw it.

    What an agent says is its own word, unless hooks saw a call that follows the lesson and ended so. An irrelevant
    lesson keeps its worth. That a person's lesson is wrong waits for the person.
    """
    # In a thread: long outputs take a while, and other calls go on meanwhile.
    sent = await asyncio.to_thread(read, OutcomeArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    draft = await _outcome_of(context, scope, sent)
    if sent.success == "irrelevant":
        return await _note_irrelevant(context, scope, draft, sent.ignored)
    draft = await _credited(context, scope, draft)
    proposed = None
    if not seen:
        draft, proposed = await _without_kept(context, scope, draft)
    if proposed and not draft.lesson_ids:
        return OutcomeResult(updated=(), evidence="self", reason=proposed, ignored=sent.ignored)
    results = [ToolResult(**result.model_dump()) for result in sent.tool_results]
    parts = await _by_proof(context, scope, draft, results, seen=seen)
    updated = [
        lesson
        for part in parts
        for lesson in await context.bank.outcomes.record(scope, part.outcome)
    ]
    if draft.success == 1:
        await services.roots.confirm_roots(context, scope, [one.id for one in updated])
    last = parts[-1]
    reason = proposed or last.reason
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
    told = replace(draft, evidence=Evidence.SELF)
    updated = await context.bank.outcomes.record(scope, told, irrelevant=True)
    return OutcomeResult(
        updated=updated, evidence="self", reason=_IRRELEVANT, counts=False, ignored=ignored
    )


async def _without_kept(
    context: Context, scope: Scope, draft: OutcomeDraft
) -> tuple[OutcomeDraft, str | None]:
    """Return an outcome without the lessons that a person keeps, if it says that they are wrong: they decide.

    Such a lesson gets a proposal to retire it; the text says so.
    """
    if draft.success == 1 or draft.of_task:
        return draft, None
    told, left = None, list[str]()
    for name in await _named_ids(context, scope, draft):
        lesson = await context.bank.lessons.get(scope, name)
        if lesson.is_kept_by_person:
            told = await _doubted_by_agent(context, scope, lesson, draft)
        else:
            left.append(name)
    if told is None:
        return draft, None
    return replace(draft, lesson_ids=tuple(left)), told


async def _named_ids(context: Context, scope: Scope, draft: OutcomeDraft) -> Sequence[str]:
    """Return the lessons that an outcome names, else those that its recall showed."""
    if draft.lesson_ids or not draft.recall_id:
        return draft.lesson_ids
    shown = await context.bank.recalls.lessons_of(scope, draft.recall_id)
    return [lesson.id for lesson in shown]


async def _doubted_by_agent(
    context: Context, scope: Scope, lesson: Lesson, draft: OutcomeDraft
) -> str:
    """Say what becomes of an agent's word against a lesson that a person keeps."""
    if draft.success != 0:
        return f"a person keeps {short_id(lesson.id)}: its worth is unchanged"
    wish = f"it was wrong: {draft.note or 'no reason given'}"
    _, told = await decide_or_keep(context, scope, lesson, ProposalKind.RETIRE, reason=wish)
    return told


async def _by_proof(
    context: Context,
    scope: Scope,
    draft: OutcomeDraft,
    results: Sequence[ToolResult],
    *,
    seen: bool,
) -> list[_Part]:
    """Return an outcome in parts by what stands behind it: first the lessons that hooks saw followed, then the rest."""
    as_own_word = replace(draft, evidence=Evidence.SELF)
    if draft.evidence is Evidence.SELF:
        return [_Part(draft)]
    doubt = doubt_of(draft, results)
    if seen:
        return [_Part(as_own_word, doubt) if doubt else _Part(draft)]
    if draft.evidence is Evidence.USER:
        return [_Part(as_own_word, doubt) if doubt else _Part(_backed(draft), _QUOTED)]
    if agrees(draft.success == 1, results) is False:
        return [_Part(as_own_word, doubt)]
    proven = await _proven_by_hooks(context, scope, draft)
    parts: list[_Part] = []
    if proven:
        parts.append(_Part(replace(draft, lesson_ids=tuple(sorted(proven)))))
    left = tuple(name for name in draft.lesson_ids if name not in proven)
    if left or not proven:
        told = replace(as_own_word, lesson_ids=left, backed=bool(results))
        parts.append(_Part(told, await _why_unproven(context, scope, left)))
    return parts


def _backed(draft: OutcomeDraft) -> OutcomeDraft:
    """Return an outcome that counts for more than the agent's word, and is no proof."""
    return replace(draft, evidence=Evidence.SELF, backed=True)


async def _proven_by_hooks(context: Context, scope: Scope, draft: OutcomeDraft) -> frozenset[str]:
    """Return the lessons that calls of the last hours follow and that ended so. Half a success shows in no call."""
    if draft.success == 0.5:
        return frozenset()
    lately = context.bank.outcomes.followed_lately
    return await lately(scope, draft.lesson_ids, worked=draft.success == 1)


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


async def _credited(context: Context, scope: Scope, draft: OutcomeDraft) -> OutcomeDraft:
    """Name the lessons of a recall whose advice the calls that hooks saw follow, if the outcome names none itself."""
    if not draft.recall_id or draft.lesson_ids:
        return draft
    acts = await _acts_of_session(context, scope)
    if not acts:
        return draft
    shown = await context.bank.recalls.lessons_of(scope, draft.recall_id)
    if not shown:
        return draft
    used = [lesson.id for lesson in shown if _names_one(lesson, acts)]
    every = [lesson.id for lesson in shown]
    lately = context.bank.outcomes.followed_lately
    followed = await lately(scope, every, worked=draft.success == 1)
    used += [name for name in followed if name not in used]
    return replace(draft, lesson_ids=tuple(used), of_task=not used)


async def _acts_of_session(context: Context, scope: Scope) -> list[re.Pattern[str]]:
    """Return what finds the programs and files of the calls that worked lately in a lesson's words.

    A head is `shell:git push`, `read:src/a.py` or `search`: its last part is what advice names.
    """
    since = context.clock.now() - _SESSION_SECONDS
    acts: list[re.Pattern[str]] = []
    for head in await context.bank.warnings.worked_since(scope, since):
        named = head.partition(":")[2] or head
        acts.append(re.compile(rf"(?<!\w){re.escape(named)}(?!\w)", re.IGNORECASE))
    return acts


def _names_one(lesson: Lesson, acts: Sequence[re.Pattern[str]]) -> bool:
    advice = lesson.correction or lesson.text
    return any(act.search(advice) for act in acts)
