"""Every provider keeps the same contract, against a real HTTP server on loopback; and what is particular to one."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from mcp_reflect.llm.protocol import (
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    RefusedError,
    Reply,
    Stop,
    TextChunk,
    TimedOutError,
    UnreachableError,
)
from mcp_reflect.llm.providers import Spec
from mcp_reflect.llm.reply_schemas import schema_of
from mcp_reflect.llm.sdk import open_llm
from mcp_reflect.models.common import Json
from tests.llm.contract import ask, every_dialect, failing, fault, left_nothing_behind
from tests.llm.dialects import ANTHROPIC, KEY, OPENAI, REFUSED, Dialect, at, events
from tests.llm.loopback import Answer, Drop, Hang, HangUp, Loopback, Step, Trickle, refused_url
from tests.llm.requests import SCHEMA, asking, model

nothing_is_left_behind = pytest.fixture(autouse=True)(left_nothing_behind)

BLINK = 0.4  # seconds: long enough for a request to arrive on a busy machine


@pytest.fixture(scope="module", autouse=True)
def imported_sdks() -> None:
    """Import the clients before the first test: that belongs to no test's timeout."""
    for sdk in ("httpx2", "anthropic", "openai"):
        import_module(sdk)


@every_dialect
async def test_a_good_reply_comes_back_with_its_text_tokens_and_name(dialect: Dialect) -> None:
    async with Loopback(dialect.say("It timed out.", dialect.stops["end"])) as server:
        reply = await dialect.open(server.url).complete(asking())
    (received,) = server.received
    assert received.path == dialect.path
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert dialect.system_of(received) == "You look back."
    assert dialect.user_of(received) == "What went wrong?"
    assert "stream" not in received.body
    assert (reply.text, reply.stop) == ("It timed out.", Stop.END)
    assert reply.llm == f"{dialect.name}:test-model"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 7)


@every_dialect
async def test_a_structured_reply_is_asked_for_by_its_schema(dialect: Dialect) -> None:
    async with Loopback(dialect.say("{}", dialect.stops["end"])) as server:
        await dialect.open(server.url).complete(asking(schema=SCHEMA))
    assert dialect.schema_of(server.received[0]) == SCHEMA


@every_dialect
async def test_a_schema_is_sent_to_an_endpoint_that_takes_schemas_unless_it_has_free_names(
    dialect: Dialect,
) -> None:
    said = dialect.say('{"reflection": "x", "importance": 1}', dialect.stops["end"])
    async with Loopback(said, failing(dialect, 400, dialect.schema_fault), said, said) as server:
        llm = dialect.open(server.url)
        await llm.complete(asking(schema=schema_of({"filters": {}})))
        first = await llm.complete(asking(schema=SCHEMA))
        second = await llm.complete(asking(schema=SCHEMA))
    assert first.text == second.text == '{"reflection": "x", "importance": 1}'
    assert [dialect.schema_of(received) is None for received in server.received] == [
        True,
        False,
        True,
        True,
    ]


@every_dialect
async def test_each_end_of_a_reply_has_its_meaning(dialect: Dialect) -> None:
    for stop in ("length", "refusal"):
        reply = await ask(dialect, dialect.say("I cann", dialect.stops[stop]))
        assert (reply.stop, reply.text) == (Stop(stop), "I cann")
    for text in ("", "  \n"):
        assert (await ask(dialect, dialect.say(text, dialect.stops["end"]))).stop is Stop.EMPTY
    assert (await ask(dialect, dialect.tool_call)).stop is Stop.TOOL_USE


@every_dialect
async def test_half_a_surrogate_pair_is_neither_sent_nor_returned(dialect: Dialect) -> None:
    async with Loopback(dialect.say("broken \ud83d here", dialect.stops["end"])) as server:
        reply = await dialect.open(server.url).complete(asking("half \udc00"))
    assert reply.text == "broken \ufffd here"
    assert dialect.user_of(server.received[0]) == "half \ufffd"


# Bad input


@every_dialect
async def test_no_connection_and_a_cut_one_are_unreachable(dialect: Dialect) -> None:
    url = refused_url()
    with pytest.raises(UnreachableError, match=url):
        await dialect.open(url).complete(asking())
    for step in (Drop(), HangUp()):
        assert type(await fault(dialect, step)) is UnreachableError


