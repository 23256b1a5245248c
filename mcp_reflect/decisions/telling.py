"""Tell the facts of a decision that nobody judged, under the headings that callers look for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.decisions.checks import one_line, record_of
from mcp_reflect.decisions.figures import Metric
from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import Decision, Insights

_MOST_SHOWN: Final = 300  # characters of a reason, a result, or a list of metrics
_ALWAYS_LISTED: Final = ("latency", "accuracy")
_REASONS: Final = ("reason", "reasoning", "rationale", "why")
_NOT_JUDGED: Final = "Not judged: no model was asked."

_ADVICE: Final = {
    "keep": "Go on measuring '{component}'{compare}.",
    "kill": "See that nothing needs '{component}' any more{after}.",
    "marry": "Measure '{component}' together with what it is joined to{compare}.",
}
_OTHER_ADVICE: Final = "Measure what '{action}' changed in '{component}'{compare}."


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFacts:
    """The facts of a decision, in short and by heading."""

    text: str
    insights: Insights


def tell(
    decision: Decision,
    *,
    reason: str | None,
    result: str | None,
    metrics: Sequence[Metric],
    findings: Sequence[str] = (),
) -> DecisionFacts:
    """Fill the document's template with what was sent; `findings` are facts of the events. No verdict is given."""
    compared: list[str] = []
    for metric in metrics:
        compared += metric.comparisons()
    patterns = [*compared, *findings]
    advice = _advice(decision, has_figures=bool(metrics))
    sections = {
        f"Reflection on {decision.action.capitalize()} Decision for Component"
        f" '{decision.component}'": "The facts side by side. Nobody has judged them yet.",
        "Decision Analysis": _analysis_of(decision, reason),
        "Execution Assessment": _assessment_of(decision, result, metrics),
        "Strengths": _NOT_JUDGED,
        "Areas for Improvement": _NOT_JUDGED,
        "Patterns and Insights": _bullets(patterns) or "Nothing to compare with was named.",
        "Recommendation": advice,
    }
    facts = _in_short(decision, reason, result, metrics)
    return DecisionFacts(
        text=" ".join([*facts, *patterns]),
        insights=Insights(recommendation=advice, raw_sections=sections),
    )


def _analysis_of(decision: Decision, reason: str | None) -> str:
    """Return what was decided, and why; whether that was right is for others to judge."""
    what = f"The {decision.action} decision for component '{decision.component}' was made"
    why = "without a reason."
    if reason:
        why = f"with this reason: {reason}"
    return f"{what} {why} Whether it was appropriate is not judged."


def _assessment_of(decision: Decision, result: str | None, metrics: Sequence[Metric]) -> str:
    """Return what the execution returned, with its figures; of those that callers look for, also that they lack."""
    returned = "returned no result."
    if result:
        returned = f"returned: {result}"
    done = f"The execution using component '{decision.component}' {returned}"
    lines = [metric.line for metric in metrics]
    names_given = " ".join(metric.name.lower() for metric in metrics)
    lines += [
        f"{name.capitalize()}: not given" for name in _ALWAYS_LISTED if name not in names_given
    ]
    return f"{done} Whether it was effective is not judged.\n{_bullets(lines)}"


def _in_short(
    decision: Decision, reason: str | None, result: str | None, metrics: Sequence[Metric]
) -> list[str]:
    """Return the facts of a decision that were sent, as sentences: "Decided: keep 'cache'."."""
    facts = [f"Decided: {decision.action} '{decision.component}'."]
    if reason:
        facts.append(f"The reason given: {reason}")
    if result:
        facts.append(f"Result: {result}")
    facts += [f"{metric.line}." for metric in metrics]
    return facts


class ReasonAndResult(NamedTuple):
    """The reason of a decision and the result of its execution, as sentences; None for one that was not sent."""

    reason: str | None
    result: str | None


def reason_and_result(decision: Json, execution: Json) -> ReasonAndResult:
    """Return why a decision was made, under any of its usual names, and what its execution returned."""
    decided = record_of(decision)
    reasons = [decided[name] for name in _REASONS if decided.get(name)]
    reason = reasons[0] if reasons else None
    result = record_of(execution).get("result")
    return ReasonAndResult(as_sentence(reason), as_sentence(result))


def metrics_of(execution: Json) -> Mapping[str, Json]:
    """Return the metrics of an execution."""
    return record_of(record_of(execution).get("metrics"))


def others_of(decision: Json, execution: Json) -> dict[str, Json]:
    """Return what else was sent with a decision, where marks of its metrics may stand (`figures`).

    These are the fields of the decision and of the execution, and the state that a graph sends with the decision.
    """
    decided = record_of(decision)
    others = dict(record_of(decided.get("state")))
    others |= {name: value for name, value in decided.items() if name != "state"}
    others |= {name: value for name, value in record_of(execution).items() if name != "metrics"}
    return others


def as_sentence(value: Json) -> str | None:
    """Return a value as one sentence, None for an empty one: "too slow" -> "too slow.", {"p95": 3} -> '{"p95": 3}.'."""
    if value in (None, "", [], {}):
        return None
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = one_line(written)[:_MOST_SHOWN]
    if text.endswith((".", "!", "?")):
        return text
    return f"{text}."


def markdown(sections: Mapping[str, str]) -> str:
    """Return sections as one text of Markdown; the first heading is its title (`#`), the others are below it (`##`)."""
    parts = [f"## {title}\n\n{body}" for title, body in sections.items()]
    return "\n\n".join(parts).removeprefix("#")


def fallback(decision: Decision, metrics: Mapping[str, object], message: str) -> str:
    """Return the text to store where a language model was asked to reflect on a decision and failed with `message`."""
    listed = ", ".join(f"{name} {value}" for name, value in metrics.items()) or "none"
    return (
        f"A language model was to reflect on the decision to {decision.action} '{decision.component}' and failed: "
        f"{as_sentence(message) or ''} Metrics: {listed[:_MOST_SHOWN]}. Where to look: `mcp-reflect doctor`, the setting "
        "MCP_REFLECT_LLM, and the server's log."
    )


def _advice(decision: Decision, *, has_figures: bool) -> str:
    """Return the advice that fits the action: a component that was killed is neither measured nor improved."""
    if decision.action == "keep" and not has_figures:
        return f"Measure '{decision.component}' next time: no figures were given."
    compare = ""
    after = ""
    if has_figures:
        compare = ", and compare the next figures with these"
        after = ", and compare the figures without it with these"
    words = _ADVICE.get(decision.action, _OTHER_ADVICE)
    return words.format(
        action=decision.action, component=decision.component, compare=compare, after=after
    )


def _bullets(lines: Sequence[str]) -> str:
    """Return lines as the items of a list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)
