"""Recorded runs become arguments of `reflect` without anything that a grader added."""

import json
from typing import Any

from benchmarks.trace_events import case_of


def test_a_react_run_loses_the_environments_verdict_and_the_ground_truth() -> None:
    steps = [
        {"role": "thought", "n": 1, "content": "I know it."},
        {"role": "action", "n": 1, "content": "Finish[1941]"},
        {"role": "observation", "n": 1, "content": "Answer is INCORRECT"},
    ]
    record: dict[str, Any] = {"id": "r1", "task": "When?", "steps": steps, "outcome": "halted", "ground_truth": "1942"}
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


def test_a_terminal_runs_the_code_of_the_message_before_it() -> None:
    steps = [
        {"role": "assistant", "agent": "Coder", "content": "Run this:\n```python\nprint(1)\n```"},
        {"role": "user", "agent": "Computer_terminal", "content": "exitcode: 0 (execution succeeded)\nCode output: 1"},
    ]
    record: dict[str, Any] = {"id": "w", "task": "x", "steps": steps, "outcome": "failure", "mistake_reason": "secret"}
    events = case_of("whowhen", record)["events"]
    assert [event["type"] for event in events] == ["llm_call", "tool_call", "tool_response"]
    assert events[1]["arguments"] == {"code": "print(1)\n"}
    assert "secret" not in json.dumps(events)
