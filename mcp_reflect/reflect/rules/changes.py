"""What differs between the arguments of two calls, argument by argument."""

from collections.abc import Iterator

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Change

MAX_LEAVES = 200  # arguments compared; a call with more is a bulk of data
MAX_DEPTH = 12
VALUE_LIMIT = 300  # characters of a text kept as it was; a longer one is narrowed to what differs
MARGIN = 40  # characters kept around a difference


def leaves(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """Path and value of each argument: `("filters.dates[0]", "2024-05-01")`. A lone value has the path `""`."""
    if isinstance(value, dict) and value and depth < MAX_DEPTH:
        for key in sorted(value, key=str):
            yield from leaves(value[key], f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and value and depth < MAX_DEPTH:
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]", depth + 1)
    else:
        yield path, value


def leaf_map(value: Json) -> dict[str, Json]:
    """The first MAX_LEAVES arguments by path."""
    found: dict[str, Json] = {}
    for path, item in leaves(value):
        found[path] = item
        if len(found) >= MAX_LEAVES:
            break
    return found


def changes_between(before: Json, after: Json) -> tuple[Change, ...]:
    """The arguments that differ, in the order of their paths; long texts narrowed to where they differ."""
    old, new = leaf_map(before), leaf_map(after)
    found: list[Change] = []
    for path in dict.fromkeys((*old, *new)):
        if path not in new:
            found.append(Change(path=path, before=_bounded(old[path]), after=None, removed=True))
        elif path not in old:
            found.append(Change(path=path, before=None, after=_bounded(new[path]), added=True))
        elif not same(old[path], new[path]):
            first, second = narrowed(old[path], new[path])
            found.append(Change(path=path, before=first, after=second))
    return tuple(found)


def same(first: Json, second: Json) -> bool:
    """Equal and of the same type: 1 is neither True nor 1.0 nor "1", since a service may mind."""
    return type(first) is type(second) and first == second


def narrowed(first: Json, second: Json) -> tuple[Json, Json]:
    """Both values; where they are long texts, the part that differs with a little around it."""
    if not isinstance(first, str) or not isinstance(second, str) or max(len(first), len(second)) <= VALUE_LIMIT:
        return _bounded(first), _bounded(second)
    if "\n" in first and "\n" in second:
        one, two = _only_in(first, second), _only_in(second, first)
        if one or two:
            return _bounded(one), _bounded(two)
    start = _common(first, second)
    end = _common(first[start:][::-1], second[start:][::-1])
    return _window(first, start, len(first) - end), _window(second, start, len(second) - end)


def _only_in(first: str, second: str) -> str:
    """The lines of a text that the other does not have."""
    others = {line.strip() for line in second.split("\n")}
    return "\n".join(line for line in first.split("\n") if line.strip() not in others)


def _window(text: str, start: int, end: int) -> str:
    left, right = max(0, start - MARGIN), min(len(text), end + MARGIN)
    part = text[left:right]
    shown = part if len(part) <= VALUE_LIMIT else f"{part[: VALUE_LIMIT * 2 // 3]} ... {part[-VALUE_LIMIT // 4 :]}"
    return f"{'... ' if left else ''}{shown}{' ...' if right < len(text) else ''}"


def _common(first: str, second: str) -> int:
    """How many characters two texts share from their start."""
    shorter = min(len(first), len(second))
    low, high = 0, shorter
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _bounded(value: Json) -> Json:
    if isinstance(value, str) and len(value) > VALUE_LIMIT:
        return f"{value[: VALUE_LIMIT * 2 // 3]} ... {value[-VALUE_LIMIT // 4 :]}"
    return value if not isinstance(value, dict | list) else type(value)()
