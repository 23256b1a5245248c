"""How much of a piece of work its verdicts cover, claim by claim."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mcp_reflect.checkers.base import Finding
from mcp_reflect.checkers.sentences import LONGEST, Sentence, sentences
from mcp_reflect.models.critique import Coverage, Status

MOST_OPEN: Final = 5
"""The most open claims that are quoted."""

_MOST_QUOTED = 200
_LONGEST_READ = 60_000
_NUMBER = re.compile(r"\d+(?:[.,'’]\d+)*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CODE = re.compile(r"^\s{0,12}(?:`{3,}|~{3,})(\w*)[^\n]*\n(.{0,200})", re.MULTILINE)
_LABEL_WORDS = 3
_SENTENCE_WORDS = 2
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


def coverage(findings: Sequence[Finding], left_open: Sequence[tuple[int, str]]) -> Coverage:
    """Count each finding and each open claim once."""
    claims = {(finding.step, finding.claim, finding.status) for finding in findings}
    number = {status: sum(found is status for _, _, found in claims) for status in Status}
    unsupported = [f.claim for f in findings if f.status is Status.UNSUPPORTED]
    unchecked = [f.claim for f in findings if f.status is Status.UNCHECKED]
    quoted = dict.fromkeys([*unsupported, *unchecked, *(text for _, text in left_open)])
    return Coverage(
        claims=len(claims) + len(left_open),
        checked=number[Status.PASS] + number[Status.FAIL],
        supported=number[Status.PASS],
        contradicted=number[Status.FAIL],
        unsupported=number[Status.UNSUPPORTED],
        open=number[Status.UNCHECKED] + len(left_open),
        open_claims=tuple(text[:_MOST_QUOTED] for text in list(quoted)[:MOST_OPEN]),
    )


def _open_in(step: str, findings: list[Finding]) -> Iterator[str]:
    claims = [finding.claim for finding in findings]
    for sentence in sentences(step):
        yield from _open_in_sentence(sentence, claims)
    if len(step) > _LONGEST_READ or any(len(line) > LONGEST for line in step.split("\n")):
        yield "a part of the step that is too long to be read"
    for language, first in _CODE.findall(step):
        if first.strip() and not first.lstrip().startswith(("```", "~~~")):
            yield f"{language or 'code'} block: {first.strip()[:80]} (that it does what is asked)"


def _open_in_sentence(sentence: Sentence, claims: list[str]) -> Iterator[str]:
    text = _squeeze(sentence.text)
    own = [claim for claim in claims if (squeezed := _squeeze(claim)) and (squeezed in text or text in squeezed)]
    if any(text in _squeeze(claim) for claim in own):
        return
    clauses = [clause.text for clause in sentence.clauses if not clause.hedged]
    words = _WORD.findall(" ".join(clauses))
    if not own:
        if len(words) >= _SENTENCE_WORDS or (words and _NUMBER.search(sentence.text)):
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
