"""No secret reaches a file: not through any argument of any tool, not in the index, not in the log."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import McpReflectError
from mcp_reflect.llm.runner import ClientCapabilities
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.secrets import SECRETS, found_in

ROOT = Path(__file__).parent.parent.parent
EVERY = "It printed " + " and then ".join(SECRETS.values()) + " at the end"

EVENT = {"type": "tool_call", "tool": "x", "content": "x", "error": "x", "id": "x", "timestamp": "x"}
CALLS: dict[str, dict[str, Any]] = {
    "store_lesson": {
        "mistake": "x", "correction": "x", "task_type": "x", "context": "x", "symptoms": ["x"], "keywords": ["x"],
        "tags": ["x"],
    },
    "reflect": {
        "task": "x", "outcome": "failure", "goal": "x", "task_type": "x", "run_id": "x", "trigger": "x", "tags": ["x"],
        "events": [
            {**EVENT, "arguments": {"a": ["x"], "x": "b"}, "metadata": {"a": {"x": "x"}}},
            {"type": "tool_response", "tool": "x", "content": "Error: x not found"},
            {"type": "tool_call", "tool": "x", "arguments": "x"},
            {"type": "tool_response", "tool": "x", "content": {"x": "x"}},
        ],
        "error": {"message": "x", "context": {"x": ["x"]}},
        "analysis": {
            "reflection": "x", "strategy": "x", "mistake": "x", "correction": "x", "symptoms": ["x"], "keywords": ["x"],
            "tags": ["x"], "source_event_ids": [],
        },
    },
    "recall": {"task": "x", "task_type": "x", "context": "x", "symptoms": ["x"], "tags": ["x"]},
}  # fmt: skip


def filled(value: Any, text: str) -> Iterator[Any]:
    """`value` once for each of its places, with `text` in that place and a plain word in the others."""
    if value == "x":
        yield text
    if isinstance(value, dict):
        sent = cast("dict[str, Any]", value)
        if "x" in sent:
            yield {**plain(sent), text: "word"}
        for name, item in sent.items():
            yield from ({**plain(sent), ("name" if name == "x" else name): one} for one in filled(item, text))
    if isinstance(value, list):
        items = cast("list[Any]", value)
        for place, item in enumerate(items):
            yield from ([*plain(items[:place]), one, *plain(items[place + 1 :])] for one in filled(item, text))


def plain(value: Any) -> Any:
    """`value` with a plain word in each of its places."""
    if isinstance(value, dict):
        sent = cast("dict[str, Any]", value)
        return {("name" if name == "x" else name): plain(item) for name, item in sent.items()}
    if isinstance(value, list):
        return [plain(item) for item in cast("list[Any]", value)]
    return "word" if value == "x" else value


@pytest.mark.parametrize("tool", CALLS)
async def test_no_secret_reaches_a_file_through_any_argument(
    tool: str, bank_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(bank=bank_path, project="app", log_level="debug")
    stored = 0
    async with Engine(settings) as engine:
        texts = [EVERY, *(f"{kind} {secret}" for kind, secret in SECRETS.items())]
        for every, *single in zip(*(filled(CALLS[tool], text) for text in texts), strict=True):
            for arguments in (every, *single):
                try:
                    await getattr(engine, tool)(**arguments)
                except McpReflectError:
                    continue  # too long for its place: refused, so it is nowhere
                stored += 1
                if arguments is every:
                    break
        assert found_in(bank_path.parent) == {}
        lines = [json.dumps(line) async for line in engine.bank.transfer.export("local", None)]
    assert stored >= len(list(filled(CALLS[tool], "")))
    (bank_path.parent / "export.jsonl").write_text("\n".join(lines))
    (bank_path.parent / "log.txt").write_text(capfd.readouterr().err)
    assert found_in(bank_path.parent) == {}


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
