"""The plain values among the arguments of a call, which guards of tools that are no shell are compared with."""

from collections import deque
from typing import Final

from mcp_reflect.guards.items import MOST_VALUE_CHARS
from mcp_reflect.models.common import Json

_MOST_VALUES: Final = 400
"""Values of a call's arguments that are looked at; chosen, so that a large call costs little."""


def named_values(arguments: Json) -> tuple[tuple[str, str], ...]:
    """Return the plain values among the arguments of a call, each with the name that it stands under.

    `{"limit": 5, "where": {"ids": [1, 2]}}` has ("limit", "5"), ("ids", "1"), ("ids", "2"). The values of the top level
    come first, so that a long list in one of them leaves room for what stands beside it.
    """
    values: list[tuple[str, str]] = []
    waiting: deque[tuple[str, Json]] = deque([("", arguments)])
    while waiting and len(values) < _MOST_VALUES:
        name, value = waiting.popleft()
        if isinstance(value, dict):
            waiting += [(str(key), part) for key, part in list(value.items())[:_MOST_VALUES]]
        elif isinstance(value, list):
            waiting += [(name, part) for part in value[:_MOST_VALUES]]
        else:
            values.append((name, _text_of_value(value)))
    return tuple(values)


def _text_of_value(value: Json) -> str:
    """Return a plain value as the text that guards are compared with: true and false in lower case."""
    text = str(value)[:MOST_VALUE_CHARS]
    if isinstance(value, bool):
        return text.lower()
    return text