@every_dialect
@pytest.mark.parametrize("step", [Hang(), Trickle()], ids=["while waiting", "while reading"])
async def test_a_reply_that_never_ends_does_not_outlive_the_timeout(
    dialect: Dialect, step: Step
) -> None:
    async with Loopback(step) as server:
        with pytest.raises(TimedOutError):
            await model(dialect.open(server.url)).complete(asking(timeout=BLINK))
        await server.client_left()


@every_dialect
@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (400, "Check the model and the endpoint"),
        (401, "Check the key in {key_name} and its account"),
        (402, "Check the key in {key_name} and its account"),
        (404, "Check the model's name and the address"),
        (429, "Wait, or raise the account's limits"),
        (500, "Wait, or set another model for this role"),
        (529, "Wait, or set another model for this role"),
    ],
)
async def test_each_status_says_in_one_sentence_who_has_to_do_what(
    dialect: Dialect, status: int, fix: str
) -> None:
    error = await fault(dialect, failing(dialect, status, "the server's own words"))
    assert isinstance(error, RefusedError)
    assert (error.status, error.llm) == (status, f"{dialect.name}:test-model")
    assert error.fault == f"HTTP {status}: the server's own words"
    assert error.fix.startswith(fix.format(key_name=dialect.key_name))


@every_dialect
@pytest.mark.parametrize("body", [b'{"id": ', b"hello", b"[]", b'{"id": "x"}', b"[" * 100_000])
async def test_a_body_that_is_no_reply_is_garbled(dialect: Dialect, body: bytes) -> None:
    assert type(await fault(dialect, Answer(body=body))) is GarbledReplyError


@every_dialect
async def test_a_redirect_is_not_followed_to_another_host(dialect: Dialect) -> None:
    async with Loopback() as other:
        error = await fault(dialect, Answer(status=302, headers={"location": other.url}))
    assert error.fault == "HTTP 302"


