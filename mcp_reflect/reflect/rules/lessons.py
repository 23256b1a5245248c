"""Corrections in words: what was wrong, what to do instead, by which symptoms to know it again."""

import re
from collections.abc import Sequence

from mcp_reflect.models.run import Change, Correction
from mcp_reflect.reflect.rules.corrections import Pair
from mcp_reflect.reflect.rules.patterns import word_set
from mcp_reflect.reflect.rules.scores import correction_confidence, correction_importance
from mcp_reflect.reflect.rules.text_ties import Tie
from mcp_reflect.reflect.rules.tools import Kind, kind_of
from mcp_reflect.reflect.rules.words import call_text, clip, quote, unique
from mcp_reflect.signature import plain

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
