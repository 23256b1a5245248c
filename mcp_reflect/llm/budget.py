"""Limits on tokens, and what was spent. Each completion reserves the most that it could take.

So one process never exceeds a limit. Several processes that ask in the same moment can exceed it by one completion
each.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol

from mcp_reflect.errors import McpReflectError
from mcp_reflect.llm.protocol import (
    BudgetExceededError,
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    Reply,
    Request,
    TimedOutError,
)
from mcp_reflect.security.redact import quoted

_PREFIX: Final = "MCP_REFLECT_LLM_"
_STORE_SECONDS: Final = 2.0  # to wait for the store, on top of what the request may take
_BYTES_PER_TOKEN: Final = 3  # English has four or more, so the estimate is high


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLimits:
    """The most tokens that one call of a tool, and one day (UTC), may spend; None: no limit."""

    per_call: int | None = None
    per_day: int | None = None


def read_limits(settings: Mapping[str, str]) -> TokenLimits:
    """Return the limits of the settings. Raises `LLMSettingError` for a value that is not a number of 0 or more."""
    limits: list[int | None] = []
    for name in (f"{_PREFIX}TOKENS_PER_CALL", f"{_PREFIX}TOKENS_PER_DAY"):
        text = settings.get(name, "").strip().replace(",", "")
        try:
            value = float(text or 0)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            fault = f'"{quoted(text, 40)}" is not an amount'
            raise LLMSettingError(name, fault, "Write a number from 0 up, or leave it out")
        limits.append(int(value) if text else None)
    return TokenLimits(per_call=limits[0], per_day=limits[1])


class UsageStore(Protocol):
    """Today's (UTC) tokens, of all processes that share the store. Both methods may raise `McpReflectError`."""

    async def spent_today(self) -> int: ...

    async def add(self, tokens: int) -> None: ...


_spent_in_call: ContextVar[list[int] | None] = ContextVar("mcp_reflect_llm_spent_in_call", default=None)


@contextmanager
def one_call() -> Generator[None]:
    """Count all completions inside together toward the limits per call. Outside, each counts alone."""
    token = _spent_in_call.set([])
    try:
        yield
    finally:
        _spent_in_call.reset(token)


class Account:
    """The limits and the store of use, shared by all completions of a process.

    `_pending` counts as spent and is not in the store yet: reserved for completions that run, or `_due`, which they
    have spent.
    """

    def __init__(self, limits: TokenLimits, store: UsageStore) -> None:
        self._limits = limits
        self._store = store
        self._pending = self._due = 0
        self._storing = asyncio.Lock()  # what is written while the day is read would count in neither

    async def complete(self, name: str, ask: Callable[[Request], Awaitable[Reply]], request: Request) -> Reply:
        """Return the reply of `ask`, or raise its error; `BudgetExceededError` before anything was sent."""
        schema = "" if request.schema is None else json.dumps(request.schema)
        input_tokens = _tokens(request.system + request.user + schema) + 16
        most = input_tokens + request.max_tokens
        await self._reserve(name, most)
        spent = input_tokens  # what a request without a reply (too late, canceled) may have cost
        try:
            reply = await ask(request)
            counted = reply.usage.input_tokens + reply.usage.output_tokens
            spent = counted or input_tokens + _tokens(reply.text)  # the endpoint may not count them
        except LLMError as error:
            if not isinstance(error, TimedOutError | GarbledReplyError):
                spent = 0
            raise
        finally:
            self._pending += spent - most
            self._due += spent
            if (spends := _spent_in_call.get()) is not None:
                spends.append(spent - most)
        await self._write()
        return reply

    async def _reserve(self, name: str, most: int) -> None:
        """Set tokens aside for a completion. Raises `BudgetExceededError` where a limit leaves less."""
        spends = _spent_in_call.get()
        async with self._storing:
            today = 0
            if self._limits.per_day is not None:
                try:
                    async with asyncio.timeout(_STORE_SECONDS):
                        today = await self._store.spent_today()
                except (McpReflectError, TimeoutError) as error:
                    fault = f"what was spent today cannot be read ({str(error) or 'the bank is busy'})"
                    raise BudgetExceededError(name, fault, "Remove the limit per day, or repair the bank") from error
            for span, limit, spent in (
                ("call", self._limits.per_call, sum(spends or ())),
                ("day", self._limits.per_day, today + self._pending),
            ):
                if limit is not None and spent + most > limit:
                    fault = f"{spent} of the {limit} tokens a {span} are spent, and this may take {most}"
                    wait = ", or wait until midnight UTC" if span == "day" else ""
                    raise BudgetExceededError(name, fault, f"Raise {_PREFIX}TOKENS_PER_{span.upper()}{wait}")
            self._pending += most
        if spends is not None:
            spends.append(most)

    async def _write(self) -> None:
        """Write what is due to the store. A failure leaves it due, and does not cost the reply."""
        async with self._storing:
            due = self._due
            with suppress(McpReflectError, TimeoutError):
                async with asyncio.timeout(_STORE_SECONDS):
                    await self._store.add(due)
                self._due -= due
                self._pending -= due


def _tokens(text: str) -> int:
    """Return a high estimate of a text's tokens."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)
