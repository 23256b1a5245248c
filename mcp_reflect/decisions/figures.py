"""The metrics of an execution as they were sent, side by side with the marks that the caller names for them.

A mark is an earlier value or a threshold: its name is that of the metric with a word such as `before`, `threshold` or
`min`. Only names that were sent count, no default. Two figures are compared where both are surely of one kind; whether
more of one is good is not said.
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
        return _shown(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Figure):
    """A metric, and the marks that were named for it."""

    marks: tuple[Figure, ...] = ()

    @property
    def line(self) -> str:
        """`Latency: 340ms (latency_before: 0.2 s)`."""
        line = f"{self.title}: {self.text}"
        if not self.marks:
            return line
        marks = "; ".join(f"{mark.name}: {mark.text}" for mark in self.marks)
        return f"{line} ({marks})"

    @property
    def title(self) -> str:
        """The name as a sentence begins with it."""
        return self.name[:1].upper() + self.name[1:]

    def comparisons(self) -> Iterator[str]:
        """A sentence for each mark that is surely of the same kind: above, below or equal."""
        for mark in self.marks:
            relation = _relation(self.value, mark.value)
            if relation is not None:
                yield f"{self.title} {self.text} is {relation} {mark.name} ({mark.text})."


def metrics_with_marks(
    metrics: Mapping[str, Json], others: Mapping[str, Json], earlier: Mapping[str, Json]
) -> tuple[Metric, ...]:
    """The metrics in their order, each with its marks.

    Marks stand beside the metrics, in `others` (what else the caller sent), or below them in either
    (`thresholds: {latency}`, `targets: {accuracy: {min}}`). `earlier` are the metrics of the component's last execution.
    """
    named = [*_named(metrics), *_named(others)]
    marks = [figure for figure in named if _is_mark(figure.name)]
    figures: list[Metric] = []
    marks_used: set[str] = set()
    for name, value in metrics.items():
        if _is_mark(name) or value is None:
            continue
        marks_of_metric = [mark for mark in marks if _subject(mark.name) == _subject(name)]
        if not marks_of_metric and name in earlier and earlier[name] != value:
            marks_of_metric = [Figure(name="last time", value=earlier[name])]
        marks_used.update(mark.name for mark in marks_of_metric)
        figures.append(
            Metric(name=_shown(name), value=value, marks=tuple(marks_of_metric[:MOST_MARKS]))
        )
    figures += _marks_alone(metrics, marks_used)
    return tuple(figures[:MOST_METRICS])


def _marks_alone(metrics: Mapping[str, Json], used: Collection[str]) -> Iterator[Metric]:
    """The marks whose metric was not sent: each is a figure too."""
    for name, value in metrics.items():
        if _is_mark(name) and name not in used and not isinstance(value, dict | list):
            yield Metric(name=_shown(name), value=value)


def _is_mark(name: str) -> bool:
    """True for the name of an earlier value or a threshold."""
    return not MARK_WORDS.isdisjoint(_words(name))


def _named(values: Mapping[str, Json], prefix: str = "", depth: int = 0) -> Iterator[Figure]:
    """The values by name, those of objects below them as well: `thresholds.latency`."""
    for name, value in values.items():
        path = f"{prefix}{_shown(name)}"
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _named(value, f"{path}.", depth + 1)
        elif not isinstance(value, dict | list) and value is not None:
            yield Figure(name=path, value=value)


def _subject(name: str) -> frozenset[str]:
    """The words of a name without those of a mark or a unit: what it is a figure of."""
    words = _words(name) - MARK_WORDS - _FILLERS
    return (words - _UNITS) or words


def _words(name: str) -> frozenset[str]:
    """Return the words of a name in lower case: `latencyBefore` and `latency_before` have latency and before."""
    return frozenset(word.lower() for word in _WORDS.findall(name))


def _shown(name: str) -> str:
    """Return a name or a value in one line of at most MOST_SHOWN characters."""
    return " ".join(name.split())[:MOST_SHOWN]


def _relation(value: Json, mark: Json) -> str | None:
    """How a value stands to a mark of the same kind; None where the kinds differ or are not sure."""
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
    """A number and its kind: milliseconds of `time`, a `share`, a unit, or plain (empty)."""

    number: float
    kind: str


def _measured(value: Json) -> _Measure | None:
    """The measure that a value is; None where it is none. A percentage and a plain number up to 1 are shares."""
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
