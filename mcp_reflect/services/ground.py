"""Remarks on lessons that may be outdated: what they are about has changed, or sessions did worse with them.

A lesson's roots are the files, names and versions that it is about, as they were when it was stored
(`models/root.py`); its ground is what became of them, such as "app.py is gone since". Wherever a lesson is shown, a
remark says so beside it, because advice on a file that is gone misleads more than it helps.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.effect import Effect
from mcp_reflect.models.recall import Fit, Hit, Recall
from mcp_reflect.models.root import Ground, Planted, Standing
from mcp_reflect.roots.measuring import measured
from mcp_reflect.roots.tree import tree_of
from mcp_reflect.services.context import Context

STILL_TRUE: Final = "still true?"
"""The question behind the remark on a lesson of which a root is gone, or that hurt."""

_SCORE_LOST_BY_REMARK: Final = 0.02
"""What a hit with a remark loses of its score: enough to stand behind an equal hit without one, and no more."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What to say beside a lesson that may be outdated."""

    ground: Ground
    hides: bool  # a reminder at a prompt leaves the lesson out

    @property
    def what_changed(self) -> str:
        """The words beside the lesson, such as "app.py is gone since"."""
        return self.ground.what_changed


def working_tree(context: Context) -> Path | None:
    """Return the tree in which the calls of this project work, None where it is not known, as at a team's service."""
    if context.scopes.folder is None or not context.scopes.own.project:
        return None
    return tree_of(context.settings.folder or Path.cwd())


async def remarks_on(
    context: Context, scope: Scope, lesson_ids: Iterable[str]
) -> Mapping[str, Remark]:
    """Return the remarks, by lesson id, on those of the lessons that may be outdated.

    | the lesson                                                    | its remark                 |
    |---------------------------------------------------------------|----------------------------|
    | hurt: sessions ended worse with it than without               | says so, hides the lesson  |
    | has a root that is gone, or was valid until a day that passed | says so, hides the lesson  |
    | has a root that changed                                       | says so                    |
    | is any other one                                              | none                       |

    The first row that fits decides. A lesson that a person keeps is never hidden.
    """
    wanted_ids = list(dict.fromkeys(lesson_ids))
    if not wanted_ids:
        return {}
    remarks = await _remarks_on_roots(context, scope, wanted_ids)
    remarks.update(await remarks_on_harm(context, scope, wanted_ids))
    return remarks


async def _remarks_on_roots(
    context: Context, scope: Scope, lesson_ids: Iterable[str]
) -> dict[str, Remark]:
    """Return the remarks on lessons of which a root changed or is gone, as measured now in the working tree."""
    planted_by_id: Mapping[str, Planted] = await context.bank.roots.of(scope, lesson_ids)
    if not planted_by_id:
        return {}
    tree = working_tree(context)
    now = context.clock.now()
    remarks: dict[str, Remark] = {}
    for lesson_id, planted in planted_by_id.items():
        ground = measured(tree, planted.roots, now)
        if ground.standing is Standing.STANDS:
            continue
        is_doubted = ground.standing is Standing.DOUBTED
        remarks[lesson_id] = Remark(ground, hides=is_doubted and not planted.is_kept_by_person)
    return remarks


async def remarks_on_harm(
    context: Context, scope: Scope, lesson_ids: Iterable[str] | None = None
) -> dict[str, Remark]:
    """Return the remarks, by lesson id, on lessons after which sessions ended worse than without them.

    A lesson hurt only if the whole interval of that comparison lies below zero. Without `lesson_ids` all lessons of the
    scope are looked at.
    """
    effects = await context.bank.effects.of(scope, lesson_ids)
    remarks: dict[str, Remark] = {}
    for lesson_id, effect in effects.items():
        if effect.comparison.effect is Effect.HURT:
            ground = Ground(Standing.DOUBTED, effect.comparison.in_words)
            remarks[lesson_id] = Remark(ground, hides=not effect.is_kept_by_person)
    return remarks


async def with_remarks(context: Context, scope: Scope, recall: Recall) -> Recall:
    """Return a recall with the remarks in the texts of its hits, and the hits in the order of their lowered scores.

    Hits that fit weakly stay behind all others.
    """
    remarks = await remarks_on(context, scope, (hit.id for hit in recall.lessons))
    if not remarks:
        return recall
    hits: list[Hit] = []
    for hit in recall.lessons:
        remark = remarks.get(hit.id)
        hits.append(hit if remark is None else _hit_with_remark(hit, remark))
    hits.sort(key=lambda hit: (hit.fit is Fit.WEAK, -hit.score))
    return replace(recall, lessons=tuple(hits))


def _hit_with_remark(hit: Hit, remark: Remark) -> Hit:
    """Return a hit whose text ends with the remark, and whose score is a little lower.

    "Build it first." -> "Build it first. (app.py is gone since: still true?)"
    """
    words = remark.what_changed
    if remark.ground.standing is Standing.DOUBTED:
        words = f"{words}: {STILL_TRUE}"
    score = round(max(hit.score - _SCORE_LOST_BY_REMARK, 0.0), 4)
    return replace(hit, text=f"{hit.text} ({words})", score=score)
