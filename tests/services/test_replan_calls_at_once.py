"""Several calls on one search: none is lost, and none plans what another has planned meanwhile."""

import asyncio
from dataclasses import replace
from typing import Any

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import NOTHING_USED, Reply, Request, Stop, reply_of
from mcp_reflect.services.engine import Engine
from tests.services.replan_calls import QUANTUM, plan, said


def report(text: str) -> dict[str, Any]:
    return {"queries": [{"table": "sessions", "search_mode": "master", "query_text": text}], "results": {"sessions": 0}}


class AskedMeanwhile:
    """A language model that takes its time: while it thinks, another engine reports to the same search."""

    def __init__(self, other: Engine, answer: str) -> None:
        self._other = other
        self._answer = answer
        self.search_id = ""
        self.asked = 0

    async def complete(self, request: Request) -> Reply:
        del request
        self.asked += 1
        if self.search_id:
            await self._other.replan(search_id=self.search_id, **report("qubits"))
        return reply_of("slow:model", self._answer, Stop.END, NOTHING_USED)


async def test_a_report_that_comes_while_a_model_thinks_is_kept_and_the_model_is_not_asked_again(
    settings: Settings,
) -> None:
    proposed = [{"table": "sessions", "search_mode": "master", "query_text": text} for text in ("Qubits", "photons")]
    settings = replace(settings, max_retries=5)
    async with Engine(settings) as other:
        llm = AskedMeanwhile(other, said(plan(*proposed)))
        async with Engine(settings, llm=llm) as engine:
            first = await other.replan(**QUANTUM)
            llm.search_id = first.search_id
            found = await engine.replan(search_id=first.search_id, **report("entanglement"))
            _, version = await engine.bank.searches.load(engine.scopes.own, first.search_id)
    assert (found.thinker, llm.asked) == ("slow:model", 1)
    assert [query.query_text for query in found.new_queries] == ["photons"]
    assert any("Qubits" in note and "was tried before" in note for note in found.notes)
    assert (version, found.retry_count) == (3, 3)


async def test_no_report_of_many_at_once_is_lost(settings: Settings) -> None:
    texts = [f"{word} physics" for word in ("optics", "plasma", "nuclear", "solid", "laser", "particle")]
    generous = replace(settings, max_retries=20)
    async with Engine(generous) as one, Engine(generous) as two:
        first = await one.replan(**QUANTUM)
        engines = [one, two] * 3
        found = await asyncio.gather(
            *(
                engine.replan(search_id=first.search_id, **report(text))
                for engine, text in zip(engines, texts, strict=True)
            )
        )
        again = plan(*({"table": "sessions", "search_mode": "master", "query_text": text} for text in texts))
        later = await two.replan(search_id=first.search_id, results={"sessions": 0}, analysis=again)
    assert sorted(result.retry_count for result in found) == [2, 3, 4, 5, 6, 7]
    assert sum("was tried before" in note for note in later.notes) == len(texts)
    planned = [query for result in found for query in result.new_queries]
    assert len({str(query) for query in planned}) == len(planned)
