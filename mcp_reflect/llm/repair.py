"""The last resort for broken JSON: the `json_repair` library, kept from hanging and from raising."""

import re

from mcp_reflect.models.common import Json

REPAIR_LIMIT = 200_000
"""Characters. Beyond, a repair takes seconds."""
_NESTING_LIMIT = 60
_BRACKET = re.compile(r"[{}\[\]()]")


def repair(text: str) -> Json:
    """What `json_repair` reads in `text`; null where it is too long, too deep or more than the library can take."""
    if len(text) > REPAIR_LIMIT or _too_deep(text):
        return None
    import json_repair  # noqa: PLC0415 - half the replies never need it

    try:
        return json_repair.loads(text, skip_json_loads=True)  # type: ignore[return-value]
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError):
        return None


def _too_deep(text: str) -> bool:
    """Whether brackets stand inside each other deeper than the limit, strings left aside."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "{[(" else max(0, depth - 1)
        if depth > _NESTING_LIMIT:
            return True
    return False
