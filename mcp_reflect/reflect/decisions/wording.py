"""What rules write about a decision, from its metrics alone, under fixed headings.

Every comparative sentence is true of the numbers it quotes; where a number is not known, it says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.decision import Decision, Measure
from mcp_reflect.models.reflection import Assessment, Insights
from mcp_reflect.reflect.decisions.metrics import Standing, compared, shown, standing, verdicts

ANALYSIS: Final = "Decision Analysis"
EXECUTION: Final = "Execution Assessment"
STRENGTHS: Final = "Strengths"
IMPROVEMENTS: Final = "Areas for Improvement"
PATTERNS: Final = "Patterns and Insights"
RECOMMENDATION: Final = "Recommendation"
SURE_FROM: Final = 3  # comparisons that agree make the assessment sure; fewer a medium one

_DOING: Final = {"keep": "Keeping", "kill": "Killing", "marry": "Marrying"}
_STANDS: Final[dict[Standing, str]] = {
    "good": "every metric that has a mark holds it (its threshold, or else what it was before)",
    "bad": "every metric that has a mark misses it (its threshold, or else what it was before)",
    "mixed": "one metric holds its mark (its threshold, or else what it was before) and one misses it",
    "unknown": "there is nothing to compare its metrics with",
}
# By action and standing: what that makes of the decision, and what to do next.
_MEANS: Final[dict[tuple[str, Standing], tuple[str, str, bool | None]]] = {
    ("keep", "good"): ("the metrics speak for keeping it", "Keep it, and measure again after the next change.", True),
    ("keep", "bad"): ("the metrics speak against keeping it", "Mend what is worse, or decide again.", False),
    ("keep", "mixed"): ("the metrics do not settle it", "Mend what is worse before relying on it.", None),
    ("kill", "good"): ("the metrics speak against killing it", "Say what the metrics miss, or keep it.", False),
    ("kill", "bad"): ("the metrics speak for killing it", "Remove it, and check that what used it still works.", True),
    ("kill", "mixed"): ("the metrics do not settle it", "Keep what is better in mind when replacing it.", None),
    ("marry", "good"): ("the metrics speak for committing to it", "Commit to it, and write down these figures.", True),
    ("marry", "bad"): ("the metrics speak against committing to it", "Do not commit before it meets its marks.", False),
    ("marry", "mixed"): ("the metrics do not settle it", "Mend what is worse before committing to it.", None),
}
_OPEN: Final = ("the metrics cannot say", "Measure latency and accuracy before and after, and decide by them.", None)
_GENERAL: Final = (
    "rules know no more about this action",
    "Say what it was to bring, and compare that with this.",
    None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What rules write about a decision: in short, by heading, and what follows from it."""

    text: str
    insights: Insights
    assessment: Assessment
    recommendation: str


def write(
    decision: Decision, found: Sequence[Measure], others: Sequence[tuple[str, str]], findings: Sequence[str] = ()
) -> Written:
    """The reflection on a decision; `findings` are what rules saw in the events."""
    how = standing(list(found))
    means, advice, appropriate = _meaning(decision.action, how)
    doing = _DOING.get(decision.action, f"The action '{decision.action}' on")
    analysis = f"{doing} '{decision.component}': {_STANDS[how]}, so {means}."
    if (decision.action, how) not in _MEANS:
        analysis = f"{doing} '{decision.component}': {_STANDS[how]}; {means}."
    sentences = [sentence for one in found for sentence in told(one)]
    good = tuple(sentence for sentence in sentences if " is better than " in sentence)
    bad = tuple(sentence for sentence in sentences if " is worse than " in sentence)
    title = f"Reflection on {decision.action.capitalize()} Decision for Component '{decision.component}'"
    sections = {
        title: analysis,
        ANALYSIS: f"Decided: {decision.action} '{decision.component}'. {_counted(found)}",
        EXECUTION: "\n".join(_lines(found, others)),
        STRENGTHS: _bullets(good, "No comparison came out better."),
        IMPROVEMENTS: _bullets(bad, "No comparison came out worse."),
        PATTERNS: "\n".join([*_trends(found), *findings]) or "Nothing to compare over time.",
        RECOMMENDATION: advice,
    }
    text = " ".join([analysis, *sentences])
    effective = {"good": True, "bad": False}.get(how)
    return Written(
        text=text,
        insights=Insights(strengths=good, improvements=bad, recommendation=advice, raw_sections=sections),
        assessment=Assessment(
            decision_appropriate=appropriate, execution_effective=effective, confidence=_sure(found, how)
        ),
        recommendation=advice,
    )


