"""The graph of entities: what a text names, and what shares it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Hit, Near
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.storage.sqlite.statements import Reading, scope_values

if TYPE_CHECKING:
    from mcp_reflect.models.reflection import Link


MENTIONS: Final = "mentions"
MOST_RELATED: Final = 3  # neighbours that recall shows with a lesson
MOST_NAMED: Final = 12  # files and error codes of one text
MOST_NEAR: Final = 50  # neighbours shown of one node
NAMED: Final = ("file", "error_code", "tool", "failure")
"""The kinds of node that records share by naming them."""

# A path with an extension; an address is none.
_FILE: Final = lazy_compile(r"(?<![\w:/.-])(?:[\w.-]{1,60}/){0,8}[\w-]{1,60}\.[a-z][a-z0-9]{0,5}(?![\w/]|\.\w)")
# E4012, TS2345, GH006, ENOENT, HTTP 404, exit code 137.
_CODE: Final = lazy_compile(r"\b(?:[A-Z]{1,5}-?\d{3,6}|E[A-Z]{4,12}|(?:HTTP|status|exit code|errno) ?\d{1,4})\b")


def named(text: str) -> "tuple[Link, ...]":
    """Ties to the files and error codes that a text names, in its order, at most 12."""
    from mcp_reflect.models.reflection import Link  # noqa: PLC0415 - only what is stored is tied

    files = [Link(relation=MENTIONS, to_kind="file", to_id=found) for found in _FILE.findall(text)]
    codes = [Link(relation=MENTIONS, to_kind="error_code", to_id=found) for found in _CODE.findall(text)]
    return tuple(dict.fromkeys((*files, *codes)))[:MOST_NAMED]


def with_related(reading: Reading, scope: Scope, hits: Iterable[Hit], max_chars: int) -> tuple[Hit, ...]:
    """Hits with up to three neighbours each, as far as `max_chars` has room beside all of their texts.

    Only what a recall of this scope may show is named: active, out of quarantine, of the project or global.
    """
    shown = tuple(hits)
    left = max_chars - sum(len(hit.text) for hit in shown)
    found: list[Hit] = []
    for hit in shown:
        near: dict[str, Near] = {}
        for row in reading.rows("graph_related", {"id": hit.id, **scope_values(scope)}):
            size = len(row["id"]) + len(row["relation"])
            if row["id"] not in near and len(near) < MOST_RELATED and size <= left:
                near[row["id"]] = Near(id=row["id"], relation=row["relation"])
                left -= size
        found.append(replace(hit, related=tuple(near.values())) if near else hit)
    return tuple(found)
