"""Whether a lesson that is shown is still to be trusted: is what it is about still there, and did it help?

A lesson's roots are the files, names and versions that it is about, as they were when it was stored
(`models/root.py`); its ground is what became of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.effect import Effect
from mcp_reflect.models.recall import Fit, Hit, Recall
from mcp_reflect.models.root import Ground, Standing
from mcp_reflect.roots.measuring import measured
from mcp_reflect.roots.tree import tree_of
from mcp_reflect.services.context import Context

STILL_TRUE: Final = "still true?"
# The part of its score that a hit loses where its ground changed, so that it stands behind an equal one.
_LOWER_SCORE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Mark:
    """What to say beside a lesson whose ground changed, or that hurt."""

    ground: Ground
    hides: bool  # a reminder at a prompt leaves the lesson out

    @property
    def what_changed(self) -> str:
        """The words beside the lesson, such as "src/app.py is gone"."""
        return self.ground.what_changed


def working_tree(context: Context) -> Path | None:
    """Return the tree in which the calls of this project work, None where it is not known, as at a team's service."""
    if context.scopes.folder is None or not context.scopes.own.project:
        return None
    return tree_of(context.settings.folder or Path.cwd())


async def marks_of(context: Context, scope: Scope, ids: Iterable[str]) -> Mapping[str, Mark]:
    """Return a mark, by lesson id, for each lesson whose ground changed or that hurt.

    | the lesson                                | its mark                                    |
    |-------------------------------------------|---------------------------------------------|
    | hurt                                      | says so, and hides it                       |
    | is true of a file or version that is gone | says so, and hides it                       |
    | is true of one that changed               | says so                                     |
    | any other                                 | none                                        |

    What a person keeps is marked and never hidden.
    """
    wanted_ids = list(dict.fromkeys(ids))
    if not wanted_ids:
        return {}
    planted_roots = await context.bank.roots.of(scope, wanted_ids)
    tree = working_tree(context) if planted_roots else None
    now = context.clock.now()
    marks: dict[str, Mark] = {}
    for lesson_id, planted in planted_roots.items():
        ground = measured(tree, planted.roots, now)
        if ground.standing is not Standing.STANDS:
            hides = ground.standing is Standing.DOUBTED and not planted.is_kept_by_person
            marks[lesson_id] = Mark(ground, hides)
    return {**marks, **await harm_of(context, scope, wanted_ids)}


async def harm_of(
    context: Context, scope: Scope, ids: Iterable[str] | None = None
) -> dict[str, Mark]:
    """Return a mark, by lesson id, for each lesson after which sessions ended worse than without it.

    A lesson hurt only if the whole interval of that comparison lies below zero. Without `ids`, all are looked at.
    """
    effects = await context.bank.effects.of(scope, ids)
    marks: dict[str, Mark] = {}
    for lesson_id, effect in effects.items():
        if effect.comparison.effect is Effect.HURT:
            ground = Ground(Standing.DOUBTED, effect.comparison.in_words)
            marks[lesson_id] = Mark(ground, hides=not effect.is_kept_by_person)
    return marks


async def marked(context: Context, scope: Scope, recall: Recall) -> Recall:
    """Return a recall whose hits say what changed since; a hit that does stands behind an equal one that does not."""
    marks = await marks_of(context, scope, (hit.id for hit in recall.lessons))
    if not marks:
        return recall
    hits = [_marked(hit, marks[hit.id]) if hit.id in marks else hit for hit in recall.lessons]
    hits.sort(key=lambda hit: (hit.fit is Fit.WEAK, -hit.score))
    return replace(recall, lessons=tuple(hits))


def _marked(hit: Hit, mark: Mark) -> Hit:
    """Return a hit whose text says what changed, with a score that is a little lower."""
    remark = mark.what_changed
    if mark.ground.standing is Standing.DOUBTED:
        remark = f"{remark}: {STILL_TRUE}"
    score = round(max(hit.score - _LOWER_SCORE, 0.0), 4)
    return replace(hit, text=f"{hit.text} ({remark})", score=score)
