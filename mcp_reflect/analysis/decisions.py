"""Decisions and their execution: ordered checks, metrics against their marks, and the reflection that rules write."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mcp_reflect.models.common import Json
from mcp_reflect.models.decision import ACTIONS, Check, Checked, Decision, Measure, Validation
from mcp_reflect.models.reflection import Assessment, Insights

LONGEST: Final = 200
"""Characters of an action or a component."""
_SHOWN: Final = 80  # characters of a sent value in a fault


def validate(
    decision: Json, execution: Json, allowed: Sequence[str] = ACTIONS, state: Mapping[str, Json] | None = None
) -> Validation:
    """Run the checks in the order of `Check`, up to the first that fails. The errors of a `state` of a graph count."""
    made, done = (value if isinstance(value, dict) else {} for value in (decision, execution))
    objects = {"decision": decision, "execution": execution, "execution.metrics": done.get("metrics")}
    action, component = _one_line(made.get("action")).lower(), _one_line(made.get("component"))
    used = _one_line(done.get("component") or component)  # an execution need not name it
    faults: dict[Check, list[str | None]] = {
        Check.PRESENCE: ["There is an execution and no decision." if decision is None else None],
        Check.STATE_ERRORS: [
            f"{name}.error says: {str(error)[:300]}"
            for name, value in (("state", state or {}), ("decision", made), ("execution", done))
            if (error := value.get("error") or value.get("error_message"))
        ],
        Check.STRUCTURE: [
            f"{name} is {_kind(value)}, not an object."
            for name, value in objects.items()
            if not isinstance(value, dict) and (value is not None or name == "decision")
        ],
        Check.REQUIRED_FIELDS: [_text_fault(f"decision.{name}", made.get(name)) for name in ("action", "component")],
        Check.ALLOWED_ACTION: [
            f"'{action[:_SHOWN]}' is not allowed; allowed are {', '.join(allowed)}."
            if action not in [name.strip().lower() for name in allowed]
            else None
        ],
        Check.SAME_COMPONENT: [
            f"The decision is about '{component[:_SHOWN]}', and '{used[:_SHOWN]}' was executed."
            if used != component
            else None
        ],
    }
    checks: list[Checked] = []
    for check, details in faults.items():
        detail = next(filter(None, details), None)
        checks.append(Checked(check=check, passed=detail is None, detail=detail))
        if detail is not None:
            return Validation(valid=False, failed_check=check, checks=tuple(checks))
    return Validation(valid=True, checks=tuple(checks))


def decision_of(decision: Json) -> Decision:
    """The record of a decision that passed the checks."""
    assert isinstance(decision, dict)  # noqa: S101 - checked by `validate`
    return Decision(action=_one_line(decision["action"]).lower(), component=_one_line(decision["component"]))


def _text_fault(field: str, value: Json) -> str | None:
    if value is None or value == "":
        return f"{field} is missing."
    if not isinstance(value, str):
        return f"{field} is {_kind(value)}, not text."
    if not value.strip():
        return f"{field} is empty."
    return f"{field} has {len(value)} characters, more than {LONGEST}." if len(value) > LONGEST else None


def _one_line(name: Json) -> str:
    return " ".join(str(name).split())


def _kind(value: Json) -> str:
    names: dict[type, str] = {bool: "true or false", str: "text", list: "a list", type(None): "null"}
    return names.get(type(value), "a number")


# The metrics of an execution, compared with earlier values and with thresholds. Lower is better for latency, higher
# for accuracy. A value that cannot be one (a negative latency, an accuracy above 1) and other metrics are only shown.

LATENCY: Final = "latency"
ACCURACY: Final = "accuracy"
Verdict = Literal["better", "worse", "same"]
Summary = Literal["good", "bad", "mixed", "unknown"]

_BEFORE: Final = ("before", "previous", "baseline")
_THRESHOLD: Final = ("threshold", "thresholds", "target")
_MOST_OTHERS: Final = 6


def measures(
    metrics: Mapping[str, Json], earlier: Mapping[str, Json], thresholds: Mapping[str, float]
) -> list[Measure]:
    """Latency and accuracy, as far as they are given.

    Earlier values stand in the metrics themselves (`latency_before`, `previous_latency`, `before: {latency}`), else in
    `earlier`; thresholds likewise (`latency_threshold`, `threshold: {latency}`), else in `thresholds`.
    """
    measured: list[Measure] = []
    for name in (LATENCY, ACCURACY):
        value = _usable(name, metrics.get(name))
        if value is not None:
            before = _usable(name, _mark(metrics, name, _BEFORE, earlier.get(name)))
            threshold = _usable(name, _mark(metrics, name, _THRESHOLD, thresholds.get(name)))
            measured.append(Measure(name=name, value=value, before=before, threshold=threshold))
        elif metrics.get(name) is not None:
            measured.append(Measure(name=name, given=str(metrics[name])[:60]))
    return measured


def others(metrics: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Name and text of at most six metrics that are neither latency nor accuracy nor marks of these."""
    marks = (*_BEFORE, *_THRESHOLD)
    about = {LATENCY, ACCURACY, *marks}
    about |= {key for name in (LATENCY, ACCURACY) for mark in marks for key in (f"{name}_{mark}", f"{mark}_{name}")}
    numbers = [(name, value, _number(value)) for name, value in metrics.items() if name not in about][:_MOST_OTHERS]
    return [(name[:40], (str(value) if number is None else shown(number))[:40]) for name, value, number in numbers]


