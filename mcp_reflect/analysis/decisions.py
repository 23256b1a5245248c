"""Decisions and their execution: ordered checks, metrics against thresholds, and the text by rules."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mcp_reflect.models.common import Json
from mcp_reflect.models.decision import ACTIONS, Check, Checked, Decision, Measure, Validation
from mcp_reflect.models.reflection import Assessment, Insights

# The ordered checks of a decision and its execution. A failed one ends them: what comes after rests on it.


LONGEST: Final = 200
"""Characters of an action or a component."""
_SHOWN: Final = 80  # characters of what was sent that a fault quotes


def validate(decision: Json, execution: Json, allowed: Sequence[str] = ACTIONS) -> Validation:
    """Run the checks in order up to the first that fails."""
    done: list[Checked] = []
    for check, fault in _checks(decision, execution, allowed):
        detail = fault()
        done.append(Checked(check=check, passed=detail is None, detail=detail))
        if detail is not None:
            return Validation(valid=False, failed_check=check, checks=tuple(done))
    return Validation(valid=True, checks=tuple(done))


def decision_of(decision: Json) -> Decision:
    """A decision that passed the checks, as the record."""
    assert isinstance(decision, dict)  # noqa: S101 - checked by `validate`
    return Decision(action=_action(decision), component=_flat(decision["component"]))


def _checks(
    decision: Json, execution: Json, allowed: Sequence[str]
) -> Iterator[tuple[Check, Callable[[], str | None]]]:
    yield Check.PRESENCE, lambda: "There is an execution and no decision." if decision is None else None
    yield Check.STATE_ERRORS, lambda: _error_in("decision", decision) or _error_in("execution", execution)
    yield Check.STRUCTURE, lambda: _structure(decision, execution)
    yield Check.REQUIRED_FIELDS, lambda: _missing(decision)
    yield Check.ALLOWED_ACTION, lambda: _not_allowed(decision, allowed)
    yield Check.SAME_COMPONENT, lambda: _other_component(decision, execution)


def _error_in(name: str, value: Json) -> str | None:
    error = (value.get("error") or value.get("error_message")) if isinstance(value, dict) else None
    return f"{name}.error says: {str(error)[:300]}" if error else None


def _structure(decision: Json, execution: Json) -> str | None:
    if not isinstance(decision, dict):
        return f"decision is {_kind(decision)}, not an object."
    if execution is not None and not isinstance(execution, dict):
        return f"execution is {_kind(execution)}, not an object."
    metrics = execution.get("metrics") if isinstance(execution, dict) else None
    if metrics is not None and not isinstance(metrics, dict):
        return f"execution.metrics is {_kind(metrics)}, not an object."
    return None


def _missing(decision: Json) -> str | None:
    assert isinstance(decision, dict)  # noqa: S101 - checked before
    for name in ("action", "component"):
        value = decision.get(name)
        if value is None or value == "":
            return f"decision.{name} is missing."
        if not isinstance(value, str):
            return f"decision.{name} is {_kind(value)}, not text."
        if not value.strip():
            return f"decision.{name} is empty."
        if len(value) > LONGEST:
            return f"decision.{name} has {len(value)} characters, more than {LONGEST}."
    return None


def _not_allowed(decision: Json, allowed: Sequence[str]) -> str | None:
    action = _action(decision)
    if action in {name.strip().lower() for name in allowed}:
        return None
    return f"'{action[:_SHOWN]}' is not allowed; allowed are {', '.join(allowed)}."


def _other_component(decision: Json, execution: Json) -> str | None:
    """An execution that names no component leaves open which one it used; that is no fault."""
    assert isinstance(decision, dict)  # noqa: S101 - checked before
    used = execution.get("component") if isinstance(execution, dict) else None
    decided = _flat(decision["component"])
    if used is None or _flat(used) == decided:
        return None
    return f"The decision is about '{decided[:_SHOWN]}', and '{_flat(used)[:_SHOWN]}' was executed."


def _flat(name: Json) -> str:
    """A name on one line."""
    return " ".join(str(name).split())


def _action(decision: Json) -> str:
    assert isinstance(decision, dict)  # noqa: S101 - checked before
    return _flat(decision["action"]).lower()


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a number"


# The metrics of an execution, against what they were before and against their thresholds.
#
# Lower is better for latency, higher for accuracy. A number is only compared where it can be what it is said to be: a
# latency is not negative, an accuracy is in 0..1. Of other metrics nobody says which way is better: they are only
# told.


LATENCY: Final = "latency"
ACCURACY: Final = "accuracy"
JUDGED: Final = (LATENCY, ACCURACY)
Verdict = Literal["better", "worse", "same"]
Standing = Literal["good", "bad", "mixed", "unknown"]

_BEFORE: Final = ("before", "previous", "baseline")
_THRESHOLD: Final = ("threshold", "thresholds", "target")
_TOLD: Final = 6  # other metrics that are told


def measures(
    metrics: Mapping[str, Json], earlier: Mapping[str, Json], thresholds: Mapping[str, float]
) -> list[Measure]:
    """Latency and accuracy, as far as they are given.

    What they were before is in the metrics themselves (`latency_before`, `previous_latency`, `before: {latency}`),
    else in `earlier`; so are thresholds (`latency_threshold`, `threshold: {latency}`), else in `thresholds`.
    """
    found: list[Measure] = []
    for name in JUDGED:
        if metrics.get(name) is None:
            continue
        value = _usable(name, metrics[name])
        before = _usable(name, _beside(metrics, name, _BEFORE, earlier.get(name)))
        threshold = _usable(name, _beside(metrics, name, _THRESHOLD, thresholds.get(name)))
        if value is None:
            found.append(Measure(name=name, given=str(metrics[name])[:60]))
        else:
            found.append(Measure(name=name, value=value, before=before, threshold=threshold))
    return found


def others(metrics: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Metrics that are neither of the two nor about them, as name and text."""
    words = (*_BEFORE, *_THRESHOLD)
    about = {
        *JUDGED,
        *words,
        *(f"{a}_{b}" for name in JUDGED for word in words for a, b in ((name, word), (word, name))),
    }
    found = [
        (name, shown(number) if (number := _number(value)) is not None else str(value))
        for name, value in metrics.items()
        if name not in about
    ]
    return [(name[:40], text[:40]) for name, text in found[:_TOLD]]


