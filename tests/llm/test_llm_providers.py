"""What is particular to one provider's API."""

from pathlib import Path

import pytest

from mcp_reflect.llm.protocol import LLMSettingError, RefusedError, Reply, Stop
from mcp_reflect.llm.providers import Spec
from mcp_reflect.llm.sdk import open_llm
from mcp_reflect.models.common import Json
from tests.llm.dialects import ANTHROPIC, OPENAI, Dialect, at
from tests.llm.loopback import Answer, Loopback, refused_url
from tests.llm.requests import asking


async def test_the_fixed_part_is_marked_for_claude_s_cache() -> None:
    async with Loopback(ANTHROPIC.say("x", "end_turn")) as server:
        await ANTHROPIC.open(server.url).complete(asking(max_tokens=77))
    (received,) = server.received
    assert at(received.body, "system", 0, "cache_control", "type") == "ephemeral"
    assert received.body["max_tokens"] == 77
    assert received.body["model"] == "test-model"


async def openai_says(message: Json, stop: str = "stop") -> Reply:
    async with Loopback(Answer(body={"choices": [{"message": message, "finish_reason": stop}]})) as server:
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
    names = [set(received.body) & {"max_tokens", "max_completion_tokens"} for received in server.received]
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
async def test_a_proxy_has_nothing_to_do_with_this_machine(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
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
