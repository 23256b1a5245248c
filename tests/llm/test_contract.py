"""Every provider keeps the same contract, against a real HTTP server on loopback."""

import asyncio
import gc
from collections.abc import AsyncIterator
from importlib import import_module

import anyio
import pytest

from mcp_reflect.llm.errors import (
    AuthError,
    BadRequestError,
    GarbledReplyError,
    LLMError,
    NotServedError,
    OverloadedError,
    RateLimitedError,
    TimedOutError,
    UnreachableError,
)
from mcp_reflect.llm.protocol import Reply, Stop
from mcp_reflect.llm.timeout import Timeout
from mcp_reflect.records.json import Json
from tests.llm.dialects import DIALECTS, KEY, OPENAI, Dialect
from tests.llm.loopback import Answer, Drop, Flood, Hang, HangUp, Loopback, Step, Trickle, refused_url
from tests.llm.requests import SCHEMA, asking

BLINK = 0.4  # seconds: long enough for a request to arrive on a busy machine

import_module("anthropic")  # two seconds, which belong to no test's timeout


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    chosen = request.param
    assert isinstance(chosen, Dialect)
    return chosen


@pytest.fixture(autouse=True)
async def nothing_is_left_behind() -> AsyncIterator[None]:
    """No task outlives the test, and nothing unclosed waits for the collector (a warning is an error)."""
    before = asyncio.all_tasks()
    yield
    assert asyncio.all_tasks() - before <= {asyncio.current_task()}
    gc.collect(1)


async def ask(dialect: Dialect, *steps: Step) -> Reply:
    async with Loopback(*steps) as server:
        return await dialect.open(server.url).complete(asking())


async def fault(dialect: Dialect, *steps: Step) -> LLMError:
    with pytest.raises(LLMError) as caught:
        await ask(dialect, *steps)
    return caught.value


def failing(dialect: Dialect, status: int, message: str = "so it is", kind: str = "api_error") -> Answer:
    return Answer(status=status, body=dialect.fail(kind, message))


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
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cache_read) == (11, 7, 5)


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


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (413, BadRequestError),
        (422, BadRequestError),
        (401, AuthError),
        (402, AuthError),
        (403, AuthError),
        (404, NotServedError),
        (405, NotServedError),
        (408, OverloadedError),
        (429, RateLimitedError),
        (500, OverloadedError),
        (503, OverloadedError),
        (529, OverloadedError),
    ],
)
async def test_each_status_becomes_the_error_of_whoever_has_to_react(
    dialect: Dialect, status: int, kind: type[LLMError]
) -> None:
    error = await fault(dialect, failing(dialect, status, "the server's own words"))
    assert type(error) is kind
    assert error.llm == f"{dialect.name}:test-model"
    assert f"HTTP {status}: the server's own words" in error.fault


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"[]", b"null", b"\xff\xfe"])
async def test_an_error_without_a_readable_body_still_has_its_status(
    dialect: Dialect, status: int, body: bytes
) -> None:
    error = await fault(dialect, Answer(status=status, body=body))
    assert f"HTTP {status}" in error.fault


@pytest.mark.parametrize(
    ("name", "value", "seconds"),
    [("retry-after", "7", 7.0), ("retry-after", "0.5", 0.5), ("retry-after-ms", "250", 0.25)],
)
async def test_a_rate_limit_says_how_long_to_wait(dialect: Dialect, name: str, value: str, seconds: float) -> None:
    answer = Answer(status=429, body=dialect.fail("rate_limit_error", "slow down"), headers={name: value})
    assert (await fault(dialect, answer)).retry_after == seconds


@pytest.mark.parametrize("value", ["soon", "", "nan", "inf", "Wed, 99 Foo 2026"])
async def test_a_retry_after_that_is_none_is_ignored(dialect: Dialect, value: str) -> None:
    answer = Answer(status=429, body=dialect.fail("rate_limit_error", "slow"), headers={"retry-after": value})
    assert (await fault(dialect, answer)).retry_after is None


