"""Limits on tokens and cost, and what was spent. Each completion reserves the most that it could cost.

So one process never exceeds a limit. Several processes that ask in the same moment can exceed it by one completion
each.
"""

import asyncio
import json
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from mcp_reflect.errors import McpReflectError
from mcp_reflect.llm import protocol
from mcp_reflect.llm.protocol import LLM, BudgetExceededError, LLMError, LLMSettingError, Reply, Request, Usage
from mcp_reflect.security.redact import quoted

PREFIX = "MCP_REFLECT_LLM_"
PRICES = f"{PREFIX}PRICES"
_STORE_SECONDS = 2.0  # to wait for the store, on top of what the request may take
_ROUNDING = 1e-9  # US dollars: sums of floats are not exact
_BYTES_PER_TOKEN = 3  # English has four or more, so the estimate is high


@dataclass(frozen=True, slots=True)
class Spend:
    """Tokens (in and out together) and what they cost in US dollars."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: "Spend") -> "Spend":
        return Spend(self.tokens - other.tokens, self.cost - other.cost)


NOTHING = Spend()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendLimits:
    """The most that one call of a tool, and one day (UTC), may spend; None is no limit. Costs are US dollars."""

    tokens_per_call: float | None = None
    tokens_per_day: float | None = None
    cost_per_call: float | None = None
    cost_per_day: float | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; tokens of the prompt cache cost as input where they have no price."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> float:
        """Return the cost of these tokens in US dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        plain = max(0, usage.input_tokens - usage.cache_read - usage.cache_write)
        millions = plain * self.input + usage.cache_read * read + usage.cache_write * write
        return (millions + usage.output_tokens * self.output) / 1_000_000


def read_limits(settings: Mapping[str, str]) -> SpendLimits:
    """Return the limits of the settings. Raises `LLMSettingError` for a value that is not a number of 0 or more."""
    limits: dict[str, float] = {}
    for name in SpendLimits.__slots__:
        setting = PREFIX + name.upper()
        text = settings.get(setting, "").strip().replace("_", "").replace(",", "")
        value = _amount(text)
        if value is not None:
            limits[name] = int(value) if name.startswith("tokens") else value
        elif text:
            fix = "Write a number from 0 up, or leave it out"
            raise LLMSettingError(setting, f'"{quoted(text, 40)}" is no amount', fix)
    return SpendLimits(**limits)


def read_prices(settings: Mapping[str, str]) -> dict[str, Price]:
    """Return prices by `provider:model`, from `anthropic:claude-sonnet-5-5=3/15, openai:qwen3=0/0`.

    The numbers are input, output, and, where they differ, cache read and cache write. Raises
    `LLMSettingError` for an entry that is not of this form.
    """
    prices: dict[str, Price] = {}
    for entry in filter(None, map(str.strip, settings.get(PRICES, "").split(","))):
        name, _, numbers = entry.rpartition("=")
        values = [_amount(number) for number in numbers.split("/")]
        amounts = [value for value in values if value is not None]
        if not name.strip() or len(amounts) != len(values) or not 2 <= len(amounts) <= 4:
            fix = "Write dollars for a million tokens, input/output: anthropic:claude-sonnet-5-5=3/15"
            raise LLMSettingError(PRICES, f'"{quoted(entry)}" is no price', fix)
        prices[name.strip()] = Price(*amounts)
    return prices


def _amount(text: str) -> float | None:
    """Return a number of 0 or more, None for anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


class UsageStore(Protocol):
    """Today's (UTC) use, of all processes that share the store. Both methods may raise `McpReflectError`."""

    async def spent_today(self) -> Spend: ...

    async def add(self, spend: Spend) -> None: ...


_call_spends: ContextVar[list[Spend] | None] = ContextVar("mcp_reflect_llm_call_spends", default=None)


@contextmanager
def one_call() -> Generator[None]:
    """Count all completions inside together towards the limits per call. Outside, each counts alone."""
    token = _call_spends.set([])
    try:
        yield
    finally:
        _call_spends.reset(token)


