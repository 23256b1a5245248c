"""The error of an event where it was sent as an object or a list: its words, its code and its category."""

from collections.abc import Sequence
from typing import Any, Final, cast

from mcp_reflect.schemas.fields import normalized, without_class

_ERROR_MESSAGES: Final = (
    "message",
    "error_message",
    "msg",
    "detail",
    "description",
    "text",
    "error",
)
_ERROR_CATEGORIES: Final = ("error_category", "category", "kind", "type")


def are_messages(error: Any) -> bool:
    """Whether an error is a list of objects with a message each."""
    if not isinstance(error, list) or not error:
        return False
    items = cast("list[Any]", error)
    return all(isinstance(item, dict) and "message" in item for item in items)


def read_error(event: dict[str, Any], error: dict[str, Any], content: str) -> None:
    """Read an error object: {message, code}, {error_message, error_category, context}, or names near them.

    The event's error becomes its words with the code behind them; the category and all else go into the metadata.
    Without a message it stays an object, whose JSON is the error.
    """
    inner = error.get("error")
    if len(error) == 1 and isinstance(inner, dict):  # {"error": {"message": ...}}
        error = cast("dict[str, Any]", inner)
    fields_sent = {str(name): value for name, value in error.items()}
    message = _taken(fields_sent, _ERROR_MESSAGES)
    if message is None:
        return
    category = _taken(fields_sent, _ERROR_CATEGORIES)
    code = _taken(fields_sent, ("code",))
    words = message
    if code:
        words = f"{message} ({code})"
    event["error"] = _with_content(content, message, words)
    metadata: dict[str, Any] = {}
    if category:
        metadata["error_category"] = normalized(without_class(category))
    if fields_sent:
        metadata["error"] = fields_sent
    if metadata:
        event["metadata"] = {**event.get("metadata", {}), **metadata}


def _with_content(content: str, message: str, words: str) -> str:
    """The error behind the event's content, which may say the message already."""
    if not content:
        return words
    if message in content:
        return content
    return f"{content}: {words}"


def _taken(sent: dict[str, Any], names: Sequence[str]) -> str | None:
    """Take the first of these fields that holds a text or a number out of an object."""
    for name in names:
        value = sent.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(sent.pop(name))
    return None
