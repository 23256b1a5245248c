"""A record keeps whose words it has: the agent's own, or those of a tool, and the program whose agent stored it."""

import json
from typing import Any

from mcp import Client
from mcp.types import Implementation

from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.server.calls import told
from tests.server.served import resource_text

PAGE = "The gateway closes at noon and opens again on the next working day, so send before eleven."
CALL: dict[str, Any] = {"type": "tool_call", "tool": "fetch", "arguments": {"url": "https://docs.example"}}
RUN: dict[str, Any] = {
    "task": "Send the batch through the gateway",
    "outcome": "failure",
    "events": [CALL, {"type": "tool_response", "tool": "fetch", "content": f"Hours\n{PAGE}"}],
}


async def test_words_that_repeat_a_tool_s_output_are_marked_and_say_so_in_why(engine: Engine) -> None:
    quoted = {"mistake": "The batch was sent in the afternoon", "correction": PAGE}
    own = {"mistake": "The nightly export stopped at the umlaut", "correction": "Write the export as UTF-8"}
    for analysis in (quoted, own):
        await engine.reflect(**{**RUN, "task": analysis["mistake"], "analysis": analysis})
    for analysis, outside in ((quoted, True), (own, False)):
        (hit, *_) = (await engine.recall(task=analysis["mistake"])).lessons
        lesson = await engine.bank.lessons.get(engine.scopes.own, hit.id)
        assert lesson.outside is outside
        assert ("repeats a tool's output" in hit.why) is outside


async def test_a_record_names_the_program_whose_agent_stored_it(engine: Engine) -> None:
    client = Client(build(engine=engine), client_info=Implementation(name="codex", version="1"))
    async with client:
        stored = await told(client, "store_lesson", {"mistake": "Ran make twice", "correction": "Run make once"})
        shown = json.loads(await resource_text(client, f"lesson://{stored['lesson_id']}"))
    assert (shown["agent"], shown["source"]) == ("codex", "agent")
    direct = await engine.store_lesson(mistake="The nightly export stopped", correction="Write UTF-8")
    assert (await engine.bank.lessons.get(engine.scopes.own, direct.lesson_id)).agent is None
