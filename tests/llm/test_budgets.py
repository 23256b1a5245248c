"""A completion that might take more tokens than a limit leaves is refused before it is sent, on any server."""

import asyncio
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.errors import BankError
from mcp_reflect.llm.budget import open_account, spent_in_call
from mcp_reflect.llm.protocol import (
    BudgetExceededError,
    GarbledReplyError,
    LLMSettingError,
    RefusedError,
    Reply,
    Request,
    Stop,
    TimedOutError,
    Usage,
)
from mcp_reflect.llm.providers import Model
from mcp_reflect.models.common import Json
from tests.held_clock import HeldClock
from tests.llm.dialects import OPENAI
from tests.llm.loopback import Answer, Loopback
from tests.llm.reflect_calls import BAD, GOOD, bound_to, reflect, rows, said, serving
from tests.llm.requests import SCHEMA, MemoryUsageStore, asking, model
from tests.scripted import Scripted


def costing(tokens_in: int, tokens_out: int) -> Reply:
    return Reply(
        text="x",
        stop=Stop.END,
        llm="x:y",
        usage=Usage(input_tokens=tokens_in, output_tokens=tokens_out),
    )


class BrokenStore(MemoryUsageStore):
    """Works until `broken` is set."""

    broken = False

    async def add(self, tokens: int) -> int:
        if self.broken:
            raise BankError("the bank is locked")
        return await super().add(tokens)


async def test_without_limits_everything_passes_though_the_store_is_broken() -> None:
    store = BrokenStore()
    store.broken = True
    with Scripted(costing(10**9, 10**9)) as llm:
        await model(llm, store=store).complete(asking())


async def test_a_day_that_is_used_up_refuses_before_the_call() -> None:
    store = MemoryUsageStore()
    await store.add(9_900)
    with (
        Scripted() as llm,
        pytest.raises(BudgetExceededError, match="9900 of the 10000 tokens a day") as caught,
    ):
        await model(llm, store=store, per_day=10_000).complete(asking())
    assert "MCP_REFLECT_LLM_TOKENS_PER_DAY" in caught.value.fix
    assert await store.spent_today() == 9_900


async def test_a_new_day_starts_afresh() -> None:
    clock = HeldClock(86_400 * 100 - 1)
    store = MemoryUsageStore(clock)
    await store.add(9_900)
    clock.time += 2
    with Scripted("yes") as llm:
        await model(llm, store=store, per_day=10_000).complete(asking())


async def test_a_request_larger_than_a_call_may_be_is_refused() -> None:
    with Scripted() as llm, pytest.raises(BudgetExceededError, match="tokens a call"):
        await model(llm, per_call=1_000).complete(asking("why? " * 1_000))
    with Scripted() as llm, pytest.raises(BudgetExceededError, match="tokens a call"):
        await model(llm, per_call=1_000).complete(asking(max_tokens=1_001))
    with Scripted("yes") as llm:
        await model(llm, per_call=1_000).complete(asking(schema=SCHEMA))


async def test_the_completions_of_one_call_count_together_and_those_outside_alone() -> None:
    with Scripted(*[costing(300, 300)] * 5) as llm:
        limited = model(llm, per_call=1_000)
        spent_in_call.set([])
        await limited.complete(asking())
        with pytest.raises(BudgetExceededError, match="600 of the 1000 tokens a call"):
            await limited.complete(asking(max_tokens=400))
        await limited.complete(asking(max_tokens=200))
        spent_in_call.set([])
        await limited.complete(asking(max_tokens=400))
        spent_in_call.set(None)
        await limited.complete(asking(max_tokens=400))
        await limited.complete(asking(max_tokens=400))


async def test_completions_side_by_side_cannot_pass_the_limit_together() -> None:
    both_inside = asyncio.Barrier(2)

    class Meeting:
        async def complete(self, request: Request) -> Reply:
            await both_inside.wait()
            return await llm.complete(request)

    with Scripted(costing(20, 290), costing(20, 290)) as llm:
        limited = model(Meeting(), per_day=800)
        outcomes = await asyncio.gather(
            *(limited.complete(asking()) for _ in range(4)), return_exceptions=True
        )
    assert [type(outcome) for outcome in outcomes] == [
        Reply,
        Reply,
        BudgetExceededError,
        BudgetExceededError,
    ]


@pytest.mark.parametrize(
    ("error", "tokens"),
    [(RefusedError, 0), (TimedOutError, 26), (GarbledReplyError, 26)],
    ids=["nothing was made", "it may have been", "it was"],
)
async def test_a_failed_completion_costs_its_input_where_it_may_have_been_read(
    error: type[RefusedError | TimedOutError | GarbledReplyError], tokens: int
) -> None:
    store = MemoryUsageStore()
    with Scripted(error("x:y", "no", "Wait"), costing(0, 1)) as llm:
        limited = model(llm, store=store, per_day=10_000)
        with pytest.raises(error):
            await limited.complete(asking())
        await limited.complete(asking())
    assert await store.spent_today() == tokens + 1


async def test_a_canceled_completion_sets_nothing_aside_for_ever() -> None:
    class Stuck:
        async def complete(self, request: Request) -> Reply:
            if "again" in request.user:
                return costing(1, 1)
            started.set()
            return await asyncio.Future()

    started = asyncio.Event()
    limited = model(Stuck(), per_day=400)
    call = asyncio.create_task(limited.complete(asking()))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await limited.complete(asking("again"))