def markdown(sections: Mapping[str, str]) -> str:
    """Sections as one text; the first heading is the title."""
    parts = [f"{'#' if place == 0 else '##'} {title}\n\n{body}" for place, (title, body) in enumerate(sections.items())]
    return "\n\n".join(parts)


def told(one: Measure) -> list[str]:
    """A measure against before and against its threshold: two sentences, both always there."""
    name = one.name.capitalize()
    if one.value is None:
        return [f"{name} was given as '{one.given}', which cannot be compared."]
    value = shown(one.value)
    lines: list[str] = []
    for mark, words in ((one.before, "before"), (one.threshold, "the threshold")):
        if mark is None:
            missing = "earlier value" if words == "before" else "threshold"
            lines.append(f"{name} {value} has no {missing} to compare with.")
            continue
        how = compared(one.name, one.value, mark)
        which = "the same as" if how == "same" else f"{how} than"
        lines.append(f"{name} {value} is {which} {words} ({shown(mark)}).")
    return lines


def fallback(decision: Decision, metrics: Mapping[str, object], message: str) -> str:
    """What is kept where a language model was to reflect on a decision and failed."""
    given = ", ".join(f"{name} {value}" for name, value in metrics.items()) or "none"
    return (
        f"A language model was to reflect on the decision to {decision.action} '{decision.component}' and failed: "
        f"{message} Metrics: {given[:300]}. Where to look: `mcp-reflect doctor`, the setting MCP_REFLECT_LLM, and the "
        "server's log."
    )


def _meaning(action: str, how: Standing) -> tuple[str, str, bool | None]:
    if action not in _DOING:
        return _GENERAL
    return _MEANS.get((action, how), _OPEN)


def _counted(found: Sequence[Measure]) -> str:
    said = [verdict for one in found for verdict in verdicts(one)]
    if not said:
        return "No comparison with an earlier value or a threshold can be made."
    return (
        f"Of {len(said)} comparisons with earlier values and thresholds {said.count('better')} came out better, "
        f"{said.count('worse')} worse, {said.count('same')} the same."
    )


def _lines(found: Sequence[Measure], others: Sequence[tuple[str, str]]) -> list[str]:
    """Latency and accuracy always have their line."""
    by_name = {one.name: " ".join(told(one)) for one in found}
    lines = [f"- Latency: {by_name.get('latency', 'not measured.')}"]
    lines.append(f"- Accuracy: {by_name.get('accuracy', 'not measured.')}")
    return [*lines, *(f"- {name}: {value}" for name, value in others)]


def _bullets(sentences: Sequence[str], none: str) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences) or none


def _trends(found: Sequence[Measure]) -> list[str]:
    lines: list[str] = []
    for one in found:
        if one.value is not None and one.before is not None:
            way = "stayed at" if one.value == one.before else "rose" if one.value > one.before else "fell"
            change = "" if way == "stayed at" else f" from {shown(one.before)} to"
            lines.append(f"{one.name.capitalize()} {way}{change} {shown(one.value)}.")
    return lines


def _sure(found: Sequence[Measure], how: Standing) -> str | None:
    """Null with nothing to compare, low where the marks disagree, else by how many comparisons agree."""
    said = [verdict for one in found for verdict in verdicts(one)]
    if how == "unknown":
        return None
    if how == "mixed" or {"better", "worse"} <= set(said):
        return "low"
    return "high" if len(said) >= SURE_FROM else "medium"
