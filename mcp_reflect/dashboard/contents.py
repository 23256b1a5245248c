"""What the dashboard shows of a bank, for the page that renders it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.models.common import plain
from mcp_reflect.models.finding import StoredFinding, Wording
from mcp_reflect.services.proposals import wish_text
from mcp_reflect.services.reviews import Proposed, proposed_changes
from mcp_reflect.services.roots import doubted
from mcp_reflect.sessions.found import facts_of

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine

MAX_APP_RECORDS: Final = 500
"""The most records of the page inside a host's conversation: about 300 kB."""

_MOST_EVIDENCE: Final = 3  # sessions of a finding, the latest


async def collect(
    engine: "Engine", *, most: int | None = None, whole: bool = True
) -> dict[str, Any]:
    """Return what the dashboard shows of the engine's project and the global records.

    It changes nothing, and asks no language model.

    Args:
        engine: The engine whose bank is shown.
        most: The most records, best first.
        whole: Whether a person looks: then the words of quarantined records and what waits for them are included.
    """
    from mcp_reflect.services.consolidate import by_rules  # noqa: PLC0415 - slow to import, needed here alone

    scope = engine.scopes.own
    data = await engine.bank.views.board(scope, most=most, whole=whole)
    plan, _ = await by_rules(engine.context, scope)
    shown = {row[0] for row in data["lessons"]["rows"]}
    card = await engine.bank.effects.card(scope)
    effects = await engine.bank.effects.of(scope)
    return {
        **data,
        **await _what_waits(engine, whole=whole),
        "clusters": [list(cluster) for cluster in plan.clusters if shown.issuperset(cluster)],
        "merges": [
            plain(merge) for merge in plan.merges if shown.issuperset((merge.keep, *merge.gone))
        ],
        "archivings": [plain(archiving) for archiving in plan.archivings if archiving.id in shown],
        "dreams": [_dream(one) for one in await engine.bank.consolidations.latest(scope)],
        "proof": await engine.bank.warnings.effect(scope),
        "card": [*card.lines] if card else [],
        "effects": {name: one.comparison.told for name, one in effects.items() if name in shown},
    }


async def _what_waits(engine: "Engine", *, whole: bool) -> dict[str, Any]:
    """Return what a person decides about beside the lessons themselves; nothing for anybody else."""
    if not whole:
        return {"findings": [], "doubted": [], "proposals": []}
    findings = await engine.bank.findings.waiting(engine.scopes.own)
    return {
        "findings": [_finding(one) for one in findings],
        "doubted": [
            {"id": one.lesson.id, "told": one.told} for one in await doubted(engine.context)
        ],
        "proposals": [_proposal(one) for one in await proposed_changes(engine)],
    }


def _proposal(found: Proposed) -> dict[str, Any]:
    body = found.proposal.body
    texts = {name: body[name] for name in ("mistake", "correction", "text") if body.get(name)}
    return {
        "id": found.proposal.id,
        "lesson": found.lesson.id,
        "wish": wish_text(found.proposal),
        "texts": texts,
    }


def _dream(dream: Mapping[str, Any]) -> dict[str, Any]:
    plan = dream["plan"]
    # An earlier release spelled the name with an s.
    added = plan.get("generalizations", plan.get("generalisations", ()))
    return {
        "id": dream["id"],
        "state": dream["state"],
        "at": int(dream["created_at"]),
        "thinker": plan["thinker"],
        "merged": sum(len(merge["gone"]) for merge in plan["merges"]),
        "archived": len(plan["archivings"]),
        "added": len(added),
    }


def _finding(found: StoredFinding) -> dict[str, Any]:
    latest = reversed(found.seen[-_MOST_EVIDENCE:])
    wording = found.finding.wording or Wording(mistake="", correction="")
    return {
        "id": found.id,
        "sessions": found.sessions,
        "facts": facts_of(found.finding),
        "mistake": wording.mistake,
        "correction": wording.correction,
        "evidence": [
            {"session": one.session, "host": one.host, "at": one.at, "lines": one.lines}
            for one in latest
        ],
    }
