"""An embedding model in this process, in ONNX: from a folder, or from the hub of Hugging Face.

It needs the extra `local`. Nothing of it is imported before the first texts come, and then in a thread.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.llm.protocol import LLMSettingError, UnreachableError

SETTING: Final = "MCP_REFLECT_EMBEDDINGS"
PROVIDER: Final = "local"
USUAL_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"

_GRAPHS: Final = ("onnx/model.onnx", "model.onnx")  # where repositories and folders keep the model
_TOKENIZER: Final = "tokenizer.json"
_POOLING: Final = "1_Pooling/config.json"  # of sentence-transformers; without it the mean is taken
_LENGTH: Final = "sentence_bert_config.json"
_USUAL_TOKENS: Final = 256
_THREADS: Final = 1  # the host and the other calls of the server want the rest of the machine
_INSTALL: Final = "Run: pip install 'mcp-reflect-server[local]'"

FileNamed = Callable[[str], Path | None]
"""Returns the path of a model's file, None where the model has no such file."""


def _package(name: str) -> Any:
    """Return a package of the extra: imported here, so that nothing is where no local model is named."""
    return import_module(name)


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A tokenizer and a network, ready to run."""

    tokenizer: Any  # of the package `tokenizers`
    session: Any  # of the package `onnxruntime`: the network
    inputs: frozenset[str]  # the names of the arrays that the network takes
    takes_first_token: bool  # a text's vector is that of its first token, not the mean of all

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text.

        The network gives a vector for each token (texts by tokens by dimensions), or for each text (texts by
        dimensions). Tokens that only fill a short text up to the longest one have a mask of 0, and do not count.
        """
        np = _package("numpy")
        encoded = self.tokenizer.encode_batch(list(texts))
        mask = np.array([encoding.attention_mask for encoding in encoded], dtype=np.int64)
        columns = {
            "input_ids": np.array([encoding.ids for encoding in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([encoding.type_ids for encoding in encoded], dtype=np.int64),
        }
        inputs = {name: column for name, column in columns.items() if name in self.inputs}
        output = self.session.run(None, inputs)[0]
        if output.ndim == 2:  # a vector for each text: the network took the mean itself
            vectors = output
        elif self.takes_first_token:
            vectors = output[:, 0]
        else:
            weights = mask[:, :, None]
            vectors = (output * weights).sum(axis=1) / weights.sum(axis=1)
        return vectors.astype(float).tolist()


class LocalModel:
    """A sentence model by its repository on the hub, or by its folder.

    It is loaded once, in a thread, when the first texts come. A caller that will not wait may cancel: loading goes on.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._loading: asyncio.Future[LoadedModel] | None = None
        self._running = threading.Lock()
        self.name = f"{PROVIDER}:{model}"

    @property
    def is_loading(self) -> bool:
        """True from the first texts until the model is there."""
        return self._loading is not None and not self._loading.done()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text; raises an `LLMError` where the model cannot be loaded."""
        if self._loading is None or _has_failed(self._loading):
            self._loading = asyncio.ensure_future(asyncio.to_thread(self._load))
        loaded = await asyncio.shield(self._loading)
        return await asyncio.to_thread(self._run, loaded, texts)

    def _run(self, loaded: LoadedModel, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts in this thread, one batch after the other."""
        with self._running:  # two batches at once would take each other's core
            return loaded.embed(texts)

    def _load(self) -> LoadedModel:
        """Load the model from its folder, or from the hub where no such folder is."""
        folder = Path(self._model).expanduser()
        file_named = _in_folder(folder) if folder.is_dir() else _on_hub(self._model)
        try:
            return _load_files(file_named, self.name)
        except ImportError as error:
            fault = f'"{PROVIDER}" needs the package {error.name}, which is not installed'
            raise LLMSettingError(SETTING, fault, _INSTALL) from None


def _has_failed(loading: "asyncio.Future[LoadedModel]") -> bool:
    """Return whether a loading has ended without a model, so that it is to be tried again."""
    return loading.done() and (loading.cancelled() or loading.exception() is not None)


def _load_files(file_named: FileNamed, name: str) -> LoadedModel:
    """Return the tokenizer and the network of a model, by the files that `file_named` finds."""
    runtime = _package("onnxruntime")
    tokenizers = _package("tokenizers")
    graph = file_named(_GRAPHS[0]) or file_named(_GRAPHS[1])
    words = file_named(_TOKENIZER)
    if graph is None or words is None:
        missing = _TOKENIZER if graph else " or ".join(_GRAPHS)
        fault = f"{name} has no file {missing}"
        raise LLMSettingError(SETTING, fault, "Name a model that has a version in ONNX")
    tokenizer = tokenizers.Tokenizer.from_file(str(words))
    tokenizer.enable_truncation(_most_tokens(file_named(_LENGTH)))
    tokenizer.enable_padding()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = _THREADS
    options.inter_op_num_threads = _THREADS
    session = runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    inputs = frozenset(network_input.name for network_input in session.get_inputs())
    return LoadedModel(tokenizer, session, inputs, _takes_first_token(file_named(_POOLING)))


def _most_tokens(path: Path | None) -> int:
    """Return how many tokens of a text the network reads, by its file of settings; a longer text is cut."""
    length = _read_settings(path).get("max_seq_length")
    if isinstance(length, int) and length > 0:
        return length
    return _USUAL_TOKENS


def _takes_first_token(path: Path | None) -> bool:
    """Return whether a text's vector is that of its first token ([CLS]), by the file of settings; else it is the mean."""
    return _read_settings(path).get("pooling_mode_cls_token") is True


def _read_settings(path: Path | None) -> dict[str, Any]:
    """Return the settings in a JSON file; none if there is no file, or if it holds no object."""
    if path is None:
        return {}
    settings: Any = json.loads(path.read_text("utf-8"))
    if not isinstance(settings, dict):
        return {}
    return cast("dict[str, Any]", settings)


def _in_folder(folder: Path) -> FileNamed:
    """Return a function that finds the files of a model in a folder."""

    def file_named(name: str) -> Path | None:
        """Return the path of a file of the folder, None for none."""
        path = folder / name
        if not path.is_file():
            return None
        return path

    return file_named


def _on_hub(repository: str) -> FileNamed:
    """Return a function that finds the files of a repository on this machine, or else brings them there from the hub."""

    def file_named(name: str) -> Path | None:
        """Return the path of a file of the repository, None if it has no such file.

        UnreachableError where the file is not on this machine, and the hub does not bring it.
        """
        hub = _package("huggingface_hub")
        errors = _package("huggingface_hub.errors")
        try:
            try:
                return Path(hub.hf_hub_download(repository, name, local_files_only=True))
            except errors.LocalEntryNotFoundError:
                return Path(hub.hf_hub_download(repository, name))
        except errors.LocalEntryNotFoundError as error:  # the hub cannot be reached
            raise _unreachable(repository, error) from None
        except errors.EntryNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001 - a client of HTTP has many faults
            raise _unreachable(repository, error) from None

    return file_named


def _unreachable(repository: str, error: Exception) -> UnreachableError:
    """Return the error for a model that is neither on this machine nor can be brought from the hub."""
    fault = (
        "the model is not on this machine, and cannot be brought from huggingface.co "
        f"({type(error).__name__})"
    )
    fix = f"Connect once, or name the folder of a model: {SETTING}={PROVIDER}:/path/to/folder"
    return UnreachableError(f"{PROVIDER}:{repository}", fault, fix)
