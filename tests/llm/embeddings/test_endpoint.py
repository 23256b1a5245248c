"""Vectors from an endpoint, against a real HTTP server on loopback; and what comes of one that misbehaves."""

import math
from pathlib import Path

import pytest

from mcp_reflect.llm.embedders import Embedder, open_embedder
from mcp_reflect.llm.protocol import GarbledReplyError, LLMError, LLMSettingError, RefusedError
from tests.llm.contract import left_nothing_behind
from tests.llm.embeddings.concepts import embeddings, inputs, served, setting
from tests.llm.loopback import Answer, Drop, Flood, HangUp, Loopback, Step, refused_url

nothing_is_left_behind = pytest.fixture(autouse=True)(left_nothing_behind)

TEXTS = ["the database is slow", "bake a cake"]


def opened(server: Loopback, **settings: str) -> Embedder:
    return open_embedder({"MCP_REFLECT_EMBEDDINGS": setting(server), **settings})


async def test_each_text_gets_its_own_unit_vector_whatever_the_order_of_the_answer() -> None:
    async with served() as server:
        database, cake = await opened(server).embed(TEXTS)
    (received,) = server.received
    assert received.path == "/v1/embeddings"
    assert received.body == {"model": "concepts", "input": TEXTS, "encoding_format": "float"}
    assert (database[0] > 0.5, cake[5] > 0.9) == (True, True)
    assert [round(math.hypot(*vector), 9) for vector in (database, cake)] == [1, 1]


@pytest.mark.parametrize(
    ("step", "error", "said"),
    [
        (Answer(status=401, body={"error": {"message": "no such key"}}), RefusedError, "HTTP 401: no such key"),
        (Answer(status=503, body={"error": {"message": "loading"}}), RefusedError, "HTTP 503: loading"),
        (Answer(body={"error": {"message": "no model", "code": 404}}), LLMError, "HTTP 404: no model"),
        (HangUp(), LLMError, "no reply from"),
        (Drop(), LLMError, "no reply from"),
        (Flood(), GarbledReplyError, "not a reply"),
        (Answer(body=b"<html>"), GarbledReplyError, "not a reply"),
        (Answer(body=b'{"data": [{"embedding": [NaN, 1]}, {"embedding": [0]}]}'), GarbledReplyError, "without a dir"),
        (Answer(body={"data": {}}), GarbledReplyError, "a body without embeddings"),
        (Answer(body={"data": [{"vector": [1]}]}), GarbledReplyError, "no list of vectors"),
        (embeddings([[1, 0]]), GarbledReplyError, "gave 1 vectors for 2 texts"),
        (embeddings([[1, 0], [1, 0], [0, 1]]), GarbledReplyError, "gave 3 vectors for 2 texts"),
        (embeddings([[1, 0], [1]]), GarbledReplyError, "vectors of different lengths"),
        (embeddings([[1, 0], [0, 0]]), GarbledReplyError, "without a direction"),
        (embeddings([[1, 0], []]), GarbledReplyError, "without a direction"),
        (embeddings([[1, 0], [1e200, 1e200]]), None, ""),
        (Answer(body={"data": [{"embedding": "AAAA"}, {"embedding": [1]}]}), GarbledReplyError, "no list of"),
    ],
)  # fmt: skip
async def test_whatever_an_endpoint_does_is_vectors_or_an_error_that_names_it(
    step: Step, error: type[LLMError] | None, said: str
) -> None:
    async with Loopback(step) as server:
        embedder = opened(server)
        if error is None:
            assert [math.hypot(*vector) for vector in await embedder.embed(TEXTS)] == pytest.approx([1, 1])
            return
        with pytest.raises(error) as caught:
            await embedder.embed(TEXTS)
    assert said in caught.value.fault
    assert caught.value.llm.startswith("openai:concepts")


async def test_an_endpoint_that_is_not_there_is_an_error_that_gives_its_address() -> None:
    url = refused_url()
    with pytest.raises(LLMError, match=url):
        await open_embedder({"MCP_REFLECT_EMBEDDINGS": f"openai:x@{url}"}).embed(TEXTS)


async def test_the_key_for_embeddings_goes_to_its_endpoint_and_openai_s_own_does_not() -> None:
    async with served() as server:
        await opened(server, OPENAI_API_KEY="sk-for-openai-alone-1").embed(TEXTS)
        await opened(server, OPENAI_API_KEY="sk-for-openai-alone-1", OPENAI_EMBEDDINGS_API_KEY="own-1").embed(TEXTS)
    assert [received.headers.get("authorization") for received in server.received] == [None, "Bearer own-1"]


async def test_openai_s_key_in_the_key_file_goes_to_no_other_address(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("OPENAI_API_KEY=sk-alone-1\n")
    path.chmod(0o600)
    settings = {"MCP_REFLECT_LLM": "openai:gpt", "MCP_REFLECT_LLM_KEY_FILE": str(path)}
    async with served() as server:
        await opened(server, **settings).embed(TEXTS)
    assert "authorization" not in server.received[0].headers


async def test_half_a_surrogate_pair_is_sent_as_what_can_be_sent() -> None:
    async with served() as server:
        await opened(server).embed(["slow \ud800 database"])
    assert inputs(server.received[0]) == ["slow \ufffd database"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("gpt", "names no provider"),
        ("local", "names no provider"),
        ("openai:", "names no model"),
        ("openai:x@localhost:11434", "does not start with http"),
        ("openai:x@http://me:secret@host/v1", "holds a user name or a password"),
        ("olama:x", 'there is no provider "olama"'),
        ("openai:text-embedding-3-small", "needs a key"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_with_its_fault_and_what_to_write(text: str, fault: str) -> None:
    with pytest.raises(LLMSettingError) as caught:
        open_embedder({"MCP_REFLECT_EMBEDDINGS": text})
    assert caught.value.setting in ("MCP_REFLECT_EMBEDDINGS", "OPENAI_API_KEY")
    assert fault in caught.value.fault
    assert "secret" not in str(caught.value)
    assert caught.value.fix
