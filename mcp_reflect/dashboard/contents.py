"""What the dashboard shows of a bank, for the page that renders it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.models.common import plain
from mcp_reflect.models.dream import DreamPlan
from mcp_reflect.models.finding import StoredFinding, Wording
from mcp_reflect.models.proposal import changes_of, guard_words
from mcp_reflect.models.shown_digest import digest_of_finding, digest_of_lesson, digest_of_proposal
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
    from mcp_reflect.services.dream_proposals import by_rules  # noqa: PLC0415 - slow to import, needed here alone

    scope = engine.scopes.own
    data = await engine.bank.views.board(scope, most=most, whole=whole)
    plan, _ = await by_rules(engine.context, scope)
    shown_ids = {row[0] for row in data["lessons"]["rows"]}
    effects = await engine.bank.effects.of(scope)
    return {
        **data,
        **await _what_waits(engine, whole=whole),
        **_parts_of_plan(plan, shown_ids),
        "dreams": [_dream(dream) for dream in await engine.bank.consolidations.latest(scope)],
        "proof": await engine.bank.warnings.effect(scope),
        "card": await _lines_of_latest_session(engine),
        "effects": {
            lesson_id: effect.comparison.in_words
            for lesson_id, effect in effects.items()
            if lesson_id in shown_ids
        },
    }


def _parts_of_plan(plan: DreamPlan, shown_ids: set[str]) -> dict[str, Any]:
    """Return what a dream would do, as far as all the lessons of a change are shown on the page."""
    clusters = [list(cluster) for cluster in plan.clusters if shown_ids.issuperset(cluster)]
    merges = [
        plain(merge) for merge in plan.merges if shown_ids.issuperset((merge.keep, *merge.gone))
    ]
    archivings = [plain(archiving) for archiving in plan.archivings if archiving.id in shown_ids]
    return {"clusters": clusters, "merges": merges, "archivings": archivings}


async def _lines_of_latest_session(engine: "Engine") -> list[str]:
    """Return what came of the latest session, in lines; none where hooks saw no session."""
    card = await engine.bank.effects.card(engine.scopes.own)
    if card is None:
        return []
    return list(card.lines_of_what_came)


async def _what_waits(engine: "Engine", *, whole: bool) -> dict[str, Any]:
    """Return what a person decides about beside the lessons themselves; nothing for anybody else."""
    if not whole:
        return {"findings": [], "doubted": [], "proposals": []}
    findings = await engine.bank.findings.waiting(engine.scopes.own)
    doubted_lessons = await doubted(engine.context)
    proposals = await proposed_changes(engine)
    return {
        "findings": [_finding(stored) for stored in findings],
        "doubted": [
            {
                "id": doubt.lesson.id,
                "told": doubt.told,
                "seen": digest_of_lesson(doubt.lesson),
            }
            for doubt in doubted_lessons
        ],
        "proposals": [_proposal(proposed) for proposed in proposals],
    }


def _proposal(proposed: Proposed) -> dict[str, Any]:
    """Return a proposed change of a lesson as the page shows it: the wish, the guard, and each field that changes."""
    proposal, lesson = proposed.proposal, proposed.lesson
    changes = changes_of(lesson, proposal.kind, proposal.body)
    return {
        "id": proposal.id,
        "lesson": lesson.id,
        "wish": wish_text(proposal),
        "guard": guard_words(lesson),
        "changes": [plain(change) for change in changes],
        "seen": digest_of_proposal(proposal, lesson),
    }


def _dream(dream: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dream, which is one consolidation of the bank, as the page lists it: when, by whom, and what it did."""
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


def _finding(stored: StoredFinding) -> dict[str, Any]:
    """Return what code saw in sessions, with the wording of a model if there is one, and the latest evidence."""
    latest = reversed(stored.seen[-_MOST_EVIDENCE:])
    wording = stored.finding.wording or Wording(mistake="", correction="")
    return {
        "id": stored.id,
        "sessions": stored.sessions,
        "facts": facts_of(stored.finding),
        "mistake": wording.mistake,
        "correction": wording.correction,
        "seen": digest_of_finding(stored),
        "evidence": [
            {"session": seen.session, "host": seen.host, "at": seen.at, "lines": seen.lines}
            for seen in latest
        ],
    }
