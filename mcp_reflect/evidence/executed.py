"""Whether the component that ran is the one that was decided on, by their names alone."""

import re
from collections.abc import Sequence
from typing import Final

_MOST_READ: Final = 1_000
_MOST_STEP: Final = 20_000


def another_ran(decided: str | None, executed: str | None) -> bool:
    """True if the names are of two components.

    Names are the same where they differ only in case, blanks, hyphens, underscores, quotes, a call's brackets, or a
    server or module before them.
    """
    first, second = _names(decided), _names(executed)
    if not first or not second or "".join(first) == "".join(second):
        return False
    if len(first) == len(second):
        return True
    return any(one != other for one, other in zip(reversed(first), reversed(second), strict=False))


def step_that_names(steps: Sequence[str], *names: str | None) -> int:
    """Return the number of the last step that mentions one of the names, 1 if none does."""
    wanted = [name.strip().lower()[:_MOST_READ] for name in names if name and name.strip()]
    for number in range(len(steps), 0, -1):
        step = steps[number - 1][:_MOST_STEP].lower()
        if any(name in step for name in wanted):
            return number
    return 1


def _names(name: str | None) -> list[str]:
    """The qualifiers and the name, letters and digits only; a sign between digits counts, so that 1.0 is not 10."""
    plain = re.sub(r"(?<=\d)[._-](?=\d)", "p", (name or "").strip().lower()[:_MOST_READ])
    parts = ("".join(filter(str.isalnum, part)) for part in re.split(r"__|[.:/]", plain))
    return [part for part in parts if part]
