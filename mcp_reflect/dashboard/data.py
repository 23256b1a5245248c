"""The data of the dashboard: records, proposed merges, consolidations, measured benefit."""

from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.services.results import plain

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine


MOST_IN_APP: Final = 500  # records of the page inside a host's conversation: some 300 kB
_MOST_DREAMS: Final = 20


async def gathered(engine: "Engine", *, most: int | None = None, whole: bool = True) -> dict[str, Any]:
    """All that a board shows of the engine's project and the global records; changes nothing, asks no language model.

    `most` is how many records at most. Without `whole` the words of what is in quarantine stay out.
    """
    from mcp_reflect.services.consolidate import by_rules  # noqa: PLC0415 - a heavy one, needed here alone

    scope = engine.scopes.own
    data = await engine.bank.views.board(scope, most=most, whole=whole)
    plan, _, _ = await by_rules(engine.context, scope)
    shown = {row[0] for row in data["lessons"]["rows"]}
    dreams = await engine.bank.consolidations.latest(scope, _MOST_DREAMS)
    return {
        **data,
        "clusters": [list(cluster) for cluster in plan.clusters if shown.issuperset(cluster)],
        "merges": [plain(merge) for merge in plan.merges if shown.issuperset((merge.keep, *merge.gone))],
        "archivings": [plain(one) for one in plan.archivings if one.id in shown],
        "dreams": [
            {
                "id": one["id"],
                "state": one["state"],
                "at": int(one["created_at"]),
                "thinker": one["plan"]["thinker"],
                "merged": sum(len(merge["gone"]) for merge in one["plan"]["merges"]),
                "archived": len(one["plan"]["archivings"]),
                "added": len(one["plan"]["generalisations"]),
            }
            for one in dreams
        ],
        "proof": await engine.proof(),
    }
