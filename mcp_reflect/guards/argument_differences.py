"""The guards that two calls of a tool which is no shell give by their arguments."""

from collections.abc import Iterator
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import Guard

_TRUTH: Final = ("true", "false")


def differing_arguments(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guard of a tool that another takes the place of, or of arguments that are true, false or absent.

    | wrong                         | right                     | guard                                     |
    |-------------------------------|---------------------------|-------------------------------------------|
    | `mcp__db__drop` with `table`  | `mcp__db__archive`, same  | the tool `mcp__db__drop`                  |
    | `deploy` with `force: true`   | `deploy`                  | `deploy` with `force: true`               |
    | `deploy`                      | `deploy` with `dry: true` | `deploy` without `dry: true`              |
    | `deploy` with `force` and `a` | `deploy`                  | none: the other argument may be the cause |
    """
    if wrong.tool != right.tool:
        if _is_replacement(wrong, right):
            yield Guard(wrong.tool, ())
        return
    wrong_values = dict(wrong.values)
    right_values = dict(right.values)
    only_wrong = _differing_switches(wrong_values, right_values)
    only_right = _differing_switches(right_values, wrong_values)
    switches = {item.partition(":")[0] for item in (*only_wrong, *only_right)}
    if wrong_values.keys() - switches != right_values.keys() - switches:
        return  # another argument is missing as well, and may be the cause
    if only_wrong:
        yield Guard(wrong.tool, tuple((item,) for item in only_wrong))
    elif only_right:
        yield Guard(wrong.tool, (), only_right)


def _is_replacement(wrong: Call, right: Call) -> bool:
    """Return whether a tool takes the place of another: they are of one server and share the name of an argument."""
    server = wrong.tool.rpartition("__")[0]
    if not server or right.tool.rpartition("__")[0] != server:
        return False
    names = {name for name, _ in wrong.values}
    return any(name in names for name, _ in right.values)


def missing_argument(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guard of the one argument that a call of a server's tool lacks: `create_event` without `timezone`.

    The calls have to be the same but for it. Tools of the host itself, such as Read, are in every session.
    """
    if wrong.tool != right.tool or "__" not in wrong.tool:
        return
    wrong_values = set(wrong.values)
    right_values = set(right.values)
    is_same_otherwise = bool(wrong_values) and wrong_values <= right_values
    missing = {name for name, _ in right_values - wrong_values}
    is_only_added = missing.isdisjoint(name for name, _ in wrong_values)
    if is_same_otherwise and len(missing) == 1 and is_only_added:
        yield Guard(wrong.tool, (), tuple(missing))


def _differing_switches(values: dict[str, str], values_of_other: dict[str, str]) -> tuple[str, ...]:
    """Return the arguments that are true or false where the other call has the opposite or none, as `force: true`."""
    return tuple(
        f"{name}: {value}"
        for name, value in values.items()
        if value in _TRUTH and values_of_other.get(name) != value
    )
