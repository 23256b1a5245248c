"""What the suites that play every provider share."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from mcp_reflect.llm.protocol import LLMError, Reply
from tests.llm.dialects import DIALECTS, Dialect
from tests.llm.loopback import Answer, Loopback, Step
from tests.llm.requests import asking

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


async def left_nothing_behind() -> AsyncIterator[None]:
    """A fixture: no task outlives the test, and nothing unclosed waits for the collector (a warning is an error)."""
    before = asyncio.all_tasks()
    yield
    assert asyncio.all_tasks() - before <= {asyncio.current_task()}
    gc.collect(1)


async def ask(dialect: Dialect, *steps: Step) -> Reply:
    """The reply of the provider to a server that plays `steps`."""
    async with Loopback(*steps) as server:
        return await dialect.open(server.url).complete(asking())


async def fault(dialect: Dialect, *steps: Step) -> LLMError:
    """The error of the provider for a server that plays `steps`."""
    with pytest.raises(LLMError) as caught:
        await ask(dialect, *steps)
    return caught.value


def failing(
    dialect: Dialect, status: int, message: str = "so it is", kind: str = "api_error"
) -> Answer:
    """An error of the server in the provider's own shape."""
    return Answer(status=status, body=dialect.fail(kind, message))
