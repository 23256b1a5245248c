"""What Copilot CLI and Qwen Code send to hooks, and what they read: inputs as the real programs sent them."""

from typing import Any

import pytest

from mcp_reflect.models.warning import Moment
from mcp_reflect.services.hook_events import answer_for_host, hook_answer, read_hook

OF_COPILOT: dict[str, Any] = {
    "hook_event_name": "PostToolUse",
    "session_id": "a0",
    "timestamp": "2026-11-28T17:15:35.065Z",
    "cwd": "/shop",
    "tool_name": "Bash",
    "tool_input": {"command": "pytest -q"},
}


def sent(printed: str) -> dict[str, Any]:
    result = {"result_type": "success", "text_result_for_llm": printed}
    return {**OF_COPILOT, "tool_result": result}


def test_a_command_of_copilot_failed_by_its_exit_code() -> None:
    hook = read_hook(None, sent("1 failed\n<shellId: 0 completed with exit code 1>"))
    assert hook is not None
    assert hook.error == "Exit code 1\n1 failed"
    assert hook.moment is Moment.AFTER


@pytest.mark.parametrize(
    "printed",
    [
        "18 passed\n<shellId: 0 completed with exit code 0>",
        "<shellId: 0 completed with exit code 1>\n" + "as the page says " * 40,
        "<shellId: 0 completed with exit code one>",
    ],
)
def test_other_outputs_of_copilot_are_no_failure(printed: str) -> None:
    hook = read_hook(None, sent(printed))
    assert hook is not None
    assert (hook.error, hook.result) == (None, printed)


def test_copilot_reads_a_text_at_the_top_and_a_refusal_where_claude_code_does() -> None:
    hook = read_hook(None, sent("18 passed"))
    assert hook is not None
    in_copilot = {"COPILOT_HOOK_DIR": "/home/ada/.copilot/hooks"}
    answer = hook_answer(hook, "keep it") or {}
    assert answer_for_host(answer, in_copilot)["additionalContext"] == "keep it"
    assert answer_for_host(answer, {}) == answer
    before = read_hook("PreToolUse", {**OF_COPILOT, "hook_event_name": "PreToolUse"})
    assert before is not None
    refusal = hook_answer(before, "use uv", hold=True) or {}
    assert answer_for_host(refusal, in_copilot) == refusal


def test_the_empty_prompt_with_which_qwen_sends_results_is_none() -> None:
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "q", "prompt": ""}
    assert read_hook(None, asked) is None
    assert read_hook(None, {**asked, "prompt": "Test the shop."}) is not None
