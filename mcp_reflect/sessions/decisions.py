"""Decisions and their execution: ordered checks, metrics against their marks, and the reflection that rules write."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import (
    ACTIONS,
    Assessment,
    Checked,
    Decision,
    Insights,
    Measure,
    Validation,
)

LONGEST: Final = 200
"""Characters of an action or a component."""
_TOLD: Final = 300  # characters of a reason or a result
_SHOWN: Final = 80  # characters of a sent value in a fault


def validate(
    decision: Json,
    execution: Json,
    allowed: Sequence[str] = ACTIONS,
    state: Mapping[str, Json] | None = None,
) -> Validation:
    """Run the checks in their order, up to the first that fails. The errors of a `state` of a graph count."""
    made, done = _record(decision), _record(execution)
    objects = {
        "decision": decision,
        "execution": execution,
        "execution.metrics": done.get("metrics"),
    }
    errors = {name: value.get("error") or value.get("error_message") for name, value in
              (("state", state or {}), ("decision", made), ("execution", done))}  # fmt: skip
    action, component = _one_line(made.get("action")).lower(), _one_line(made.get("component"))
    used = _one_line(done.get("component") or component)  # an execution need not name it
    absent = (
        "There is no decision." if execution is None else "There is an execution and no decision."
    )
    allows = action in [name.strip().lower() for name in allowed]
    faults: dict[str, list[str | None]] = {
        "presence": [absent if decision is None else None],
        "state_errors": [
            f"{name}.error says: {str(error)[:300]}" for name, error in errors.items() if error
        ],
        "structure": [
            f"{name} is {_kind(value)}, not an object."
            for name, value in objects.items()
            if not isinstance(value, dict) and (value is not None or name == "decision")
        ],
        "required_fields": [
            _text_fault(f"decision.{name}", made.get(name)) for name in ("action", "component")
        ],
        "allowed_action": [
            None
            if allows
            else f"'{action[:_SHOWN]}' is not allowed; allowed are {', '.join(allowed)}."
        ],
        "same_component": [
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
    made = _record(decision)
    return Decision(
        action=_one_line(made["action"]).lower(), component=_one_line(made["component"])
    )


def _record(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _text_fault(field: str, value: Json) -> str | None:
    if value is None or value == "":
        return f"{field} is missing."
    if not isinstance(value, str):
        return f"{field} is {_kind(value)}, not text."
    if not value.strip():
        return f"{field} is empty."
    return (
        f"{field} has {len(value)} characters, more than {LONGEST}."
        if len(value) > LONGEST
        else None
    )


def _one_line(name: Json) -> str:
    return " ".join(str(name).split())


def _kind(value: Json) -> str:
    names: tuple[tuple[type, str], ...] = (
        (bool, "true or false"),
        (str, "text"),
        (list, "a list"),
        (type(None), "null"),
    )
    return next((words for kind, words in names if isinstance(value, kind)), "a number")


# The metrics of an execution, compared with earlier values and with thresholds. Lower is better for latency, higher
# for accuracy. A value that cannot be one (a negative latency, an accuracy above 1) and other metrics are only shown.

LATENCY: Final = "latency"
ACCURACY: Final = "accuracy"

_BEFORE: Final = ("before", "previous", "baseline")
_THRESHOLD: Final = ("threshold", "thresholds", "target")
_MOST_OTHERS: Final = 6
_NUMBER: Final = re.compile(
    r"([-+]?\d{1,400}(?:\.\d{1,400})?(?:e[-+]?\d{1,4})?)\s*(%|ms|mil|s|min)?[a-z]{0,10}",
    re.IGNORECASE,
)
_MILLISECONDS: Final = {"ms": 1, "mil": 1, "s": 1_000, "min": 60_000}


def measures(
    metrics: Mapping[str, Json], earlier: Mapping[str, Json], thresholds: Mapping[str, float]
) -> list[Measure]:
    """Latency and accuracy, as far as they are given.

    Earlier values stand in the metrics themselves (`latency_before`, `previous_latency`, `before: {latency}`), else in
    `earlier`; thresholds likewise (`latency_threshold`, `threshold: {latency}`), else in `thresholds`. A latency with
    a unit is in milliseconds; a mark without one has the unit of its measure.
    """
    measured: list[Measure] = []
    for name in (LATENCY, ACCURACY):
        given = metrics.get(name)
        value, unit = _number(name, given)
        before, threshold = (
            _number(name, _mark(metrics, name, words, otherwise.get(name)), unit)[0]
            for words, otherwise in ((_BEFORE, earlier), (_THRESHOLD, thresholds))
        )
        if value is not None:
            measured.append(Measure(name=name, value=value, before=before, threshold=threshold))
        elif given is not None:
            measured.append(Measure(name=name, given=str(given)[:60]))
    return measured


def others(metrics: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Name and text of at most six metrics that are neither latency nor accuracy nor marks of these."""
    names, marks = (LATENCY, ACCURACY), (*_BEFORE, *_THRESHOLD)
    about = {
        *names,
        *marks,
        *(key for name in names for mark in marks for key in _keys(name, mark)),
    }
    kept = [(name, value) for name, value in metrics.items() if name not in about][:_MOST_OTHERS]
    return [(name[:40], str(value)[:40]) for name, value in kept]


