"""Who used how many tokens, by role and provider, since the server started."""

from collections.abc import Callable
from dataclasses import dataclass

from mcp_reflect.clock import Clock
from mcp_reflect.llm.errors import LLMError
from mcp_reflect.llm.protocol import LLM, NOTHING_USED, Reply, Request, Role, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One completion: who asked whom, the tokens, the seconds it took and how it ended.

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
        """A copy of the totals by (role, `provider:model`)."""
        return dict(self._totals)


class Metering:
    """Counts every completion of `llm` on `meter`. A cancelled one is not counted: nobody knows its tokens."""

    def __init__(self, llm: LLM, name: str, meter: Meter, clock: Clock | None = None) -> None:
        self._llm = llm
        self._name = name
        self._meter = meter
        self._clock = clock or Clock()

    async def complete(self, request: Request) -> Reply:
        """The reply of the wrapped one, or its error, counted."""
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
