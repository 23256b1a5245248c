"""A person's template serves from the next call on; a broken one is named, and the shipped one serves."""

import json
from pathlib import Path

import pytest

from mcp_reflect.llm.prompts import shipped_folder
from tests.llm.reflect_calls import GOOD, reflect, said, serving
from tests.scripted import Scripted

SHIPPED = (shipped_folder() / "reflect_failure.md").read_text("utf-8")
MINE = SHIPPED.replace("You look back at an agent's run", "In our house we look back at a run").replace(
    "version: 1", "version: 40"
)


async def test_an_override_changes_the_next_call_of_a_running_server(tmp_path: Path) -> None:
    path = tmp_path / "reflect_failure.md"
    with Scripted(*[said(GOOD)] * 4) as llm:
        async with serving(tmp_path, llm, prompts_dir=tmp_path) as (client, _):
            await reflect(client, run_id="1")
            path.write_text(MINE, "utf-8")
            await reflect(client, run_id="2")
            path.write_text(MINE.replace("our house", "their house"), "utf-8")
            await reflect(client, run_id="3")
            path.unlink()
            await reflect(client, run_id="4")
    firsts = [asked.system.partition(" look")[0] for asked in llm.asked]
    assert firsts == ["You", "In our house we", "In their house we", "You"]


async def test_a_broken_override_is_logged_by_file_and_line_and_the_shipped_one_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "reflect_failure.md"
    path.write_text(MINE.replace("role: reflector", "role: boss"), "utf-8")
    with Scripted(said(GOOD)) as llm:
        async with serving(tmp_path, llm, prompts_dir=tmp_path) as (client, engine):
            found = await reflect(client)
            problems = engine.context.runner.problems()
    assert found["reflection"] == GOOD["reflection"]
    assert llm.asked[0].system.startswith("You look back")
    (event,) = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert event["event"] == "prompt_override_refused"
    assert event["problem"].startswith(f"{path}:4: role cannot be 'boss'")
    assert problems == [event["problem"]]
