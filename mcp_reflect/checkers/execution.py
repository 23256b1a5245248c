"""The component or tool of a decision against the one that ran."""

import re
from collections.abc import Iterator

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.models.critique import Status

_QUALIFIED = re.compile(r"__|[.:/]")


class ExecutionChecker:
    """Names are the same where they differ only in case, blanks, hyphens, underscores, quotes and a call's brackets."""

    name = "execution"

    def check(self, work: Work) -> Iterator[Finding]:
        """One finding where both names are given, at the last step that speaks of either."""
        decided, executed = (work.decided or "").strip(), (work.executed or "").strip()
        if not decided or not executed:
            return
        step = _step(work.steps, decided, executed)
        claim = f"decided on {decided[:100]}, ran {executed[:100]}"
        if _plain(decided) == _plain(executed):
            yield Finding(step=step, status=Status.PASS, claim=claim)
        elif _may_be_one(decided, executed):
            detail = "one name may be the other with its server or module before it"
            yield Finding(step=step, status=Status.UNCHECKED, claim=claim, expected=decided[:100], detail=detail)
        else:
            detail = "another component ran than was decided on"
            yield Finding(step=step, status=Status.FAIL, claim=claim, expected=decided[:100], detail=detail)


def _plain(name: str) -> str:
    """Letters and digits only; a sign between two digits counts, so that 1.0 is not 10."""
    kept = re.sub(r"(?<=\d)[._-](?=\d)", "p", name[:1_000].lower())
    return "".join(char for char in kept if char.isalnum())


def _may_be_one(first: str, second: str) -> bool:
    """True if one is qualified, the other bare, and the last parts are the same."""
    parts = [[_plain(part) for part in _QUALIFIED.split(name[:1_000]) if _plain(part)] for name in (first, second)]
    if not all(parts) or len(parts[0]) == len(parts[1]):
        return False
    short, long = sorted(parts, key=len)
    return long[-len(short) :] == short


def _step(steps: tuple[str, ...], decided: str, executed: str) -> int:
    """Steps count from 1; 1 where none of them names either."""
    names = (executed.lower(), decided.lower())
    named = [
        number for number, step in enumerate(steps, start=1) if any(name in step[:20_000].lower() for name in names)
    ]
    return named[-1] if named else 1
