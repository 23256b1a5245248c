"""A reply is streamed where somebody listens to its text, and it is the same reply."""

import json
from dataclasses import replace

import pytest

from mcp_reflect.llm.protocol import (
    BadRequestError,
    OverloadedError,
    Reply,
    Role,
    Stop,
    TextChunk,
    TimedOutError,
    UnreachableError,
)
from tests.llm.contract import every_dialect, failing
from tests.llm.dialects import OPENAI, REFUSED, Dialect, events
from tests.llm.loopback import Hang, Loopback, Step
from tests.llm.requests import SCHEMA, asking


async def hear(dialect: Dialect, *steps: Step, seconds: float = 5.0) -> tuple[Reply, list[tuple[str, bool]], Loopback]:
    """The reply of the provider, what was heard of it, and the server that played `steps`."""
    heard: list[TextChunk] = []
    async with Loopback(*steps) as server:
        request = replace(asking(schema=SCHEMA, timeout=seconds), on_text=heard.append)
        reply = await dialect.open(server.url).complete(request)
    assert all(chunk.role is Role.REFLECTOR for chunk in heard)
    return reply, [(chunk.text, chunk.first) for chunk in heard], server


@every_dialect
async def test_pieces_are_passed_on_and_joined_to_the_reply_that_is_not_streamed(dialect: Dialect) -> None:
    said = json.dumps({"reflection": "Größe \u2028 x", "importance": 1}, ensure_ascii=False)
    end = dialect.stops["end"]
    reply, heard, server = await hear(dialect, dialect.stream(said[:9], said[9:], stop=end))
    async with Loopback(dialect.say(said, end)) as plain:
        whole = await dialect.open(plain.url).complete(asking(schema=SCHEMA))
    assert heard == [(said[:9], True), (said[9:], False)]
    assert reply == whole
    assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == (said, 11, 7)
    assert server.received[0].body["stream"] is True


@every_dialect
@pytest.mark.parametrize("stop", ["length", "refusal", "tool_use"])
async def test_a_streamed_reply_ends_as_the_model_says(dialect: Dialect, stop: str) -> None:
    reply, _, _ = await hear(dialect, dialect.stream("I cann", stop=dialect.stops[stop]))
    assert (reply.stop, reply.text) == (Stop(stop), "I cann")


async def test_a_refusal_in_words_is_one_when_it_is_streamed() -> None:
    reply, heard, _ = await hear(OPENAI, REFUSED)
    assert (reply.stop, reply.text) == (Stop.REFUSAL, "I cannot")
    assert heard == [("I can", True), ("not", False)]


@every_dialect
async def test_nobody_who_listens_asks_for_no_stream(dialect: Dialect) -> None:
    async with Loopback(dialect.say("x", dialect.stops["end"])) as server:
        await dialect.open(server.url).complete(asking())
    assert "stream" not in server.received[0].body


@every_dialect
async def test_a_stream_without_an_end_or_with_an_error_is_an_error(dialect: Dialect) -> None:
    half = dialect.stream("It ti", stop="")
    with pytest.raises(UnreachableError):
        await hear(dialect, half)
    with pytest.raises(OverloadedError, match="Overloaded"):
        await hear(dialect, events(dialect.fail("overloaded_error", "Overloaded")))
    with pytest.raises(BadRequestError):
        await hear(dialect, failing(dialect, 400))
    with pytest.raises(TimedOutError):
        await hear(dialect, Hang(), seconds=0.4)


async def test_a_request_that_is_refused_for_another_reason_is_not_sent_again_without_a_stream() -> None:
    heard: list[TextChunk] = []
    async with Loopback(failing(OPENAI, 400, "Unknown model")) as server:
        with pytest.raises(BadRequestError, match="Unknown model"):
            await OPENAI.open(server.url).complete(replace(asking(), on_text=heard.append))
    assert len(server.received) == 1


async def test_an_endpoint_that_takes_no_options_of_a_stream_or_no_stream_is_asked_without_and_remembered() -> None:
    refused = failing(OPENAI, 400, "Unknown field: stream_options"), failing(OPENAI, 422, "no streams here")
    end = OPENAI.stops["end"]
    async with Loopback(refused[0], OPENAI.stream("a", stop=end), refused[1], *[OPENAI.say("b", end)] * 2) as server:
        llm = OPENAI.open(server.url)
        heard: list[TextChunk] = []
        request = replace(asking(), on_text=heard.append)
        replies = [await llm.complete(request) for _ in range(3)]
    assert [reply.text for reply in replies] == ["a", "b", "b"]
    sent = [sorted(name for name in received.body if name.startswith("stream")) for received in server.received]
    assert sent == [["stream", "stream_options"], ["stream"], ["stream"], [], []]


async def test_half_a_surrogate_pair_is_passed_on_to_nobody() -> None:
    reply, heard, _ = await hear(OPENAI, OPENAI.stream("a\ud83d", "\ude00", stop="stop"))
    assert reply.text == "a\U0001f600"
    assert heard == [("a\ufffd", True), ("\ufffd", False)]
