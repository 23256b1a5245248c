"""A limit in time, whatever the provider does: the outermost wrapper."""

import asyncio

from mcp_reflect.llm.errors import LLMError, TimedOutError
from mcp_reflect.llm.protocol import LLM, Reply, Request


class Timeout:
    """Cancels the completion when `request.timeout` seconds are over and raises `TimedOutError`."""

    def __init__(self, llm: LLM, name: str) -> None:
        self._llm = llm
        self._name = name

    async def complete(self, request: Request) -> Reply:
        """The reply of the wrapped one, or its error; never later than `request.timeout`."""
        try:
            async with asyncio.timeout(request.timeout):
                return await self._llm.complete(request)
        except TimeoutError:
            late: LLMError = TimedOutError(
                self._name,
                f"no reply within {round(request.timeout, 2):g} s",
                "Try again, or bind a faster model to this role",
            )
        raise late
