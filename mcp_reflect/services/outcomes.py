"""Record whether lessons helped, and how much an outcome counts: by the evidence for it.

From the least to the most:

1. the agent's own word;
2. its *backed* word: it typed an output, or a person's words, that say the same;
3. proof: hooks saw a call that does as the lesson says and ended as the outcome says.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.evidence.following import names_calls
from mcp_reflect.evidence.runs import SHOWS_OPPOSITE, doubt_of
from mcp_reflect.models.common import Scope
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.outcome import PARTIAL, Evidence, OutcomeDraft, OutcomeResult, Updated
from mcp_reflect.models.proposal import ProposalKind
from mcp_reflect.schemas.lessons import OutcomeArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.services.context import Context
from mcp_reflect.services.lessons import whole_id
from mcp_reflect.services.proposals import decide_or_keep

_SESSION_SECONDS: Final = 6 * 3600.0
"""Hooks and tools know no common session: those of these hours are looked at."""

_SUCCESS: Final[Mapping[object, float]] = {"partial": PARTIAL, "irrelevant": 0.0}
"""The success, 0 to 1, that a word stands for; True and False are 1 and 0."""

# What the agent reads of why its outcome counts for less than it sent.
_HELD_OUT: Final = "the lessons of that recall were held out: counted for the comparison"
_QUOTED: Final = "you quote the person: it counts for more than your own word, but is not proof"
_UNUSED: Final = "the calls that hooks saw follow none of them: name the lesson_ids that helped"
_IRRELEVANT: Final = "noted that they did not fit that task; their worth is unchanged"
_NO_CALL: Final = "hooks saw no call that follows a lesson: it counts as your word"


@dataclass(frozen=True, slots=True)
class _OutcomePart:
    """An outcome of some of the lessons that were named."""

    outcome: OutcomeDraft
    reason: str | None = None  # why it counts for less than the agent sent, None where it does not

    @property
    def evidence(self) -> str:
        """The word for the agent: "told" for its backed word, else "self", "user", "test" or "metric"."""
        if self.outcome.backed:
            return "told"
        return self.outcome.evidence.value


@dataclass(frozen=True, slots=True)
class _Undecided:
    """An outcome without the lessons that a person keeps, of which the person decides."""

    draft: OutcomeDraft
    answers: tuple[
        str, ...
    ] = ()  # on each of those: "a person keeps les_3f2a90: its worth is unchanged"


async def record_outcome(
    context: Context, arguments: Mapping[str, Any], *, by_program: bool = False
) -> OutcomeResult:
    """Record whether lessons helped; `_parts_by_evidence` says how much that counts.

    `by_program`: the caller is a program that saw what it reports, not an agent. An irrelevant lesson keeps its worth.
    An agent's outcome against a lesson that a person keeps becomes a proposal, which waits for the person.
    """
    # In a thread: long outputs take a while, and other calls go on meanwhile.
    sent = await asyncio.to_thread(read, OutcomeArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    draft = await _outcome_of(context, scope, sent)
    if sent.success == "irrelevant":
        return await _note_irrelevant(context, scope, draft, sent.ignored)
    draft = await _with_followed_lessons(context, scope, draft)
    undecided = _Undecided(draft) if by_program else await _without_kept(context, scope, draft)
    draft, answers = undecided.draft, undecided.answers
    if answers and not draft.lesson_ids:
        return OutcomeResult(
            updated=(), evidence="self", reason=_joined(answers), ignored=sent.ignored
        )
    results = [ToolResult(**result.model_dump()) for result in sent.tool_results]
    parts = await _parts_by_evidence(context, scope, draft, results, by_program=by_program)
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
    parts: Sequence[_OutcomePart], answers: Sequence[str], *, has_counted: bool
) -> str | None:
    """Return all that the agent should know of why its outcome counts for less than it sent, None for nothing.

    `answers` are those about the lessons that a person keeps. The reasons of both parts are told, so that an agent does
    not take the word of the second for the worth of the first.
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