def compared(name: str, value: float, mark: float) -> Verdict:
    """Whether `value` is better than `mark`, by the direction in which that metric is good."""
    if value == mark:
        return "same"
    return "better" if (value < mark) == (name == LATENCY) else "worse"


def verdicts(measure: Measure) -> list[Verdict]:
    """Every comparison that can be made of a measure: with before, with the threshold."""
    value = measure.value
    marks = (measure.before, measure.threshold)
    return [] if value is None else [compared(measure.name, value, mark) for mark in marks if mark is not None]


def standing(found: list[Measure]) -> Standing:
    """How the measures stand to their marks (the threshold, else before): all at least as good, all worse, or mixed."""
    said = [
        compared(one.name, one.value, mark)
        for one in found
        if one.value is not None
        for mark in (one.before if one.threshold is None else one.threshold,)
        if mark is not None
    ]
    if not said:
        return "unknown"
    bad = said.count("worse")
    return "good" if bad == 0 else "bad" if bad == len(said) else "mixed"


def shown(number: float) -> str:
    """A number as briefly as it can be written without becoming another one."""
    brief = f"{number:g}"
    return brief if float(brief) == number else repr(number)


def _beside(metrics: Mapping[str, Json], name: str, words: tuple[str, ...], otherwise: Json) -> Json:
    for word in words:
        for key in (f"{name}_{word}", f"{word}_{name}"):
            if key in metrics:
                return metrics[key]
        inner = metrics.get(word)
        if isinstance(inner, dict) and name in inner:
            return inner[name]
    return otherwise


def _usable(name: str, value: Json) -> float | None:
    number = _number(value)
    if number is None or number < 0 or (name == ACCURACY and number > 1):
        return None
    return number


def _number(value: Json) -> float | None:
    """A finite number, or a text that is one (`0.85`, `85 %`); null for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = value.strip() if isinstance(value, str) else ""
    try:
        number = float(text.rstrip("% ")) / (100 if text.endswith("%") else 1) if text else float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# What rules write about a decision, from its metrics alone, under fixed headings.
#
# Every comparative sentence is true of the numbers it quotes; where a number is not known, it says so.


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
