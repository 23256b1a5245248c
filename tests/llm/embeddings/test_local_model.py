"""A model in this process: loaded in the background when first used, from a folder or the hub, and it says what is missing."""

import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.llm.embedders import CheckedEmbedder, Embedder, Patient, Vector, open_embedder
from mcp_reflect.llm.protocol import LLMError, LLMSettingError, UnreachableError
from mcp_reflect.services.engine import Engine
from tests.held_clock import HeldClock
from tests.llm.embeddings.test_hybrid_recall import NO_WORD_IN_COMMON, shown, stored
from tests.llm.embeddings.test_keeping_vectors import SLOW, meaning, told
from tests.llm.embeddings.tiny_model import DIMENSIONS, tiny_model

SETTING = "MCP_REFLECT_EMBEDDINGS"
DATABASE, SLOWNESS, CAKE = 0, 1, 5  # places of concepts


def local(model: object) -> Embedder:
    return open_embedder({SETTING: f"local:{model}"})


def needs_the_extra() -> None:
    for package in ("onnxruntime", "tokenizers", "huggingface_hub"):
        pytest.importorskip(package)


async def test_the_vector_of_a_text_is_the_mean_of_its_tokens_whatever_stands_beside_it(
    tmp_path: Path,
) -> None:
    needs_the_extra()
    embedder = local(tiny_model(tmp_path / "model"))
    short, long = await embedder.embed(["sluggish query", "cake " * 500])
    assert short[DATABASE] == pytest.approx(math.sqrt(0.5))
    assert short[SLOWNESS] == pytest.approx(math.sqrt(0.5))
    assert long[CAKE] == pytest.approx(1.0)
    assert len(short) == DIMENSIONS


async def test_a_model_that_says_so_gives_the_vector_of_its_first_token(tmp_path: Path) -> None:
    needs_the_extra()
    embedder = local(tiny_model(tmp_path / "model", takes_first_token=True))
    (vector,) = await embedder.embed(["sluggish query"])
    assert (vector[SLOWNESS], vector[DATABASE]) == (1.0, 0.0)


async def test_recall_finds_by_the_local_model_what_shares_no_word(
    tmp_path: Path, settings: Settings, clock: HeldClock
) -> None:
    needs_the_extra()
    model = tiny_model(tmp_path / "model")
    named = replace(settings, embeddings=f"local:{model}", embeddings_seconds=10.0)
    async with Engine(named, clock=clock) as engine:
        ids = await stored(engine)
        found = await engine.recall(task=NO_WORD_IN_COMMON)
        assert shown(found) == [ids["slow"]]
        assert "close in meaning" in found.lessons[0].why
        state = await told(engine)
    assert state == {"embedder": f"local:{model}", "lessons": 3, "with_vector": 3}


async def test_a_bank_opens_without_loading_the_model_and_recalls_by_words_where_it_cannot(
    tmp_path: Path, settings: Settings, clock: HeldClock
) -> None:
    needs_the_extra()
    (tmp_path / "empty").mkdir()
    named = replace(settings, embeddings=f"local:{tmp_path / 'empty'}", embeddings_seconds=10.0)
    async with Engine(named, clock=clock) as engine:
        slow = (await engine.store_lesson(**SLOW)).lesson_id
        assert meaning(engine).embedder.problem is None
        assert shown(await engine.recall(task="a sluggish report query")) == [slow]
        problem = str((await told(engine))["problem"])
    assert "has no file onnx/model.onnx or model.onnx" in problem


async def test_without_the_extra_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(LLMSettingError) as caught:
        await local(tmp_path).embed(["a text"])
    assert str(caught.value) == (
        'MCP_REFLECT_EMBEDDINGS: "local" needs the package onnxruntime, which is not installed. '
        "Run: pip install 'mcp-reflect-server[local]'"
    )


async def test_without_a_network_the_error_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_the_extra()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    usual = open_embedder({SETTING: " Local "})
    assert usual.name == "local:sentence-transformers/all-MiniLM-L6-v2"
    for _ in range(2):  # it is tried again
        with pytest.raises(UnreachableError, match="name the folder of a model"):
            await usual.embed(["a text"])


@pytest.mark.parametrize("broken", ["onnx/model.onnx", "tokenizer.json", "1_Pooling/config.json"])
async def test_a_damaged_file_is_an_error_that_names_the_model(tmp_path: Path, broken: str) -> None:
    needs_the_extra()
    folder = tiny_model(tmp_path / "model")
    (folder / broken).write_bytes(b"\x00 not what it should be")
    with pytest.raises(LLMError, match="local:"):
        await local(folder).embed(["a text"])


class SlowToLoad:
    """An embedder whose model is there when `loaded` is set; canceling a question does not stop the loading."""

    name = "slow"

    def __init__(self) -> None:
        self.loaded = asyncio.Event()
        self.is_loading = False
        self.asked = 0
        self.asked_again = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.asked += 1
        if self.asked > 1:
            self.asked_again.set()
        self.is_loading = not self.loaded.is_set()
        await self.loaded.wait()
        self.is_loading = False
        return [[1.0, float(place)] for place, _ in enumerate(texts)]


async def test_one_question_waits_for_a_model_that_is_loaded_and_later_ones_get_answers() -> None:
    slow = SlowToLoad()
    patient = Patient(lambda: CheckedEmbedder(slow, "the model"), HeldClock())
    assert await patient.embed(["a question"], 0.01) is None
    assert await patient.embed(["another"], 0.01) is None
    assert slow.asked == 1
    assert patient.problem == "slow: the model is being loaded"
    measuring = asyncio.create_task(patient.measure(30.0))
    await slow.asked_again.wait()
    slow.loaded.set()
    measured = await measuring
    assert measured is not None
    assert measured[0] == 2  # dimensions
    assert await patient.embed(["a question"], 1.0)
    assert patient.problem is None