async def _without_kept(context: Context, scope: Scope, draft: OutcomeDraft) -> _Undecided:
    """Return an outcome without the lessons that a person keeps, if it says that they did not help.

    The person decides about these. One that failed altogether gets a proposal to retire it.
    """
    if draft.success == 1 or draft.of_task:
        return _Undecided(draft)
    answers: list[str] = []
    other_ids: list[str] = []
    for lesson_id in await _named_ids(context, scope, draft):
        lesson = await context.bank.lessons.get(scope, lesson_id)
        if lesson.is_kept_by_person:
            answers.append(await _propose_to_retire(context, scope, lesson, draft))
        else:
            other_ids.append(lesson_id)
    if not answers:
        return _Undecided(draft)
    return _Undecided(replace(draft, lesson_ids=tuple(other_ids)), tuple(answers))


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


async def _parts_by_evidence(
    context: Context,
    scope: Scope,
    draft: OutcomeDraft,
    results: Sequence[ToolResult],
    *,
    by_program: bool,
) -> list[_OutcomePart]:
    """Return an outcome in parts, each as much worth as its evidence; the first row that fits decides.

    `results` are outputs that came with the outcome, `by_program` is as for `record_outcome`.

    | evidence       | who says so | outputs, or the quotation       | it counts as                               |
    |----------------|-------------|---------------------------------|--------------------------------------------|
    | self           | anybody     | any                             | own word                                   |
    | test, metric   | a program   | show it                         | as sent                                    |
    | test, metric   | a program   | show nothing, or the opposite   | own word, with the doubt                   |
    | user           | a program   | quotes somebody                 | as sent                                    |
    | user           | an agent    | quotes somebody                 | backed word: an agent may invent a person  |
    | user           | anybody     | quotes nobody                   | own word, with the doubt                   |
    | test, metric   | an agent    | show the opposite               | own word, with the doubt                   |
    | test, metric   | an agent    | show it, or nothing             | by the calls that hooks saw: `_by_calls`   |

    What an agent types as an output is no proof, however well it reads: hooks alone saw what happened.
    """
    as_own_word = replace(draft, evidence=Evidence.SELF)
    if draft.evidence is Evidence.SELF:
        return [_OutcomePart(draft)]
    doubt = await asyncio.to_thread(doubt_of, draft, results)
    if doubt and (by_program or draft.evidence is Evidence.USER or doubt == SHOWS_OPPOSITE):
        return [_OutcomePart(as_own_word, doubt)]
    if by_program:
        return [_OutcomePart(draft)]
    if draft.evidence is Evidence.USER:
        return [_OutcomePart(replace(as_own_word, backed=True), _QUOTED)]
    return await _by_calls(context, scope, draft, doubt)


async def _by_calls(
    context: Context, scope: Scope, draft: OutcomeDraft, doubt: str | None
) -> list[_OutcomePart]:
    """Return an agent's outcome in one part or two, by the calls that hooks saw.

    `doubt` says why the outputs that the agent sent do not show the outcome, None if they do. Each row of the table is
    a part where it has lessons; the second and third exclude each other.

    | lessons                                | doubt | they count as                       |
    |----------------------------------------|-------|-------------------------------------|
    | whose advice a call followed           | any   | proven, as sent: the call decides   |
    | the others, or the task's, without any | none  | backed word, and why it is no proof |
    | the others, or the task's, without any | some  | own word, with the doubt            |
    """
    proven = await _proven_by_hooks(context, scope, draft)
    unproven = tuple(lesson_id for lesson_id in draft.lesson_ids if lesson_id not in proven)
    parts: list[_OutcomePart] = []
    if proven:
        reason = _proven_beside_others(proven) if unproven else None
        parts.append(_OutcomePart(replace(draft, lesson_ids=tuple(sorted(proven))), reason))
    if unproven or not proven:
        as_word = replace(draft, evidence=Evidence.SELF, lesson_ids=unproven, backed=doubt is None)
        parts.append(_OutcomePart(as_word, doubt or await _why_unproven(context, scope, unproven)))
    return parts