def shown(number: float) -> str:
    """A number as briefly as it can be written without becoming another one."""
    brief = f"{number:g}"
    return brief if float(brief) == number else repr(number)


def _mark(metrics: Mapping[str, Json], name: str, words: tuple[str, ...], otherwise: Json) -> Json:
    for word in words:
        inner = metrics.get(word)
        nested = inner if isinstance(inner, dict) else {}
        for values, key in ((metrics, f"{name}_{word}"), (metrics, f"{word}_{name}"), (nested, name)):
            if key in values:
                return values[key]
    return otherwise


def _usable(name: str, value: Json) -> float | None:
    number = _number(value)
    return None if number is None or number < 0 or (name == ACCURACY and number > 1) else number


def _number(value: Json) -> float | None:
    """A finite number, or a text that is one (`0.85`, `85 %`); None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    try:
        number = float(text.rstrip("% ")) / (100 if text.endswith("%") else 1)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _compared(measure: Measure, mark: float | None) -> Verdict | None:
    """The verdict on a measure by the direction in which its metric is good; None without a value or a mark."""
    if measure.value is None or mark is None:
        return None
    if measure.value == mark:
        return "same"
    return "better" if (measure.value < mark) == (measure.name == LATENCY) else "worse"


def _summary(measured: Sequence[Measure]) -> Summary:
    """How the measures compare with their thresholds, or with their earlier values where they have no threshold."""
    verdicts = [_compared(item, item.before if item.threshold is None else item.threshold) for item in measured]
    known = {verdict for verdict in verdicts if verdict is not None}
    if not known:
        return "unknown"
    return "good" if "worse" not in known else "bad" if known == {"worse"} else "mixed"


# The reflection. Every comparative sentence is true of the numbers in it.

_SURE_FROM: Final = 3  # comparisons that agree give high confidence; fewer give medium
_DOING: Final = {"keep": "Keeping", "kill": "Killing", "marry": "Marrying"}
_COMPARISONS: Final[dict[Summary, str]] = {
    "good": "every metric that has a mark holds it (its threshold, or else its earlier value)",
    "bad": "every metric that has a mark misses it (its threshold, or else its earlier value)",
    "mixed": "one metric holds its mark (its threshold, or else its earlier value) and one misses it",
    "unknown": "there is nothing to compare its metrics with",
}
# By action and comparison: what follows for the decision, the advice, and whether the decision was appropriate.
_FOLLOWS: Final[dict[tuple[str, Summary], tuple[str, str, bool | None]]] = {
    ("keep", "good"): ("the metrics speak for keeping it", "Keep it, and measure again after the next change.", True),
    ("keep", "bad"): ("the metrics speak against keeping it", "Improve what is worse, or decide again.", False),
    ("kill", "good"): ("the metrics speak against killing it", "Say what the metrics miss, or keep it.", False),
    ("kill", "bad"): ("the metrics speak for killing it", "Remove it, and check that its users still work.", True),
    ("marry", "good"): ("the metrics speak for committing to it", "Commit to it, and write down these figures.", True),
    ("marry", "bad"): ("the metrics speak against committing to it", "Do not commit before it meets its marks.", False),
}
_MIXED: Final = ("the metrics do not settle it", "Improve what is worse before relying on it.", None)
_OPEN: Final = ("the metrics cannot say", "Measure latency and accuracy before and after, and decide by them.", None)
_OTHER_ACTION: Final = ("rules know no more about this action", "Compare its purpose with these figures.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The reflection of rules on a decision: in short, and by heading."""

    text: str
    insights: Insights
    assessment: Assessment


