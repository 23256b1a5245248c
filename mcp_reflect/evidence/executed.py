"""Whether the component that ran is the one that was decided on, by their names alone."""

import re
from collections.abc import Sequence
from typing import Final

_MOST_READ: Final = 1_000  # characters of a name
_MOST_STEP: Final = 20_000  # characters of a step


def another_ran(decided: str | None, executed: str | None) -> bool:
    """Return whether the names are of two components; False where one of them is unknown.

    | decided on   | executed           | another one ran                                                        |
    |--------------|--------------------|------------------------------------------------------------------------|
    | `Get User()` | `get_user`         | no: case, blanks, hyphens, underscores, quotes, brackets say nothing   |
    | `search`     | `mcp__web__search` | no: a server or module before the name may be left out                 |
    | `a.search`   | `b.search`         | yes                                                                    |
    | `model-1.0`  | `model-10`         | yes                                                                    |
    """
    decided_parts, executed_parts = _parts_of_name(decided), _parts_of_name(executed)
    if not decided_parts or not executed_parts:
        return False
    if "".join(decided_parts) == "".join(executed_parts):
        return False
    if len(decided_parts) == len(executed_parts):
        return True
    from_last = zip(reversed(decided_parts), reversed(executed_parts), strict=False)
    return any(part != other for part, other in from_last)


def step_that_names(steps: Sequence[str], *names: str | None) -> int:
    """Return the number of the last step that mentions one of the names, 1 if none does."""
    wanted = [name.strip().lower()[:_MOST_READ] for name in names if name and name.strip()]
    for number in range(len(steps), 0, -1):
        step = steps[number - 1][:_MOST_STEP].lower()
        if any(name in step for name in wanted):
            return number
    return 1


def _parts_of_name(name: str | None) -> list[str]:
    """Return the qualifiers and the name, letters and digits only: `mcp__web__Get-User` has mcp, web, getuser.

    A sign between digits counts, as a "p", so that 1.0 is not 10.
    """
    text = (name or "").strip().lower()[:_MOST_READ]
    with_points = re.sub(r"(?<=\d)[._-](?=\d)", "p", text)
    parts = ("".join(filter(str.isalnum, part)) for part in re.split(r"__|[.:/]", with_points))
    return [part for part in parts if part]
