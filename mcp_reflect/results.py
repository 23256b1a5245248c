"""Results on their way out: records as JSON objects, what is null or empty left out."""

from dataclasses import asdict
from typing import Any


def plain(result: Any) -> dict[str, Any]:
    """A result record as a JSON object."""
    return compact(asdict(result))


def compact(value: Any) -> Any:
    """`value` without members that are null or empty; zero and false stay."""
    if isinstance(value, dict):
        given: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        found = {name: compact(item) for name, item in given.items()}
        return {name: item for name, item in found.items() if item is not None and item not in ("", {}, [])}
    if isinstance(value, list | tuple):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return [compact(item) for item in items]
    return value
