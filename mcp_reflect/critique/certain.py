"""The rules that say "wrong" where they are certain."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mcp_reflect.critique.arithmetic import check_arithmetic
from mcp_reflect.critique.code import check_code
from mcp_reflect.critique.conversions import check_dates, check_units
from mcp_reflect.critique.equations import check_conclusions, check_equations
from mcp_reflect.critique.reports import check_reports
from mcp_reflect.critique.work import Finding, Work


def check_execution(work: Work) -> Iterator[Finding]:
    """One finding where another component ran than was decided on, at the last step that speaks of either.

    Names are the same where they differ only in case, blanks, hyphens, underscores, quotes, a call's brackets, or a
    server or module before them.
    """
    decided, executed = (work.decided or "").strip()[:1_000], (work.executed or "").strip()[:1_000]
    first, second = _parts(decided), _parts(executed)
    if not first or not second or "".join(first) == "".join(second):
        return
    if len(first) != len(second) and all(a == b for a, b in zip(reversed(first), reversed(second), strict=False)):
        return
    names = (executed.lower(), decided.lower())
    steps = [n for n, step in enumerate(work.steps, 1) if any(name in step[:20_000].lower() for name in names)]
    claim = f"decided on {decided[:100]}, ran {executed[:100]}"
    detail = "another component ran than was decided on"
    yield Finding(step=max(steps, default=1), wrong=True, claim=claim, expected=decided[:100], detail=detail)


def _parts(name: str) -> list[str]:
    """The qualifiers and the name, letters and digits only; a sign between digits counts, so that 1.0 is not 10."""
    plain = re.sub(r"(?<=\d)[._-](?=\d)", "p", name.lower())
    parts = ("".join(char for char in part if char.isalnum()) for part in re.split(r"__|[.:/]", plain))
    return [part for part in parts if part]


Rule = Callable[[Work], Iterable[Finding]]
"""A pure function of the work. It says nothing of steps that it does not understand."""

RULES: Final[dict[str, Rule]] = {
    "reports": check_reports,
    "arithmetic": check_arithmetic,
    "equations": check_equations,
    "conclusions": check_conclusions,
    "units": check_units,
    "dates": check_dates,
    "code": check_code,
    "execution": check_execution,
}


def check(work: Work) -> tuple[Finding, ...]:
    """Return what the rules find, by step."""
    findings = [finding for rule in RULES.values() for finding in rule(work)]
    # Two rules may find one fault: the one that knows the right value comes first.
    wrong = {(finding.step, finding.fix.start) for finding in findings if finding.wrong and finding.fix}
    kept = [each for each in findings if each.wrong or each.fix or (each.step, 0) not in wrong]
    return tuple(sorted(kept, key=lambda finding: finding.step))
