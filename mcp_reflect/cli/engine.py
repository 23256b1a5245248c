"""Run a command's work with an engine over the configured bank."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine

_Result = TypeVar("_Result")


def with_engine(work: Callable[[Engine], Awaitable[_Result]], settings: Settings | None = None) -> _Result:
    """Run `work` with an engine over the bank of the settings (default: the environment's), and close it."""

    async def run() -> _Result:
        async with Engine(settings) as engine:
            return await work(engine)

    return asyncio.run(run())
