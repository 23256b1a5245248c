"""Corrections that a run shows, and the lessons made of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_reflect.analysis.call_results import Tried
from mcp_reflect.analysis.related_calls import Tie, changes_between, leaf_map, tie_between
from mcp_reflect.analysis.text import call_text, clip, quote, unique, word_set
from mcp_reflect.analysis.tools import Kind, kind_of, may_change
from mcp_reflect.models.run import Change, Correction, ErrorCategory, Finding, FindingKind, Outcome
from mcp_reflect.signature import plain

# Importance and confidence, by rule. Both are in 0..1; both are null where nothing was seen.
#
# Importance says how much it would have helped to know this before:
#
# | what was seen                                           | importance |
# |---------------------------------------------------------|------------|
# | a correction of an error                                | .6         |
# | a correction of a search that found nothing             | .4         |
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
# | what it rests on                                                          | confidence |
# |---------------------------------------------------------------------------|------------|
# | the error field, an exit code, a status, a loop (equal calls and answers)  | .9         |
# | a correction whose one change the error named, or the tool had proposed    | .9         |
# | the same call after one step in between                                    | .8         |
# | an answer that says that nothing was found; a run without an answer        | .8         |
# | an error recognised by its text                                            | .7         |
# | a correction known only by how alike two calls are                         | .7         |
# | more than two changes or steps at once                                     | -.2        |
# | a failure of unknown category; nothing but an objection or a run error     | .5         |
#
# They are chosen, not fitted. What they must hold is their order, and the tests hold that.


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


# Mistakes whose correction was seen: a call that failed and the related later call that worked.
#
# Three forms are read. The arguments changed and the call worked. The same call worked after something
# else had been done (a package installed, a file edited). The same call worked when it was repeated, which
# says something only of errors that pass by themselves. Anything vaguer makes no lesson.


_FIRST = re.compile(r"(?i)\b(?:first|before|has not been|must be|requires?)\b")
HORIZON = 30  # later calls that are looked at for the one that worked
MAX_STEPS = 4  # calls between two runs of the same call that can be named as what made the difference
PASSING = frozenset({ErrorCategory.TIMEOUT, ErrorCategory.RATE_LIMIT, ErrorCategory.NETWORK, ErrorCategory.CONFLICT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A failed call, the call that worked, what ties them, and what was done in between."""

    failed: Tried
    worked: Tried
    tie: Tie
    changes: tuple[Change, ...]
    steps: tuple[Tried, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether what made the difference was seen."""
        fault = self.failed.fault
        return bool(self.changes or self.steps) or (fault is not None and fault.category in PASSING)


def pairs_in(tried: Sequence[Tried], *, succeeded: bool) -> list[Pair]:
    """For each failed call the first later call that put it right, where there is one; `succeeded` is the run's end."""
    by_tool: dict[str, list[Tried]] = {}
    for item in tried:
        if item.call.made:
            by_tool.setdefault(item.call.tool.lower(), []).append(item)
    places = {item.index: (group, place) for group in by_tool.values() for place, item in enumerate(group)}
    found: list[Pair] = []
    for item in tried:
        if item.failed and item.index in places:
            group, place = places[item.index]
            pair = _first_pair(tried, item, group[place + 1 : place + 1 + HORIZON], proved=succeeded) or _other_tool(
                tried, item
            )
            if pair is not None:
                found.append(pair)
    return found


def _first_pair(tried: Sequence[Tried], failed: Tried, later: Sequence[Tried], *, proved: bool) -> Pair | None:
    for other in later:
        if other.worked and (tie := tie_between(failed, other, proved=proved)) is not None:
            steps = tuple(_steps(tried, failed, other)) if tie is Tie.SAME else ()
            if len(steps) > MAX_STEPS:
                steps = ()
            changes = changes_between(failed.call.arguments, other.call.arguments)
            return Pair(failed=failed, worked=other, tie=tie, changes=changes, steps=steps)
    return None


def _other_tool(tried: Sequence[Tried], failed: Tried) -> Pair | None:
    """The very next call sends the same arguments to another tool and works: the tool was what was wrong.

    Searches are left out, since another search tool may simply hold other things.
    """
    following = failed.index + 1
    if following >= len(tried) or not failed.call.arguments or (failed.fault and failed.fault.empty):
        return None
    other = tried[following]
    same_arguments = failed.exact.partition("(")[2] == other.exact.partition("(")[2]
    if not (other.worked and same_arguments and len(failed.exact) > len(failed.call.tool) + 8):
        return None
    change = Change(path="(tool)", before=failed.call.tool, after=other.call.tool)
    return Pair(failed=failed, worked=other, tie=Tie.SAME, changes=(change,))


def _asked_first(failed: Tried, item: Tried) -> bool:
    """The error asked for something to be done first, and this call is on the same thing (a file to be read)."""
    if failed.fault is None or not _FIRST.search(failed.fault.text[:2_000]):
        return False
    texts = {value for value in leaf_map(failed.call.arguments).values() if isinstance(value, str) and len(value) >= 4}
    return any(value in texts for value in leaf_map(item.call.arguments).values() if isinstance(value, str))


def _steps(tried: Sequence[Tried], failed: Tried, worked: Tried) -> Iterator[Tried]:
    """What was done between the two that can have made the difference: calls that worked and may change things."""
    for item in tried[failed.index + 1 : worked.index]:
        call = item.call
        if not call.made or item.failed or item.exact == failed.exact:
            continue
        changing = may_change(call.tool, call.arguments) and kind_of(call.tool, call.arguments) is not Kind.READ
        if changing or _asked_first(failed, item):
            yield item


# Corrections in words: what was wrong, what to do instead, by which symptoms to know it again.


MAX_CORRECTIONS = 5  # a reflection carries a few lessons; the surest and latest are kept
MAX_KEYWORDS = 8
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]{2,60}")
_COMMON = word_set(
    """
    failed does exist could find too many some requirement satisfies version while must expected got named attempting
    error the and not for with was that this from have has are file line most recent call last code none true
    false
    """
)


