"""Calls as agents send them, in many forms: names, nestings and texts that a reader can make sense of."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

FOLDER = Path(__file__).parent / "calls_of_agents"
CALLS = FOLDER / "calls.jsonl"
"""Calls written by hand for twelve kinds of work."""
RECORDED = FOLDER / "recorded.jsonl"
"""Calls of agents at work, recorded with their answers. `apart` says why no reader could make sense of one."""
Values = dict[str, Any]


def _rename(values: Values, names: dict[str, str]) -> Values:
    return {names.get(name, name): value for name, value in values.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _each_event(change: Callable[[Values], Values]) -> Callable[[Values], Values]:
    def apply(values: Values) -> Values:
        events: object = values.get("events")
        if not isinstance(events, list):
            return values
        return {**values, "events": [change(event) for event in cast("list[Values]", events)]}

    return apply


def _without(name: str) -> Callable[[Values], Values]:
    return lambda values: {key: value for key, value in values.items() if key != name}


def _map(kind: type, change: Callable[[Any], Any]) -> Callable[[Values], Values]:
    return lambda values: {
        name: change(value) if isinstance(value, kind) and not isinstance(value, bool) else value
        for name, value in values.items()
    }


def _in_analysis(change: Callable[[Values], Any]) -> Callable[[Values], Values]:
    return lambda values: (
        {**values, "analysis": change(values["analysis"])} if "analysis" in values else values
    )


def _beside(values: Values) -> Values:
    analysis = values.get("analysis")
    return {**_without("analysis")(values), **analysis} if isinstance(analysis, dict) else values


def _markdown(analysis: Values) -> str:
    return f"## Mistake\n{analysis['mistake']}\n\n## Correction\n{analysis['correction']}"


def _merged_event(values: Values) -> Values:
    events = values.get("events")
    return {**values, "events": [{**events[1], **events[0], "type": None}]} if events else values


def _messages(values: Values) -> Values:
    events = values.get("events")
    if not events:
        return values
    call = {
        "id": "c1",
        "function": {"name": events[0]["tool"], "arguments": json.dumps(events[0]["arguments"])},
    }
    answer = {"role": "tool", "tool_call_id": "c1", "content": events[1]["error"]}
    return {
        **values,
        "events": [{"role": "assistant", "content": None, "tool_calls": [call]}, answer],
    }


def _blocks(values: Values) -> Values:
    events = values.get("events")
    if not events:
        return values
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": events[0]["tool"],
        "input": events[0]["arguments"],
    }
    answer = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": events[1]["error"],
        "is_error": True,
    }
    return {
        **values,
        "events": [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}],
    }


def _session_lines(values: Values) -> Values:
    messages = _blocks(values).get("events")
    if "events" not in values or not messages:
        return values
    lines = [
        {"type": item["role"], "sessionId": "s", "uuid": "u", "message": item} for item in messages
    ]
    return {**values, "events": "\n".join(map(json.dumps, lines))}


VARIATIONS: dict[str, Callable[[Values], Values]] = {
    "as sent": lambda values: values,
    "camelCase": lambda values: {_camel(name): value for name, value in values.items()},
    "kebab-case": lambda values: {name.replace("_", "-"): value for name, value in values.items()},
    "Title Case": lambda values: {name.title(): value for name, value in values.items()},
    "wrapped in arguments": lambda values: {"arguments": values},
    "wrapped as JSON text": lambda values: {"input": json.dumps(values)},
    "an unknown field": lambda values: {**values, "thoughts": "I should learn from this"},
    "a null field": lambda values: {**values, "context": None},
    "lists as JSON text": _map(list, json.dumps),
    "lists as Python text": _map(list, str),
    "objects as JSON text": _map(dict, json.dumps),
    "objects as Python text": _map(dict, str),
    "numbers as text": _map(float, str),
    "numbers as percent": _map(float, lambda value: f"{value:.0%}"),
    "numbers out of ten": _map(float, lambda value: f"{value * 10:g}/10"),
    "counts as text": _map(int, str),
    "upper case outcome": lambda values: (
        {**values, "outcome": "FAILED"} if "outcome" in values else values
    ),
    "outcome ok": lambda values: {**values, "outcome": "ok"} if "outcome" in values else values,
    "outcome left out": _without("outcome"),
    "task left out": lambda values: (
        _without("task")(values) if "analysis" in values or "events" in values else values
    ),
    "types dropped": _each_event(_without("type")),
    "types of another host": _each_event(
        lambda event: {**event, "type": event["type"].replace("tool_", "")}
    ),
    "unknown types": _each_event(lambda event: {**event, "type": "step"}),
    "exit code": _each_event(
        lambda event: {**event, "exit_code": 1} if "error" in event else event
    ),
    "extra event fields": _each_event(lambda event: {**event, "duration_ms": 12, "cwd": "/src"}),
    "other event names": _each_event(
        lambda event: _rename(event, {"tool": "name", "arguments": "input"})
    ),
    "output for error": _each_event(lambda event: _rename(event, {"error": "output"})),
    "one id for call and response": _each_event(lambda event: {**event, "id": "call_1"}),
    "call and result in one event": _merged_event,
    "events as text": lambda values: (
        {**values, "events": "$ make\nNo rule"} if "events" in values else values
    ),
    "one event for a list": lambda values: (
        {**values, "events": values["events"][1]} if "events" in values else values
    ),
    "OpenAI messages": _messages,
    "Anthropic messages": _blocks,
    "Claude Code lines": _session_lines,
    "analysis beside": _beside,
    "analysis as text": _in_analysis(
        lambda analysis: f"{analysis['mistake']}. {analysis['correction']}"
    ),
    "analysis as markdown": _in_analysis(_markdown),
    "analysis in a list": _in_analysis(lambda analysis: [analysis]),
    "analysis with a word for a score": _in_analysis(
        lambda analysis: {**analysis, "importance": "high"}
    ),
    "mistake alone": _in_analysis(lambda analysis: {"mistake": analysis["mistake"]}),
    "one text for symptoms": _in_analysis(
        lambda analysis: {**analysis, "symptoms": analysis["symptoms"][0]}
    ),
    "one lesson text": lambda values: (
        {"lesson": f"{values['mistake']}. {values['correction']}"}
        if "mistake" in values
        else values
    ),
    "problem and solution": lambda values: _rename(
        values, {"mistake": "problem", "correction": "solution"}
    ),
    "one id for a list": lambda values: (
        {**_without("lesson_ids")(values), "lesson_id": values["lesson_ids"][0]}
        if "lesson_ids" in values
        else values
    ),
    "outcome in words": lambda values: (
        {**_without("success")(values), "outcome": "helped"} if "success" in values else values
    ),
}


def varied(call: Values) -> Iterator[tuple[str, Values]]:
    """The call in each form that changes it."""
    seen: set[str] = set()
    for name, change in VARIATIONS.items():
        try:
            values = change(call["arguments"])
        except (
            AttributeError,
            IndexError,
            KeyError,
            TypeError,
        ):  # the form is of calls that are built otherwise
            continue
        text = json.dumps(values, sort_keys=True)
        if text not in seen:
            seen.add(text)
            yield name, values


def read_calls(file: Path) -> list[dict[str, Any]]:
    """The calls of a file, without those that are kept apart."""
    calls = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [call for call in calls if "apart" not in call]
