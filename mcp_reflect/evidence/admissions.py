"""What a message admits: that something of a kind failed or was not run."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_reflect.evidence import claim_words as words
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.proofs import Proof
from mcp_reflect.patterns import lazy_compile

Admission = tuple[frozenset[ProofKind], bool]
"""The kinds of which something failed or was not run, and whether that is past."""

_COVERAGE: Final = lazy_compile(r"coverage|threshold", re.IGNORECASE)
_MOST_OUTPUT: Final = 20_000  # characters at the end of an output
_FAILING_TESTS: Final = lazy_compile(
    r"(?i:\b[1-9]\d{0,5} (?:tests? )?(?:failed|failing|failures?)\b)|\bFAILED\b|(?m:^not ok )"
)


def admissions_in(clauses: Iterable[str]) -> Iterator[Admission]:
    """Yield the kinds of which clauses say that they failed or were not run, and whether that is past.

    A clause that names no kind speaks of any; so does one that says of how many ("since the upgrade one fails").
    """
    for clause in clauses:
        now = words.BAD.search(clause)
        past = None if now else words.BAD_ONCE.search(clause)
        if now or past:
            kinds = frozenset(kind for kind, noun in words.NOUNS.items() if noun.search(clause))
            if words.SOME_FAIL.search(clause):
                kinds = frozenset(ProofKind)
            yield kinds or frozenset(ProofKind), now is None


def tells_failure(
    message: str, admitted: frozenset[ProofKind], failed: Proof, kinds_of_run: frozenset[ProofKind]
) -> bool:
    """Return whether a message tells why a run failed, although it says of another part that it passed.

    | the run                             | the message                                       |
    |-------------------------------------|---------------------------------------------------|
    | has failing tests in its output     | tells it only where it says that tests fail       |
    | missed a coverage                   | "all tests pass, but coverage is below 95 %"      |
    | holds several checks (`make ci`), or | "all tests pass; lint fails"                     |
    | speaks of the check in its output   |                                                   |
    """
    if _FAILING_TESTS.search(failed.answer):
        return False
    if _COVERAGE.search(failed.answer) and words.COVERAGE_BELOW.search(message):
        return True
    told_parts = admitted & words.PARTS_OF_CHECKS
    if ProofKind.ANY in kinds_of_run or len(kinds_of_run) > 1:
        return bool(told_parts)
    end_of_output = failed.answer[-_MOST_OUTPUT:]
    return any(
        words.NOUNS[kind].search(end_of_output) for kind in told_parts if kind in words.NOUNS
    )
