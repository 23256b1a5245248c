"""An embedder behind an address or of another package: checked, and nobody waits for it."""

import asyncio
import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_reflect.llm.embedders import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    Embedder,
    Patient,
    Vector,
    open_embedder,
)
from mcp_reflect.llm.protocol import GarbledReplyError, LLMError, LLMSettingError, RefusedError
from tests.held_clock import HeldClock
from tests.llm.contract import left_nothing_behind
from tests.llm.embeddings.concepts import embeddings, inputs, served, setting
from tests.llm.loopback import Answer, Drop, HangUp, Loopback, Step, refused_url

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
        (Answer(body={"error": {"message": "no model", "code": 404}}), GarbledReplyError, "no vectors"),
        (HangUp(), LLMError, "no reply from"),
        (Drop(), LLMError, "no reply from"),
        (Answer(body=b"<html>"), GarbledReplyError, "not a reply"),
        (Answer(body=b'{"data": [{"embedding": [NaN, 1]}, {"embedding": [0]}]}'), GarbledReplyError, "without a dir"),
        (Answer(body={"data": {}}), GarbledReplyError, "gave 0 vectors for 2 texts"),
        (Answer(body={"data": [{"vector": [1]}]}), GarbledReplyError, "no vectors"),
        (embeddings([[1, 0]]), GarbledReplyError, "gave 1 vectors for 2 texts"),
        (embeddings([[1, 0], [1, 0], [0, 1]]), GarbledReplyError, "gave 3 vectors for 2 texts"),
        (embeddings([[1, 0], [1]]), GarbledReplyError, "vectors of different lengths"),
        (embeddings([[1, 0], [0, 0]]), GarbledReplyError, "without a direction"),
        (embeddings([[1, 0], []]), GarbledReplyError, "without a direction"),
        (embeddings([[1, 0], [1e200, 1e200]]), None, ""),
        (Answer(body={"data": [{"embedding": "AAAA"}, {"embedding": [1]}]}), GarbledReplyError, "no vectors"),
    ],
)  # fmt: skip
async def test_whatever_an_endpoint_does_is_vectors_or_an_error_that_names_it(
    step: Step, error: type[LLMError] | None, said: str
) -> None:
    async with Loopback(step) as server:
        embedder = opened(server)
        if error is None:
            assert [math.hypot(*vector) for vector in await embedder.embed(TEXTS)] == pytest.approx(
                [1, 1]
            )
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
        await opened(
            server, OPENAI_API_KEY="sk-for-openai-alone-1", OPENAI_EMBEDDINGS_API_KEY="own-1"
        ).embed(TEXTS)
    assert [received.headers.get("authorization") for received in server.received] == [
        "Bearer none",
        "Bearer own-1",
    ]


async def test_half_a_surrogate_pair_is_sent_as_what_can_be_sent() -> None:
    async with served() as server:
        await opened(server).embed(["slow \ud800 database"])
    assert inputs(server.received[0]) == ["slow \ufffd database"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("gpt", "names no provider"),
        ("local:", "names no model"),
        ("openai:", "names no model"),
        ("openai:x@localhost:11434", "does not start with http"),
        ("openai:x@http://me:secret@host/v1", "holds a user name or a password"),
        ("olama:x", 'there is no provider "olama"'),
        ("openai:text-embedding-3-small", "needs a key"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_with_its_fault_and_what_to_write(
    text: str, fault: str
) -> None:
    with pytest.raises(LLMSettingError) as caught:
        open_embedder({"MCP_REFLECT_EMBEDDINGS": text})
    assert caught.value.setting in ("MCP_REFLECT_EMBEDDINGS", "OPENAI_API_KEY")
    assert fault in caught.value.fault
    assert "secret" not in str(caught.value)
    assert caught.value.fix


SETTINGS = {"MCP_REFLECT_EMBEDDINGS": "letters:small"}
LETTERS = """
class Letters:
    def __init__(self, spec):
        self.name = spec.name

    async def embed(self, texts):
        return [(len(text), 1) for text in texts]

def open_embedder(spec, settings):
    return Letters(spec)
"""


def install(folder: Path, body: str, patch: pytest.MonkeyPatch) -> None:
    """A package that offers the embedder `letters`, for as long as the test runs."""
    patch.setattr(sys, "path", [str(folder), *sys.path])
    patch.delitem(sys.modules, "letters_package", raising=False)
    importlib.invalidate_caches()
    (folder / "letters_package.py").write_text(body, "utf-8")
    info = folder / "letters_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: letters-package\nVersion: 1.0\n", "utf-8"
    )
    target = "letters_package:open_embedder"
    (info / "entry_points.txt").write_text(
        f"[mcp_reflect.embedder]\nletters = {target}\nopenai = {target}\n", "utf-8"
    )


async def test_another_package_brings_an_embedder_and_cannot_take_the_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, LETTERS, monkeypatch)
    embedder = open_embedder(SETTINGS)
    assert embedder.name == "letters:small"
    assert await embedder.embed(["abc", ""]) == [pytest.approx([3 / 10**0.5, 1 / 10**0.5]), [0, 1]]
    assert open_embedder(
        {"MCP_REFLECT_EMBEDDINGS": "openai:x@http://localhost:1/v1"}
    ).name.endswith("localhost:1/v1")


