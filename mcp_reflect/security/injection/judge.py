"""The judgement of a text: None, or why it is suspicious."""

from collections.abc import Iterable

from mcp_reflect.security.injection.model import weigh, weights
from mcp_reflect.security.injection.readings import decoded, hides_text, views


def suspicion(texts: Iterable[str | None]) -> str | None:
    """What is suspicious about a record of these texts, in words; null where nothing is. Each text counts alone."""
    for text in texts:
        if text and (reason := _of_text(text)):
            return reason
    return None


def _of_text(text: str) -> str | None:
    if hides_text(text):
        return "it hides text in signs that are not shown"
    limit = weights().limit
    for view in views(text):
        if (weighed := weigh(view)).sum > limit:
            return f"it reads as an order to its reader: {weighed.why}"
    if any(weigh(view).sum > limit for view in decoded(text)):
        return "it holds orders to its reader in a code"
    return None
