"""The component or tool of a decision against the one that ran."""

import re
from collections.abc import Iterator

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.models.critique import Status


class ExecutionChecker:
    """Names are the same where they differ only in case, blanks, hyphens, underscores, quotes and a call's brackets."""

    name = "execution"

    def check(self, work: Work) -> Iterator[Finding]:
        """One finding where both names are given, at the last step that speaks of either."""
        decided, executed = (work.decided or "").strip()[:1_000], (work.executed or "").strip()[:1_000]
        first, second = _parts(decided), _parts(executed)
        if not first or not second:
            return
        names = (executed.lower(), decided.lower())
        steps = [n for n, step in enumerate(work.steps, 1) if any(name in step[:20_000].lower() for name in names)]
        status, expected, detail = Status.FAIL, decided[:100], "another component ran than was decided on"
        if "".join(first) == "".join(second):
            status, expected, detail = Status.PASS, None, None
        elif len(first) != len(second) and all(a == b for a, b in zip(reversed(first), reversed(second), strict=False)):
            status, detail = Status.UNCHECKED, "one name may be the other with its server or module before it"
        claim = f"decided on {decided[:100]}, ran {executed[:100]}"
        yield Finding(step=max(steps, default=1), status=status, claim=claim, expected=expected, detail=detail)


def _parts(name: str) -> list[str]:
    """The qualifiers and the name, letters and digits only; a sign between digits counts, so that 1.0 is not 10."""
    plain = re.sub(r"(?<=\d)[._-](?=\d)", "p", name.lower())
    parts = ("".join(char for char in part if char.isalnum()) for part in re.split(r"__|[.:/]", plain))
    return [part for part in parts if part]
