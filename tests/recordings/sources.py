"""What hosts and scripts of users rest on: what is read of the inputs of hooks, and the form of the answers.

python -m tests.recordings.sources                  # record anew; then read the diff
"""

import json
from pathlib import Path
from typing import Any

from mcp_reflect.services.hook_events import EVENTS, hook_answer, read_hook

RECORDED = Path(__file__).parent / "hooks.jsonl"
HOOKED: tuple[dict[str, Any], ...] = (
    {}, {"session_id": "s"}, {"conversation_id": "c", "workspace_roots": ["/w", "/x"]}, {"sessionId": "x" * 201},
    {"session_id": "s", "is_interrupt": True}, {"session_id": "s", "stop_hook_active": True}, {"session_id": " "},
    {"session_id": "s", "cwd": "/w", "tool_name": "Bash", "tool_use_id": "t", "tool_input": '{"command": "ls"}'},
    {"session_id": "s", "tool_input": "[broken", "tool_response": {"stdout": "a", "stderr": "b"}},
    {"session_id": "s", "tool_response": {"error": "bad"}, "tool_input": [1]},
    {"session_id": "s", "error": {"message": "m"}},
    {"session_id": "s", "tool_response": {"error": {"code": 3}}}, {"session_id": "s", "error_message": "e"},
    {"session_id": "s", "tool_output": [{"text": "a"}, {"text": "b"}]},
    {"session_id": "s", "tool_output": [{"text": "a"}, 1]},
    {"session_id": "s", "tool_response": {"llmContent": [{"text": "a"}]}},
    {"session_id": "s", "tool_output": {"output": "o"}},
    {"session_id": "s", "tool_output": {"content": "c", "error": "e"}},
    {"session_id": "s", "source": "clear", "prompt": "p"},
    {"session_id": "s", "source": "startup", "transcript_path": "/t"}, {"session_id": "s", "workspace_roots": []},
    {"session_id": "s", "tool_response": {"stdout": "", "stderr": ""}}, {"session_id": "s", "tool_output": []},
)  # fmt: skip


def hooks() -> dict[str, Any]:
    """What is read of each input of a hook at each event, and the form of the answer."""
    recording: dict[str, Any] = {}
    for event in (*EVENTS, "Unknown", None):
        for at, payload in enumerate(HOOKED):
            for sent in (payload, {**payload, "hook_event_name": "PostToolUseFailure"})[
                : 1 if event else 2
            ]:
                hook = read_hook(event, sent)
                if hook is None:
                    continue
                read = {
                    name: getattr(hook, name)
                    for name in hook.__slots__
                    if name not in ("event", "moment", "answer_key")
                }
                known = {name: value for name, value in read.items() if value not in (None, False)}
                recording[f"{event} {at}"] = [hook.moment.name, known]
                if at == 1:
                    recording[f"{event} answers"] = [
                        hook_answer(hook, "text"),
                        hook_answer(hook, "text", hold=True),
                    ]
    return recording


if __name__ == "__main__":
    lines = (json.dumps({key: value}, ensure_ascii=False) + "\n" for key, value in hooks().items())
    RECORDED.write_text("".join(lines), "utf-8")
