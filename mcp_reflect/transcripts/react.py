"""ReAct text: Question, Thought, Action (with Action Input, or `Search[x]`) and Observation, line by line."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.transcripts.events import Gathered, unpacked

_LABEL: Final = re.compile(
    r"(?im)^[ \t]{0,8}(question|task|thought|action input|action|observation|final answer)[ \t]{0,3}\d{0,4}[ \t]{0,3}:"
)
_BRACKETS: Final = re.compile(r"(?s)\s*([A-Za-z][\w.-]{0,60})\[(.{0,4000})\]\s*")
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,60}")


def is_react(text: str) -> bool:
    """Whether a text has an action and what was observed."""
    labels = {match[1].lower() for match in _LABEL.finditer(text[:200_000])}
    return {"action", "observation"} <= labels


def runs_in(text: str) -> Iterator[Gathered]:
    """A run for each question; text before the first label is passed over."""
    run = Gathered()
    marks = list(_LABEL.finditer(text))
    waiting: str | None = None
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        label, content = mark[1].lower(), text[mark.end() : end].strip()
        if waiting is not None and label != "action input":
            _act(run, waiting, None)
            waiting = None
        match label:
            case "question" | "task":
                if run.events:
                    yield run
                    run = Gathered()
                run.asked(content)
            case "thought" | "final answer":
                run.told(content)
            case "action":
                waiting = content
            case "action input":
                _act(run, waiting or "tool", content)
                waiting = None
            case _:
                run.answered(content)
    if waiting is not None:
        _act(run, waiting, None)
    if run.events:
        yield run


def _act(run: Gathered, action: str, given: str | None) -> None:
    match = _BRACKETS.fullmatch(action)
    if given is None and match:
        run.called(match[1], {"query": match[2]})
    elif _NAME.fullmatch(action):
        run.called(action, unpacked(given) if given is not None else None)
    else:
        run.called("action", action if given is None else f"{action} {given}")
