"""What may still be spent: the limits, the ledger, and what runs right now.

Each completion is held to the most it could cost, so one process never passes a limit. Several
processes that ask in the same moment can, together, pass it by one completion each.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from mcp_reflect.errors import McpReflectError
from mcp_reflect.llm.errors import BudgetExceededError
from mcp_reflect.llm.ledger import Ledger
from mcp_reflect.llm.limits import NOTHING, Limits, Spend

_PATIENCE = 2.0  # seconds to wait for the ledger, on top of what the request may take
_ROUNDING = 1e-9  # US dollars: sums of floats are not exact


@dataclass(slots=True)
class _Tab:
    """What one call of a tool has spent, or may be spending right now."""

    spent: Spend = NOTHING


_tab: ContextVar[_Tab | None] = ContextVar("mcp_reflect_llm_tab", default=None)


@contextmanager
def one_call() -> Generator[None]:
    """All completions inside count together towards the limits per call. Outside, each counts alone."""
    token = _tab.set(_Tab())
    try:
        yield
    finally:
        _tab.reset(token)


class Account:
    """The limits and the ledger, shared by all completions of a process.

    `_running` is set aside for completions that have not ended, `_owed` was spent and is not in the
    ledger yet. Both count as spent.
    """

    def __init__(self, limits: Limits, ledger: Ledger) -> None:
        self.limits = limits
        self._ledger = ledger
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
        """Put what is owed into the ledger. Where that fails it stays owed: a reply is worth more than its bill."""
        if not self.limits.daily or self._owed == NOTHING:
            return
        due, self._owed = self._owed, NOTHING
        self._running += due
        kept = due
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._ledger.add(due)
            kept = NOTHING
        except (McpReflectError, TimeoutError):
            return
        finally:
            self._running -= due
            self._owed += kept
            self._written += 1

    async def _today(self, name: str) -> Spend:
        """What the ledger says, read again where something was written in between."""
        while True:
            before = self._written
            try:
                async with asyncio.timeout(_PATIENCE):
                    today = await self._ledger.spent_today()
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
