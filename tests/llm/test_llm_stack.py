"""Limits and retries together, of a provider that settings name, against a real server."""

import pytest

from mcp_reflect.llm.protocol import LLM, BudgetExceededError, LLMSettingError, Role
from mcp_reflect.llm.providers import Registry
from tests.llm.dialects import DIALECTS, KEY, Dialect
from tests.llm.loopback import Answer, Loopback
from tests.llm.memory_usage import MemoryUsageStore
from tests.llm.requests import asking


def bound(dialect: Dialect, url: str, store: MemoryUsageStore, settings: dict[str, str]) -> LLM:
    llm = Registry({**settings, "MCP_REFLECT_LLM": f"{dialect.name}:m@{url}"}, store).llm(Role.REFLECTOR)
    assert llm is not None
    return llm


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_completion_is_retried_and_charged(dialect: Dialect) -> None:
    settings = {dialect.key_name: KEY, "MCP_REFLECT_LLM_TOKENS_PER_DAY": "1000"}
    store = MemoryUsageStore()
    busy = Answer(status=529, body=dialect.fail("overloaded_error", "busy"), headers={"retry-after": "0.001"})
    async with Loopback(busy, dialect.say("yes", dialect.stops["end"])) as server:
        await bound(dialect, server.url, store, settings).complete(asking())
    assert await store.spent_today() == 18


async def test_roles_share_the_budget_of_the_day() -> None:
    settings = {
        "MCP_REFLECT_LLM": "openai:a@http://localhost:9/v1",
        "MCP_REFLECT_LLM_CRITIC": "openai:b@http://localhost:9/v1",
        "MCP_REFLECT_LLM_TOKENS_PER_DAY": "10",
    }
    registry = Registry(settings, MemoryUsageStore())
    for role in (Role.REFLECTOR, Role.CRITIC):
        llm = registry.llm(role)
        assert llm is not None
        with pytest.raises(BudgetExceededError):
            await llm.complete(asking())


async def test_a_limit_that_is_no_number_stops_no_start_and_is_found() -> None:
    settings = {"MCP_REFLECT_LLM": "openai:a@http://localhost:9/v1", "MCP_REFLECT_LLM_TOKENS_PER_DAY": "cheap"}
    registry = Registry(settings, MemoryUsageStore())
    assert [problem.setting for problem in registry.problems()] == ["MCP_REFLECT_LLM_TOKENS_PER_DAY"]
    llm = registry.llm(Role.REFLECTOR)
    assert llm is not None
    with pytest.raises(LLMSettingError, match="cheap"):
        await llm.complete(asking())