def corrections_from(pairs: Sequence[Pair]) -> tuple[Correction, ...]:
    """The lessons of a run, in order, one for each error that one call put right."""
    kept: dict[tuple[int, str], Pair] = {}
    for pair in pairs:
        if pair.teaches:
            kept[pair.worked.index, pair.failed.fingerprint] = pair
    lessons = sorted(
        (_correction(pair) for pair in kept.values()), key=lambda item: -(item.confidence + item.importance)
    )
    best = {id(item) for item in lessons[:MAX_CORRECTIONS]}
    ordered = [item for item in lessons if id(item) in best]
    return tuple(ordered)


def _correction(pair: Pair) -> Correction:
    fault = pair.failed.fault
    if fault is None:  # pairs start from a failed call
        raise AssertionError
    return Correction(
        failed_event_id=pair.failed.failing_event,
        worked_event_id=pair.worked.failing_event,
        tool=pair.failed.call.tool,
        category=fault.category,
        changes=pair.changes,
        mistake=_mistake(pair, fault.headline, empty=fault.empty),
        correction=_remedy(pair),
        symptoms=(clip(fault.headline, 200),),
        keywords=_keywords(pair, fault.headline),
        steps=tuple(step.call.event_id for step in pair.steps),
        importance=correction_importance(fault.category, repeated=False),
        confidence=correction_confidence(pair.tie, len(pair.changes) + len(pair.steps)),
    )


def _mistake(pair: Pair, headline: str, *, empty: bool) -> str:
    """What was sent, by the arguments that were then changed where there are many, and what came of it."""
    shown = pair.failed.text
    changed = [change for change in pair.changes if change.path and not change.added]
    arguments = pair.failed.call.arguments
    if isinstance(arguments, dict) and len(arguments) > 1 and changed and changed[0].path != "(tool)":
        sent = ", ".join(f"{change.path} = {quote(change.before)}" for change in changed[:4])
        shown = f"{pair.failed.call.tool} with {sent}"
    return f"{shown} found nothing." if empty else f"{shown} failed: {clip(headline, 200)}"


def _remedy(pair: Pair) -> str:
    if pair.changes and pair.changes[0].path == "(tool)":
        return f"Use {pair.worked.call.tool} instead of {pair.failed.call.tool}: it worked with the same arguments."
    if pair.changes:
        hint = _hint(pair)
        told = ", ".join(_told(change, pair) for change in pair.changes[:4])
        more = f" and {len(pair.changes) - 4} more changes" if len(pair.changes) > 4 else ""
        return f"Call {pair.failed.call.tool} {told}{more}.{' ' + hint if hint else ''}"
    if pair.steps:
        steps = ", then ".join(call_text(step.call.tool, step.call.arguments, 200) for step in pair.steps)
        return f"First do {steps}; after that the same call worked."
    return "Repeat the call after a while: the same call worked the next time."


def _told(change: Change, pair: Pair) -> str:
    """One change: `with limit = 100 instead of 1000`, `with project = "app" added`, `without labels`."""
    arguments = pair.failed.call.arguments
    single = not change.path or (len(pair.changes) == 1 and isinstance(arguments, dict) and len(arguments) == 1)
    name = "" if single and not change.added else f"{change.path} = "
    if change.added:
        return f"with {name}{quote(change.after)} added"
    if change.removed:
        return f"without {change.path or 'the argument'} (it was {quote(change.before)})"
    if change.before == "":  # a long text that only gained lines
        return f"with {name}the same text and {quote(change.after)} added"
    return f"with {name}{quote(change.after)} instead of {quote(change.before)}"


def _hint(pair: Pair) -> str:
    """What kind of change it was, where that is plain to see."""
    change = pair.changes[0]
    if len(pair.changes) != 1 or not isinstance(change.before, str) or not isinstance(change.after, str):
        return ""
    if pair.tie is Tie.SUGGESTED:
        return "The failing answer had proposed it."
    before, after = change.before.strip(), change.after.strip()
    if before.split() == after.split():
        return "Only the white space differs."
    if plain(before) == plain(after):
        return (
            "Only the quotation marks were in the way." if len(after) < len(before) else "Quotation marks were needed."
        )
    if kind_of(pair.failed.call.tool, pair.failed.call.arguments) is Kind.SEARCH and plain(after) in before:
        return "The shorter query found something."
    return ""


def _keywords(pair: Pair, headline: str) -> tuple[str, ...]:
    """The tool, the category, and the names in the error and the change."""
    changed = " ".join(
        str(value) for change in pair.changes for value in (change.before, change.after) if isinstance(value, str)
    )
    steps = " ".join(step.text for step in pair.steps)
    names = [name.strip(".-") for name in _IDENTIFIER.findall(f"{headline[:400]} {changed[:400]} {steps[:400]}")]
    telling = [name for name in names if name.lower() not in _COMMON and len(name) >= 3]
    category = pair.failed.fault.category.short if pair.failed.fault else ""
    return unique([pair.failed.call.tool, category, *telling])[:MAX_KEYWORDS]
