"""Recorded runs as the arguments of the `reflect` tool. Functions only; the data stays where it is.

Each case is `{task, outcome, events[{id, type, content, tool?, arguments?, metadata?}], task_type, run_id}`.
Nothing that a grader added goes in: no ground truth, no blamed step, and not the environment's verdict,
which these traces carry as an observation ("Answer is INCORRECT").

An outcome of "halted" means that the agent used up its steps without an answer. It becomes `failure`:
the task was not done. It is no `timeout`, since no time ran out, and since that word would hand the
rules a category that they are to find.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

Case: TypeAlias = dict[str, Any]
Steps: TypeAlias = list[dict[str, Any]]

FILES = ("reflexion_hotpotqa", "tau_airline", "whowhen")
OUTCOMES = {"success": "success", "failure": "failure", "halted": "failure"}

_VERDICT = re.compile(r"\s*Answer is (?:IN)?CORRECT\s*")
_ACTION = re.compile(r"(?s)\s*([A-Za-z]+)\[(.*)\]\s*")
_CODE = re.compile(r"(?s)```(\w*)\n(.*?)```")
TERMINAL = "Computer_terminal"


def iter_cases(data_dir: Path) -> Iterator[tuple[str, dict[str, Any], Case]]:
    """Yield every record as `(file, record, case)`, in the order of the files."""
    for name in FILES:
        with (data_dir / "traces" / f"{name}.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                yield name, record, case_of(name, record)


def case_of(name: str, record: dict[str, Any]) -> Case:
    """The arguments of `reflect` for one record of the file `name`."""
    events = {"reflexion_hotpotqa": _react, "tau_airline": _chat, "whowhen": _agents}[name](
        record["steps"]
    )
    for number, event in enumerate(events, start=1):
        event["id"] = f"e{number}"
    return {
        "task": record["task"],
        "outcome": OUTCOMES[record["outcome"]],
        "events": events,
        "task_type": name,
        "run_id": record["id"],
    }


def _react(steps: Steps) -> Steps:
    """Thought, action, observation: a decision, a call written as text, its answer."""
    events: Steps = []
    for step in steps:
        text = step["content"] or ""
        if step["role"] == "thought":
            events.append({"type": "decision", "content": text or "(no thought)"})
        elif step["role"] == "action":
            events.append(_action(text))
        else:
            left = _VERDICT.sub("", text)
            if left or not _VERDICT.search(text):
                events.append({"type": "tool_response", "content": left or "(empty)"})
    return events


def _action(text: str) -> dict[str, Any]:
    match = _ACTION.fullmatch(text)
    if match is None:
        return {"type": "tool_call", "content": text or "(no action)"}
    return {
        "type": "tool_call",
        "content": text,
        "tool": match[1],
        "arguments": {"query": match[2]},
    }


def _chat(steps: Steps) -> Steps:
    """Messages of a chat model with tool calls. What the user says is feedback."""
    events: Steps = []
    types = {"system": "system_event", "user": "user_feedback", "assistant": "llm_call"}
    for step in steps:
        if step["role"] == "tool":
            metadata = {"tool_call_id": step["tool_call_id"]}
            answer = {
                "type": "tool_response",
                "tool": step["name"],
                "content": step["content"] or "",
                "metadata": metadata,
            }
            events.append(answer)
            continue
        if step.get("content"):
            events.append({"type": types[step["role"]], "content": step["content"]})
        for call in step.get("tool_calls") or ():
            function = call["function"]
            events.append(
                {
                    "type": "tool_call",
                    "tool": function["name"],
                    "arguments": json.loads(function["arguments"]),
                    "metadata": {"tool_call_id": call["id"]},
                }
            )
    return events


def _agents(steps: Steps) -> Steps:
    """Messages of several agents. The terminal runs the code of the message before it: a call and its answer."""
    events: Steps = []
    before = ""
    for number, step in enumerate(steps):
        text, agent, first = step["content"] or "", step["agent"], len(events)
        if agent != TERMINAL:
            metadata = {"agent": agent, "step": number}
            events.append({"type": "llm_call", "content": text or "(empty)", "metadata": metadata})
            before = text
            continue
        blocks = _CODE.findall(before)
        if blocks and "exitcode:" in text[:40]:
            arguments = {"code": "\n".join(code for _, code in blocks)}
            events.append({"type": "tool_call", "tool": TERMINAL, "arguments": arguments})
        events.append({"type": "tool_response", "tool": TERMINAL, "content": text or "(empty)"})
        for event in events[first:]:
            event["metadata"] = {"step": number}
        before = ""
    return events
