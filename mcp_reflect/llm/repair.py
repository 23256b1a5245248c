"""The last resort for broken JSON: the `json_repair` library, kept from hanging and from raising."""

import re

from mcp_reflect.records.json import Json

REPAIR_LIMIT = 200_000
"""Characters. Beyond, a repair takes seconds."""
_NESTING_LIMIT = 60
_BRACKET = re.compile(r"[{}\[\]()]")


def repair(text: str) -> Json:
    """What `json_repair` reads in `text`; null where it is too long, too deep or more than the library can take."""
    if len(text) > REPAIR_LIMIT or _nesting(text) > _NESTING_LIMIT:
        return None
    import json_repair  # noqa: PLC0415 - half the replies never need it

    try:
        return json_repair.loads(text, skip_json_loads=True)  # type: ignore[return-value]
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return None


def _nesting(text: str) -> int:
    """How deep brackets stand inside each other at most, strings left aside."""
    depth = deepest = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "{[(" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
