"""A version of the work as rules see it: its claims with their lines, what is certainly wrong, and its correction."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from mcp_reflect.critique.certain import check
from mcp_reflect.critique.claims import claims
from mcp_reflect.critique.numbers import NUMBER, read, write
from mcp_reflect.critique.pointing import Evidence
from mcp_reflect.critique.work import Finding, Work
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
            pointed = Claim(number=len(found) + 1, step=claim.step, text=claim.text, lines=lines)
            found.append(_with_finding(pointed, findings))
    if not found and work.goal != NO_GOAL:  # a plan, code, prose: the judge sees it as a whole
        goal = work.goal if len(work.goal) <= _LONGEST_GOAL else f"{work.goal[: _LONGEST_GOAL - 1]}…"
        whole = Claim(number=1, step=1, text=f"{WHOLE}: {goal}", lines=evidence.lines_for(work.goal, near))
        found.append(whole)
    return Verified(
        steps=work.steps,
        claims=tuple(found),
        findings=findings,
        has_evidence=bool(work.tool_results),
    )


def _with_finding(claim: Claim, findings: Sequence[Finding]) -> Claim:
    """Return a claim with what the rules found in its words."""
    own = [each for each in findings if each.step == claim.step and _overlaps(each.claim, claim.text)]
    wrong = next((finding for finding in own if finding.wrong), None)
    if wrong is not None:
        return replace(claim, verdict=Verdict.WRONG, judge=RULES, reason=in_words(wrong), lines=())
    return replace(claim, computes=bool(own))


def _overlaps(first: str, second: str) -> bool:
    one, other = letters(first), letters(second)
    return bool(one and other) and (one in other or other in one)


def letters(text: str) -> str:
    """Return the letters and digits of a text, so that a quotation is found however it was wrapped."""
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

_MONEY = "$€£¥₹"


def correct(steps: Sequence[str], findings: Iterable[Finding], *, goal: str) -> tuple[str, ...]:
    """The steps with every computable correction made, the first wrong step first.

    A corrected value is put in wherever later text uses the old one, unless the old one also stands in
    the goal or before the mistake, where it may have another origin. After each correction the steps
    are checked again, and what then fails is corrected in turn.
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
    """Return the earliest failure with a correction that was not made before, so that two cannot undo each other."""
    fixable = [
        (finding.step, fix.start, index, finding)
        for index, finding in enumerate(findings)
        if finding.wrong and (fix := finding.fix) and (finding.step, fix.start, fix.text) not in tried
    ]
    return min(fixable)[3] if fixable else None


def _apply(steps: tuple[str, ...], finding: Finding, goal: str) -> tuple[str, ...]:
    fix, index = finding.fix, finding.step - 1
    if fix is None or index >= len(steps) or len(steps[index]) > MAX_CHARACTERS:
        return steps
    step = steps[index]
    head, wrong, tail = step[: fix.start], step[fix.start : fix.end], step[fix.end :]
    old, new = _last_value(wrong), _last_value(fix.text)
    later = list(steps[index + 1 :])
    earlier = " ".join((goal, *steps[:index], head))
    if old is not None and new is not None and old not in {value for _, value, _ in _numbers(earlier)}:
        tail = _replace(tail, old, new)
        later = [_replace(text, old, new) if len(text) <= MAX_CHARACTERS else text for text in later]
    return (*steps[:index], head + fix.text + tail, *later)


def _last_value(text: str) -> Fraction | None:
    """The last number of a text with its sign: -1 in `(5 - 6) = -1`."""
    found = list(_numbers(text))
    return found[-1][1] if found else None


def _numbers(text: str) -> Iterator[tuple[re.Match[str], Fraction, int]]:
    """Each number with the value that it has with the sign glued to it, and where that begins."""
    for match in NUMBER.finditer(text[: 5 * MAX_CHARACTERS]):
        parsed, start = read(match[0]), match.start()
        at = start - 1 if start and text[start - 1] in _MONEY else start
        if parsed is None:
            continue
        # "= -1" and "5 -1" have a sign, "5-1" and "5 - 1" have an operator.
        if at and text[at - 1] in "-−" and not re.search(r"[\w)\]%]$", text[: at - 1]):
            yield match, -parsed[0], at - 1
        else:
            yield match, parsed[0], start


def _replace(text: str, old: Fraction, new: Fraction) -> str:
    parts: list[str] = []
    position = 0
    for match, value, start in _numbers(text):
        if value == old:
            money = match.start() > 0 and text[match.start() - 1] in _MONEY
            currency = text[match.start() - 1] if money and start < match.start() else ""
            sign = "-" if new < 0 else ""
            parts += [text[position:start], sign, currency, write(abs(new), match[0], money=money)]
            position = match.end()
    return "".join([*parts, text[position:]])
