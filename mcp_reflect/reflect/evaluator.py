"""What rules can score of a run, from what its events show. What they cannot know they do not score."""

from typing import Final

from mcp_reflect.models.reflection import Score
from mcp_reflect.models.run import Diagnosis, FindingKind

CRITERIA: Final = ("correctness", "helpfulness", "safety", "completeness", "efficiency")


def score(seen: Diagnosis, tests: tuple[int, int] | None) -> dict[str, Score]:
    """Scores in 0..1 by criterion, each with the counts behind it.

    `tests` are how many passed and failed in the last test report of the run. Efficiency is the share of calls that
    neither failed nor went round in a loop; completeness is 0 where the run ended without an answer and otherwise not
    known; whether an answer helped or did harm no rule can see.
    """
    found: dict[str, Score] = {}
    if tests is not None and sum(tests):
        passed, failed = tests
        reason = f"{passed} of {passed + failed} tests passed in the last report"
        found["correctness"] = Score(score=round(passed / (passed + failed), 4), reason=reason)
    if any(finding.kind is FindingKind.NO_ANSWER for finding in seen.findings):
        found["completeness"] = Score(score=0.0, reason="the run ended without an answer")
    if seen.calls:
        reason = f"{seen.wasted} of {seen.calls} calls failed or went in circles"
        found["efficiency"] = Score(score=round(1 - seen.wasted / seen.calls, 4), reason=reason)
    return found
