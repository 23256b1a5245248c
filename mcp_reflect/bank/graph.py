"""The graph of a bank: what a text names becomes a node, and one step from a node leads to what shares it."""

import re
from typing import Final

from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.records.json import Json
from mcp_reflect.records.memory import Link
from mcp_reflect.records.scope import Scope

MOST_NAMED: Final = 12  # files and error codes of one text
MOST_NEAR: Final = 50  # neighbours shown of one node
NAMED: Final = ("file", "error_code", "tool", "failure")
"""The kinds of node that records share by naming them."""

# A path with an extension; an address is none.
_FILE: Final = re.compile(r"(?<![\w:/.-])(?:[\w.-]{1,60}/){0,8}[\w-]{1,60}\.[a-z][a-z0-9]{0,5}(?![\w/]|\.\w)")
# E4012, TS2345, GH006, ENOENT, HTTP 404, exit code 137.
_CODE: Final = re.compile(r"\b(?:[A-Z]{1,5}-?\d{3,6}|E[A-Z]{4,12}|(?:HTTP|status|exit code|errno) ?\d{1,4})\b")


def named(text: str) -> tuple[Link, ...]:
    """Ties to the files and error codes that a text names, in its order, at most 12."""
    files = [Link(relation="mentions", to_kind="file", to_id=found) for found in _FILE.findall(text)]
    codes = [Link(relation="mentions", to_kind="error_code", to_id=found) for found in _CODE.findall(text)]
    return tuple(dict.fromkeys((*files, *codes)))[:MOST_NAMED]


async def neighbours(db: Database, scope: Scope, kind: str, name: str) -> list[dict[str, Json]]:
    """One step from a node: the records tied to it, either way, and those that name what it names (`through`)."""
    values = {"kind": kind, "name": name, "shared": list(NAMED), "limit": MOST_NEAR, **scope_values(scope)}
    return [
        {key: row[key] for key in ("relation", "through", "id", "kind", "state", "text") if row[key] is not None}
        for row in await db.rows("graph_step", values)
    ]
