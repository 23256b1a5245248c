"""The reflection on a decision that nobody judged: its facts under the headings that callers look for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.decisions.checks import one_line, record_of
from mcp_reflect.decisions.figures import Metric
from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import Decision, Insights

_TOLD: Final = 300  # characters of a reason or a result
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
class Told:
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
) -> Told:
    """Fill the document's template with what was sent; `findings` are facts of the events. No verdict is given."""
    action, component = decision.action, decision.component
    made = f"The {action} decision for component '{component}' was made"
    made += f" with this reason: {reason}" if reason else " without a reason."
    returned = f"returned: {result}" if result else "returned no result."
    lines = [metric.line for metric in metrics]
    given = " ".join(metric.name.lower() for metric in metrics)
    lines += [f"{name.capitalize()}: not given" for name in _ALWAYS_LISTED if name not in given]
    compared = [sentence for metric in metrics for sentence in metric.comparisons()]
    patterns = [*compared, *findings]
    advice = _advice(decision, has_figures=bool(metrics))
    sections = {
        f"Reflection on {action.capitalize()} Decision for Component '{component}'": (
            "The facts side by side. Nobody has judged them yet."
        ),
        "Decision Analysis": f"{made} Whether it was appropriate is not judged.",
        "Execution Assessment": (
            f"The execution using component '{component}' {returned} Whether it was effective is not judged.\n"
            f"{_bullets(lines)}"
        ),
        "Strengths": _NOT_JUDGED,
        "Areas for Improvement": _NOT_JUDGED,
        "Patterns and Insights": _bullets(patterns) or "Nothing to compare with was named.",
        "Recommendation": advice,
    }
    short = [f"Decided: {action} '{component}'."]
    short += [f"The reason given: {reason}"] if reason else []
    short += [f"Result: {result}"] if result else []
    short += [f"{metric.line}." for metric in metrics]
    return Told(
        text=" ".join([*short, *patterns]),
        insights=Insights(recommendation=advice, raw_sections=sections),
    )


def said_of(decision: Json, execution: Json) -> tuple[str | None, str | None]:
    """The reason of a decision and the result of its execution, as sentences; None where none was sent."""
    made = record_of(decision)
    reason = next((made[name] for name in _REASONS if made.get(name)), None)
    return as_sentence(reason), as_sentence(record_of(execution).get("result"))


def metrics_of(execution: Json) -> Mapping[str, Json]:
    """The metrics of an execution."""
    return record_of(record_of(execution).get("metrics"))


def others_of(decision: Json, execution: Json) -> dict[str, Json]:
    """What else was sent with a decision, in which marks of metrics may stand.

    The fields of the decision and of the execution, and the state that a graph sends with it.
    """
    made, done = record_of(decision), record_of(execution)
    own = {name: value for name, value in done.items() if name != "metrics"}
    fields = {name: value for name, value in made.items() if name != "state"}
    return {**record_of(made.get("state")), **fields, **own}


def as_sentence(value: Json) -> str | None:
    """A value as one sentence, None for an empty one."""
    if value in (None, "", [], {}):
        return None
    text = one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    text = text[:_TOLD]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def markdown(sections: Mapping[str, str]) -> str:
    """Sections as one text; the first heading is the title."""
    parts = [
        f"{'#' if place == 0 else '##'} {title}\n\n{body}"
        for place, (title, body) in enumerate(sections.items())
    ]
    return "\n\n".join(parts)


def fallback(decision: Decision, metrics: Mapping[str, object], message: str) -> str:
    """The text to store where a language model was asked to reflect on a decision and failed with `message`."""
    listed = ", ".join(f"{name} {value}" for name, value in metrics.items()) or "none"
    return (
        f"A language model was to reflect on the decision to {decision.action} '{decision.component}' and failed: "
        f"{as_sentence(message) or ''} Metrics: {listed[:300]}. Where to look: `mcp-reflect doctor`, the setting "
        "MCP_REFLECT_LLM, and the server's log."
    )


def _advice(decision: Decision, *, has_figures: bool) -> str:
    """What fits the action: what was killed is neither measured nor improved."""
    if decision.action == "keep" and not has_figures:
        return f"Measure '{decision.component}' next time: no figures were given."
    compare = ", and compare the next figures with these" if has_figures else ""
    after = ", and compare the figures without it with these" if has_figures else ""
    words = _ADVICE.get(decision.action, _OTHER_ADVICE)
    return words.format(
        action=decision.action, component=decision.component, compare=compare, after=after
    )


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
