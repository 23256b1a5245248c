"""What completions may cost: the limits a person sets, the prices they pay, what was spent."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_reflect.llm.errors import LLMSettingError
from mcp_reflect.llm.protocol import Usage
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
class Limits:
    """The most that one call of a tool, and one day (UTC), may spend; null is no limit. Costs are US dollars."""

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
        """What these tokens cost, in US dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        plain = max(0, usage.input_tokens - usage.cache_read - usage.cache_write)
        millions = plain * self.input + usage.cache_read * read + usage.cache_write * write
        return (millions + usage.output_tokens * self.output) / 1_000_000


def read_limits(settings: Mapping[str, str]) -> Limits:
    """The limits of the settings. Raises `LLMSettingError` for a value that is no number of 0 or more."""
    tokens = {name: _number(settings, name) for name in (TOKENS_PER_CALL, TOKENS_PER_DAY)}
    whole = {name: None if value is None else int(value) for name, value in tokens.items()}
    return Limits(
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
    """A number of 0 or more, null for anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
