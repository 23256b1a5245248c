"""Agents that an agent starts: the lessons in their prompts, and their calls as sessions of their own."""

from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.models.warning import HookInput
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import answer_for_host, hook_answer, read_hook

PROMPT = "Deploy the shop to production"
RULE = "Deploy the shop on a Tuesday morning, never on a Friday"


def starting(tool: str = "Agent", prompt: str = PROMPT, **more: Any) -> HookInput:
    given = {"description": "deploy", "prompt": prompt, "subagent_type": "general-purpose"}
    hook = read_hook(
        "PreToolUse", {"session_id": "s1", "tool_name": tool, "tool_input": given, **more}
    )
    assert hook is not None
    return hook


async def changed(engine: Engine, hook: HookInput) -> dict[str, Any] | None:
    """The arguments that the call gets instead."""
    text, hold = await services.hooks.answer(engine.context, hook)
    assert not hold
    answer = hook_answer(hook, text) if text else None
    if answer is None:
        return None
    said = answer["hookSpecificOutput"]
    assert said.keys() == {"hookEventName", "updatedInput"}  # nothing approves the call
    return said["updatedInput"]


async def keep(engine: Engine, *rules: str) -> None:
    for rule in rules:
        await engine.store_lesson(mistake="Deployed the shop", correction=rule)


@pytest.mark.parametrize("tool", ["Task", "Agent", "task"])
async def test_a_child_s_prompt_gets_the_lesson_that_fits_once(engine: Engine, tool: str) -> None:
    await keep(engine, RULE)
    given = await changed(engine, starting(tool))
    assert given is not None
    assert given["prompt"].startswith(f"{PROMPT}\n\nmcp-reflect: lessons")
    assert RULE in given["prompt"]
    assert "les_" in given["prompt"]
    assert given["description"] == "deploy"
    assert await changed(engine, starting(tool, given["prompt"])) is None


async def test_each_child_gets_it_and_none_that_does_not_concern_it(engine: Engine) -> None:
    await keep(engine, RULE)
    for _ in range(2):
        assert await changed(engine, starting()) is not None
    assert await changed(engine, starting(prompt="Read the logs of the printer")) is None


async def test_a_child_gets_two_lessons_at_most(engine: Engine) -> None:
    await keep(
        engine,
        RULE,
        "Tell support before the shop is deployed to production",
        "Freeze orders while the shop is deployed to production",
        "Warm the caches of the shop after it is deployed to production",
    )
    given = await changed(engine, starting())
    assert given is not None
    assert 1 <= given["prompt"].count("les_") <= 2


@pytest.mark.parametrize("given", [{"prompt": 3}, {"prompt": " "}, {}, "Deploy", None])
def test_a_call_without_a_prompt_starts_nothing_that_we_add_to(given: Any) -> None:
    hook = read_hook("PreToolUse", {"session_id": "s", "tool_name": "Agent", "tool_input": given})
    assert hook is not None
    assert hook.child_prompt is None


def test_a_tool_that_only_has_a_prompt_is_no_agent() -> None:
    sent = {"session_id": "s", "tool_name": "generate_image", "tool_input": {"prompt": PROMPT}}
    hook = read_hook("PreToolUse", sent)
    assert hook is not None
    assert hook.child_prompt is None


def test_copilot_reads_changed_arguments_at_the_top() -> None:
    answer = hook_answer(starting(), "use uv") or {}
    told = answer_for_host(answer, {"COPILOT_HOOK_DIR": "/home/ada/.copilot/hooks"})
    assert told["modifiedArgs"]["prompt"] == f"{PROMPT}\n\nuse uv"
    assert "permissionDecision" not in str(told)


def test_calls_of_a_child_are_a_session_of_their_own() -> None:
    sent = {"session_id": "s1", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    own = read_hook("PreToolUse", sent)
    child = read_hook("PreToolUse", {**sent, "agent_id": "a7"})
    other = read_hook("PreToolUse", {**sent, "agent_id": ""})
    assert own is not None
    assert child is not None
    assert other is not None
    assert (own.session, own.root) == (other.session, other.root) == ("s1", "s1")
    assert (child.session, child.root) == ("s1/a7", "s1")


async def test_a_child_s_prompt_that_has_lessons_gets_none_again_when_it_begins(
    engine: Engine,
) -> None:
    await keep(engine, RULE)
    given = await changed(engine, starting())
    assert given is not None
    for prompt, is_told in ((PROMPT, True), (given["prompt"], False)):
        sent = {"session_id": f"child-{is_told}", "prompt": prompt}
        hook = read_hook("UserPromptSubmit", sent)
        assert hook is not None
        text, _ = await services.hooks.answer(engine.context, hook)
        assert (RULE in (text or "")) is is_told
