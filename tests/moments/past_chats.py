"""Decisions of past chats as lessons of a bank, and whether a prompt shows them."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.llm.embedders import Embedder
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.shown_lesson import MOST_SHOWN
from mcp_reflect.services.engine import Engine

DECISIONS: Final = Path(__file__).parent / "decisions"
SETS: Final = ("decisions", "later", "unseen", "fresh")


def lines(file: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@asynccontextmanager
async def bank_of(
    cases: Sequence[Mapping[str, Any]], embedder: Embedder | None = None, **settings: Any
) -> AsyncGenerator[tuple[Engine, dict[str, str]]]:
    """Open a bank with both lessons of each chat; yield it with the short ids of the rules by the ids of the cases."""
    with TemporaryDirectory() as folder:
        named = Settings(bank=Path(folder) / "bank.db", project="decisions", **settings)
        engine = Engine(named, embedder=embedder)
        rules: dict[str, str] = {}
        try:
            for case in cases:
                stored = await engine.store_lesson(**case["rule"], evidence="user")
                rules[case["id"]] = short_id(stored.lesson_id)
                await engine.store_lesson(**case["sibling"], evidence="user")
            yield engine, rules
        finally:
            await engine.close()


async def shown_at(engine: Engine, session: str, prompt: str) -> str:
    """Return what a hook says at a prompt of a session about lessons, empty for nothing."""
    return await services.reminders.at_prompt(engine.context, session, prompt) or ""


def outcome_of(case: Mapping[str, Any], rule: str, text: str) -> dict[str, Any]:
    """Return the place at which a rule is shown (0: not at all), whether it is whole, and how many others are shown."""
    shown = {line[2:12]: line for line in text.splitlines() if line.startswith("- les_")}
    ids = [*shown]
    place = ids.index(rule) + 1 if rule in shown else 0
    line, correction = shown.get(rule, ""), case["rule"]["correction"]
    is_whole = correction in line or (len(correction) > MOST_SHOWN and "(shortened; " in line)
    whole = is_whole and all(word in line for word in case["words"])
    return {"id": case["id"], "place": place, "whole": whole, "others": len(ids) - (place > 0)}
