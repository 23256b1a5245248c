"""Collect the data of the dashboard: records, proposed merges, consolidations, measured benefit."""

from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.models.common import plain
from mcp_reflect.models.finding import StoredFinding

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine


MAX_APP_RECORDS: Final = 500
"""The most records of the page inside a host's conversation: about 300 kB."""


async def collect(engine: "Engine", *, most: int | None = None, whole: bool = True) -> dict[str, Any]:
    """Return what the dashboard shows of the engine's project and the global records.

    It changes nothing, and asks no language model.

    Args:
        engine: The engine whose bank is shown.
        most: The most records, best first.
        whole: Whether to include the words of quarantined records.
    """
    from mcp_reflect.services.consolidate import by_rules  # noqa: PLC0415 - slow to import, needed here alone

    scope = engine.scopes.own
    data = await engine.bank.views.board(scope, most=most, whole=whole)
    plan, _ = await by_rules(engine.context, scope)
    shown = {row[0] for row in data["lessons"]["rows"]}
    waiting = await engine.bank.findings.waiting(scope) if whole else []
    dreams = await engine.bank.consolidations.latest(scope)
    return {
        **data,
        "findings": [_finding(one) for one in waiting],
        "clusters": [list(cluster) for cluster in plan.clusters if shown.issuperset(cluster)],
        "merges": [plain(merge) for merge in plan.merges if shown.issuperset((merge.keep, *merge.gone))],
        "archivings": [plain(archiving) for archiving in plan.archivings if archiving.id in shown],
        "dreams": [
            {
                "id": dream["id"],
                "state": dream["state"],
                "at": int(dream["created_at"]),
                "thinker": dream["plan"]["thinker"],
                "merged": sum(len(merge["gone"]) for merge in dream["plan"]["merges"]),
                "archived": len(dream["plan"]["archivings"]),
                # An earlier release spelled the name with an s.
                "added": len(dream["plan"].get("generalizations", dream["plan"].get("generalisations", ()))),
            }
            for dream in dreams
        ],
        "proof": await engine.proof(),
    }


def _finding(found: StoredFinding) -> dict[str, Any]:
    """Return a finding beside its evidence, the latest session first."""
    draft = found.finding.draft
    evidence = [
        {"session": one.session, "host": one.host, "at": one.at, "lines": one.lines} for one in found.seen[:-4:-1]
    ]
    texts = {"mistake": draft.mistake, "correction": draft.correction}
    return {"id": found.id, "sessions": found.sessions, **texts, "evidence": evidence}
