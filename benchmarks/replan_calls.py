"""What a call of replan_search costs through the engine, with rules alone and a bank on disk.

The first call of all is left to itself: it opens the bank and brings the imports. The first call with a
catalog (cold) cleans, keeps and indexes its vocabulary; the next ones (warm) send the catalog again. A
report is the second call of a search: with the search_id, and without the catalog.
"""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine

_MOST = 200  # calls of each sort; the figures stand still long before
_T = TypeVar("_T")


class Call(NamedTuple):
    """A person's message and the query that found nothing."""

    message: str
    query: dict[str, Any]


@dataclass
class Times:
    """Seconds a call, of the processor (all threads of the process) and of the clock on the wall."""

    processor: list[float] = field(default_factory=list[float])
    wall: list[float] = field(default_factory=list[float])

    async def of(self, call: Awaitable[_T]) -> _T:
        processor, wall = time.process_time(), time.perf_counter()
        result = await call
        self.processor.append(time.process_time() - processor)
        self.wall.append(time.perf_counter() - wall)
        return result

    def figures(self, name: str) -> dict[str, float]:
        """Milliseconds: the one in the middle, and the one that 95 of 100 stay below."""
        return {
            f"{name}_{clock}_{share}": round(1000 * sorted(seconds)[int(at * len(seconds))], 2)
            for clock, seconds in (("ms", self.processor), ("wall_ms", self.wall))
            for share, at in (("p50", 0.5), ("p95", 0.95))
        }


def calls(sent: Sequence[Call], catalog: list[dict[str, Any]]) -> dict[str, float]:
    """Times of calls with a catalog, in milliseconds."""
    return asyncio.run(_calls(sent[:_MOST], catalog))


async def _calls(sent: Sequence[Call], catalog: list[dict[str, Any]]) -> dict[str, float]:
    cold, warm, report = Times(), Times(), Times()
    with TemporaryDirectory() as folder:
        settings = Settings(bank=Path(folder) / "bank.db", project="benchmark", log_level="error")
        async with Engine(settings) as engine:
            await engine.replan(
                user_message="first of all", queries=[{"table": "a", "query_text": "first of all"}]
            )
            for number, call in enumerate(sent):
                times = warm if number else cold
                # A copy of its own for each call, as one that came over the wire would be.
                copy = [
                    {**entry, "vocabulary": ["".join(word) for word in entry["vocabulary"]]}
                    for entry in catalog
                ]
                planned = await times.of(
                    engine.replan(
                        user_message=call.message, queries=[call.query], catalog=copy, retry_count=0
                    )
                )
                await report.of(
                    engine.replan(search_id=planned.search_id, results={"documents": 0})
                )
    first = {
        "cold_ms": round(1000 * cold.processor[0], 2),
        "cold_wall_ms": round(1000 * cold.wall[0], 2),
    }
    return {
        "calls": len(sent),
        **first,
        **(warm if warm.wall else cold).figures("warm"),
        **report.figures("report"),
    }
