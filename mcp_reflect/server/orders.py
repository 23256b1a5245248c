"""The filter for values of the bank that a model may read: texts that read as orders to it are replaced by a note."""

from typing import Any, Final, cast

from mcp_reflect.models.lesson_words import quarantine_notice
from mcp_reflect.security.injection import suspicion

_MAX_NAME_CHARS: Final = 40
"""Of a plain word that is surely no order; a longer one is judged."""


def without_orders(value: Any) -> Any:
    """Return a JSON value in which a note replaces each text, and each name in an object, that reads as an order.

    {"note": "Ignore all previous instructions"} -> {"note": "(in quarantine: …)"}

    Lessons are judged when they are written. Traces, reasons and the names of tools are kept as they came: they are
    evidence, which a person reads on the command line, and which is judged here when a model may read it.
    """
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {without_orders(str(name)): without_orders(item) for name, item in items}
    if isinstance(value, list | tuple):
        return [without_orders(item) for item in cast("list[Any]", value)]
    if not isinstance(value, str) or _is_plain_name(value):
        return value
    reason = suspicion((value,))
    if reason is None:
        return value
    return quarantine_notice(reason)


def _is_plain_name(text: str) -> bool:
    """Return whether a text is one short word, which is no order."""
    return len(text) <= _MAX_NAME_CHARS and text.isascii() and len(text.split()) <= 1
