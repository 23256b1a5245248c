"""Read the error of an event that was sent as an object or a list, not as a text."""

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
    """Return whether an error is a list of objects with a message each."""
    if not isinstance(error, list) or not error:
        return False
    items = cast("list[Any]", error)
    return all(isinstance(item, dict) and "message" in item for item in items)


def read_error(event: dict[str, Any], error: dict[str, Any], content: str) -> None:
    """Put the words of an error object in its place in the event, and all else of it into the event's metadata.

    {"message": "no such file", "code": "ENOENT", "type": "NotFoundError", "path": "a"} becomes the error
    "no such file (ENOENT)", the `error_category` "notfounderror", and {"path": "a"} as `error` of the metadata.
    `content` is the event's, behind which the words come. Without a message it stays an object, whose JSON is the error.
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
    """Return the error behind the event's content; the content alone where it says the message already."""
    if not content:
        return words
    if message in content:
        return content
    return f"{content}: {words}"


def _taken(sent: dict[str, Any], names: Sequence[str]) -> str | None:
    """Take out of an object the first of these fields that is a text or a number, and return it; None for none."""
    for name in names:
        value = sent.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(sent.pop(name))
    return None
