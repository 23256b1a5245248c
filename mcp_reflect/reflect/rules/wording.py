"""The summary, the strategy and the strengths of a diagnosis: only what the findings carry."""

from collections.abc import Sequence

from mcp_reflect.models.run import Correction, Finding, FindingKind, Outcome, Trace
from mcp_reflect.reflect.rules.alike import names_alike
from mcp_reflect.reflect.rules.empty import suggestions_in
from mcp_reflect.reflect.rules.reading import Reading
from mcp_reflect.reflect.rules.tried import Tried
from mcp_reflect.reflect.rules.words import clip, quote, subject_only, unique

SUMMARY_FINDINGS = 4  # sentences of findings in a summary; all of them are in `findings`
STRATEGY_LIMIT = 700  # characters

_ENDED = {
    Outcome.SUCCESS: "The run succeeded",
    Outcome.FAILURE: "The run failed",
    Outcome.PARTIAL: "The run succeeded in part",
    Outcome.TIMEOUT: "The run timed out",
    Outcome.ERROR: "The run ended in an error",
}
_ORDER = (
    FindingKind.FAILING_EVENT,
    FindingKind.LOOP,
    FindingKind.REPEATED_ERROR,
    FindingKind.ZERO_RESULTS,
    FindingKind.NO_ANSWER,
    FindingKind.USER_OBJECTION,
    FindingKind.RECOVERED,
)


def summary_of(trace: Trace, findings: Sequence[Finding]) -> str:
    """How the run ended and what was found, in a few sentences; that nothing was found where that is so."""
    head = f"{_ENDED[trace.outcome]} after {_count(len(trace.events), 'event')}."
    if not trace.events:
        head = f"{_ENDED[trace.outcome]}; no events were given."
    said = f" The caller reports: {quote(trace.error.message, 200)}." if trace.error and trace.error.message else ""
    if not findings:
        nothing = "" if said else " The rules see no failing call, no loop and no empty search in it."
        return f"{head}{said}{nothing}"
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.kind))
    told = " ".join(finding.text for finding in ordered[:SUMMARY_FINDINGS])
    righted = all(finding.kind is FindingKind.RECOVERED for finding in findings)
    open_end = " Nothing else in the events shows why." if righted and trace.outcome is not Outcome.SUCCESS else ""
    return f"{head}{said} {told}{open_end}"


def strategy_of(reading: Reading, corrections: Sequence[Correction]) -> str | None:
    """What to do next time, from what was seen to work and what was seen to be useless; null where neither was."""
    parts = [f"{item.correction}" for item in corrections[:3]]
    put_right = {pair.failed.index for pair in reading.pairs}
    loops = [loop.calls[0] for loop in reading.loops if loop.calls[0].index not in put_right]
    parts += [f"Do not repeat {item.text}: it gives the same answer again." for item in loops[:2]]
    righted = {item.failed_event_id for item in corrections}
    left = [[item for item in run if item.failing_event not in righted] for run in reading.empties]
    for run in [run for run in left if run][:1]:
        queries = unique(quote(subject_only(item.call.arguments), 60) for item in run)[:3]
        parts.append(f"Do not search again for {', '.join(queries)}: nothing was found.{_proposed(run, reading.tried)}")
    text = " ".join(unique(parts))
    return clip(text, STRATEGY_LIMIT) if text else None


def strengths_of(reading: Reading, corrections: Sequence[Correction]) -> tuple[str, ...]:
    """What went well: what a successful run called, and what was put right on the way."""
    found: list[str] = []
    worked = [item for item in reading.tried if item.worked]
    recovered = len(reading.pairs)
    if reading.trace.outcome is Outcome.SUCCESS and worked:
        tools = unique(item.call.tool for item in worked)
        failing = sum(item.failed for item in reading.tried)
        rest = f"{failing} failed" if failing else "none failed"
        found.append(f"{_count(len(worked), 'call')} worked ({', '.join(tools[:5])}); {rest}.")
    found += [f"Put right: {item.mistake} ({item.failed_event_id}, {item.worked_event_id})" for item in corrections[:3]]
    if recovered and not corrections:
        found.append(f"{_count(recovered, 'failing call')} worked later.")
    return tuple(found)


def improvements_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The findings that cost the run something, in order of weight."""
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.kind))
    return tuple(finding.text for finding in ordered if finding.kind is not FindingKind.RECOVERED)[:5]


def failing_text(item: Tried) -> str:
    """A failing call in a sentence: `e4: bash "pytest" failed (assertion): "1 failed"`."""
    fault = item.fault
    if fault is None:
        return ""
    if fault.empty:
        return f"{item.text} found nothing ({item.failing_event})."
    what = item.text if item.call.tool else "An event"
    kind = _article(fault.category.short)
    return f"{what} failed with {kind} error ({item.failing_event}): {quote(fault.headline, 200)}."


def recovered_text(failed: Tried, worked: Tried) -> str:
    """A failure that was put right, in a sentence."""
    fault = failed.fault
    if fault is not None and fault.empty:
        found = f"{worked.text} found something ({worked.failing_event})"
        return f"{failed.text} found nothing ({failed.failing_event}); {found}."
    what = f"{failed.text} failed ({failed.failing_event}): {quote(fault.headline if fault else '', 160)}"
    if failed.exact == worked.exact:
        return f"{what}. The same call worked later ({worked.failing_event})."
    return f"{what}. It worked later as {worked.text} ({worked.failing_event})."


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _article(word: str) -> str:
    word = word.replace("_", " ")
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _proposed(run: Sequence[Tried], tried: Sequence[Tried]) -> str:
    """What the searches themselves proposed and nobody sent, those closest to a query first."""
    sent = {str(subject_only(item.call.arguments)) for item in tried}
    queries = [str(subject_only(item.call.arguments)) for item in run]
    found = unique(item for empty in run for item in suggestions_in(empty.call.answer) if item not in sent)
    near = [item for item in found if any(names_alike(item, query) for query in queries)]
    proposals = unique([*near, *found])[:3]
    return f" The search itself proposed {', '.join(quote(item, 60) for item in proposals)}." if proposals else ""
