"""Limits on the tokens of language models: each completion reserves the most that it could take.

With a limit per day the reservation is in the store before anything is sent, so no process passes the limit. A server
that is killed during a completion, or cannot write after it, leaves its reservation counted.
"""

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
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

_PER_CALL: Final = "MCP_REFLECT_LLM_TOKENS_PER_CALL"
_PER_DAY: Final = "MCP_REFLECT_LLM_TOKENS_PER_DAY"
_AROUND_TEXTS: Final = 16  # tokens that mark who speaks
_BYTES_PER_TOKEN: Final = 3  # English has four or more, so the estimate is high


class TokenCounter(Protocol):
    """Today's (UTC) tokens, of all processes that share the store."""

    async def add(self, tokens: int) -> int:
        """Add tokens, fewer than 0 to give some back; return today's. May raise `McpReflectError`."""
        ...


spent_in_call: ContextVar[list[int] | None] = ContextVar("spent_in_call", default=None)
"""The tokens of each completion of a call so far, where somebody counts them together."""


class Account:
    """The limits and the store of use, shared by all completions of a process."""

    def __init__(
        self, store: TokenCounter, per_call: int | None = None, per_day: int | None = None
    ) -> None:
        """`per_call` and `per_day` (UTC) are the most tokens that may be spent; None: no limit."""
        self._store = store
        self._per_call = per_call
        self._per_day = per_day

    async def complete(
        self, name: str, ask: Callable[[Request], Awaitable[Reply]], request: Request
    ) -> Reply:
        """Return the reply of `ask`, or raise its error; `BudgetExceededError` before anything was sent.

        The most that it could take is checked against both limits and, for that of the day, reserved; afterwards
        what it really took is counted in its place.

        | the completion                         | it counts                                                  |
        |----------------------------------------|------------------------------------------------------------|
        | has a reply                            | what the endpoint counted, else an estimate of both texts  |
        | is too late, garbled or canceled       | an estimate of what was sent: it may have been paid for    |
        | was refused, or not reached            | nothing                                                    |
        """
        input_tokens = _input_tokens(request)
        most_tokens = input_tokens + request.max_tokens
        spent_by_completions = spent_in_call.get()
        _check(name, _PER_CALL, self._per_call, sum(spent_by_completions or ()), most_tokens)
        reserved = 0
        if self._per_day is not None:
            reserved = most_tokens
            await self._reserve(name, reserved)
        spent = input_tokens
        try:
            reply = await ask(request)
            counted_by_endpoint = reply.usage.input_tokens + reply.usage.output_tokens
            spent = counted_by_endpoint or input_tokens + _tokens(reply.text)
        except LLMError as error:
            if not isinstance(error, TimedOutError | GarbledReplyError):
                spent = 0
            raise
        finally:
            if spent_by_completions is not None:
                spent_by_completions.append(spent)
            with suppress(McpReflectError):  # a store that fails costs no reply
                await self._store.add(spent - reserved)
        return reply

    async def _reserve(self, name: str, most: int) -> None:
        """Set tokens aside for a completion. Raises `BudgetExceededError` where the limit per day leaves less."""
        try:
            spent = await self._store.add(most) - most
        except McpReflectError as error:
            fault = f"what was spent today cannot be read ({error})"
            raise BudgetExceededError(
                name, fault, "Remove the limit per day, or repair the bank"
            ) from error
        try:
            _check(name, _PER_DAY, self._per_day, spent, most)
        except BudgetExceededError:
            await self._store.add(-most)
            raise


def open_account(settings: Mapping[str, str], store: TokenCounter) -> Account:
    """Return the account with the limits of the settings. Raises `LLMSettingError` for one that is not a number."""
    return Account(store, _amount(settings, _PER_CALL), _amount(settings, _PER_DAY))


def _amount(settings: Mapping[str, str], name: str) -> int | None:
    """Return the number of tokens of a setting, which may be written `200,000`; None where it is not set."""
    text = settings.get(name, "").strip().replace(",", "").replace("_", "")
    if not text:
        return None
    if not text.isdecimal():
        fault = f'"{quoted(text, 40)}" is not an amount'
        raise LLMSettingError(name, fault, "Write a number from 0 up, or leave it out")
    return int(text)


def _check(name: str, setting: str, limit: int | None, spent: int, most: int) -> None:
    """Raise `BudgetExceededError` where a completion that may take `most` tokens could pass the limit of a setting.

    Of a limit of 1000 tokens, 700 are `spent`: `most` may be 300, and 301 is refused. A limit of None is never passed.
    """
    if limit is None or spent + most <= limit:
        return
    span = "call"
    fix = f"Raise {setting}"
    if setting == _PER_DAY:
        span = "day"
        fix += ", or wait until midnight UTC"
    fault = f"{spent} of the {limit} tokens a {span} are spent, and this may take {most}"
    raise BudgetExceededError(name, fault, fix)


def _input_tokens(request: Request) -> int:
    """Return a high estimate of the tokens that a request sends, with those that the API puts around its texts."""
    schema = ""
    if request.schema is not None:
        schema = json.dumps(request.schema)
    return _tokens(request.system + request.user + schema) + _AROUND_TEXTS


def _tokens(text: str) -> int:
    """Return a high estimate of a text's tokens."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)
