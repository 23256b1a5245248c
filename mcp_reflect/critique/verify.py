"""A version of the work as rules see it: its claims with their lines, what is certainly wrong, and its correction."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from mcp_reflect.critique.certain import check
from mcp_reflect.critique.numbers import NUMBER, read
from mcp_reflect.critique.pointing import Evidence
from mcp_reflect.critique.work import Finding, Work, claims
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import NO_GOAL, Claim, Verdict

MOST_QUOTED: Final = 300
"""The most characters of a claim that is quoted."""

_FEW: Final = 4  # claims
_MOST_CLAIMS: Final = 30  # for which lines are looked up
WHOLE: Final = "The work does what the goal asks"
"""The claim of work that states nothing to check, before its goal."""

_LONGEST_GOAL: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A version of the steps with its claims, and what the rules found."""

    steps: tuple[str, ...]
    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...]
    has_evidence: bool = False

    @property
    def claims_nothing(self) -> bool:
        """True for work that is judged as a whole: a plan, code, a poem."""
        return not self.claims or self.claims[0].text.startswith(WHOLE)

    @property
    def wrong(self) -> tuple[Finding, ...]:
        """What is certainly wrong."""
        return tuple(finding for finding in self.findings if finding.wrong)

    @property
    def issues(self) -> tuple[str, ...]:
        """One sentence for each thing that is certainly wrong."""
        return tuple(map(issue_of, self.wrong))

    @property
    def progress(self) -> str:
        """Say how far a version is, in one line."""
        line = f"{len(self.steps)} steps, {len(self.claims)} claims"
        return f"{line}; {self.issues[0]}" if self.wrong else line


Verify = Callable[[Sequence[str]], Verified]


def verifier(work: Work) -> Verify:
    """Return a function that checks other steps for the same goal and evidence, whose outputs are read once."""
    evidence = Evidence(work.tool_results)
    return lambda steps: _verified(replace(work, steps=tuple(steps)), evidence)


def _verified(work: Work, evidence: Evidence) -> Verified:
    findings = check(work)
    near = evidence.near(" ".join((work.goal, *work.steps))[:20_000])
    found: list[Claim] = []
    certain = {claim.text for claim in claims(work.steps)}
    # In a short report, output may also speak of what states nothing that is known to be checkable.
    for claim in claims(work.steps, every=bool(evidence.results) and len(certain) < _FEW):
        lines = evidence.lines_for(claim.text, near) if len(found) < _MOST_CLAIMS else ()
        if lines or claim.text in certain:
            found.append(
                _with_finding(replace(claim, number=len(found) + 1, lines=lines), findings)
            )
    if not found and work.goal != NO_GOAL:  # a plan, code, prose: the judge sees it as a whole
        goal = (
            work.goal if len(work.goal) <= _LONGEST_GOAL else f"{work.goal[: _LONGEST_GOAL - 1]}…"
        )
        whole = Claim(
            number=1, step=1, text=f"{WHOLE}: {goal}", lines=evidence.lines_for(work.goal, near)
        )
        found.append(whole)
    return Verified(
        steps=work.steps,
        claims=tuple(found),
        findings=findings,
        has_evidence=bool(work.tool_results),
    )


def _with_finding(claim: Claim, findings: Sequence[Finding]) -> Claim:
    """Return a claim with what the rules found in its words."""
    own = [
        each for each in findings if each.step == claim.step and _overlaps(each.claim, claim.text)
    ]
    wrong = next((finding for finding in own if finding.wrong), None)
    if wrong is not None:
        return replace(claim, verdict=Verdict.WRONG, judge=RULES, reason=in_words(wrong), lines=())
    return replace(claim, computes=bool(own))


def _overlaps(first: str, second: str) -> bool:
    one, other = letters(first), letters(second)
    return bool(one and other) and (one in other or other in one)


def letters(text: str) -> str:
    """Return only the letters and digits of a text, so that line breaks do not matter when a quotation is searched."""
    return "".join(filter(str.isalnum, text)).casefold()


