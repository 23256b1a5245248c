"""The metrics of an execution, against what they were before and against their thresholds.

Lower is better for latency, higher for accuracy. A number is only compared where it can be what it is said to be: a
latency is not negative, an accuracy is in 0..1. Of other metrics nobody says which way is better: they are only told.
"""

import math
from collections.abc import Mapping
from typing import Final, Literal

from mcp_reflect.models.common import Json
from mcp_reflect.models.decision import Measure

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