async def test_a_retry_after_in_the_past_is_no_wait(dialect: Dialect) -> None:
    past = {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}
    answer = Answer(status=529, body=dialect.fail("overloaded_error", "busy"), headers=past)
    assert (await fault(dialect, answer)).retry_after == 0


async def test_a_refused_connection_is_unreachable(dialect: Dialect) -> None:
    url = refused_url()
    with pytest.raises(UnreachableError, match=url):
        await dialect.open(url).complete(asking())


@pytest.mark.parametrize("step", [Drop(), HangUp()], ids=["mid-body", "before a word"])
async def test_a_dropped_connection_is_unreachable(dialect: Dialect, step: Step) -> None:
    assert type(await fault(dialect, step)) is UnreachableError


@pytest.mark.parametrize("body", [b'{"id": ', b"hello", b"", b"[]", b"null", b'{"id": "x"}', b"[" * 100_000])
async def test_a_body_that_is_no_reply_is_garbled(dialect: Dialect, body: bytes) -> None:
    assert type(await fault(dialect, Answer(body=body))) is GarbledReplyError


@pytest.mark.parametrize(
    "body",
    [
        {"content": [None, 3, {"type": "text"}], "usage": {"input_tokens": "many"}},
        {"choices": [{"message": {"content": [None, 3, {"type": "text"}]}}], "usage": []},
    ],
)
async def test_a_reply_with_odd_parts_is_read_without_an_accident(dialect: Dialect, body: Json) -> None:
    try:
        reply = await ask(dialect, Answer(body=body))
    except GarbledReplyError:
        return
    assert reply.stop is Stop.EMPTY


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
            await Timeout(dialect.open(server.url), dialect.name).complete(asking(timeout=BLINK))
        await server.client_left()


@pytest.mark.parametrize("step", [Hang(), Trickle()], ids=["while waiting", "while reading"])
async def test_a_cancelled_request_hangs_up_at_once(dialect: Dialect, step: Step) -> None:
    async with Loopback(step) as server:
        call = asyncio.create_task(Timeout(dialect.open(server.url), dialect.name).complete(asking()))
        await server.arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.client_left()


async def test_a_cancelled_scope_of_anyio_hangs_up_too(dialect: Dialect) -> None:
    scope = anyio.CancelScope()

    async def call(url: str) -> None:
        with scope:
            await Timeout(dialect.open(url), dialect.name).complete(asking())

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


async def test_a_redirect_is_not_followed_to_another_host(dialect: Dialect) -> None:
    async with Loopback() as other:
        answer = Answer(status=302, headers={"location": other.url})
        error = await fault(dialect, answer)
    assert isinstance(error, NotServedError)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_a_key_that_the_server_quotes_is_in_no_error_and_no_log(
    dialect: Dialect, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    error = await fault(dialect, failing(dialect, status, f"key {KEY} is wrong, Bearer {KEY}\nsee sk-oth***abcd1234"))
    texts = [
        str(error),
        repr(error),
        error.fault,
        error.fix,
        repr(error.__context__),
        repr(error.__cause__),
        caplog.text,
    ]
    assert not any(KEY in text for text in texts)
    assert "sk-oth" not in str(error)
    assert "\n" not in str(error)
    assert error.__context__ is None


async def test_a_flood_of_words_in_an_error_is_cut(dialect: Dialect) -> None:
    assert len(str(await fault(dialect, failing(dialect, 400, "very " * 10_000)))) < 600


async def test_an_endless_body_is_not_read_to_its_end() -> None:
    async with Loopback(Flood()) as server:
        with pytest.raises(GarbledReplyError):
            await OPENAI.open(server.url).complete(asking())
        await server.client_left()


def test_the_key_shows_in_no_repr(dialect: Dialect) -> None:
    llm = dialect.open("http://127.0.0.1:9")
    assert KEY not in repr(llm)
    assert KEY not in str([f"{name}={value!r}" for name, value in vars(llm).items()])
