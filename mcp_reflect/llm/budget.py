"""Refuses a completion before it is sent when it might cost more than a limit leaves."""

import json
from math import ceil

from mcp_reflect.llm.account import Account
from mcp_reflect.llm.errors import GarbledReplyError, LLMError, LLMSettingError, TimedOutError
from mcp_reflect.llm.limits import NOTHING, PRICES, Price, Spend
from mcp_reflect.llm.protocol import LLM, Reply, Request, Usage

_BYTES_PER_TOKEN = 3  # English has four or more, so this errs on the dear side


class Budget:
    """Holds each completion of `llm` to the limits of `account`."""

    def __init__(self, llm: LLM, name: str, account: Account, price: Price | None = None) -> None:
        self._llm = llm
        self._name = name
        self._account = account
        self._price = price

    async def complete(self, request: Request) -> Reply:
        """The reply of the wrapped one, or its error; `BudgetExceededError` before anything was sent."""
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
    """The most the request could take: an upper guess of its input, and all of its `max_tokens`."""
    schema = "" if request.schema is None else json.dumps(request.schema)
    size = sum(len(part.encode("utf-8", "replace")) for part in (request.system, request.user, schema))
    return Usage(input_tokens=ceil(size / _BYTES_PER_TOKEN) + 16, output_tokens=request.max_tokens)


def _counted(reply: Reply, guess: Usage) -> Usage:
    """The tokens of the reply; guessed where the endpoint does not count them."""
    if reply.usage.input_tokens or reply.usage.output_tokens:
        return reply.usage
    size = len(reply.text.encode("utf-8", "replace"))
    return Usage(input_tokens=guess.input_tokens, output_tokens=ceil(size / _BYTES_PER_TOKEN))
