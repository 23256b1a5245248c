"""Run all checkers over a piece of work, and say how much of it they decided."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mcp_reflect.checkers.base import Finding, ForeignChecker, Work, checkers
from mcp_reflect.checkers.fences import Fence, parts
from mcp_reflect.checkers.sentences import LONGEST, MOST_SENTENCES, Sentence, sentences
from mcp_reflect.models.critique import Basis, Coverage, Status, Verdict

MOST_QUOTED: Final = 300
"""The most characters of a claim that is quoted."""

MOST_OPEN: Final = 5
"""The most open claims that are quoted."""

_MOST_QUOTED = 200
_LONGEST_READ = 60_000
_NUMBER = re.compile(r"\d+(?:[.,'’]\d+)*")
_RELATION = re.compile(r"\d\)?\s*[=≈<>≤≥]|[=≈<>≤≥]\s*[-−(]?[$€£]?\d")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LABEL_WORDS = 3
_SENTENCE_WORDS = 2
# "Not yet committed.", "I have not tried restoring it.": it says what is missing, and claims nothing.
_ADMITTED = re.compile(
    r"^(?:it is |this is )?not (?:yet )?\w+(?: yet)?\W*$|"
    r"^I (?:have|had|did|could)(?:n't| not| neither) (?:yet )?(?:been able to )?(?:check|test|tri|run|"
    r"look|verif|measur|deploy|commit|push|restor|buil)"
    r"[^;:,\d]*$",
    re.IGNORECASE,
)
_SQUEEZED = re.compile(r"[\s*_`]+")


def open_claims(steps: Sequence[str], findings: Iterable[Finding]) -> tuple[tuple[int, str], ...]:
    """The claims that no checker decided, as (step, text); those with a finding of their own are not repeated."""
    by_step: dict[int, list[Finding]] = {}
    for finding in findings:
        by_step.setdefault(finding.step, []).append(finding)
    return tuple(
        (number, text[:_MOST_QUOTED])
        for number, step in enumerate(steps, start=1)
        for text in _open_in(step, by_step.get(number, []))
    )


def _open_in(step: str, findings: list[Finding]) -> Iterator[str]:
    claims = [finding.claim for finding in findings]
    read = sentences(step)
    for sentence in read:
        yield from _open_in_sentence(sentence, claims)
    too_long = len(step) > _LONGEST_READ or any(len(line) > LONGEST for line in step.split("\n"))
    if too_long or len(read) >= MOST_SENTENCES:
        yield "a part of the step that is too long to be read"
    for part in parts(step):
        first = next((line.strip() for line in part.body if line.strip()), "") if isinstance(part, Fence) else ""
        if isinstance(part, Fence) and first:
            yield f"{part.language or 'code'} block: {first[:80]} (that it does what is asked)"


def _open_in_sentence(sentence: Sentence, claims: list[str]) -> Iterator[str]:
    if _ADMITTED.match(sentence.text):
        return
    text = _squeeze(sentence.text)
    own = [claim for claim in claims if (squeezed := _squeeze(claim)) and (squeezed in text or text in squeezed)]
    if any(text in _squeeze(claim) for claim in own):
        return
    clauses = [clause.text for clause in sentence.clauses if not clause.hedged]
    words = _WORD.findall(" ".join(clauses))
    if not own:
        has_number = _NUMBER.search(sentence.text) and (words or _RELATION.search(sentence.text))
        if len(words) >= _SENTENCE_WORDS or has_number:
            yield sentence.text
        return
    # "Tax: 15 × 2 = 30" is a sum with its label; "the tax is 15 × 2 = 30" also says that this is the tax.
    decided = " ".join(own)
    numbers = set(_NUMBER.findall(" ".join(clauses))) - set(_NUMBER.findall(decided))
    if numbers or len(words) - len(_WORD.findall(decided)) >= _LABEL_WORDS:
        yield sentence.text


def _squeeze(text: str) -> str:
    """The text without blanks and emphasis, so that a quotation is found however it was wrapped."""
    return _SQUEEZED.sub("", text)


_BY_EVIDENCE: Final = frozenset({"evidence", "execution"})
"""The checkers whose verdicts rest on tool results; the others compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A version of the steps with its verdicts.

    `left_open` are the claims that no checker decided, as (step, text). `problems` says which checkers of other
    packages failed.
    """

    steps: tuple[str, ...]
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    left_open: tuple[tuple[int, str], ...] = ()
    has_evidence: bool = False
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """The claims that evidence or computation contradicts."""
        return self._of(Status.FAIL)

    @property
    def passed(self) -> int:
        return len(self._of(Status.PASS))

    @property
    def unsupported(self) -> tuple[Verdict, ...]:
        return self._of(Status.UNSUPPORTED)

    def _of(self, *statuses: Status) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.status in statuses)

    @property
    def open_claims(self) -> tuple[tuple[int, str], ...]:
        """Every claim that is not decided, as (step, text), the unsupported ones first."""
        undecided = self._of(Status.UNSUPPORTED), self._of(Status.UNCHECKED)
        quoted = [(v.step, v.claim) for verdicts in undecided for v in verdicts]
        return tuple(dict.fromkeys([*quoted, *self.left_open]))

    @property
    def coverage(self) -> Coverage:
        """Count each finding and each open claim once."""
        claims = {(finding.step, finding.claim, finding.status) for finding in self.findings}
        number = {status: sum(found is status for _, _, found in claims) for status in Status}
        quoted = dict.fromkeys(text[:_MOST_QUOTED] for _, text in self.open_claims)
        return Coverage(
            claims=len(claims) + len(self.left_open),
            checked=number[Status.PASS] + number[Status.FAIL],
            supported=number[Status.PASS],
            contradicted=number[Status.FAIL],
            unsupported=number[Status.UNSUPPORTED],
            open=number[Status.UNCHECKED] + len(self.left_open),
            open_claims=tuple(quoted)[:MOST_OPEN],
        )

    @property
    def complete(self) -> bool:
        """True if there are claims and a checker decided each of them."""
        counted = self.coverage
        return counted.claims > 0 and counted.checked == counted.claims

    @property
    def share(self) -> float | None:
        """Return passed / (passed + failed), None where nothing was decided."""
        decided = self.passed + len(self.failed)
        return self.passed / decided if decided else None

    @property
    def first_error(self) -> int | None:
        return min((verdict.step for verdict in self.failed), default=None)

    @property
    def basis(self) -> Basis:
        """The basis of the decided verdicts; tool results outweigh computation."""
        deciding = {verdict.checker for verdict in self._of(Status.PASS, Status.FAIL)}
        if deciding & _BY_EVIDENCE:
            return Basis.TOOL_RESULTS
        return Basis.CHECKED if deciding else Basis.NONE

    @property
    def issues(self) -> tuple[str, ...]:
        """One sentence for each contradicted claim."""
        return tuple(map(issue_of, self.failed))


Verify = Callable[[Sequence[str]], Verified]


def verifier(work: Work) -> Verify:
    """Return a function that checks other steps for the same goal and evidence."""
    return lambda steps: _verified(replace(work, steps=tuple(steps)))


def _verified(work: Work) -> Verified:
    named: list[tuple[str, Finding]] = []
    problems: list[str] = []
    for checker in checkers():
        findings = checker.findings(work) if isinstance(checker, ForeignChecker) else tuple(checker.check(work))
        if isinstance(findings, str):
            problems.append(findings)
        else:
            named += [(checker.name, finding) for finding in findings]
    named.sort(key=lambda pair: pair[1].step)
    findings = tuple(finding for _, finding in named)
    return Verified(
        steps=work.steps,
        findings=findings,
        verdicts=tuple(
            Verdict(step=f.step, status=f.status, checker=name, claim=f.claim, expected=f.expected, detail=f.detail)
            for name, f in named
        ),
        left_open=open_claims(work.steps, findings),
        has_evidence=bool(work.tool_results),
        problems=tuple(problems),
    )


def issue_of(verdict: Verdict) -> str:
    """Return a sentence that says what is wrong and what shows it."""
    return f"Step {verdict.step}: {in_words(verdict)}"


def quoted_claim(claim: str) -> str:
    """Return a claim cut to MOST_QUOTED characters."""
    return claim if len(claim) <= MOST_QUOTED else f"{claim[: MOST_QUOTED - 1]}…"


def in_words(verdict: Verdict) -> str:
    """Say what is wrong and what shows it, without the step."""
    claim, right = quoted_claim(verdict.claim), verdict.expected
    if verdict.checker == "evidence" and right:
        return f'The result shows "{right}"; the work says "{claim}"'
    left, equals, said = claim.rpartition("=")
    if right and equals and left.strip() and "=" not in right and left.strip()[-1] not in "<>!=":
        return f"{left.rstrip()} = {right}, not {said.strip()}"
    reason = verdict.detail or (f"{right} would be right" if right else "it is contradicted")
    return f'"{claim}" is wrong: {reason}'


def progress_of(verified: Verified) -> str:
    """Say how far a version is, in one line."""
    steps = {verdict.step for verdict in verified.verdicts if verdict.status in (Status.PASS, Status.FAIL)}
    line = f"{len(verified.steps)} steps, {len(steps)} checked"
    if not verified.failed:
        return line
    first = verified.failed[0]
    return f"{line}; step {first.step}: {in_words(first)}"