def write(
    decision: Decision, measured: Sequence[Measure], others: Sequence[tuple[str, str]], findings: Sequence[str] = ()
) -> Written:
    """Write the reflection on a decision; `findings` are sentences of rules on the events."""
    summary = _summary(measured)
    told = {measure.name: _comparisons(measure) for measure in measured}
    comparisons = [comparison for about in told.values() for comparison in about]
    verdicts = [verdict for _, verdict in comparisons if verdict]
    otherwise = _MIXED if summary == "mixed" else _OPEN
    known = decision.action in _DOING
    follows, advice, appropriate = _FOLLOWS.get((decision.action, summary), otherwise) if known else _OTHER_ACTION
    doing = _DOING.get(decision.action, f"The action '{decision.action}' on")
    analysis = f"{doing} '{decision.component}': {_COMPARISONS[summary]}; {follows}."
    sentences = [sentence for sentence, _ in comparisons]
    good, bad = (tuple(text for text, verdict in comparisons if verdict == which) for which in ("better", "worse"))
    by_metric = {name: " ".join(text for text, _ in about) for name, about in told.items()}
    lines = [f"{name.capitalize()}: {by_metric.get(name, 'not measured.')}" for name in (LATENCY, ACCURACY)]
    counted = "No comparison with an earlier value or a threshold can be made."
    if verdicts:
        counted = (
            f"Of {len(verdicts)} comparisons with earlier values and thresholds {verdicts.count('better')} came out "
            f"better, {verdicts.count('worse')} worse, {verdicts.count('same')} the same."
        )
    sections = {
        f"Reflection on {decision.action.capitalize()} Decision for Component '{decision.component}'": analysis,
        "Decision Analysis": f"Decided: {decision.action} '{decision.component}'. {counted}",
        "Execution Assessment": _bullets([*lines, *(f"{name}: {value}" for name, value in others)]),
        "Strengths": _bullets(good) or "No comparison came out better.",
        "Areas for Improvement": _bullets(bad) or "No comparison came out worse.",
        "Patterns and Insights": "\n".join(filter(None, [*map(_trend, measured), *findings]))
        or "Nothing to compare over time.",
        "Recommendation": advice,
    }
    disagree = summary == "mixed" or {"better", "worse"} <= {*verdicts}
    confidence = "low" if disagree else "high" if len(verdicts) >= _SURE_FROM else "medium"
    assessment = Assessment(
        decision_appropriate=appropriate,
        execution_effective={"good": True, "bad": False}.get(summary),
        confidence=None if summary == "unknown" else confidence,
    )
    insights = Insights(strengths=good, improvements=bad, recommendation=advice, raw_sections=sections)
    return Written(text=" ".join([analysis, *sentences]), insights=insights, assessment=assessment)


def markdown(sections: Mapping[str, str]) -> str:
    """Sections as one text; the first heading is the title."""
    parts = [f"{'#' if place == 0 else '##'} {title}\n\n{body}" for place, (title, body) in enumerate(sections.items())]
    return "\n\n".join(parts)


def fallback(decision: Decision, metrics: Mapping[str, object], message: str) -> str:
    """The text to store where a language model was asked to reflect on a decision and failed with `message`."""
    listed = ", ".join(f"{name} {value}" for name, value in metrics.items()) or "none"
    return (
        f"A language model was to reflect on the decision to {decision.action} '{decision.component}' and failed: "
        f"{message} Metrics: {listed[:300]}. Where to look: `mcp-reflect doctor`, the setting MCP_REFLECT_LLM, and the "
        "server's log."
    )


def _comparisons(measure: Measure) -> list[tuple[str, Verdict | None]]:
    """A measure compared with its earlier value and with its threshold, in sentences; both are there for a number."""
    name = measure.name.capitalize()
    if measure.value is None:
        return [(f"{name} was given as '{measure.given}', which cannot be compared.", None)]
    told: list[tuple[str, Verdict | None]] = []
    for mark, words, missing in (
        (measure.before, "before", "earlier value"),
        (measure.threshold, "the threshold", "threshold"),
    ):
        verdict = _compared(measure, mark)
        which = "the same as" if verdict == "same" else f"{verdict} than"
        result = f"has no {missing} to compare with" if mark is None else f"is {which} {words} ({shown(mark)})"
        told.append((f"{name} {shown(measure.value)} {result}.", verdict))
    return told


def _trend(measure: Measure) -> str | None:
    before, value = measure.before, measure.value
    if value is None or before is None:
        return None
    change = "stayed at" if value == before else f"{'rose' if value > before else 'fell'} from {shown(before)} to"
    return f"{measure.name.capitalize()} {change} {shown(value)}."


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
