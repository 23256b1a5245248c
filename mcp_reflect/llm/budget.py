"""SpendLimits on tokens and cost, what was spent, and metering by role."""

import asyncio
import json
import math
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import ceil
from typing import Protocol

from mcp_reflect.clock import Clock
from mcp_reflect.errors import McpReflectError
from mcp_reflect.llm.protocol import (
    LLM,
    NOTHING_USED,
    BudgetExceededError,
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    Reply,
    Request,
    Role,
    TimedOutError,
    Usage,
)
from mcp_reflect.security.redact import quoted

TOKENS_PER_CALL = "MCP_REFLECT_LLM_TOKENS_PER_CALL"
TOKENS_PER_DAY = "MCP_REFLECT_LLM_TOKENS_PER_DAY"
COST_PER_CALL = "MCP_REFLECT_LLM_COST_PER_CALL"
COST_PER_DAY = "MCP_REFLECT_LLM_COST_PER_DAY"
PRICES = "MCP_REFLECT_LLM_PRICES"


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

    tokens_per_call: int | None = None
    tokens_per_day: int | None = None
    cost_per_call: float | None = None
    cost_per_day: float | None = None

    @property
    def daily(self) -> bool:
        """Whether what was spent today matters."""
        return self.tokens_per_day is not None or self.cost_per_day is not None

    @property
    def priced(self) -> bool:
        """Whether prices matter."""
        return self.cost_per_call is not None or self.cost_per_day is not None


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; what goes through the prompt cache costs as input unless said otherwise."""

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
    """Return the limits of the settings. Raises `LLMSettingError` for a value that is no number of 0 or more."""
    tokens = {name: _number(settings, name) for name in (TOKENS_PER_CALL, TOKENS_PER_DAY)}
    whole = {name: None if value is None else int(value) for name, value in tokens.items()}
    return SpendLimits(
        tokens_per_call=whole[TOKENS_PER_CALL],
        tokens_per_day=whole[TOKENS_PER_DAY],
        cost_per_call=_number(settings, COST_PER_CALL),
        cost_per_day=_number(settings, COST_PER_DAY),
    )


def read_prices(settings: Mapping[str, str]) -> dict[str, Price]:
    """Prices by `provider:model`, from `anthropic:claude-sonnet-5-5=3/15, openai:qwen3=0/0`.

    The numbers are input, output, and, where they differ, cache read and cache write. Raises
    `LLMSettingError` for an entry that is not of this form.
    """
    entries = [entry.strip() for entry in settings.get(PRICES, "").split(",") if entry.strip()]
    return dict(_price(entry) for entry in entries)


def _price(entry: str) -> tuple[str, Price]:
    name, _, numbers = entry.rpartition("=")
    values = [_finite(number) for number in numbers.split("/")]
    given = [value for value in values if value is not None]
    if not name.strip() or len(given) != len(values) or not 2 <= len(given) <= 4:
        fix = "Write dollars for a million tokens, input/output: anthropic:claude-sonnet-5-5=3/15"
        raise LLMSettingError(PRICES, f'"{quoted(entry)}" is no price', fix)
    return name.strip(), Price(*given)


def _number(settings: Mapping[str, str], name: str) -> float | None:
    text = settings.get(name, "").strip().replace("_", "").replace(",", "")
    value = _finite(text)
    if text and value is None:
        raise LLMSettingError(name, f'"{quoted(text, 40)}" is no amount', "Write a number from 0 up, or leave it out")
    return value


def _finite(text: str) -> float | None:
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


class MemoryUsageStore:
    """A store of this process alone, for use without a bank."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._day = -1
        self._spent = NOTHING

    async def spent_today(self) -> Spend:
        """Return what was added since midnight, UTC."""
        today = int(self._clock.now() // 86_400)
        if today != self._day:
            self._day, self._spent = today, NOTHING
        return self._spent

    async def add(self, spend: Spend) -> None:
        """Count `spend` towards today."""
        self._spent = await self.spent_today() + spend


# Each completion is held to the most it could cost, so one process never passes a limit. Several
# processes that ask in the same moment can, together, pass it by one completion each.


_PATIENCE = 2.0  # seconds to wait for the store, on top of what the request may take
_ROUNDING = 1e-9  # US dollars: sums of floats are not exact


@dataclass(slots=True)
class _Tab:
    """The tokens and cost that one call of a tool has spent or reserved."""

    spent: Spend = NOTHING


_tab: ContextVar[_Tab | None] = ContextVar("mcp_reflect_llm_tab", default=None)


@contextmanager
def one_call() -> Generator[None]:
    """Yield all completions inside count together towards the limits per call. Outside, each counts alone."""
    token = _tab.set(_Tab())
    try:
        yield
    finally:
        _tab.reset(token)


class Account:
    """The limits and the store of use, shared by all completions of a process.

    `_running` is reserved for completions that have not ended; `_owed` was spent and is not in the store yet. Both
    count as spent.
    """

    def __init__(self, limits: SpendLimits, store: UsageStore) -> None:
        self.limits = limits
        self._store = store
        self._running = NOTHING
        self._owed = NOTHING
        self._written = 0

    async def reserve(self, name: str, most: Spend) -> None:
        """Set `most` aside for a completion. Raises `BudgetExceededError` where a limit leaves less."""
        limits = self.limits
        tab = _tab.get() or _Tab()
        today = await self._today(name) if limits.daily else NOTHING
        _check(name, "call", tab.spent, most, (limits.tokens_per_call, limits.cost_per_call))
        spent = today + self._running + self._owed
        _check(name, "day", spent, most, (limits.tokens_per_day, limits.cost_per_day))
        self._running += most
        tab.spent += most

    def finish(self, most: Spend, spent: Spend) -> None:
        """The completion that `most` was set aside for has cost `spent`."""
        self._running -= most
        self._owed += spent if self.limits.daily else NOTHING
        if tab := _tab.get():
            tab.spent += spent - most

    async def write(self) -> None:
        """Write unrecorded use to the store. A failure leaves it unrecorded: the reply is worth more."""
        if not self.limits.daily or self._owed == NOTHING:
            return
        due, self._owed = self._owed, NOTHING
        self._running += due
        kept = due
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._store.add(due)
            kept = NOTHING
        except (McpReflectError, TimeoutError):
            return
        finally:
            self._running -= due
            self._owed += kept
            self._written += 1

    async def _today(self, name: str) -> Spend:
        """Return today's use from the store, read again where something was written in between."""
        while True:
            before = self._written
            try:
                async with asyncio.timeout(_PATIENCE):
                    today = await self._store.spent_today()
            except (McpReflectError, TimeoutError) as error:
                fault = f"what was spent today cannot be read ({str(error) or 'the bank is busy'})"
                raise BudgetExceededError(name, fault, "Take the limit per day away, or mend the bank") from error
            if before == self._written:
                return today


def _check(name: str, span: str, spent: Spend, most: Spend, limits: tuple[int | None, float | None]) -> None:
    tokens, cost = limits
    fix = "Raise MCP_REFLECT_LLM_{}_PER_" + span.upper() + (", or wait until midnight UTC" if span == "day" else "")
    if tokens is not None and spent.tokens + most.tokens > tokens:
        fault = f"{spent.tokens} of the {tokens} tokens a {span} are spent, and this may take {most.tokens}"
        raise BudgetExceededError(name, fault, fix.format("TOKENS"))
    if cost is not None and spent.cost + most.cost > cost + _ROUNDING:
        fault = f"${spent.cost:.4f} of the ${cost:g} a {span} are spent, and this may cost ${most.cost:.4f}"
        raise BudgetExceededError(name, fault, fix.format("COST"))


_BYTES_PER_TOKEN = 3  # English has four or more, so this errs on the dear side


class Budget:
    """Holds each completion of `llm` to the limits of `account`."""

    def __init__(self, llm: LLM, name: str, account: Account, price: Price | None = None) -> None:
        self._llm = llm
        self._name = name
        self._account = account
        self._price = price

    async def complete(self, request: Request) -> Reply:
        """Return the reply of the wrapped one, or its error; `BudgetExceededError` before anything was sent."""
        if self._price is None and self._account.limits.priced:
            fix = f"Add dollars for a million tokens, input/output: {self._name}=3/15 (0/0 for a local one)"
            raise LLMSettingError(PRICES, f"a limit on cost needs the price of {self._name}", fix)
        guess = _estimate(request)
        most = self._spend(guess)
        await self._account.reserve(self._name, most)
        # What was sent and not answered (too late, cancelled) has cost its input, for all we know.
        cost = self._spend(Usage(input_tokens=guess.input_tokens))
        try:
            reply = await self._llm.complete(request)
            cost = self._spend(_counted(reply, guess))
        except LLMError as error:
            if not isinstance(error, (TimedOutError, GarbledReplyError)):
                cost = NOTHING
            raise
        finally:
            self._account.finish(most, cost)
        await self._account.write()
        return reply

    def _spend(self, usage: Usage) -> Spend:
        cost = 0.0 if self._price is None else self._price.of(usage)
        return Spend(usage.input_tokens + usage.output_tokens, cost)


def _estimate(request: Request) -> Usage:
    """Return the most the request could take: an upper guess of its input, and all of its `max_tokens`."""
    schema = "" if request.schema is None else json.dumps(request.schema)
    size = sum(len(part.encode("utf-8", "replace")) for part in (request.system, request.user, schema))
    return Usage(input_tokens=ceil(size / _BYTES_PER_TOKEN) + 16, output_tokens=request.max_tokens)


def _counted(reply: Reply, guess: Usage) -> Usage:
    """Return the tokens of the reply; guessed where the endpoint does not count them."""
    if reply.usage.input_tokens or reply.usage.output_tokens:
        return reply.usage
    size = len(reply.text.encode("utf-8", "replace"))
    return Usage(input_tokens=guess.input_tokens, output_tokens=ceil(size / _BYTES_PER_TOKEN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One completion: role, model, tokens, seconds and the way it ended.

    `ended` is a `Stop` for a reply and the `kind` of the error otherwise (with no tokens).
    """

    role: Role
    llm: str
    usage: Usage
    seconds: float
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """All completions of one role with one language model. `failures` are those that ended in an error."""

    completions: int = 0
    failures: int = 0
    seconds: float = 0.0
    usage: Usage = NOTHING_USED


class Meter:
    """The running totals. `on_use`, where given, hears of each completion when it has ended."""

    def __init__(self, on_use: Callable[[Use], None] | None = None) -> None:
        self._on_use = on_use
        self._totals: dict[tuple[Role, str], Total] = {}

    def add(self, use: Use, *, failed: bool) -> None:
        """Count one completion."""
        key = (use.role, use.llm)
        before = self._totals.get(key, Total())
        self._totals[key] = Total(
            completions=before.completions + 1,
            failures=before.failures + failed,
            seconds=before.seconds + use.seconds,
            usage=_sum(before.usage, use.usage),
        )
        if self._on_use is not None:
            self._on_use(use)

    def totals(self) -> dict[tuple[Role, str], Total]:
        """Return a copy of the totals by (role, `provider:model`)."""
        return dict(self._totals)


class Metering:
    """Counts every completion of `llm` on `meter`. A cancelled one is not counted: nobody knows its tokens."""

    def __init__(self, llm: LLM, name: str, meter: Meter, clock: Clock | None = None) -> None:
        self._llm = llm
        self._name = name
        self._meter = meter
        self._clock = clock or Clock()

    async def complete(self, request: Request) -> Reply:
        """Return the reply of the wrapped one, or its error, counted."""
        started = self._clock.now()
        try:
            reply = await self._llm.complete(request)
        except LLMError as error:
            self._count(request, started, NOTHING_USED, error.kind, failed=True)
            raise
        self._count(request, started, reply.usage, reply.stop, failed=False)
        return reply

    def _count(self, request: Request, started: float, usage: Usage, ended: str, *, failed: bool) -> None:
        seconds = max(0.0, self._clock.now() - started)
        use = Use(role=request.role, llm=self._name, usage=usage, seconds=seconds, ended=ended)
        self._meter.add(use, failed=failed)


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
    )