@every_dialect
@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_a_key_that_the_server_quotes_is_in_no_error_and_no_log(
    dialect: Dialect, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    error = await fault(
        dialect, failing(dialect, status, f"key {KEY} is wrong,\nBearer {KEY}: sk-oth***abcd1234")
    )
    texts = [
        str(error),
        repr(error),
        error.fix,
        repr(error.__context__),
        repr(error.__cause__),
        caplog.text,
    ]
    assert not any(KEY in text or "sk-oth" in text for text in texts)
    assert "\n" not in str(error)
    assert error.__context__ is None


@every_dialect
def test_the_key_shows_in_no_repr(dialect: Dialect) -> None:
    llm = dialect.open("http://127.0.0.1:9")
    assert KEY not in str([repr(llm), *(f"{name}={value!r}" for name, value in vars(llm).items())])


# Streams


async def hear(
    dialect: Dialect, *steps: Step, seconds: float = 5.0
) -> tuple[Reply, list[tuple[str, bool]]]:
    """The reply of the provider to a server that plays `steps`, and what was heard of it."""
    heard: list[TextChunk] = []
    async with Loopback(*steps) as server:
        request = replace(asking(schema=SCHEMA, timeout=seconds), on_text=heard.append)
        reply = await dialect.open(server.url).complete(request)
    assert server.received[0].body["stream"] is True
    return reply, [(chunk.text, chunk.first) for chunk in heard]


@every_dialect
async def test_pieces_are_passed_on_and_joined_to_the_reply_that_is_not_streamed(
    dialect: Dialect,
) -> None:
    said = json.dumps({"reflection": "Größe \u2028 x", "importance": 1}, ensure_ascii=False)
    end = dialect.stops["end"]
    reply, heard = await hear(dialect, dialect.stream(said[:9], said[9:], stop=end))
    async with Loopback(dialect.say(said, end)) as plain:
        whole = await dialect.open(plain.url).complete(asking(schema=SCHEMA))
    assert heard == [(said[:9], True), (said[9:], False)]
    assert reply == whole
    for stop in ("length", "refusal", "tool_use"):
        reply, _ = await hear(dialect, dialect.stream("I cann", stop=dialect.stops[stop]))
        assert (reply.stop, reply.text) == (Stop(stop), "I cann")


@every_dialect
async def test_a_stream_without_an_end_is_cut_off_and_one_with_an_error_is_an_error(
    dialect: Dialect,
) -> None:
    reply, _ = await hear(dialect, dialect.stream("It ti", stop=""))
    assert (reply.stop, reply.text) == (Stop.LENGTH, "It ti")
    bad: tuple[tuple[Step, type[LLMError], str], ...] = (
        (events(dialect.fail("overloaded_error", "Overloaded")), RefusedError, "Overloaded"),
        (failing(dialect, 400, "Unknown model"), RefusedError, "Unknown model"),
    )
    for step, kind, said in bad:
        with pytest.raises(kind, match=said):
            await hear(dialect, step)
    with pytest.raises(TimedOutError):
        await hear(dialect, Hang(), seconds=BLINK)


async def test_a_refusal_and_half_a_surrogate_pair_are_read_in_a_stream_too() -> None:
    reply, heard = await hear(OPENAI, REFUSED)
    assert (reply.stop, reply.text) == (Stop.REFUSAL, "I cannot")
    assert heard == [("I can", True), ("not", False)]
    reply, heard = await hear(OPENAI, OPENAI.stream("a\ud83d", "\ude00", stop="stop"))
    assert reply.text == "a\U0001f600"
    assert heard == [("a\ufffd", True), ("\ufffd", False)]


async def test_the_fixed_part_is_marked_for_claude_s_cache() -> None:
    async with Loopback(ANTHROPIC.say("x", "end_turn")) as server:
        await ANTHROPIC.open(server.url).complete(asking(max_tokens=77))
    (received,) = server.received
    assert at(received.body, "system", 0, "cache_control", "type") == "ephemeral"
    assert received.body["max_tokens"] == 77
    assert received.body["model"] == "test-model"


async def openai_says(message: Json, stop: str = "stop") -> Reply:
    async with Loopback(
        Answer(body={"choices": [{"message": message, "finish_reason": stop}]})
    ) as server:
        return await OPENAI.open(server.url).complete(asking())


async def test_a_refusal_field_is_a_refusal() -> None:
    reply = await openai_says({"content": None, "refusal": "I will not."})
    assert (reply.stop, reply.text) == (Stop.REFUSAL, "I will not.")


async def test_the_newer_name_of_the_token_limit_is_learned() -> None:
    said = OPENAI.say("x", "stop")
    complaint = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    fault = Answer(status=400, body=OPENAI.fail("unsupported_parameter", complaint))
    async with Loopback(fault, said, said) as server:
        llm = OPENAI.open(server.url)
        await llm.complete(asking())
        await llm.complete(asking())
    names = [
        set(received.body) & {"max_tokens", "max_completion_tokens"} for received in server.received
    ]
    assert names == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]


async def refusal(dialect: Dialect, answer: Answer) -> RefusedError:
    async with Loopback(answer) as server:
        with pytest.raises(RefusedError) as caught:
            await dialect.open(server.url).complete(asking())
    return caught.value


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"code": 429, "message": "slow down"}, "HTTP 200: slow down"),
        ("in one word", "HTTP 200: in one word"),
    ],
)
async def test_a_fault_under_status_200_is_a_fault(error: Json, fault: str) -> None:
    assert (await refusal(OPENAI, Answer(body={"error": error}))).fault == fault


async def test_the_401_of_an_endpoint_without_a_key_says_where_to_put_one() -> None:
    async with Loopback(Answer(status=401, body={}, headers={"x-should-retry": "false"})) as server:
        llm = open_llm(Spec("openai", "x", server.url), {})
        with pytest.raises(RefusedError, match="Set OPENAI_API_KEY"):
            await llm.complete(asking())


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
async def test_settings_of_the_sdk_in_the_environment_do_not_redirect_a_request(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-another")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    async with Loopback(dialect.say("x", dialect.stops["end"])) as server:
        await dialect.open(server.url).complete(asking())
    assert "another" not in server.received[0].headers["authorization"]


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
async def test_a_proxy_has_nothing_to_do_with_this_machine(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, refused_url())
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with Loopback(dialect.say("x", dialect.stops["end"])) as server:
        assert (await dialect.open(server.url).complete(asking())).text == "x"


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
async def test_a_proxy_that_cannot_be_used_is_a_setting_that_is_wrong(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://me:hunter2@127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(LLMSettingError, match="HTTPS_PROXY") as caught:
        await dialect.open("https://no-such-host.invalid").complete(asking())
    assert "hunter2" not in str(caught.value)
