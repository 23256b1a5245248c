"""The metrics of an execution as they were sent, beside the marks that the caller names for them.

A *mark* is an earlier value or a threshold of a metric: `latency_before` and `latency_threshold` are marks of `latency`.
Only names that were sent count, no default. Two figures are compared where both are surely of one kind; whether more of
a metric is good is not said.
"""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.models.common import Json

MOST_METRICS: Final = 12
MOST_MARKS: Final = 4  # of one metric
MOST_SHOWN: Final = 60  # characters of a name or a value

MARK_WORDS: Final = frozenset(
    "before previous prior baseline last old earlier threshold thresholds target targets goal "
    "limit limits min minimum max maximum required require requirement requirements allowed "
    "expected sla budget".split()
)
_UNITS: Final = frozenset("ms s sec secs seconds milliseconds min minutes pct percent".split())
_FILLERS: Final = frozenset("task value level performance metric metrics kpi kpis state".split())
_DEEPEST: Final = 2  # levels below the named objects in which marks are looked for
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")
_NUMBER: Final = re.compile(
    r"(?P<number>[-+]?\d{1,30}(?:\.\d{1,30})?)\s{0,3}(?P<unit>%|[a-zA-Z]{1,12})?"
)
_MILLISECONDS: Final = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("min", "minute", "minutes"), 60_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A named value as it was sent."""

    name: str
    value: Json

    @property
    def text(self) -> str:
        """The value in the caller's own words."""
        text = self.value
        if not isinstance(text, str):
            text = json.dumps(text, ensure_ascii=False)
        return _in_one_line(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Figure):
    """A metric, and the marks that were named for it."""

    marks: tuple[Figure, ...] = ()

    @property
    def line(self) -> str:
        """The metric with its marks: "Latency: 340ms (latency_before: 0.2 s)"."""
        line = f"{self.title}: {self.text}"
        if not self.marks:
            return line
        marks = "; ".join(f"{mark.name}: {mark.text}" for mark in self.marks)
        return f"{line} ({marks})"

    @property
    def title(self) -> str:
        """The name as a sentence begins with it: "Latency"."""
        return self.name[:1].upper() + self.name[1:]

    def comparisons(self) -> Iterator[str]:
        """Yield a sentence for each mark of the same kind: "Latency 340ms is above latency_before (0.2 s)."."""
        for mark in self.marks:
            relation = _relation(self.value, mark.value)
            if relation is not None:
                yield f"{self.title} {self.text} is {relation} {mark.name} ({mark.text})."


def metrics_with_marks(
    metrics: Mapping[str, Json], others: Mapping[str, Json], earlier: Mapping[str, Json]
) -> tuple[Metric, ...]:
    """Return the metrics in their order, each with its marks.

    | where a mark of `latency` may stand           | example                                 |
    |-----------------------------------------------|-----------------------------------------|
    | beside the metric                             | {"latency": 340, "latency_before": 200} |
    | in `others`, what else the caller sent        | {"latency_threshold": 300}              |
    | in an object of either                        | {"thresholds": {"latency": 300}}        |
    | else in `earlier`, the last execution's metrics | {"latency": 200}                      |

    A mark whose metric was not sent is a metric too.
    """
    named = [*_named(metrics), *_named(others)]
    marks = [figure for figure in named if _is_mark(figure.name)]
    figures: list[Metric] = []
    names_of_used_marks: set[str] = set()
    for name, value in metrics.items():
        if _is_mark(name) or value is None:
            continue
        marks_of_metric = [mark for mark in marks if _subject(mark.name) == _subject(name)]
        if not marks_of_metric and name in earlier and earlier[name] != value:
            marks_of_metric = [Figure(name="last time", value=earlier[name])]
        names_of_used_marks.update(mark.name for mark in marks_of_metric)
        figures.append(
            Metric(name=_in_one_line(name), value=value, marks=tuple(marks_of_metric[:MOST_MARKS]))
        )
    figures += _marks_without_metric(metrics, names_of_used_marks)
    return tuple(figures[:MOST_METRICS])


def _marks_without_metric(metrics: Mapping[str, Json], used: Collection[str]) -> Iterator[Metric]:
    """Yield the marks among the metrics that are of none of these: those whose name is not `used`."""
    for name, value in metrics.items():
        if _is_mark(name) and name not in used and not isinstance(value, dict | list):
            yield Metric(name=_in_one_line(name), value=value)


def _is_mark(name: str) -> bool:
    """Return whether a name is of an earlier value or a threshold: `latency_before` is, `latency` is not."""
    return not MARK_WORDS.isdisjoint(_words(name))


def _named(values: Mapping[str, Json], prefix: str = "", depth: int = 0) -> Iterator[Figure]:
    """Yield the values by name, those of objects below them by their path: `thresholds.latency`."""
    for name, value in values.items():
        path = f"{prefix}{_in_one_line(name)}"
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _named(value, f"{path}.", depth + 1)
        elif not isinstance(value, dict | list) and value is not None:
            yield Figure(name=path, value=value)


def _subject(name: str) -> frozenset[str]:
    """Return the words of a name that say what it is a figure of: `latency` of `min_latency_ms`."""
    words = _words(name) - MARK_WORDS - _FILLERS
    return (words - _UNITS) or words


def _words(name: str) -> frozenset[str]:
    """Return the words of a name in lower case: `latencyBefore` and `latency_before` have latency and before."""
    return frozenset(word.lower() for word in _WORDS.findall(name))


def _in_one_line(text: str) -> str:
    """Return a name or a value in one line of at most MOST_SHOWN characters."""
    return " ".join(text.split())[:MOST_SHOWN]


def _relation(value: Json, mark: Json) -> str | None:
    """Return how a value stands to a mark of the same kind: "above"; None where the kinds differ or are not sure."""
    measure = _measured(value)
    mark_measure = _measured(mark)
    if measure is None or mark_measure is None or measure.kind != mark_measure.kind:
        return None
    if measure.number == mark_measure.number:
        return "equal to"
    if measure.number > mark_measure.number:
        return "above"
    return "below"


class _Measure(NamedTuple):
    """A number that can be compared with others of its kind."""

    number: float
    kind: str  # "time" (in milliseconds), "share" (0..1), a unit such as "mb", or "" for a plain number


def _measured(value: Json) -> _Measure | None:
    """Return the measure that a value is, None where it is none.

    | value           | measure                                  |
    |-----------------|------------------------------------------|
    | "0.2 s"         | 200 of time                              |
    | "95%", or .95   | .95 as a share                           |
    | "12 MB"         | 12 of mb                                 |
    | 340             | 340, plain                               |
    | true, "fast"    | None                                     |
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    written = _NUMBER.fullmatch(str(value).strip())
    if written is None:
        return None
    number = float(written["number"])
    unit = (written["unit"] or "").lower()
    if not math.isfinite(number):
        return None
    if unit == "%":
        return _Measure(number / 100, "share")
    if unit in _MILLISECONDS:
        return _Measure(number * _MILLISECONDS[unit], "time")
    if not unit and 0 <= number <= 1:
        return _Measure(number, "share")
    return _Measure(number, unit)