def shown(number: float) -> str:
    """A number as briefly as it can be written without becoming another one."""
    brief = f"{number:g}"
    return brief if float(brief) == number else repr(number)


def _keys(name: str, mark: str) -> tuple[str, str]:
    return f"{name}_{mark}", f"{mark}_{name}"


def _mark(metrics: Mapping[str, Json], name: str, words: Sequence[str], otherwise: Json) -> Json:
    places = [(metrics, key) for word in words for key in _keys(name, word)]
    places += [(_record(metrics.get(word)), name) for word in words]
    return next((values[key] for values, key in places if key in values), otherwise)


def _number(name: str, value: Json, unit: int | None = None) -> tuple[float | None, int | None]:
    """A metric as a number (`0.85`, `85 %`, `340ms`), and the milliseconds of its unit; None where it has none."""
    plain = isinstance(value, int | float | str) and not isinstance(value, bool)
    match = _NUMBER.fullmatch(str(value).strip()) if plain else None
    if match is None:
        return None, None
    number, mark = float(match[1]), (match[2] or "").lower()
    own = _MILLISECONDS.get(mark)
    if mark == "%":
        number /= 100
    elif name == LATENCY:
        number *= own or unit or 1
    usable = 0 <= number < math.inf and (name == LATENCY or number <= 1)
    return number if usable else None, own


def _verdict(measure: Measure, mark: float | None) -> str:
    """`better`, `worse` or `the same`; empty where there is nothing to compare."""
    if measure.value is None or mark is None:
        return ""
    if measure.value == mark:
        return "the same"
    return "better" if (measure.value < mark) == (measure.name == LATENCY) else "worse"


# The reflection. Every comparative sentence is true of the numbers in it.

