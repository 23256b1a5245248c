"""Whether what lessons are true of still stands, where one is shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.effect import Effect
from mcp_reflect.models.lesson import Fit, Hit, Recall
from mcp_reflect.models.root import Ground, Standing
from mcp_reflect.roots.measuring import measured
from mcp_reflect.roots.tree import tree_of
from mcp_reflect.services.context import Context

STILL_TRUE: Final = "still true?"
_BEHIND: Final = 0.02  # by which a hit's score is lower where what it was true of changed


@dataclass(frozen=True, slots=True)
class Mark:
    """What became of a shown lesson's roots; `hides` where a prompt does not show it."""

    ground: Ground
    hides: bool

    @property
    def told(self) -> str:
        """What is said beside the lesson."""
        return self.ground.told


def working_tree(context: Context) -> Path | None:
    """Return the tree in which the calls of this project work, None where it is not known, as at a team's service."""
    if context.scopes.folder is None or not context.scopes.own.project:
        return None
    return tree_of(context.settings.folder or Path.cwd())


async def marks_of(context: Context, scope: Scope, ids: Iterable[str]) -> Mapping[str, Mark]:
    """Return what to say of those of some lessons whose ground no longer stands, or that hurt by what is proven."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    planted = await context.bank.roots.of(scope, wanted)
    tree, now = None, context.clock.now()
    if planted:
        tree = working_tree(context)
    marks: dict[str, Mark] = {}
    for lesson_id, one in planted.items():
        ground = measured(tree, one.roots, now)
        if ground.standing is not Standing.STANDS:
            hides = ground.standing is Standing.DOUBTED and not one.is_kept_by_person
            marks[lesson_id] = Mark(ground, hides)
    return {**marks, **await harm_of(context, scope, wanted)}


async def harm_of(
    context: Context, scope: Scope, ids: Iterable[str] | None = None
) -> dict[str, Mark]:
    """Return the lessons after which sessions ended worse than without them, by the whole interval."""
    known = await context.bank.effects.of(scope, ids)
    return {
        name: Mark(Ground(Standing.DOUBTED, one.comparison.told), hides=not one.is_kept_by_person)
        for name, one in known.items()
        if one.comparison.effect is Effect.HURT
    }


async def marked(context: Context, scope: Scope, recall: Recall) -> Recall:
    """Return a recall whose hits say what changed since; such a hit stands behind an equal one that stands."""
    marks = await marks_of(context, scope, (hit.id for hit in recall.lessons))
    if not marks:
        return recall
    hits = [_marked(hit, marks[hit.id]) if hit.id in marks else hit for hit in recall.lessons]
    hits.sort(key=lambda hit: (hit.fit is Fit.WEAK, -hit.score))
    return replace(recall, lessons=tuple(hits))


def _marked(hit: Hit, mark: Mark) -> Hit:
    told = mark.told
    if mark.ground.standing is Standing.DOUBTED:
        told = f"{told}: {STILL_TRUE}"
    score = round(max(hit.score - _BEHIND, 0.0), 4)
    return replace(hit, text=f"{hit.text} ({told})", score=score)