async def test_a_store_that_cannot_be_written_costs_no_reply_and_leaves_what_was_set_aside() -> (
    None
):
    store = BrokenStore()

    def breaks(request: Request) -> Reply:
        del request
        store.broken = True
        return costing(5, 5)

    with Scripted(breaks) as llm:
        limited = model(llm, store=store, per_day=1_000)
        assert (await limited.complete(asking())).text == "x"
        store.broken = False
        with pytest.raises(BudgetExceededError, match="326 of the 1000"):
            await limited.complete(asking(max_tokens=700))


async def test_a_store_that_cannot_be_read_refuses_and_says_why() -> None:
    store = BrokenStore()
    store.broken = True
    with Scripted() as llm, pytest.raises(BudgetExceededError, match="the bank is locked"):
        await model(llm, store=store, per_day=10_000).complete(asking())


async def test_an_endpoint_that_counts_no_tokens_is_charged_by_the_size_of_its_texts() -> None:
    store = MemoryUsageStore()
    with Scripted("a" * 300) as llm:
        await model(llm, store=store, per_day=10_000).complete(asking("b" * 300))
    assert 200 <= await store.spent_today() <= 240


@settings(deadline=None)
@given(
    spends=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=20),
    limit=st.integers(0, 3_000),
)
async def test_a_day_never_takes_more_than_its_limit(
    spends: list[tuple[int, int]], limit: int
) -> None:
    store = MemoryUsageStore()
    llm = Scripted(*(costing(min(tokens_in, 20), tokens_out) for tokens_in, tokens_out in spends))
    limited = model(llm, store=store, per_day=limit)
    for _ in spends:
        try:
            await limited.complete(asking())
        except BudgetExceededError:
            break
    assert await store.spent_today() <= limit


@pytest.mark.parametrize(
    ("text", "refused"),
    [("1_000", True), ("1,000", True), (" 0 ", True), ("20000", False), ("", False)],
)
async def test_a_limit_is_read_as_people_write_numbers(text: str, refused: bool) -> None:
    account = open_account({"MCP_REFLECT_LLM_TOKENS_PER_DAY": text}, MemoryUsageStore())
    with (
        Scripted(*[] if refused else ["x"]) as llm,
        pytest.raises(BudgetExceededError) if refused else nullcontext(),
    ):
        await Model(llm, "x:y", "the test", account).complete(asking(max_tokens=1_000))


@pytest.mark.parametrize("text", ["many", "-1", "nan", "inf", "1e6", "$5"])
def test_a_limit_that_is_not_an_amount_names_its_setting(text: str) -> None:
    with pytest.raises(LLMSettingError, match="MCP_REFLECT_LLM_TOKENS_PER_DAY"):
        open_account({"MCP_REFLECT_LLM_TOKENS_PER_DAY": text}, MemoryUsageStore())


DEAR = 100_000  # tokens that a reply says it took


def dear(text: str) -> Answer:
    """A reply that took many tokens."""
    answer = OPENAI.say(text, "stop")
    assert isinstance(answer.body, dict)
    usage: Json = {"prompt_tokens": DEAR, "completion_tokens": 0}
    return Answer(body={**answer.body, "usage": usage})


async def ask(folder: Path, url: str, **settings: Any) -> dict[str, Any]:
    async with serving(folder, **bound_to(OPENAI, url, **settings)) as (client, _):
        return await reflect(client, run_id=str(rows(folder)["reflections"]))


async def test_the_second_question_of_a_call_counts_with_the_first(tmp_path: Path) -> None:
    async with Loopback(dear(said(BAD))) as server:
        found = await ask(tmp_path, server.url, llm_tokens_per_call="50000")
    assert found["thinker"] == "rules"
    assert f"{DEAR} of the 50000 tokens a call are spent" in found["note"]


async def test_the_questions_of_one_critique_count_together(tmp_path: Path) -> None:
    judged = '{"quality_score": 0.2, "issues": ["Step 1: it is no rhyme"]}'
    limited = {"llm_tokens_per_call": "50000"}
    async with (
        Loopback(dear(judged)) as server,
        serving(tmp_path, **bound_to(OPENAI, server.url, **limited)) as (client, _),
    ):
        sent = {"goal": "A poem", "steps": ["Roses are red"], "detail": True}
        found = (await client.call_tool("critique", sent)).structured_content
    assert found is not None
    assert f"{DEAR} of the 50000 tokens a call are spent" in found["note"]


async def test_two_servers_of_a_bank_share_the_day(tmp_path: Path) -> None:
    async with Loopback(dear(said(GOOD))) as server:
        first = await ask(tmp_path, server.url, llm_tokens_per_day="50000")
        second = await ask(tmp_path, server.url, llm_tokens_per_day="50000")
    assert (first["thinker"], second["thinker"]) == ("openai:test-model", "rules")
    assert f"{DEAR} of the 50000 tokens a day are spent" in second["note"]
    assert "wait until midnight UTC" in second["note"]
    assert rows(tmp_path) == {"reflections": 2, "lessons": rows(tmp_path)["lessons"], "spending": 1}