def quoted_claim(claim: str, most: int = MOST_QUOTED) -> str:
    """Return a claim cut to so many characters."""
    return claim if len(claim) <= most else f"{claim[: most - 1]}…"


def issue_of(finding: Finding) -> str:
    """Return a sentence that says what is wrong and what shows it."""
    return f"Step {finding.step}: {in_words(finding)}"


def in_words(finding: Finding) -> str:
    """Say what is wrong and what shows it, without the step."""
    claim, right = quoted_claim(finding.claim), finding.expected
    if right and finding.detail is None and finding.fix is None:
        return f'"{claim}" is wrong: the output shows "{right}"'
    left, equals, said = claim.rpartition("=")
    if right and equals and left.strip() and "=" not in right and left.strip()[-1] not in "<>!=":
        return f"{left.rstrip()} = {right}, not {said.strip()}"
    reason = finding.detail or (f"{right} would be right" if right else "it does not hold")
    return f'"{claim}" is wrong: {reason}'


MAX_ROUNDS = 60  # corrections in one call; each is followed by a full check
MAX_CHECKED = 200_000  # characters that these checks may read; a long work has fewer rounds
MAX_CHARACTERS = 20_000  # per step: longer ones are left as they are

# A number with the sign glued to it: "= -1" has one, "5 - 1" has an operator.
_SIGNED: Final = re.compile(rf"(?:(?<![\w)\]%])[-−])?{NUMBER.pattern}")


def correct(steps: Sequence[str], findings: Iterable[Finding], *, goal: str) -> tuple[str, ...]:
    """Return the steps with every computable correction made, starting at the first wrong step.

    A corrected value also replaces the old one in later text, unless the old value occurs in the goal or before the
    mistake, because then it may have another origin. After each correction the steps are checked again.
    """
    current = tuple(steps)
    tried: set[tuple[int, int, str]] = set()
    pending = list(findings)
    for _ in range(min(MAX_ROUNDS, 1 + MAX_CHECKED // max(1, sum(map(len, steps))))):
        finding = _next(pending, tried)
        if finding is None or finding.fix is None:
            break
        tried.add((finding.step, finding.fix.start, finding.fix.text))
        corrected = _apply(current, finding, goal)
        if corrected == current:
            continue
        current = corrected
        pending = list(check(Work(goal=goal, steps=current)))
    return current


def _next(findings: Iterable[Finding], tried: set[tuple[int, int, str]]) -> Finding | None:
    """Return the earliest failure with a new correction, so that two corrections cannot undo each other."""
    fixable = [
        (finding.step, fix.start, index, finding)
        for index, finding in enumerate(findings)
        if finding.wrong
        and (fix := finding.fix)
        and (finding.step, fix.start, fix.text) not in tried
    ]
    return min(fixable)[3] if fixable else None


def _apply(steps: tuple[str, ...], finding: Finding, goal: str) -> tuple[str, ...]:
    fix, index = finding.fix, finding.step - 1
    if fix is None or index >= len(steps) or len(steps[index]) > MAX_CHARACTERS:
        return steps
    step = steps[index]
    head, wrong, tail = step[: fix.start], step[fix.start : fix.end], step[fix.end :]
    rest = [tail, *steps[index + 1 :]]
    old, new = _SIGNED.findall(wrong)[-1:], _SIGNED.findall(fix.text)[-1:]
    value = _value(old[0]) if old and new else None
    earlier = map(
        _value, _SIGNED.findall(" ".join((goal, *steps[:index], head))[: 5 * MAX_CHARACTERS])
    )
    if value is not None and value not in {*earlier}:
        rest = [
            _SIGNED.sub(lambda found: new[0] if _value(found[0]) == value else found[0], text)
            if len(text) <= MAX_CHARACTERS
            else text
            for text in rest
        ]
    return (*steps[:index], head + fix.text + rest[0], *rest[1:])


def _value(text: str) -> Fraction | None:
    parsed = read(text.lstrip("-−"))
    return None if parsed is None else -parsed[0] if text[0] in "-−" else parsed[0]
