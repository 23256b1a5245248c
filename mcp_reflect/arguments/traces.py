"""A run as it was sent, made into the plain values that are stored, and those into a `Trace`.

An oversized run is cut, never refused: a long text loses its middle, a long run loses events from its
middle (the first fifth of the room is kept for the start, where the plan is, the rest for the end,
where it failed). The result says how much went.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.arguments.run import ReflectShape
from mcp_reflect.config import Limits
from mcp_reflect.models.run import Cut, ErrorCategory, Event, EventType, Outcome, RunError, Trace

_START_SHARE: Final = 5
_DECIDED: Final = ("decision", "execution", "allowed_actions")
_LOOK: Final = 8  # a long text is cleaned over so many times what is kept of it, half at each end


def plain_run(sent: ReflectShape, limits: Limits, clean: Callable[[str], str]) -> dict[str, Any]:
    """The run as JSON values, cut to its limits; `cut` is there where something was lost.

    `clean` takes the secrets out of a text before it is cut: half of one would not be known as one.
    """
    run = sent.model_dump(
        mode="json",
        include={"task", "outcome", "goal", "error", "task_type", "tags", "run_id", *_DECIDED},
        exclude_none=True,
        exclude_defaults=True,
    )
    lost = {"events": 0, "characters": 0}
    events = [
        _plain_event(event.model_dump(mode="json", exclude_defaults=True), place) for place, event in _numbered(sent)
    ]
    scissors = _Scissors(limits.max_event_chars, clean, lost)
    kept = [_shortened(event, scissors) for event in _within(events, limits.max_events, lost)]
    if "error" in run:
        run["error"] = _error_within(scissors.short(run["error"]), limits.max_trace_chars, lost)
    for name in _DECIDED:
        if name in run:
            run[name] = scissors.short(run[name])
    run["events"] = _within_chars(kept, limits.max_trace_chars, lost)
    if any(lost.values()):
        run["cut"] = lost
    return run


def trace_from(run: dict[str, Any]) -> Trace:
    """The stored values of a run as the record that rules and prompts read."""
    error = run.get("error")
    return Trace(
        task=run["task"],
        outcome=Outcome(run["outcome"]),
        events=tuple(_event(event) for event in run.get("events", ())),
        goal=run.get("goal"),
        error=_error(error) if error else None,
        task_type=run.get("task_type"),
        tags=tuple(run.get("tags", ())),
        run_id=run.get("run_id"),
        cut=Cut(**run["cut"]) if "cut" in run else None,
    )


def _numbered(sent: ReflectShape) -> list[tuple[str, Any]]:
    """Each event with its id: its own, else e1, e2, … by its place, stepping past ids that are taken."""
    taken = {event.id for event in sent.events}
    found: list[tuple[str, Any]] = []
    for place, event in enumerate(sent.events, start=1):
        name = event.id or f"e{place}"
        while event.id is None and name in taken:
            name += "'"
        found.append((name, event))
    return found


def _plain_event(event: dict[str, Any], name: str) -> dict[str, Any]:
    return {**event, "id": name}


def _within(events: list[dict[str, Any]], most: int, lost: dict[str, int]) -> list[dict[str, Any]]:
    if len(events) <= most:
        return events
    start = most // _START_SHARE
    lost["events"] += len(events) - most
    return [*events[:start], *events[len(events) - (most - start) :]]


def _within_chars(events: list[dict[str, Any]], most: int, lost: dict[str, int]) -> list[dict[str, Any]]:
    sizes = [_size(event) for event in events]
    if sum(sizes) <= most:
        return events
    room_start, room_end = most // _START_SHARE, most - most // _START_SHARE
    start = end = 0
    while start < len(events) and sizes[start] <= room_start:
        room_start -= sizes[start]
        start += 1
    while end < len(events) - start and sizes[-1 - end] <= room_end:
        room_end -= sizes[-1 - end]
        end += 1
    lost["events"] += len(events) - start - end
    return events[:start] + events[len(events) - end :]


def _shortened(event: dict[str, Any], scissors: "_Scissors") -> dict[str, Any]:
    return {name: scissors.short(value) if name != "id" else value for name, value in event.items()}


def _error_within(error: dict[str, Any], most: int, lost: dict[str, int]) -> dict[str, Any]:
    """The run's error without its context, where that alone is larger than a run may be."""
    size = _size(error.get("context"))
    if size <= most:
        return error
    lost["characters"] += size
    return {name: value for name, value in error.items() if name != "context"}


@dataclass(frozen=True, slots=True)
class _Scissors:
    """Cuts the middle out of texts longer than `most`, and counts in `lost` what went."""

    most: int
    clean: Callable[[str], str]
    lost: dict[str, int]

    def short(self, value: Any) -> Any:
        match value:
            case str():
                return self._short_text(value) if len(value) > self.most else value
            case dict():
                return {name: self.short(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
            case list():
                return [self.short(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
            case _:
                return value

    def _short_text(self, text: str) -> str:
        room = self.most * _LOOK
        parts = [text] if len(text) <= room else [text[: room // 2], text[len(text) - room // 2 :]]
        looked = "".join(self.clean(part) for part in parts)
        gone = len(text) - sum(map(len, parts)) + max(len(looked) - self.most, 0)
        if not gone:
            return looked
        self.lost["characters"] += gone
        half = min(self.most, len(looked)) // 2
        tail = len(looked) - (min(self.most, len(looked)) - half)
        return f"{looked[:half]}\n[… {gone} characters cut …]\n{looked[tail:]}"


def _size(value: Any) -> int:
    """Characters of text in a value, and one for each thing in it."""
    match value:
        case str():
            return len(value) + 1
        case dict():
            return sum(_size(name) + _size(item) for name, item in value.items())  # pyright: ignore[reportUnknownVariableType]
        case list():
            return sum(_size(item) for item in value) + 1  # pyright: ignore[reportUnknownVariableType]
        case _:
            return 1


def _event(event: dict[str, Any]) -> Event:
    values: dict[str, Any] = {**event, "type": EventType(event["type"])}
    return Event(**values)


def _error(error: dict[str, Any]) -> RunError:
    category = error.get("category")
    return RunError(
        category=ErrorCategory(category) if category else None,
        message=error.get("message", ""),
        context=error.get("context"),
    )