class Account:
    """The limits and the store of use, shared by all completions of a process.

    `_pending` counts as spent and is not in the store yet: reserved for completions that run, or `_due`, which they
    have spent.
    """

    def __init__(self, limits: SpendLimits, store: UsageStore) -> None:
        self.limits = limits
        self._store = store
        self._pending = NOTHING
        self._due = NOTHING
        self._written = 0

    async def reserve(self, name: str, most: Spend) -> None:
        """Set `most` aside for a completion. Raises `BudgetExceededError` where a limit leaves less."""
        is_daily = (self.limits.tokens_per_day, self.limits.cost_per_day) != (None, None)
        today = await self._today(name) if is_daily else NOTHING
        spends = _call_spends.get()
        self._check(name, "call", sum(spends or (), NOTHING), most)
        self._check(name, "day", today + self._pending, most)
        self._pending += most
        if spends is not None:
            spends.append(most)

    def finish(self, most: Spend, spent: Spend) -> None:
        """Replace the reserve `most` of a completion by what it has cost."""
        self._pending += spent - most
        self._due += spent
        if (spends := _call_spends.get()) is not None:
            spends.append(spent - most)

    async def write(self) -> None:
        """Write unrecorded use to the store. A failure leaves it unrecorded and does not cost the reply."""
        due, self._due = self._due, NOTHING
        if due == NOTHING:
            return
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await self._store.add(due)
        except (McpReflectError, TimeoutError):
            self._due += due
        else:
            self._pending -= due
            self._written += 1

    async def _today(self, name: str) -> Spend:
        """Return today's use from the store, read again where something was written in between."""
        before = None
        today = NOTHING
        while before != self._written:
            before = self._written
            try:
                async with asyncio.timeout(_STORE_SECONDS):
                    today = await self._store.spent_today()
            except (McpReflectError, TimeoutError) as error:
                fault = f"what was spent today cannot be read ({str(error) or 'the bank is busy'})"
                raise BudgetExceededError(name, fault, "Remove the limit per day, or repair the bank") from error
        return today

    def _check(self, name: str, span: str, spent: Spend, most: Spend) -> None:
        """Raise `BudgetExceededError` where `most` on top of `spent` exceeds a limit of the span (call or day)."""
        cost, tokens = getattr(self.limits, f"cost_per_{span}"), getattr(self.limits, f"tokens_per_{span}")
        unit = fault = ""
        if cost is not None and spent.cost + most.cost > cost + _ROUNDING:
            unit = "COST"
            fault = f"${spent.cost:.4f} of the ${cost:g} a {span} are spent, and this may cost ${most.cost:.4f}"
        if tokens is not None and spent.tokens + most.tokens > tokens:
            unit = "TOKENS"
            fault = f"{spent.tokens} of the {tokens} tokens a {span} are spent, and this may take {most.tokens}"
        if fault:
            wait = ", or wait until midnight UTC" if span == "day" else ""
            raise BudgetExceededError(name, fault, f"Raise {PREFIX}{unit}_PER_{span.upper()}{wait}")


class Budget:
    """Holds each completion of `llm` to the limits of `account`."""

    def __init__(self, llm: LLM, name: str, account: Account, price: Price | None = None) -> None:
        self._llm = llm
        self._name = name
        self._account = account
        self._price = price

    async def complete(self, request: Request) -> Reply:
        """Return the wrapped model's reply, or raise its error; `BudgetExceededError` before anything was sent."""
        limits = self._account.limits
        if self._price is None and (limits.cost_per_call, limits.cost_per_day) != (None, None):
            fix = f"Add dollars for a million tokens, input/output: {self._name}=3/15 (0/0 for a local one)"
            raise LLMSettingError(PRICES, f"a limit on cost needs the price of {self._name}", fix)
        schema = "" if request.schema is None else json.dumps(request.schema)
        input_tokens = _tokens(request.system + request.user + schema) + 16
        most = self._spend(Usage(input_tokens=input_tokens, output_tokens=request.max_tokens))
        await self._account.reserve(self._name, most)
        # A request without a reply (too late, canceled) may have cost its input.
        cost = self._spend(Usage(input_tokens=input_tokens))
        try:
            reply = await self._llm.complete(request)
            usage = reply.usage
            if not (usage.input_tokens or usage.output_tokens):  # the endpoint does not count them
                usage = Usage(input_tokens=input_tokens, output_tokens=_tokens(reply.text))
            cost = self._spend(usage)
        except LLMError as error:
            if not isinstance(error, (protocol.TimedOutError, protocol.GarbledReplyError)):
                cost = NOTHING
            raise
        finally:
            self._account.finish(most, cost)
        await self._account.write()
        return reply

    def _spend(self, usage: Usage) -> Spend:
        cost = 0.0 if self._price is None else self._price.of(usage)
        return Spend(usage.input_tokens + usage.output_tokens, cost)


def _tokens(text: str) -> int:
    """Return a high estimate of a text's tokens."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)
