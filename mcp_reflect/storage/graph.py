"""The graph of records: the files and error codes that a text names."""

from typing import Final

from mcp_reflect.models.common import Link
from mcp_reflect.patterns import lazy_compile

MENTIONS: Final = "mentions"
NAMED: Final = ("file", "error_code", "tool", "failure")
"""The kinds of node that records share by naming them."""

_MOST_NAMED: Final = 12  # files and error codes of one text
# A path with an extension; an address is none.
_FILE: Final = lazy_compile(r"(?<![\w:/.-])(?:[\w.-]{1,60}/){0,8}[\w-]{1,60}\.[a-z][a-z0-9]{0,5}(?![\w/]|\.\w)")
# E4012, TS2345, GH006, ENOENT, HTTP 404, exit code 137.
_CODE: Final = lazy_compile(r"\b(?:[A-Z]{1,5}-?\d{3,6}|E[A-Z]{4,12}|(?:HTTP|status|exit code|errno) ?\d{1,4})\b")


def named(text: str) -> tuple[Link, ...]:
    """Return links to the files and error codes that a text names, in its order, at most 12."""
    pairs = [("file", name) for name in _FILE.findall(text)] + [("error_code", name) for name in _CODE.findall(text)]
    return tuple(Link(relation=MENTIONS, to_kind=kind, to_id=name) for kind, name in dict.fromkeys(pairs))[:_MOST_NAMED]