@pytest.mark.parametrize(
    ("instead", "did"),
    [
        ("raise ValueError(f'key sk-secret of {texts}')", "gave no vectors (ValueError)"),
        ("return 'abc'", "gave no vectors (TypeError)"),
        ("return [[float('nan')] for _ in texts]", "gave a vector without a direction"),
    ],
)
async def test_a_bug_of_another_package_is_an_error_that_names_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instead: str, did: str
) -> None:
    install(
        tmp_path, LETTERS.replace("return [(len(text), 1) for text in texts]", instead), monkeypatch
    )
    with pytest.raises(GarbledReplyError) as caught:
        await open_embedder(SETTINGS).embed(["a lesson"])
    assert f"the package letters-package {did}" in caught.value.fault
    assert not [word for word in ("sk-secret", "a lesson") if word in str(caught.value)]


@pytest.mark.parametrize(
    "body", ["import nowhere_at_all", "", "def open_embedder(spec, settings): return 5"]
)
def test_a_package_that_opens_no_embedder_is_a_setting_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    install(tmp_path, body, monkeypatch)
    with pytest.raises(LLMSettingError, match="letters") as caught:
        open_embedder(SETTINGS)
    assert caught.value.setting == "MCP_REFLECT_EMBEDDINGS"
    assert "letters-package" in caught.value.fix


class Moody:
    """Fails as long as it is told to, and counts how often it is asked."""

    name = "moody:1"

    def __init__(self) -> None:
        self.fault: LLMError | None = None
        self.silent = False
        self.asked = 0

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked += 1
        if self.silent:
            await asyncio.Event().wait()
        if self.fault:
            raise self.fault
        return [[1.0] for _ in texts]


def busy() -> RefusedError:
    return RefusedError("moody:1", "busy", "Wait")


async def test_one_that_says_nothing_costs_a_moment_and_then_nothing_for_a_while() -> None:
    moody, clock = Moody(), HeldClock()
    moody.silent = True
    patient = Patient(lambda: moody, clock)
    assert await patient.embed(["x"], 0.01) is None
    assert patient.problem == "moody:1: no vectors within 0.01 s. Run a faster one, or wait longer"
    assert await patient.embed(["x"], 60) is None
    assert moody.asked == 1
    moody.silent = False
    clock.time += FIRST_PAUSE
    assert await patient.embed(["x"], 60) == [[1.0]]
    assert patient.problem is None


async def test_each_further_failure_doubles_the_rest_up_to_a_quarter_of_an_hour() -> None:
    moody, clock = Moody(), HeldClock()
    moody.fault = busy()
    patient = Patient(lambda: moody, clock)
    rests: list[float] = []
    for _ in range(8):
        await patient.embed(["x"], 1)
        start = clock.time
        while patient.resting:
            clock.time += FIRST_PAUSE
        rests.append(clock.time - start)
    assert rests == [30, 60, 120, 240, 480, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    moody.fault = None
    assert await patient.embed(["x"], 1) is not None
    moody.fault = busy()
    await patient.embed(["x"], 1)
    clock.time += FIRST_PAUSE
    assert not patient.resting


async def test_a_setting_that_cannot_be_used_is_the_problem() -> None:
    def refuse() -> Embedder:
        raise LLMSettingError("MCP_REFLECT_EMBEDDINGS", "no", "Write another")

    patient = Patient(refuse, HeldClock())
    assert await patient.embed(["x"], 1) is None
    assert (patient.problem, patient.name) == ("MCP_REFLECT_EMBEDDINGS: no. Write another", None)
