"""Failing calls that later worked, the lessons that rules are sure of, and the scores of both."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_reflect.analysis.call_results import Tried
from mcp_reflect.analysis.related_calls import changes_between, same_intent
from mcp_reflect.analysis.remedies import Remedy, remedy_for
from mcp_reflect.analysis.text import sentence, unique, word_set
from mcp_reflect.models.run import Change, Correction, ErrorCategory, Finding, FindingKind, Outcome

# Importance and confidence, by rule. Both are in 0..1; both are None where nothing was seen.
#
# Importance says how much it would have helped to know this before:
#
# | what was seen                                           | importance |
# |---------------------------------------------------------|------------|
# | a correction of an error                                | .6         |
# | a failing call that was never put right                 | .6         |
# | a loop                                                  | .6         |
# | the same error, or an empty search, three times or more | .5         |
# | a run that stopped without an answer                    | .5         |
# | an objection of the user                                | .5         |
# | what the caller says of the run (`error`)               | .5         |
# | searches without a result, an error that was put right  | .4         |
# | the run failed, ended in an error or timed out          | +.1        |
#
# The largest counts, at most .9: what only rules saw is never of the highest importance.
#
# Confidence says how sure the reading is:
#
# | what it rests on                                                            | confidence |
# |-----------------------------------------------------------------------------|------------|
# | the error field, an exit code, a status, a loop (equal calls and answers)    | .9         |
# | a lesson: an edit tool's own error, one difference that the error names      | .9         |
# | a lesson: the same call after one or two steps that changed state            | .8         |
# | an answer that says that nothing was found; a run without an answer          | .8         |
# | an error recognized by its text                                              | .7         |
# | a failure of unknown category; nothing but an objection or a run error       | .5         |
#
# They are chosen, not fitted. What they must hold is their order, and the tests hold that.


CORRECTION_IMPORTANCE = 0.6
_FAILED = frozenset({Outcome.FAILURE, Outcome.ERROR, Outcome.TIMEOUT})
_WEIGHT = {
    FindingKind.LOOP: 0.6,
    FindingKind.FAILING_EVENT: 0.6,
    FindingKind.NO_ANSWER: 0.5,
    FindingKind.USER_OBJECTION: 0.5,
    FindingKind.REPEATED_ERROR: 0.4,
    FindingKind.ZERO_RESULTS: 0.4,
    FindingKind.RECOVERED: 0.4,
}


def importance_of(
    outcome: Outcome, findings: Sequence[Finding], corrections: Sequence[Correction], *, run_error: bool
) -> float | None:
    """The largest weight of what was seen, more where the run failed; None where nothing was seen."""
    weights = [_weight(finding) for finding in findings] + [item.importance for item in corrections]
    if run_error:
        weights.append(0.5)
    if not weights:
        return None
    return round(min(0.9, max(weights) + (0.1 if outcome in _FAILED else 0.0)), 2)


def confidence_of(
    findings: Sequence[Finding], corrections: Sequence[Correction], *, marked: bool, category: ErrorCategory | None
) -> float | None:
    """The confidence of the surest thing that is said about why the run went as it did; None where nothing was."""
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


# Failing calls that later worked. Any later success is not enough: the two calls must mean the same thing.


HORIZON = 30  # later calls of the same tool that are looked at for the one that worked


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A failed call, the call that worked later, and the arguments that differ."""

    failed: Tried
    worked: Tried
    changes: tuple[Change, ...]


def pairs_in(tried: Sequence[Tried], *, succeeded: bool) -> list[Pair]:
    """For each failed call the first later call that put it right, where there is one; `succeeded` is the run's end."""
    by_tool: dict[str, list[Tried]] = {}
    for item in tried:
        if item.call.made:
            by_tool.setdefault(item.call.tool.lower(), []).append(item)
    pairs: list[Pair] = []
    for group in by_tool.values():
        for place, item in enumerate(group):
            if item.failed:
                later = group[place + 1 : place + 1 + HORIZON]
                pairs += _first_pair(item, later, proved=succeeded) or _other_tool(tried, item)
    return sorted(pairs, key=lambda pair: pair.failed.index)


def _first_pair(failed: Tried, later: Sequence[Tried], *, proved: bool) -> list[Pair]:
    for other in later:
        if other.worked and same_intent(failed, other, proved=proved):
            changes = changes_between(failed.call.arguments, other.call.arguments)
            return [Pair(failed=failed, worked=other, changes=changes)]
    return []


def _other_tool(tried: Sequence[Tried], failed: Tried) -> list[Pair]:
    """The very next call sends the same arguments to another tool and works: the tool was what was wrong.

    Searches are left out, since another search tool may simply hold other things.
    """
    following = failed.index + 1
    if following >= len(tried) or not failed.call.arguments or (failed.fault and failed.fault.empty):
        return []
    other = tried[following]
    same_arguments = failed.exact.partition("(")[2] == other.exact.partition("(")[2]
    if not (other.worked and same_arguments and len(failed.exact) > len(failed.call.tool) + 8):
        return []
    change = Change(path="(tool)", before=failed.call.tool, after=other.call.tool)
    return [Pair(failed=failed, worked=other, changes=(change,))]


# Lessons: what to do instead, by which symptoms to know it again.


MAX_CORRECTIONS = 5  # a reflection carries a few lessons; the surest are kept
MAX_KEYWORDS = 8
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]{2,60}")
_COMMON = word_set(
    """
    failed does exist could find too many some requirement satisfies version while must expected got named attempting
    error the and not for with was that this from have has are file line most recent call last code none true first
    false instead again then that works same use run read include more
    """
)


def corrections_from(tried: Sequence[Tried]) -> tuple[Correction, ...]:
    """The lessons of a run, the surest first; failures with one remedy are one lesson."""
    lessons: dict[tuple[str, str], Correction] = {}
    for item in tried:
        remedy = remedy_for(tried, item) if item.failed else None
        if remedy is None:
            continue
        key = (remedy.mistake, remedy.correction)
        before = lessons.get(key)
        also = () if before is None else (*before.also, before.failed_event_id)
        lessons[key] = _correction(item, remedy, also)
    return tuple(sorted(lessons.values(), key=lambda lesson: -lesson.confidence))[:MAX_CORRECTIONS]


def _correction(failed: Tried, remedy: Remedy, also: tuple[str, ...]) -> Correction:
    fault = failed.fault
    assert fault is not None  # noqa: S101 - a remedy is that of a failed call
    return Correction(
        failed_event_id=failed.failing_event,
        worked_event_id=remedy.worked.failing_event,
        also=also,
        tool=failed.call.tool,
        category=fault.category,
        changes=remedy.changes,
        mistake=remedy.mistake,
        correction=remedy.correction,
        symptoms=(sentence(remedy.symptom or fault.headline, 200),),
        keywords=_keywords(failed, remedy),
        steps=tuple(step.call.event_id for step in remedy.steps),
        importance=CORRECTION_IMPORTANCE,
        confidence=remedy.confidence,
    )


def _keywords(failed: Tried, remedy: Remedy) -> tuple[str, ...]:
    """The tool, the category, and the names in the error and the correction."""
    category, line = (failed.fault.category.short, failed.fault.headline) if failed.fault else ("", "")
    names = [name.strip(".-") for name in _IDENTIFIER.findall(f"{sentence(line, 200)} {remedy.correction}")]
    telling = [name for name in names if name.lower() not in _COMMON and len(name) >= 3]
    return unique([failed.call.tool, category, *telling])[:MAX_KEYWORDS]
