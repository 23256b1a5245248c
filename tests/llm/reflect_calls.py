"""The tool reflect, called as a host calls it, with a language model behind it that the test plays."""

import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import LLM
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.conftest import place_empty_bank
from tests.llm.dialects import KEY, Dialect

both_eras = pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])

TASK = "Deploy the billing service"
EVENTS: list[dict[str, Any]] = [
    {"type": "tool_call", "tool": "bash", "arguments": {"command": "kubectl apply -f billing.yml"}},
    {
        "type": "tool_response",
        "tool": "bash",
        "content": "error: namespace 'billing' not found",
        "error": "exit 1",
    },
]
GOOD: dict[str, Any] = {
    "reflection": "The namespace was never created, so the apply failed at once. [e2] shows it.",
    "strategy": "Create the namespace before the first apply.",
    "importance": 0.8,
    "confidence": 0.9,
    "tags": ["kubectl", "namespace"],
    "mistake": "Applied a manifest to a namespace that did not exist",
    "correction": "Run kubectl create namespace billing first",
    "symptoms": ["namespace 'billing' not found"],
    "keywords": ["kubectl"],
}
BAD: dict[str, Any] = {**GOOD, "importance": -7}


def said(value: object) -> str:
    """A reply that is JSON and nothing else."""
    return json.dumps(value)


@asynccontextmanager
async def serving(
    folder: Path,
    llm: LLM | None = None,
    /,
    *,
    mode: Any = "auto",
    client: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncGenerator[tuple[Client, Engine]]:
    """A client of a server over the bank in `folder`, in one era of the protocol, and the engine behind it."""
    if not (folder / "bank.db").exists():
        place_empty_bank(folder / "bank.db")
    engine = Engine(Settings(bank=folder / "bank.db", project="billing", **settings), llm=llm)
    async with engine, Client(build(engine=engine), mode=mode, **client or {}) as connected:
        yield connected, engine


def bound_to(dialect: Dialect, url: str, **settings: Any) -> dict[str, Any]:
    """The settings that have the provider of `dialect` ask the server at `url`."""
    return {
        "llm": f"{dialect.name}:test-model@{url}",
        "provider_env": {dialect.key_name: KEY},
        **settings,
    }


async def reflect(client: Client, **more: Any) -> dict[str, Any]:
    """What the tool returns; a tool error fails the test."""
    sent = {
        "task": TASK,
        "outcome": "failure",
        "events": EVENTS,
        "task_type": "deploy",
        "detail": True,
        **more,
    }
    result = await client.call_tool("reflect", sent)
    assert not result.is_error, result.content
    return cast("dict[str, Any]", result.structured_content)


def rows(folder: Path) -> dict[str, int]:
    """How many reflections, lessons of any kind and days of spending the bank's file holds right now."""
    tables = ("reflections", "lessons", "spending")
    if not (folder / "bank.db").exists():
        return dict.fromkeys(tables, 0)
    with closing(sqlite3.connect(f"file:{folder / 'bank.db'}?mode=ro", uri=True)) as bank:
        known = {
            name for (name,) in bank.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        return {
            name: bank.execute(f"SELECT count(*) FROM {name}").fetchone()[0] if name in known else 0  # noqa: S608
            for name in tables
        }
