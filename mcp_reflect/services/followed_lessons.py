"""The lessons that the calls of a session followed: an outcome that names a recall alone is about these.

A recall shows several lessons, and the agent uses some of them. Crediting all would make every lesson look as good as
the one that helped.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.outcome import PARTIAL, OutcomeDraft
from mcp_reflect.services.context import Context

_SESSION_SECONDS: Final = 6 * 3600.0
"""Hooks and tools share no id of a session: all calls of these hours are taken for those of the session."""


async def with_followed_lessons(
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
    shown_lessons = await context.bank.recalls.lessons_of(scope, draft.recall_id)
    if not shown_lessons:
        return draft
    used_ids = [lesson.id for lesson in shown_lessons if _advises_an_act(lesson, acts)]
    shown_ids = [lesson.id for lesson in shown_lessons]
    followed_ids = await _followed_in_session(context, scope, shown_ids, draft.success)
    used_ids += [lesson_id for lesson_id in followed_ids if lesson_id not in used_ids]
    return replace(draft, lesson_ids=tuple(used_ids), of_task=not used_ids)


async def _followed_in_session(
    context: Context, scope: Scope, lesson_ids: Sequence[str], success: float
) -> frozenset[str]:
    """Return the lessons whose advice a call followed and ended as the outcome says.

    A partial success says of no call how it ended, so that a call which failed counts as well as one that worked.
    """
    outcomes = context.bank.outcomes
    if success != PARTIAL:
        return await outcomes.followed_lately(scope, lesson_ids, worked=success == 1)
    by_working_call = await outcomes.followed_lately(scope, lesson_ids, worked=True)
    by_failed_call = await outcomes.followed_lately(scope, lesson_ids, worked=False)
    return by_working_call | by_failed_call


async def _acts_of_session(context: Context, scope: Scope) -> list[re.Pattern[str]]:
    """Return patterns that find, in a lesson's words, the programs and files of the calls that worked lately.

    The bank keeps the head of a call; its act is what stands behind the colon, if there is one: "git push" of
    `shell:git push`, "src/a.py" of `read:src/a.py`, "search" of `search`.
    """
    since = context.clock.now() - _SESSION_SECONDS
    acts: list[re.Pattern[str]] = []
    for head in await context.bank.warnings.worked_since(scope, since):
        act = head.partition(":")[2] or head
        acts.append(pattern_of_act(act))
    return acts


def pattern_of_act(act: str) -> re.Pattern[str]:
    """Return a pattern that finds in an advice the act of a call, as it is written there.

    | the act                         | it counts                                      | as in                            |
    |---------------------------------|------------------------------------------------|----------------------------------|
    | one plain word: `make`          | where it stands as a command in code           | "Run `cd app && make`"           |
    |                                 | where an option follows it                     | "Run make -j 4"                  |
    |                                 | nowhere else: it is a word of the language too | (not in "Do not make a copy")    |
    | any other: `git push`, `a.py`   | wherever it stands as a whole                  | "Look before every git push"     |
    """
    name = re.escape(act)
    if not act.isalpha():
        return re.compile(rf"(?<!\w){name}(?!\w)")
    command_in_code = rf"`(?:[^`\n]{{0,80}}[;&|] ?)?{name}(?!\w)"
    before_an_option = rf"(?<!\w){name} --?[a-zA-Z]"
    return re.compile(f"{command_in_code}|{before_an_option}")


def _advises_an_act(lesson: Lesson, acts: Sequence[re.Pattern[str]]) -> bool:
    """Return whether a lesson's advice names one of the programs or files."""
    advice = lesson.correction or lesson.text
    return any(act.search(advice) for act in acts)
