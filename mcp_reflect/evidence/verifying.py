"""A version of the work as code sees it: its statements, the outputs that bear on it, what is certainly wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.evidence.checks import check_steps
from mcp_reflect.evidence.correcting import correct_steps
from mcp_reflect.evidence.digest import Digest, Outputs
from mcp_reflect.evidence.exact import CheckedEquation
from mcp_reflect.evidence.executed import another_ran, step_that_names
from mcp_reflect.evidence.work import Work, statements_of
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import Claim, Verdict

_MOST_NAME: Final = 100  # characters of the name of a component
_NO_OUTPUTS: Final = Digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFault:
    """What is certainly wrong in a step, its words and why."""

    step: int
    quote: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A version of the steps with its statements, the outputs that bear on them, and its certain faults."""

    goal: str
    steps: tuple[str, ...]
    claims: tuple[Claim, ...]
    faults: tuple[StepFault, ...]
    digest: Digest = _NO_OUTPUTS
    left_out: str | None = None
    has_evidence: bool = False

    @property
    def issues(self) -> tuple[str, ...]:
        """One sentence for each certain fault."""
        return tuple(f"Step {fault.step}: {fault.reason}" for fault in self.faults)

    @property
    def progress(self) -> str:
        """Say how far a version is, in one line."""
        line = f"{len(self.steps)} steps, {len(self.claims)} claims"
        if not self.faults:
            return line
        return f"{line}; {self.issues[0]}"

    def corrected(self) -> tuple[str, ...]:
        """Return the steps with what code can compute put right."""
        if not self.faults:
            return self.steps
        return correct_steps(self.steps, self.goal)


Verify = Callable[[Sequence[str]], Verified]


def verifier(work: Work) -> Verify:
    """Return a function that checks other steps for the same goal and evidence, whose outputs are read once."""
    outputs = Outputs(work.tool_results, work.older_results)
    return lambda steps: _verified(replace(work, steps=tuple(steps)), outputs)


def _verified(work: Work, outputs: Outputs) -> Verified:
    """Check a work: its sums exactly, and its statements against the outputs that came with it."""
    statements = statements_of(work.steps)
    checked = check_steps(work.steps, work.goal)
    digest = outputs.digest(statements.claims)
    claims = tuple(_with_facts(claim, checked, digest) for claim in statements.claims)
    return Verified(
        goal=work.goal,
        steps=work.steps,
        claims=claims,
        faults=_faults(work, checked),
        digest=digest,
        left_out=statements.note,
        has_evidence=bool(work.tool_results),
    )


def _faults(work: Work, checked: Sequence[CheckedEquation]) -> tuple[StepFault, ...]:
    """Return the wrong equations, and the step that names what did not run, by step."""
    faults = [
        StepFault(step=equation.step, quote=equation.quote, reason=equation.reason)
        for equation in checked
        if not equation.holds
    ]
    if another_ran(work.decided, work.executed):
        step = step_that_names(work.steps, work.decided, work.executed)
        decided = (work.decided or "")[:_MOST_NAME]
        executed = (work.executed or "")[:_MOST_NAME]
        names = f"decided on {decided}, ran {executed}"
        reason = f"another component ran than was decided on: {names}"
        faults.append(StepFault(step=step, quote=names, reason=reason))
    return tuple(sorted(faults, key=lambda fault: fault.step))


def _with_facts(claim: Claim, checked: Sequence[CheckedEquation], digest: Digest) -> Claim:
    """Return a claim with the outputs that plainly bear on it, and what the equations in its words come to.

    With a false equation in its words it is wrong, whatever the outputs show.
    """
    equations = [
        equation
        for equation in checked
        if equation.step == claim.step and letters(equation.quote) in letters(claim.text)
    ]
    for equation in equations:
        if not equation.holds:
            return replace(claim, verdict=Verdict.WRONG, judge=RULES, reason=equation.reason)
    return replace(
        claim,
        computes=bool(equations),
        outputs=digest.places.get(claim.number, ()),
        unproven=claim.number in digest.unproven,
    )


def letters(text: str) -> str:
    """Return only the letters and digits of a text, so that line breaks do not matter when a quotation is searched."""
    return "".join(filter(str.isalnum, text)).casefold()
