"""Every provider keeps the same contract, against a real HTTP server on loopback."""

import asyncio
from importlib import import_module

import anyio
import pytest

from mcp_reflect.llm.protocol import Stop, TimedOutError, UnreachableError
from mcp_reflect.llm.providers import Model
from tests.llm.contract import ask, every_dialect, failing, fault, left_nothing_behind
from tests.llm.dialects import KEY, Dialect
from tests.llm.loopback import Drop, Hang, HangUp, Loopback, Step, Trickle, refused_url
from tests.llm.requests import SCHEMA, asking

pytestmark = every_dialect
nothing_is_left_behind = pytest.fixture(autouse=True)(left_nothing_behind)

BLINK = 0.4  # seconds: long enough for a request to arrive on a busy machine

for sdk in ("httpx2", "anthropic", "openai"):
    import_module(sdk)  # its import belongs to no test's timeout


async def test_a_good_reply_comes_back_with_its_text_tokens_and_name(dialect: Dialect) -> None:
    async with Loopback(dialect.say("It timed out.", dialect.stops["end"])) as server:
        reply = await dialect.open(server.url).complete(asking())
    (received,) = server.received
    assert received.path == dialect.path
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert dialect.system_of(received) == "You look back."
    assert dialect.user_of(received) == "What went wrong?"
    assert (reply.text, reply.stop, reply.parsed) == ("It timed out.", Stop.END, None)
    assert reply.llm == f"{dialect.name}:test-model"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 7)


async def test_a_structured_reply_is_asked_for_by_schema_and_parsed(dialect: Dialect) -> None:
    said = '{"reflection": "No retry.", "importance": 0.8}'
    async with Loopback(dialect.say(said, dialect.stops["end"])) as server:
        reply = await dialect.open(server.url).complete(asking(schema=SCHEMA))
    schema = dialect.schema_of(server.received[0])
    assert isinstance(schema, dict)
    assert schema["required"] == ["reflection", "importance"]
    assert reply.parsed == {"reflection": "No retry.", "importance": 0.8}


async def test_a_text_that_is_no_json_is_handed_on_unparsed(dialect: Dialect) -> None:
    async with Loopback(dialect.say('Here you are: {"a": 1}', dialect.stops["end"])) as server:
        reply = await dialect.open(server.url).complete(asking(schema=SCHEMA))
    assert (reply.parsed, reply.stop) == (None, Stop.END)


async def test_an_endpoint_without_schemas_is_told_in_words_and_remembered(dialect: Dialect) -> None:
    said = dialect.say('{"reflection": "x", "importance": 1}', dialect.stops["end"])
    async with Loopback(failing(dialect, 400, dialect.schema_fault), said, said) as server:
        llm = dialect.open(server.url)
        first = await llm.complete(asking(schema=SCHEMA))
        second = await llm.complete(asking(schema=SCHEMA))
    assert first.parsed == second.parsed == {"reflection": "x", "importance": 1}
    assert [dialect.schema_of(received) is None for received in server.received] == [False, True, True]
    assert '"importance"' in dialect.system_of(server.received[1])
    assert dialect.system_of(server.received[0]) == "You look back."


@pytest.mark.parametrize("stop", ["length", "refusal"])
async def test_a_reply_that_is_cut_off_or_declined_says_so(dialect: Dialect, stop: str) -> None:
    reply = await ask(dialect, dialect.say("I cann", dialect.stops[stop]))
    assert (reply.stop, reply.text) == (Stop(stop), "I cann")


async def test_a_truncated_json_is_not_parsed(dialect: Dialect) -> None:
    async with Loopback(dialect.say('{"reflection": "x"}', dialect.stops["length"])) as server:
        reply = await dialect.open(server.url).complete(asking(schema=SCHEMA))
    assert (reply.parsed, reply.stop) == (None, Stop.LENGTH)


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_a_reply_without_words_is_empty(dialect: Dialect, text: str) -> None:
    assert (await ask(dialect, dialect.say(text, dialect.stops["end"]))).stop is Stop.EMPTY


async def test_a_tool_call_is_no_answer(dialect: Dialect) -> None:
    assert (await ask(dialect, dialect.tool_call)).stop is Stop.TOOL_USE


async def test_a_refused_connection_is_unreachable(dialect: Dialect) -> None:
    url = refused_url()
    with pytest.raises(UnreachableError, match=url):
        await dialect.open(url).complete(asking())


@pytest.mark.parametrize("step", [Drop(), HangUp()], ids=["mid-body", "before a word"])
async def test_a_dropped_connection_is_unreachable(dialect: Dialect, step: Step) -> None:
    assert type(await fault(dialect, step)) is UnreachableError


async def test_half_a_surrogate_pair_is_neither_sent_nor_returned(dialect: Dialect) -> None:
    async with Loopback(dialect.say("broken \ud83d here", dialect.stops["end"])) as server:
        reply = await dialect.open(server.url).complete(asking("half \udc00"))
    assert reply.text == "broken \ufffd here"
    assert dialect.user_of(server.received[0]) == "half \ufffd"


async def test_a_hang_ends_at_the_timeout_and_hangs_up(dialect: Dialect) -> None:
    async with Loopback(Hang()) as server:
        with pytest.raises(TimedOutError):
            await dialect.open(server.url).complete(asking(timeout=BLINK))
        await server.client_left()


async def test_a_slow_trickle_does_not_outlive_the_timeout(dialect: Dialect) -> None:
    async with Loopback(Trickle()) as server:
        with pytest.raises(TimedOutError, match=r"0\.4 s"):
            await Model(dialect.open(server.url), dialect.name, "the test").complete(asking(timeout=BLINK))
        await server.client_left()


@pytest.mark.parametrize("step", [Hang(), Trickle()], ids=["while waiting", "while reading"])
async def test_a_cancelled_request_hangs_up_at_once(dialect: Dialect, step: Step) -> None:
    async with Loopback(step) as server:
        call = asyncio.create_task(Model(dialect.open(server.url), dialect.name, "the test").complete(asking()))
        await server.arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.client_left()


async def test_a_cancelled_scope_of_anyio_hangs_up_too(dialect: Dialect) -> None:
    scope = anyio.CancelScope()

    async def call(url: str) -> None:
        with scope:
            await Model(dialect.open(url), dialect.name, "the test").complete(asking())

    async with Loopback(Hang()) as server:
        pending = asyncio.create_task(call(server.url))
        await server.arrived.wait()
        scope.cancel()
        await pending
        await server.client_left()
    assert scope.cancelled_caught


async def test_completions_may_run_side_by_side(dialect: Dialect) -> None:
    said = dialect.say("yes", dialect.stops["end"])
    async with Loopback(said, said, said) as server:
        llm = dialect.open(server.url)
        replies = await asyncio.gather(*(llm.complete(asking(str(number))) for number in range(3)))
    assert [reply.text for reply in replies] == ["yes"] * 3
