"""No secret reaches the index, what a cut leaves, or the log. tests/security tries every argument of every tool."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.llm.runner import ClientCapabilities
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.secrets import SECRETS, found_in

ROOT = Path(__file__).parent.parent.parent
EVERY = "It printed " + " and then ".join(SECRETS.values()) + " at the end"


async def test_no_part_of_a_secret_is_in_the_index(engine: Engine, bank_path: Path) -> None:
    token = "ghp" + "_ZebraQuokkaWombatOkapiIbexLynxPumaTapir42"
    await engine.store_lesson(mistake=f"The push failed with {token}", correction="Use the deploy key", context=token)
    stored = await engine.recall(task="push failed deploy key")
    assert stored.lessons
    await engine.edit_lesson(stored.lessons[0].id, {"why": f"because {token}"})
    content = b"".join(path.read_bytes().lower() for path in bank_path.parent.iterdir())
    assert [part for part in (b"quokka", b"wombat", b"okapi", b"tapir") if part in content] == []


async def test_a_secret_that_a_cut_would_halve_is_taken_out_first(bank_path: Path) -> None:
    limit = 200
    small = Settings(bank=bank_path, project="app", max_event_chars=limit)
    async with Engine(small) as engine:
        for kind, secret in SECRETS.items():
            for start in range(limit // 2 - len(secret), limit // 2 + 8, 7):
                text = "z" * max(start - 1, 0) + " " + secret + " " + "y" * limit
                events = [{"type": "observation", "content": one} for one in (text, text.rjust(900, "w"))]
                await engine.reflect(task=kind, outcome="failure", events=events, error={"message": text})
    assert found_in(bank_path.parent) == {}


async def test_a_cut_to_a_few_characters_leaves_the_type_of_an_event_and_of_an_error(bank_path: Path) -> None:
    async with Engine(Settings(bank=bank_path, project="app", max_event_chars=3)) as engine:
        events = [{"type": "tool_response", "tool": "bash", "error": "refused to run"}]
        error = {"category": "timeout_error", "message": "it took too long"}
        made = await engine.reflect(task="deploy", outcome="failure", events=events, error=error)
    assert made.cut
    assert made.error_category == "timeout_error"


async def test_a_secret_at_the_end_of_what_a_recall_keeps_of_its_task_is_taken_out(
    engine: Engine, bank_path: Path
) -> None:
    for secret in SECRETS.values():
        await engine.recall(task="t " * (1000 - len(secret) // 4) + secret)
    assert found_in(bank_path.parent) == {}


async def test_what_a_crash_says_of_its_arguments_is_clean_in_the_log(
    settings: Settings, bank_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Crashing(Engine):
        async def call(self, tool: str, arguments: Mapping[str, Any], client: ClientCapabilities | None = None) -> Any:
            del tool, client
            raise RuntimeError(arguments["task"])

    async with Crashing(settings) as engine:
        await build(engine=engine).call_tool("recall_lessons", {"task": EVERY})
    bank_path.parent.mkdir()
    (bank_path.parent / "log.txt").write_text(capfd.readouterr().err)
    assert "RuntimeError" in (bank_path.parent / "log.txt").read_text()
    assert found_in(bank_path.parent) == {}
