"""The statistics of a project, for `Engine.get_stats`, `mcp-reflect stats` and the resource `stats`."""

from collections.abc import Mapping

from mcp_reflect.models.common import Json
from mcp_reflect.models.effect import effects_of
from mcp_reflect.services.context import Context


async def statistics_of(context: Context) -> Mapping[str, Json]:
    """Return counts of the bank's records, and the settings that limit or measure them."""
    bank = context.bank
    scope = context.scopes.own
    settings = context.settings
    proof = await bank.warnings.effect(scope)
    effects = await bank.effects.of(scope)
    comparisons = [effect.comparison for effect in effects.values()]
    return {
        **await bank.views.stats(scope),
        "helped": await bank.findings.helped(scope),
        "lessons_by_effect": dict[str, Json](effects_of(comparisons)),
        "proof": proof,
        "last_messages": proof["last_messages"],
        "embeddings": await bank.recalls.embedding_state(scope),
        "bank_capacity": settings.bank_size,
        "quality_threshold": settings.quality_threshold,
        "holdout": settings.holdout,
    }
