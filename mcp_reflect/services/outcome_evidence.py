"""How much an outcome of lessons counts: it depends on the evidence for it, since an agent may claim what is not so.

From the least to the most:

1. the agent's own word;
2. its *backed* word: it typed an output, or a person's words, that say the same;
3. proof: hooks saw a call that does as the lesson says and ended as the outcome says.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.evidence.following import names_calls
from mcp_reflect.evidence.runs import SHOWS_OPPOSITE, doubt_of
from mcp_reflect.models.common import Scope
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.outcome import PARTIAL, Evidence, OutcomeDraft
from mcp_reflect.services.context import Context

# What the agent reads of why its outcome counts for less than it sent.
_QUOTED: Final = "you quote the person: it counts for more than your own word, but is not proof"
_NO_CALL: Final = "hooks saw no call that follows a lesson: it counts as your word"


@dataclass(frozen=True, slots=True)
class OutcomePart:
    """An outcome of some of the lessons that were named, as it counts."""

    outcome: OutcomeDraft
    reason: str | None = None  # why it counts for less than the agent sent, None where it does not

    @property
    def evidence(self) -> str:
        """The word for the agent: "told" for its backed word, else "self", "user", "test" or "metric"."""
        if self.outcome.backed:
            return "told"
        return self.outcome.evidence.value


async def parts_by_evidence(
    context: Context,
    scope: Scope,
    draft: OutcomeDraft,
    results: Sequence[ToolResult],
    *,
    by_program: bool,
) -> list[OutcomePart]:
    """Return an outcome in parts, each as much worth as its evidence; the first row that fits decides.

    `results` are the outputs that came with the outcome. A doubt says why the evidence does not support the outcome:
    the outputs show nothing, or the opposite, or the note quotes nobody (`doubt_of`).

    | evidence       | sent by     | doubt                           | it counts as                               |
    |----------------|-------------|---------------------------------|--------------------------------------------|
    | self           | anybody     | never                           | own word                                   |
    | any other      | a program   | some                            | own word, with the doubt                   |
    | any other      | a program   | none                            | as sent: the program saw what it reports   |
    | user           | an agent    | quotes nobody                   | own word, with the doubt                   |
    | user           | an agent    | none                            | backed word: an agent may invent a person  |
    | test, metric   | an agent    | outputs show the opposite       | own word, with the doubt                   |
    | test, metric   | an agent    | none, or outputs show nothing   | by the calls that hooks saw: `_by_calls`   |

    What an agent types as an output is no proof, however well it reads: hooks alone saw what happened.
    """
    if draft.evidence is Evidence.SELF:
        return [OutcomePart(draft)]
    doubt = await asyncio.to_thread(doubt_of, draft, results)
    as_own_word = replace(draft, evidence=Evidence.SELF)
    if by_program:
        return [OutcomePart(as_own_word, doubt) if doubt else OutcomePart(draft)]
    if draft.evidence is Evidence.USER:
        if doubt:
            return [OutcomePart(as_own_word, doubt)]
        return [OutcomePart(replace(as_own_word, backed=True), _QUOTED)]
    if doubt == SHOWS_OPPOSITE:
        return [OutcomePart(as_own_word, doubt)]
    return await _by_calls(context, scope, draft, doubt)


async def _by_calls(
    context: Context, scope: Scope, draft: OutcomeDraft, doubt: str | None
) -> list[OutcomePart]:
    """Return an agent's outcome in one part or two, by the calls that hooks saw.

    `doubt` says why the outputs that the agent sent do not show the outcome, None if they do. Each row of the table is
    a part where it has lessons; the second and third exclude each other.

    | lessons                                | doubt | they count as                       |
    |----------------------------------------|-------|-------------------------------------|
    | whose advice a call followed           | any   | proven, as sent: the call decides   |
    | the others, or the task's, without any | none  | backed word, and why it is no proof |
    | the others, or the task's, without any | some  | own word, with the doubt            |
    """
    proven_ids = await _proven_by_hooks(context, scope, draft)
    unproven_ids = tuple(lesson_id for lesson_id in draft.lesson_ids if lesson_id not in proven_ids)
    parts: list[OutcomePart] = []
    if proven_ids:
        reason = _proven_beside_others(proven_ids) if unproven_ids else None
        proven = replace(draft, lesson_ids=tuple(sorted(proven_ids)))
        parts.append(OutcomePart(proven, reason))
    if unproven_ids or not proven_ids:
        is_backed = doubt is None
        as_word = replace(draft, evidence=Evidence.SELF, lesson_ids=unproven_ids, backed=is_backed)
        reason = doubt or await _why_unproven(context, scope, unproven_ids)
        parts.append(OutcomePart(as_word, reason))
    return parts


async def _proven_by_hooks(context: Context, scope: Scope, draft: OutcomeDraft) -> frozenset[str]:
    """Return the ids of the lessons that a call of the last hours followed, where it ended as the outcome says.

    A call worked or failed, so that none shows a partial success.
    """
    if draft.success == PARTIAL:
        return frozenset()
    return await context.bank.outcomes.followed_lately(
        scope, draft.lesson_ids, worked=draft.success == 1
    )


def _proven_beside_others(proven_ids: Iterable[str]) -> str:
    """Return the reason for the proven lessons in an answer that also speaks of others.

    "les_3f2a90, les_81bc44: proven by a call that hooks saw"
    """
    names = ", ".join(short_id(lesson_id) for lesson_id in sorted(proven_ids))
    return f"{names}: proven by a call that hooks saw"


async def _why_unproven(context: Context, scope: Scope, lesson_ids: Sequence[str]) -> str:
    """Return why an outcome of these lessons counts as the agent's word; the first of them is named as an example.

    Either no call can prove it, because its advice names none, or hooks saw none that follows it.
    """
    if not lesson_ids:
        return _NO_CALL
    first_id = lesson_ids[0]
    name = short_id(first_id)
    lesson = await context.bank.lessons.get(scope, first_id)
    if not names_calls(lesson):
        return f"{name} names no right call, so no call proves it: it counts as your word"
    return (
        f"hooks saw no call of the last hours that does as {name} says and ended so: "
        "it counts as your word"
    )
