"""Sessions of agents with a file form of their own: SWE-agent, mini-swe-agent, OpenHands, Gemini CLI, pi.

A session is one JSON value (pi: one line each). Fields are read after the agents' own sources; what is unknown is
passed over.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mcp_reflect.analysis.transcript_records import Gathered, Record, add_message, as_list, as_record, text_of

# Commands that SWE-agent itself provides; anything else runs in its shell.
_SWE_TOOLS: Final = frozenset(
    (
        *("open", "goto", "scroll_up", "scroll_down", "create", "edit", "insert", "submit", "exit_cost"),
        *("search_dir", "search_file", "find_file", "str_replace_editor", "view_image", "filemap"),
    )
)
_BLOCK: Final = re.compile(r"```(?:mswea_bash_command|bash|sh)\s*\n(.*?)\n```", re.DOTALL)
_RETURNED: Final = re.compile(r"<returncode>(-?\d{1,5})</returncode>")
_OUTPUT: Final = re.compile(r"<output>\n?(.*?)</output>", re.DOTALL)
# OpenHands' actions that are calls of a tool, with the argument that each is about.
_HANDS: Final[Mapping[str, str]] = {
    "run": "command", "run_ipython": "code", "read": "path", "write": "path", "edit": "path", "browse": "url",
    "browse_interactive": "browser_actions", "call_tool_mcp": "name",
}  # fmt: skip


def session_in(whole: object) -> Gathered | None:
    """The run in a whole file of SWE-agent, mini-swe-agent, OpenHands or Gemini CLI; None for another form."""
    record = as_record(whole)
    steps = [as_record(step) for step in as_list(record.get("trajectory"))]
    if steps and all("action" in step and "observation" in step for step in steps):
        return _swe_agent(steps, as_list(record.get("history")))
    messages = [as_record(message) for message in as_list(record.get("messages"))]
    if any(message.get("type") == "gemini" for message in messages):
        return _gemini(str(record.get("sessionId") or "") or None, messages)
    if "mini-swe-agent" in str(record.get("trajectory_format", "")) or any(_shell_block(one) for one in messages):
        return _mini_swe_agent(messages)
    events = [as_record(event) for event in as_list(record.get("history")) or as_list(whole)]
    if any("source" in event and ("action" in event or "observation" in event) for event in events):
        return _openhands(events)
    return None


def is_pi_line(record: Record) -> bool:
    """True for a line of a session of pi."""
    return record.get("type") == "session" or (
        record.get("type") == "message" and bool(as_record(record.get("message")))
    )


def add_pi_line(run: Gathered, record: Record) -> None:
    """A line of a session of pi."""
    if record.get("type") == "session" and isinstance(record.get("id"), str):
        run.session = record["id"]
    message = as_record(record.get("message"))
    if message.get("role") != "toolResult":
        add_message(run, message)
        return
    text = text_of(message.get("content"))
    run.answered(text, message.get("toolCallId"), error=text if message.get("isError") is True else None)


def _swe_agent(steps: Sequence[Record], history: Sequence[Any]) -> Gathered:
    run = Gathered()
    asked = (as_record(item) for item in history)
    task = next((item for item in asked if item.get("role") == "user" and not item.get("is_demo")), None)
    if task is not None:
        run.asked(text_of(task.get("content")))
    for step in steps:
        run.told(str(step.get("thought") or ""))
        action = str(step.get("action") or "").strip()
        tool = action.split(maxsplit=1)[0] if action else "bash"
        run.called(tool if tool in _SWE_TOOLS else "bash", {"command": action})
        run.answered(text_of(step.get("observation")))
    return run


def _shell_block(message: Record) -> str | None:
    """The command in a message of mini-swe-agent."""
    block = _BLOCK.search(text_of(message.get("content"))) if message.get("role") == "assistant" else None
    return block[1] if block else None


def _mini_swe_agent(messages: Sequence[Record]) -> Gathered:
    run = Gathered()
    waiting = False
    for message in messages:
        text, command = text_of(message.get("content")), _shell_block(message)
        code, output = _RETURNED.search(text), _OUTPUT.search(text)
        if message.get("tool_calls") or message.get("role") == "tool":
            add_message(run, message)
        elif command is not None:
            run.told(text[: text.find("```")])
            run.called("bash", {"command": command})
        elif waiting and message.get("role") == "user":
            run.answered(output[1].strip() if output else text, exit_code=int(code[1]) if code else None)
        else:
            add_message(run, message)
        waiting = command is not None
    return run


def _openhands(events: Sequence[Record]) -> Gathered:
    run = Gathered()
    for event in events:
        arguments = as_record(event.get("args"))
        action, observation = str(event.get("action") or ""), str(event.get("observation") or "")
        if action == "message" or (action and action not in _HANDS):
            text = str(arguments.get("content") or event.get("message") or "")
            run.asked(text) if event.get("source") == "user" else run.told(text)
        elif action:
            run.told(str(arguments.get("thought") or ""))
            kept = {key: value for key, value in arguments.items() if key in _OPENHANDS_ARGUMENTS and value}
            run.called("bash" if action == "run" else action, kept, str(event.get("id")))
        elif observation and event.get("cause") is not None and observation not in ("agent_state_changed", "recall"):
            extras = as_record(event.get("extras"))
            code = as_record(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
            text = str(event.get("content") or "")
            failed = observation == "error" or text.startswith("ERROR:")
            run.answered(text, str(event.get("cause")), error=text if failed else None, exit_code=code)
    return run


_OPENHANDS_ARGUMENTS: Final = frozenset(
    (*_HANDS.values(), "content", "old_str", "new_str", "file_text", "insert_line", "arguments")
)


def _gemini(session: str | None, messages: Sequence[Record]) -> Gathered:
    run = Gathered(session=session)
    for message in messages:
        text = text_of(message.get("content"))
        if message.get("type") == "user":
            run.asked(text)
            continue
        run.told(text)
        for call in _records(message.get("toolCalls")):
            run.called(call.get("name"), call.get("args"), call.get("id"))
            parts = [as_record(as_record(part).get("functionResponse")) for part in as_list(call.get("result"))]
            values = as_record((parts or [as_record(None)])[0].get("response"))
            answer = text_of(values.get("output", values.get("error"))) or text_of(call.get("resultDisplay"))
            failed = call.get("status") in ("error", "cancelled") or "error" in values
            run.answered(answer, call.get("id"), error=answer if failed else None)
    return run


def _records(value: object) -> Iterator[Record]:
    yield from filter(None, map(as_record, as_list(value)))
