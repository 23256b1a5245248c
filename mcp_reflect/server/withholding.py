"""What a resource repeats of a run or of who told something: where it reads as an order, a person sees it, no model.

Records are judged when they are written. Traces, reasons and the names of tools are kept as they came, so they are
judged when they are read: they are evidence, and a person looks at them with the command line.
"""

from typing import Any, Final

_LONGEST_NAME: Final = 40  # characters of one plain word, which orders nobody about


def without_orders(value: Any) -> Any:
    """A JSON value with a word in the place of each text, and of each name in an object, that reads as an order."""
    return _sifted(value, {})


def told(text: str) -> str:
    """The text, or why a person has to see it first."""
    return _told(text, {})


def _sifted(value: Any, known: dict[str, str]) -> Any:
    match value:
        case str():
            return _told(value, known)
        case dict():
            return {_told(str(name), known): _sifted(item, known) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list() | tuple():
            return [_sifted(item, known) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _told(text: str, known: dict[str, str]) -> str:
    if len(text) <= _LONGEST_NAME and text.isascii() and len(text.split()) <= 1:
        return text
    if text not in known:
        from mcp_reflect.models.lesson import waits  # noqa: PLC0415 - same
        from mcp_reflect.security.injection import suspicion  # noqa: PLC0415 - nothing of the engine at the start

        reason = suspicion((text,))
        known[text] = text if reason is None else waits(reason)
    return known[text]
