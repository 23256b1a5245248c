"""The run of a call as it is stored: JSON without secrets, cut to its limits.

An oversized run is cut, not refused: a long text loses its middle, a long run events from its middle.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, cast

from mcp_reflect.limits import Limits, characters
from mcp_reflect.schemas.events import START_SHARE
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.security.redact import clean
from mcp_reflect.security.secret_labels import reading_weight
from mcp_reflect.security.text_ends import ends_of

_OF_RUN: Final = frozenset({"task", "outcome", "goal", "error", "task_type", "tags", "run_id"})
_OF_DECISION: Final = ("decision", "execution", "allowed_actions")


def plain_run(sent: ReflectArguments, limits: Limits) -> dict[str, Any]:
    """Return the run as JSON values without secrets, within its limits.

    Where something was lost, `cut` says how much: {"events": 40, "characters": 9000}.
    """
    names = {*_OF_RUN, *_OF_DECISION}
    run = sent.model_dump(mode="json", include=names, exclude_none=True, exclude_defaults=True)
    cutter = _Cutter(limits.max_event_chars)
    run["events"] = _events_within(sent, limits, cutter)
    for name in ("error", *_OF_DECISION):
        if name in run:
            run[name] = cutter.cut(run[name])
    context_size = characters(run.get("error", {}).get("context"))
    if context_size > limits.max_trace_chars:
        cutter.lost += context_size
        del run["error"]["context"]
    events_lost = sent.unread_events + len(sent.events) - len(run["events"])
    lost = {"events": events_lost, "characters": cutter.lost}
    if any(lost.values()):
        run["cut"] = lost
    return clean(run)


def _events_within(
    sent: ReflectArguments, limits: Limits, cutter: "_Cutter"
) -> list[dict[str, Any]]:
    """Return the events within the limits, the first and the last ones of a long run, each cut to its length."""
    number_of_events = len(sent.events)
    indices = _indices_within([1] * number_of_events, limits.max_events)
    events = [
        sent.events[index].model_dump(mode="json", exclude_defaults=True) for index in indices
    ]
    for size_of in (cutter.size_of, cutter.weight_of):  # only what may stay is weighed
        sizes = [size_of(event) for event in events]
        events = [events[index] for index in _indices_within(sizes, limits.max_trace_chars)]
    return [{**cutter.cut(event), "id": event["id"]} for event in events]


class _Cutter:
    """Cuts the middle out of texts over a length, and counts the characters that are lost."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.lost = 0

    def size_of(self, value: Any) -> int:
        """Return how many characters of a value are kept, before it is cut: cutting redacts, which takes longer."""
        return self._sum_of(value, lambda text: min(self._most, len(text)))

    def weight_of(self, value: Any) -> int:
        """Return the same, where names of secrets count more: redaction reads what stands around each."""
        return self._sum_of(value, self._weight_of_text)

    def _weight_of_text(self, text: str) -> int:
        if len(text) <= self._most:
            return reading_weight(text)
        half = self._most // 2
        return reading_weight(text[:half] + text[-half:])

    def _sum_of(self, value: Any, measure: Callable[[str], int]) -> int:
        if isinstance(value, str):
            return measure(value)
        if isinstance(value, dict):
            pairs = cast("dict[str, Any]", value).items()
            return sum(characters(key) + self._sum_of(item, measure) for key, item in pairs)
        if isinstance(value, list):
            return sum(self._sum_of(item, measure) for item in cast("list[Any]", value))
        return 0

    def cut(self, value: Any) -> Any:
        """Return a value in which no text is too long."""
        if isinstance(value, dict):
            return {name: self.cut(item) for name, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self.cut(item) for item in cast("list[Any]", value)]
        if not isinstance(value, str) or len(value) <= self._most:
            return value
        cut_text = _cut_text(value, self._most)
        self.lost += cut_text.lost
        return cut_text.text


def _indices_within(sizes: list[int], most: int) -> list[int]:
    """Return the indices of the items that stay, so that the sum of their sizes is at most `most`.

    A fifth of that is for the first items, the rest for the last ones: [3, 3, 3, 3, 3] and at most 10 -> 3 and 4.
    """
    if sum(sizes) <= most:
        return list(range(len(sizes)))
    most_at_start = most // START_SHARE
    first = _count_within(sizes, most_at_start)
    last = _count_within(reversed(sizes), most - most_at_start)
    return [*range(first), *range(len(sizes) - last, len(sizes))]


def _count_within(sizes: Iterable[int], most: int) -> int:
    """Return how many of the first items are together at most `most`."""
    count = total = 0
    for size in sizes:
        total += size
        if total > most:
            break
        count += 1
    return count


class _CutText(NamedTuple):
    """A text that was cut, and how many characters it lost."""

    text: str
    lost: int


def _cut_text(text: str, most: int) -> _CutText:
    """Return a text without its secrets and its middle: "The build … [… 4000 characters cut …] … failed"."""
    ends = ends_of(text, most // 2)
    if ends.tail is None:
        return _CutText(ends.head, 0)
    lost = len(text) - most
    return _CutText(ends.around(f"[… {lost} characters cut …]"), lost)
