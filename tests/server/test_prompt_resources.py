"""Every prompt template is a resource: what serves now, and whether a person overrode it."""

import json
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from mcp_reflect.llm.prompts import Prompts, shipped_folder
from tests.server.served import completed_uri, prompt_text, resource_text, served

MINE = """---
name: start_task
version: 9
role: host
inputs: task
output: text
token_limit: 50
---
In our house.
---user---
Do this: $task
"""


async def test_the_templates_of_commands_are_listed_and_every_one_can_be_read(tmp_path: Path) -> None:
    async with served(tmp_path) as (client, _):
        uris = [str(one.uri) for one in (await client.list_resources()).resources]
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        shown = {name: json.loads(await resource_text(client, f"prompt://{name}")) for name in Prompts().names()}
    assert [uri for uri in uris if uri.startswith("prompt://")] == [
        f"prompt://{name}"
        for name in ("start_task", "review_task", "critique_answer", "replan_search", "distill_lessons")
    ]
    assert "prompt://{name}" in templates
    for name, one in shown.items():
        assert (one["name"], one["overridden"]) == (name, False)
        assert one["text"] == (shipped_folder() / f"{name}.md").read_text("utf-8")
        assert one["version"] >= 1
        assert one["role"]
        assert all(f"${place}" in one["text"] for place in one["inputs"])


async def test_an_override_shows_itself_and_serves_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    async with served(tmp_path, prompts_dir=tmp_path / "mine") as (client, _):
        before = await prompt_text(client, "start_task", {"task": "Mend it"})
        (tmp_path / "mine" / "start_task.md").write_text(MINE, "utf-8")
        shown = json.loads(await resource_text(client, "prompt://start_task"))
        after = await prompt_text(client, "start_task", {"task": "Mend it"})
    assert (shown["overridden"], shown["version"], shown["text"]) == (True, 9, MINE)
    assert "In our house." not in before
    assert after.startswith("In our house.")


async def test_names_are_completed_and_an_unknown_one_is_not_found(tmp_path: Path) -> None:
    async with served(tmp_path) as (client, _):
        assert await completed_uri(client, "prompt://{name}", "re") == [
            "reflect_decision",
            "reflect_error",
            "reflect_failure",
            "reflect_partial",
            "reflect_success",
            "reflect_timeout",
            "replan",
            "replan_search",
            "review_task",
        ]
        with pytest.raises(MCPError, match="prompt://critic"):
            await client.read_resource("prompt://critic")
