"""Importance and confidence, by rule. Both are in 0..1; both are null where nothing was seen.

Importance says how much it would have helped to know this before:

| what was seen                                           | importance |
|---------------------------------------------------------|------------|
| a correction of an error                                | .6         |
| a correction of a search that found nothing             | .4         |
| a failing call that was never put right                 | .6         |
| a loop                                                  | .6         |
| the same error, or an empty search, three times or more | .5         |
| a run that stopped without an answer                    | .5         |
| an objection of the user                                | .5         |
| what the caller says of the run (`error`)               | .5         |
| searches without a result, an error that was put right  | .4         |
| the run failed, ended in an error or timed out          | +.1        |

The largest counts, at most .9: what only rules saw is never of the highest importance.

Confidence says how sure the reading is:

| what it rests on                                                          | confidence |
|---------------------------------------------------------------------------|------------|
| the error field, an exit code, a status, a loop (equal calls and answers)  | .9         |
| a correction whose one change the error named, or the tool had proposed    | .9         |
| the same call after one step in between                                    | .8         |
| an answer that says that nothing was found; a run without an answer        | .8         |
| an error recognised by its text                                            | .7         |
| a correction known only by how alike two calls are                         | .7         |
| more than two changes or steps at once                                     | -.2        |
| a failure of unknown category; nothing but an objection or a run error     | .5         |

They are chosen, not fitted. What they must hold is their order, and the tests hold that.
"""

from collections.abc import Sequence

from mcp_reflect.models.run import Correction, ErrorCategory, Finding, FindingKind, Outcome
from mcp_reflect.reflect.rules.text_ties import Tie

_FAILED = frozenset({Outcome.FAILURE, Outcome.ERROR, Outcome.TIMEOUT})
_TIE = {Tie.SUGGESTED: 0.9, Tie.POINTED: 0.9, Tie.SAME: 0.8, Tie.ALIKE: 0.7}
_WEIGHT = {
    FindingKind.LOOP: 0.6,
    FindingKind.FAILING_EVENT: 0.6,
    FindingKind.NO_ANSWER: 0.5,
    FindingKind.USER_OBJECTION: 0.5,
    FindingKind.REPEATED_ERROR: 0.4,
    FindingKind.ZERO_RESULTS: 0.4,
    FindingKind.RECOVERED: 0.4,
}


def correction_importance(category: ErrorCategory, *, repeated: bool) -> float:
    """The importance of a lesson: an error counts more than a search without a result."""
    base = 0.4 if category is ErrorCategory.NO_RESULT else 0.6
    return round(base + 0.1 * repeated, 2)


def correction_confidence(tie: Tie, differences: int) -> float:
    """How sure it is that this made the difference: `differences` counts changed arguments or steps."""
    return round(_TIE[tie] - (0.2 if differences > 2 else 0.0), 2)


def importance_of(
    outcome: Outcome, findings: Sequence[Finding], corrections: Sequence[Correction], *, run_error: bool
) -> float | None:
    """The largest weight of what was seen, more where the run failed; null where nothing was seen."""
    weights = [_weight(finding) for finding in findings] + [item.importance for item in corrections]
    if run_error:
        weights.append(0.5)
    if not weights:
        return None
    return round(min(0.9, max(weights) + (0.1 if outcome in _FAILED else 0.0)), 2)


def confidence_of(
    findings: Sequence[Finding], corrections: Sequence[Correction], *, marked: bool, category: ErrorCategory | None
) -> float | None:
    """The confidence of the surest thing that is said about why the run went as it did; null where nothing was."""
    kinds = {finding.kind for finding in findings}
    seen: list[float] = [item.confidence for item in corrections]
    if FindingKind.LOOP in kinds:
        seen.append(0.9)
    if kinds & {FindingKind.ZERO_RESULTS, FindingKind.NO_ANSWER} or category is ErrorCategory.NO_RESULT:
        seen.append(0.8)
    if category is not None and category is not ErrorCategory.UNKNOWN:
        seen.append(0.9 if marked else 0.7)
    if not seen:
        return 0.5 if kinds or category is not None else None
    return max(seen)


def _weight(finding: Finding) -> float:
    if finding.kind in (FindingKind.REPEATED_ERROR, FindingKind.ZERO_RESULTS) and len(finding.event_ids) > 2:
        return 0.5
    if finding.kind is FindingKind.FAILING_EVENT and finding.category is ErrorCategory.NO_RESULT:
        return 0.4
    return _WEIGHT[finding.kind]