def _proven_beside_others(proven: Iterable[str]) -> str:
    """Return the reason for the proven lessons in an answer that also speaks of others.

    "les_3f2a90, les_81bc44: proven by a call that hooks saw"
    """
    names = ", ".join(short_id(lesson_id) for lesson_id in sorted(proven))
    return f"{names}: proven by a call that hooks saw"


async def _proven_by_hooks(context: Context, scope: Scope, draft: OutcomeDraft) -> frozenset[str]:
    """Return the ids of the lessons that a call of the last hours followed, where it ended as the outcome says.

    A call worked or failed, so that none shows a partial success.
    """
    if draft.success == PARTIAL:
        return frozenset()
    return await context.bank.outcomes.followed_lately(
        scope, draft.lesson_ids, worked=draft.success == 1
    )


async def _why_unproven(context: Context, scope: Scope, ids: Sequence[str]) -> str:
    """Return why an outcome of these lessons counts as the agent's word; the first of them is named as an example.

    Either no call can prove it, because its advice names none, or hooks saw none that follows it.
    """
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
    """Return an outcome with the lessons that it is about, where it names a recall alone.

    | the outcome, and the calls that hooks saw   | the lessons                                                     |
    |---------------------------------------------|-----------------------------------------------------------------|
    | it names lessons, or no recall              | those that it names                                             |
    | hooks saw no call, or the recall was empty  | none yet: storage credits all that the recall showed            |
    | calls followed lessons of the recall        | these                                                           |
    | calls followed none of them                 | none: `of_task` says that the outcome is the task's alone       |
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
    shown_ids = [lesson.id for lesson in shown]
    followed = await _followed_in_session(context, scope, shown_ids, draft.success)
    used += [lesson_id for lesson_id in followed if lesson_id not in used]
    return replace(draft, lesson_ids=tuple(used), of_task=not used)


async def _followed_in_session(
    context: Context, scope: Scope, ids: Sequence[str], success: float
) -> frozenset[str]:
    """Return the lessons whose advice a call followed and ended as the outcome says.

    A partial success says of no call how it ended, so that a call which failed counts as well as one that worked.
    """
    outcomes = context.bank.outcomes
    if success != PARTIAL:
        return await outcomes.followed_lately(scope, ids, worked=success == 1)
    by_working_call = await outcomes.followed_lately(scope, ids, worked=True)
    by_failed_call = await outcomes.followed_lately(scope, ids, worked=False)
    return by_working_call | by_failed_call


async def _acts_of_session(context: Context, scope: Scope) -> list[re.Pattern[str]]:
    """Return patterns that find, in a lesson's words, the programs and files of the calls that worked lately.

    The bank keeps the head of a call; its act is what stands behind the colon, if there is one: "git push" of
    `shell:git push`, "src/a.py" of `read:src/a.py`, "search" of `search`. The calls are those of all sessions of the
    project in these hours, since hooks and tools know no common session.
    """
    since = context.clock.now() - _SESSION_SECONDS
    acts: list[re.Pattern[str]] = []
    for head in await context.bank.warnings.worked_since(scope, since):
        act = head.partition(":")[2] or head
        acts.append(pattern_of_act(act))
    return acts


def pattern_of_act(act: str) -> re.Pattern[str]:
    """Return a pattern that finds in an advice what a call did, as it is written.

    One plain word (`make`, `search`) is a word of every language as well, so that it counts only where it stands as a
    command: in "Run `cd app && make`" and in "Run make -j 4", and not in "Do not make a copy". Any other act, such as
    `git push` or `src/a.py`, counts wherever it stands as a whole.
    """
    name = re.escape(act)
    if not act.isalpha():
        return re.compile(rf"(?<!\w){name}(?!\w)")
    at_start_of_code = rf"`(?:[^`\n]{{0,80}}[;&|] ?)?{name}(?!\w)"
    before_a_flag = rf"(?<!\w){name} --?[a-zA-Z]"
    return re.compile(f"{at_start_of_code}|{before_a_flag}")


def _advises_an_act(lesson: Lesson, acts: Sequence[re.Pattern[str]]) -> bool:
    """Return whether a lesson's advice names one of the programs or files."""
    advice = lesson.correction or lesson.text
    return any(act.search(advice) for act in acts)
