"""A completion that might cost more than a limit leaves is refused before it is sent."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.errors import BankError
from mcp_reflect.llm.budget import (
    Account,
    Budget,
    Price,
    Spend,
    SpendLimits,
    one_call,
    read_limits,
    read_prices,
)
from mcp_reflect.llm.protocol import (
    LLM,
    BudgetExceededError,
    GarbledReplyError,
    LLMSettingError,
    OverloadedError,
    Reply,
    Request,
    Stop,
    TimedOutError,
    Usage,
)
from tests.llm.frozen import FrozenClock
from tests.llm.memory_usage import MemoryUsageStore
from tests.llm.requests import SCHEMA, asking
from tests.scripted import Scripted


def costing(tokens_in: int, tokens_out: int) -> Reply:
    return Reply(text="x", stop=Stop.END, llm="x:y", usage=Usage(input_tokens=tokens_in, output_tokens=tokens_out))


def budget(
    llm: LLM,
    store: MemoryUsageStore | None = None,
    price: Price | None = None,
    *,
    tokens_per_call: int | None = None,
    tokens_per_day: int | None = None,
    cost_per_day: float | None = None,
) -> Budget:
    limits = SpendLimits(tokens_per_call=tokens_per_call, tokens_per_day=tokens_per_day, cost_per_day=cost_per_day)
    return Budget(llm, "x:y", Account(limits, store or MemoryUsageStore()), price)


class BrokenLedger(MemoryUsageStore):
    """Works until `broken` is set."""

    broken = False

    async def spent_today(self) -> Spend:
        if self.broken:
            raise BankError("the bank is locked")
        return await super().spent_today()

    async def add(self, spend: Spend) -> None:
        if self.broken:
            raise BankError("the bank is locked")
        await super().add(spend)


async def test_without_limits_everything_passes_and_nothing_is_written() -> None:
    store = BrokenLedger()
    store.broken = True
    with Scripted(costing(10**9, 10**9)) as llm:
        await budget(llm, store).complete(asking())


async def test_what_a_reply_cost_is_in_the_ledger() -> None:
    store = MemoryUsageStore()
    with Scripted(costing(100, 20), costing(1, 1)) as llm:
        limited = budget(llm, store, tokens_per_day=10_000)
        await limited.complete(asking())
        await limited.complete(asking())
    assert await store.spent_today() == Spend(122, 0.0)


async def test_a_day_that_is_used_up_refuses_before_the_call() -> None:
    store = MemoryUsageStore()
    await store.add(Spend(9_900))
    with Scripted() as llm, pytest.raises(BudgetExceededError, match="9900 of the 10000 tokens a day") as caught:
        await budget(llm, store, tokens_per_day=10_000).complete(asking())
    assert "MCP_REFLECT_LLM_TOKENS_PER_DAY" in caught.value.fix
    assert await store.spent_today() == Spend(9_900)


async def test_a_new_day_starts_afresh() -> None:
    clock = FrozenClock(at=86_400 * 100 - 1)
    store = MemoryUsageStore(clock)
    await store.add(Spend(9_900))
    clock.at += 2
    with Scripted("yes") as llm:
        await budget(llm, store, tokens_per_day=10_000).complete(asking())


async def test_a_request_larger_than_a_call_may_be_is_refused() -> None:
    with Scripted() as llm, pytest.raises(BudgetExceededError, match="tokens a call"):
        await budget(llm, tokens_per_call=1_000).complete(asking("why? " * 1_000))
    with Scripted() as llm, pytest.raises(BudgetExceededError, match="tokens a call"):
        await budget(llm, tokens_per_call=1_000).complete(asking(max_tokens=1_001))
    with Scripted("yes") as llm:
        await budget(llm, tokens_per_call=1_000).complete(asking(schema=SCHEMA))


async def test_the_completions_of_one_call_count_together_and_those_outside_alone() -> None:
    with Scripted(*[costing(300, 300)] * 5) as llm:
        limited = budget(llm, tokens_per_call=1_000)
        with one_call():
            await limited.complete(asking())
            with pytest.raises(BudgetExceededError, match="600 of the 1000 tokens a call"):
                await limited.complete(asking(max_tokens=400))
            await limited.complete(asking(max_tokens=200))
        with one_call():
            await limited.complete(asking(max_tokens=400))
        await limited.complete(asking(max_tokens=400))
        await limited.complete(asking(max_tokens=400))


async def test_completions_side_by_side_cannot_pass_the_limit_together() -> None:
    both_inside = asyncio.Barrier(2)

    class Meeting:
        async def complete(self, request: Request) -> Reply:
            await both_inside.wait()
            return await llm.complete(request)

    with Scripted(costing(20, 290), costing(20, 290)) as llm:
        limited = budget(Meeting(), tokens_per_day=800)
        outcomes = await asyncio.gather(*(limited.complete(asking()) for _ in range(4)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Reply, Reply, BudgetExceededError, BudgetExceededError]


async def test_what_was_written_while_the_ledger_was_read_counts() -> None:
    class SlowLedger(MemoryUsageStore):
        async def spent_today(self) -> Spend:
            snapshot = await super().spent_today()
            reading.set()
            await go_on.wait()
            return snapshot

    reading, go_on = asyncio.Event(), asyncio.Event()
    account = Account(SpendLimits(tokens_per_day=1_000), SlowLedger())
    go_on.set()
    await account.reserve("x:y", Spend(300))
    go_on.clear()
    reading.clear()
    late = asyncio.create_task(account.reserve("x:y", Spend(300)))
    await reading.wait()
    go_on.set()
    account.finish(Spend(300), Spend(800))
    await account.write()
    with pytest.raises(BudgetExceededError, match="800 of the 1000"):
        await late


@pytest.mark.parametrize(
    ("error", "cost"),
    [(OverloadedError, 0), (TimedOutError, 26), (GarbledReplyError, 26)],
    ids=["nothing was made", "it may have been", "it was"],
)
async def test_a_failed_completion_costs_its_input_where_it_may_have_been_read(
    error: type[OverloadedError | TimedOutError | GarbledReplyError], cost: int
) -> None:
    store = MemoryUsageStore()
    with Scripted(error("x:y", "no", "Wait"), costing(0, 1)) as llm:
        limited = budget(llm, store, tokens_per_day=10_000)
        with pytest.raises(error):
            await limited.complete(asking())
        await limited.complete(asking())
    assert (await store.spent_today()).tokens == cost + 1


async def test_a_cancelled_completion_sets_nothing_aside_for_ever() -> None:
    class Stuck:
        async def complete(self, request: Request) -> Reply:
            del request
            started.set()
            return await asyncio.Future()

    started = asyncio.Event()
    account = Account(SpendLimits(tokens_per_day=400), MemoryUsageStore())
    call = asyncio.create_task(Budget(Stuck(), "x:y", account).complete(asking()))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    with Scripted("yes") as llm:
        await Budget(llm, "x:y", account).complete(asking())


async def test_a_ledger_that_cannot_be_written_does_not_cost_the_reply_and_is_made_good_later() -> None:
    store = BrokenLedger()

    def breaks(request: Request) -> Reply:
        del request
        store.broken = True
        return costing(500, 500)

    with Scripted(breaks, costing(1, 1)) as llm:
        limited = budget(llm, store, tokens_per_day=1_500)
        assert (await limited.complete(asking())).text == "x"
        store.broken = False
        with pytest.raises(BudgetExceededError, match="1000 of the 1500"):
            await limited.complete(asking(max_tokens=600))
        await limited.complete(asking(max_tokens=100))
    assert (await store.spent_today()).tokens == 1_002


async def test_a_ledger_that_cannot_be_read_refuses_and_says_why() -> None:
    store = BrokenLedger()
    store.broken = True
    with Scripted() as llm, pytest.raises(BudgetExceededError, match="the bank is locked"):
        await budget(llm, store, tokens_per_day=10_000).complete(asking())


async def test_a_cost_limit_counts_dollars() -> None:
    store = MemoryUsageStore()
    price = Price(3.0, 15.0)
    with Scripted(costing(100_000, 10_000)) as llm:
        limited = budget(llm, store, price, cost_per_day=0.4505)
        await limited.complete(asking())
        assert (await store.spent_today()).cost == pytest.approx(0.45)
        with pytest.raises(BudgetExceededError, match=r"\$0\.4500 of the \$0\.4505 a day"):
            await limited.complete(asking())


async def test_a_cost_limit_without_a_price_names_the_setting() -> None:
    with Scripted() as llm, pytest.raises(LLMSettingError, match="MCP_REFLECT_LLM_PRICES") as caught:
        await budget(llm, cost_per_day=1.0).complete(asking())
    assert "x:y=3/15" in caught.value.fix


async def test_an_endpoint_that_counts_no_tokens_is_charged_by_the_size_of_its_texts() -> None:
    store = MemoryUsageStore()
    with Scripted("a" * 300) as llm:
        await budget(llm, store, tokens_per_day=10_000).complete(asking("b" * 300))
    assert 200 <= (await store.spent_today()).tokens <= 240


def test_the_prompt_cache_has_its_own_price() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000, cache_read=400_000, cache_write=100_000)
    assert Price(3, 15).of(usage) == pytest.approx(18)
    assert Price(3, 15, 0.3, 3.75).of(usage) == pytest.approx(1.5 + 0.12 + 0.375 + 15)


@settings(deadline=None, max_examples=100)
@given(
    spends=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=20),
    limit=st.integers(0, 3_000),
)
async def test_a_day_never_costs_more_than_its_limit(spends: list[tuple[int, int]], limit: int) -> None:
    store = MemoryUsageStore()
    llm = Scripted(*(costing(min(tokens_in, 20), tokens_out) for tokens_in, tokens_out in spends))
    limited = budget(llm, store, tokens_per_day=limit)
    for _ in spends:
        try:
            await limited.complete(asking())
        except BudgetExceededError:
            break
    assert (await store.spent_today()).tokens <= limit


def test_limits_and_prices_are_read_from_settings() -> None:
    settings = {
        "MCP_REFLECT_LLM_TOKENS_PER_CALL": "20_000",
        "MCP_REFLECT_LLM_TOKENS_PER_DAY": " 1e6 ",
        "MCP_REFLECT_LLM_COST_PER_DAY": "2.50",
        "MCP_REFLECT_LLM_COST_PER_CALL": "",
        "MCP_REFLECT_LLM_PRICES": "anthropic:claude-sonnet-5-5=3/15/0.3/3.75, openai:qwen3:8b=0/0,",
    }
    assert read_limits(settings) == SpendLimits(tokens_per_call=20_000, tokens_per_day=1_000_000, cost_per_day=2.5)
    assert read_prices(settings) == {
        "anthropic:claude-sonnet-5-5": Price(3, 15, 0.3, 3.75),
        "openai:qwen3:8b": Price(0, 0),
    }


@pytest.mark.parametrize("text", ["many", "-1", "nan", "inf", "$5"])
def test_a_limit_that_is_no_amount_names_its_setting(text: str) -> None:
    with pytest.raises(LLMSettingError, match="MCP_REFLECT_LLM_COST_PER_DAY"):
        read_limits({"MCP_REFLECT_LLM_COST_PER_DAY": text})


@pytest.mark.parametrize("text", ["3/15", "x:y=3", "x:y=3/free", "x:y=", "x:y=1/2/3/4/5", "x:y=-1/2", "=1/2"])
def test_a_price_that_is_none_is_quoted(text: str) -> None:
    with pytest.raises(LLMSettingError, match="is no price") as caught:
        read_prices({"MCP_REFLECT_LLM_PRICES": text})
    assert text in caught.value.fault
