"""What a model is given of a run, and how recorded runs become arguments."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Event, EventType, Outcome, Trace
from mcp_reflect.sessions.diagnose import diagnose
from mcp_reflect.sessions.reflector import facts_text
from mcp_reflect.sessions.trace_text import shortened, trace_text
from tests.sessions.run import Run
from tests.sessions.trace_events import case_of


def trace(*contents: str, cut: dict[str, int] | None = None) -> Trace:
    events = [
        Event(id=f"e{n}", type=EventType.OBSERVATION, content=text)
        for n, text in enumerate(contents, 1)
    ]
    return Trace(task="t", outcome=Outcome.FAILURE, events=tuple(events), cut=cut)


def test_a_short_trace_is_shown_whole() -> None:
    event = Event(
        id="e1",
        type=EventType.TOOL_CALL,
        tool="search",
        arguments={"q": "tea"},
        error="no such table",
    )
    shown = trace_text(Trace(task="t", outcome=Outcome.FAILURE, events=(event,)), 1000)
    assert shown == '[e1] tool_call search {"q": "tea"} | error: no such table'


def test_a_long_trace_keeps_its_start_and_its_end_and_says_what_it_lost() -> None:
    shown = trace_text(trace(*[f"event {n} " + "x" * 90 for n in range(100)]), 2000)
    assert "[e1] " in shown
    assert "[e100] " in shown
    assert "[e50] " not in shown
    assert "characters cut" in shown


def test_one_huge_event_does_not_push_out_the_others() -> None:
    shown = trace_text(trace("first", "A" * 50_000 + "end of it", "last"), 2000)
    assert "first" in shown
    assert "last" in shown
    assert "end of it" in shown
    assert "characters cut" in shown


def test_an_earlier_cut_is_said() -> None:
    assert trace_text(trace("a", cut={"events": 3, "characters": 9}), 1000).startswith(
        "[3 events and 9 characters"
    )


def test_arguments_nested_too_deep_are_said_to_be() -> None:
    deep: Json = []
    for _ in range(100_000):
        deep = [deep]
    event = Event(id="e1", type=EventType.TOOL_CALL, tool="t", arguments=deep)
    assert "nested too deep" in trace_text(
        Trace(task="t", outcome=Outcome.ERROR, events=(event,)), 1000
    )


@given(st.lists(st.text(max_size=400), max_size=40), st.integers(400, 3000))
def test_the_text_is_never_longer_than_asked(contents: list[str], limit: int) -> None:
    assert len(trace_text(trace(*contents), limit)) <= limit


@given(st.text(max_size=300), st.integers(80, 200))
def test_a_shortened_text_fits(text: str, limit: int) -> None:
    assert len(shortened(text, limit)) <= limit


def test_a_react_run_loses_the_environments_verdict_and_the_ground_truth() -> None:
    steps = [
        {"role": "thought", "n": 1, "content": "I know it."},
        {"role": "action", "n": 1, "content": "Finish[1941]"},
        {"role": "observation", "n": 1, "content": "Answer is INCORRECT"},
    ]
    record: dict[str, Any] = {
        "id": "r1",
        "task": "When?",
        "steps": steps,
        "outcome": "halted",
        "ground_truth": "1942",
    }
    case = case_of("reflexion_hotpotqa", record)
    assert [event["type"] for event in case["events"]] == ["decision", "tool_call"]
    assert case["events"][1] == {
        "id": "e2",
        "type": "tool_call",
        "content": "Finish[1941]",
        "tool": "Finish",
        "arguments": {"query": "1941"},
    }
    assert case["outcome"] == "failure"
    assert "INCORRECT" not in json.dumps(case)
    assert "1942" not in json.dumps(case)


def test_a_model_is_given_every_problem_with_its_events() -> None:
    run = Run()
    for number in range(30):
        run.bash(
            f"./step{number}.sh --to staging",
            f"Error: bad state of the step {chr(97 + number % 26)}{chr(97 + number)}",
        )
    text = facts_text(diagnose(run.trace()))
    assert all(f"(e{2 * number})" in text for number in range(1, 31))
    tried = Run().bash("python a.py", "bash: python: command not found").bash("python3 a.py", "ok")
    assert "Later `python3 a.py` worked (e4)." in facts_text(diagnose(tried.trace()))