_VERDICTS: Final = ("better", "worse", "the same")
_SURE_FROM: Final = 3  # comparisons that agree give high confidence; fewer give medium
_SPEAKS_FOR: Final = {
    "keep": True,
    "kill": False,
    "marry": True,
}  # an action whose metrics hold their marks
_ADVICE: Final = {
    True: ("speak for it", "Go on as decided, and write down these figures."),
    False: ("speak against it", "Decide again, or say what the metrics miss."),
    None: ("do not settle it", "Measure both before and after, and decide by them."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The reflection of rules on a decision, in short and by heading. `settled`: metrics speak for or against it."""

    text: str
    insights: Insights
    assessment: Assessment
    settled: bool


def write(
    decision: Decision,
    measured: Sequence[Measure],
    others: Sequence[tuple[str, str]],
    findings: Sequence[str] = (),
    said: tuple[str | None, str | None] = (None, None),
) -> Written:
    """Write the reflection on a decision; `findings` are sentences of rules on the events.

    `said` are the reason of the decision and the result of its execution, in the words that were sent.
    """
    reason, result = said
    action, component = decision.action, decision.component
    told = [(item.name, *comparison) for item in measured for comparison in _comparisons(item)]
    by_verdict = {
        verdict: tuple(text for _, text, which in told if which == verdict) for verdict in _VERDICTS
    }
    better, worse, same = by_verdict.values()
    compared = len(better) + len(worse) + len(same)
    # A metric holds its threshold, or else its earlier value.
    marks = [
        _verdict(item, item.before if item.threshold is None else item.threshold)
        for item in measured
    ]
    held = {mark != "worse" for mark in marks if mark}
    effective = held.pop() if len(held) == 1 else None
    wanted = _SPEAKS_FOR.get(action)
    appropriate = None if effective is None or wanted is None else effective is wanted
    what = (
        "holds its mark in one metric and misses it in another"
        if held
        else "has nothing to be compared with"
    )
    if effective is not None:
        what = f"{'holds' if effective else 'misses'} the mark of every metric"
    speaks, advice = _ADVICE[appropriate]
    analysis = f"{action.capitalize()} '{component}': it {what}; the metrics {speaks}."
    if reason:
        analysis = f"{analysis} The reason given: {reason}"
    by_metric = {
        name: " ".join(text for about, text, _ in told if about == name)
        for name in (LATENCY, ACCURACY)
    }
    lines = [f"Result: {result}"] if result else []
    lines += [
        f"{name.capitalize()}: {about or 'not measured.'}" for name, about in by_metric.items()
    ]
    lines += [f"{name}: {value}" for name, value in others]
    counted = "No comparison with an earlier value or a threshold can be made."
    if compared:
        counted = (
            f"Of {compared} comparisons with earlier values and thresholds {len(better)} came out better, "
            f"{len(worse)} worse, {len(same)} the same."
        )
    trends = [*filter(None, map(_trend, measured)), *findings]
    sections = {
        f"Reflection on {action.capitalize()} Decision for Component '{component}'": analysis,
        "Decision Analysis": f"Decided: {action} '{component}'. {counted}",
        "Execution Assessment": _bullets(lines),
        "Strengths": _bullets(better) or "No comparison came out better.",
        "Areas for Improvement": _bullets(worse) or "No comparison came out worse.",
        "Patterns and Insights": "\n".join(trends) or "Nothing to compare over time.",
        "Recommendation": advice,
    }
    agreed = "high" if compared >= _SURE_FROM else "medium"
    confidence = "low" if held or (better and worse) else agreed
    assessment = Assessment(
        decision_appropriate=appropriate,
        execution_effective=effective,
        confidence=confidence if compared else None,
    )
    insights = Insights(
        strengths=better, improvements=worse, recommendation=advice, raw_sections=sections
    )
    text = " ".join([analysis, *(sentence for _, sentence, _ in told)])
    return Written(
        text=text, insights=insights, assessment=assessment, settled=appropriate is not None
    )


def said_of(decision: Json, execution: Json) -> tuple[str | None, str | None]:
    """The reason of a decision and the result of its execution, as sentences; None where none was sent."""
    made = _record(decision)
    reason = next(
        (made[name] for name in ("reason", "reasoning", "rationale") if made.get(name)), None
    )
    return _sentence(reason), _sentence(_record(execution).get("result"))


def metrics_of(execution: Json) -> Mapping[str, Json]:
    """The metrics of an execution."""
    return _record(_record(execution).get("metrics"))


def _sentence(value: Json) -> str | None:
    if value in (None, "", [], {}):
        return None
    text = _one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[
        :_TOLD
    ]
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
        f"{_sentence(message) or ''} Metrics: {listed[:300]}. Where to look: `mcp-reflect doctor`, the setting "
        "MCP_REFLECT_LLM, and the server's log."
    )


def _comparisons(measure: Measure) -> list[tuple[str, str]]:
    """A measure compared with its earlier value and with its threshold, in sentences; both are there for a number."""
    name = measure.name.capitalize()
    if measure.value is None:
        return [(f"{name} was given as '{measure.given}', which cannot be compared.", "")]
    told: list[tuple[str, str]] = []
    for mark, words in (
        (measure.before, ("before", "earlier value")),
        (measure.threshold, ("the threshold", "threshold")),
    ):
        verdict = _verdict(measure, mark)
        result = f"has no {words[1]} to compare with"
        if mark is not None:
            result = f"is {verdict} {'as' if verdict == 'the same' else 'than'} {words[0]} ({shown(mark)})"
        told.append((f"{name} {shown(measure.value)} {result}.", verdict))
    return told


def _trend(measure: Measure) -> str | None:
    before, value = measure.before, measure.value
    if value is None or before is None:
        return None
    change = (
        "stayed at"
        if value == before
        else f"{'rose' if value > before else 'fell'} from {shown(before)} to"
    )
    return f"{measure.name.capitalize()} {change} {shown(value)}."


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
