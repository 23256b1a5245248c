"""Finding reflections again: by what they say, or by how much they matter."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp_reflect.arguments.door import read
from mcp_reflect.arguments.lessons import RecallShape
from mcp_reflect.context_ import Parts
from mcp_reflect.models.lesson import Kind
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.reflecting.results import from_stored

_ANY = "any"  # what stands in the place of a text that is not given, so that the rest is read as ever


async def query(parts: Parts, asked: Mapping[str, Any]) -> tuple[Reflection, ...]:
    """Reflections by the words of `asked`, as recall reads them; without a text by importance. Counts as no use."""
    given, most = asked.get("task"), parts.settings.max_recalled_chars
    sent = read(RecallShape, {**asked, "task": _ANY if given is None else given, "max_chars": most}, parts.settings)
    scope = parts.scopes.named(sent.project)
    if given is None:
        stored = await parts.bank.reflections.important(
            scope, limit=sent.limit, min_importance=sent.min_importance, tags=sent.tags
        )
        return tuple(from_stored(one) for one in stored)
    found = await parts.bank.recall(scope, replace(sent.ask(), kinds=(Kind.REFLECTION,)), applied=False)
    return tuple([from_stored(await parts.bank.reflections.by_id(scope, hit.id)) for hit in found.lessons])
