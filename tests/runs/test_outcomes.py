"""Each way of ending asks another question of the events, and says nothing where they do not answer it."""

from itertools import chain
from typing import Any

import pytest

from mcp_reflect.models.run import Event, EventType, Outcome, Trace
from mcp_reflect.runs.diagnose import diagnose


def call(tool: str, error: str | None, **arguments: Any) -> list[dict[str, Any]]:
    answer = {"content": "" if error else f"{tool} gave 7 rows", "error": error}
    return [
        {"type": EventType.TOOL_CALL, "tool": tool, "arguments": arguments},
        {"type": EventType.TOOL_RESPONSE, "tool": tool, **answer},
    ]


def summary(outcome: Outcome, *calls: list[dict[str, Any]]) -> str:
    events = [Event(id=f"e{place}", **event) for place, event in enumerate(chain.from_iterable(calls), start=1)]
    return diagnose(Trace(task="Do it", outcome=outcome, events=tuple(events))).summary


FAILS = (
    call("read", None, path="a"),
    call("write", "disk is full", path="b"),
    call("send", "no such host", to="c"),
)
SAID = {
    Outcome.ERROR: 'The last error before the end was "no such host" (e6).',
}


@pytest.mark.parametrize("outcome", Outcome)
def test_a_run_is_asked_the_question_of_its_ending_alone(outcome: Outcome) -> None:
    text = summary(outcome, *FAILS)
    assert [one for one, sentence in SAID.items() if sentence in text] == ([outcome] if outcome in SAID else [])


def test_nothing_is_said_where_nothing_was_left_or_one_error_is_all() -> None:
    assert "put that right" not in summary(Outcome.PARTIAL, call("read", None, path="a"))
    assert "last error" not in summary(Outcome.ERROR, call("read", "no such file", path="a"))
