"""A language model that the caller puts in: whatever it raises, a call is answered by rules and says why."""

from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Reply, Request
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

_SEARCH: dict[str, Any] = {"user_message": "quantum computing", "queries": [{"table": "t", "query_text": "quantum"}]}


class Broken:
    """Raises the same error for every request."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def complete(self, request: Request) -> Reply:
        assert request.user
        raise self._error


@pytest.mark.parametrize("error", [ValueError("no such model"), KeyError("choices"), RuntimeError("pool is closed")])
async def test_any_error_of_the_model_falls_back_to_rules_with_the_reason(tmp_path: Path, error: Exception) -> None:
    async with Engine(Settings(bank=tmp_path / "bank.db"), llm=Broken(error)) as engine:
        plan = await engine.replan(**_SEARCH)
    assert (plan.thinker, bool(plan.new_queries)) == ("rules", True)
    assert type(error).__name__ in (plan.note or "") or str(error) in (plan.note or "")


async def test_a_timeout_error_at_once_is_not_called_a_missing_reply(tmp_path: Path) -> None:
    async with Engine(Settings(bank=tmp_path / "bank.db"), llm=Broken(TimeoutError("connect"))) as engine:
        plan = await engine.replan(**_SEARCH)
    assert plan.thinker == "rules"
    assert "no reply within 45" not in (plan.note or "")


async def test_a_plan_by_rules_is_not_answered_again_once_a_model_is_there(tmp_path: Path) -> None:
    settings = Settings(bank=tmp_path / "bank.db")
    async with Engine(settings, llm=Broken(ValueError("down"))) as engine:
        first = await engine.replan(**_SEARCH)
    proposal = '{"strategy": "rewrite", "new_queries": [{"table": "t", "query_text": "physics"}]}'
    with Scripted(proposal) as llm:
        async with Engine(settings, llm=llm) as engine:
            second = await engine.replan(search_id=first.search_id)
    assert [query.query_text for query in second.new_queries] == ["physics"]
