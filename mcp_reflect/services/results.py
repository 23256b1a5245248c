"""Models as plain JSON values, without what is None or empty."""

from dataclasses import asdict
from typing import Any

from mcp_reflect.clock import iso


def plain(result: Any) -> dict[str, Any]:
    """A result record as a JSON object."""
    return compact(asdict(result))


def dated(record: dict[str, Any]) -> dict[str, Any]:
    """A stored record with its times as ISO 8601 text in UTC, as reflections and plans have theirs."""
    times = {name: iso(record[name]) for name in ("created_at", "updated_at") if isinstance(record.get(name), float)}
    return {**record, **times}


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
