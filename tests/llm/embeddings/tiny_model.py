"""A folder with a sentence model in ONNX that knows the words of `concepts`: one look-up of vectors, no network needed.

The file is a message of protocol buffers (onnx.proto), written here by its field numbers.
"""

import json
import re
import struct
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from mcp_reflect.llm.embedders import UNRELATED
from tests.llm.embeddings.concepts import CONCEPTS

_FLOAT, _INT64 = 1, 7  # TensorProto.DataType
_OF_NO_CONCEPT = sorted(set(re.findall(r"[a-z]+", " ".join(UNRELATED).lower())))
WORDS = sorted({word for concept in CONCEPTS for word in concept}.union(_OF_NO_CONCEPT))
UNKNOWN = "[UNK]"
TOKENS = {"[PAD]": 0, UNKNOWN: 1} | {word: place for place, word in enumerate(WORDS, 2)}
DIMENSIONS = len(CONCEPTS) + len(_OF_NO_CONCEPT) + 1


def tiny_model(folder: Path, *, takes_first_token: bool = False) -> Path:
    """Write the model, its tokenizer and its settings as sentence-transformers lays them out; return the folder."""
    tokenizers: Any = import_module("tokenizers")  # a package of the extra
    (folder / "onnx").mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(TOKENS, unk_token=UNKNOWN))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "onnx" / "model.onnx").write_bytes(_model())
    pooling = json.dumps({"pooling_mode_cls_token": takes_first_token})
    (folder / "1_Pooling" / "config.json").write_text(pooling)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    return folder


def token_vector(word: str) -> list[float]:
    """Return a word's vector: a one for its concept; a little of its own dimension if it has no concept."""
    known = [float(word in concept) for concept in CONCEPTS]
    others = [0.3 * (word == other and not any(known)) for other in _OF_NO_CONCEPT]
    return [*known, *others, 0.0 if any(known) or any(others) else 0.1]


def _model() -> bytes:
    table = [number for token in TOKENS for number in token_vector(token)]
    tensor = (
        _number(1, len(TOKENS))
        + _number(1, DIMENSIONS)
        + _number(2, _FLOAT)
        + _text(8, "table")
        + _field(9, struct.pack(f"<{len(table)}f", *table))
    )
    look_up = _text(1, "table") + _text(1, "input_ids") + _text(2, "hidden") + _text(4, "Gather")
    graph = (
        _field(1, look_up)
        + _text(2, "tiny")
        + _field(5, tensor)
        + _field(11, _value("input_ids", _INT64, ("batch", "tokens")))
        + _field(11, _value("attention_mask", _INT64, ("batch", "tokens")))
        + _field(12, _value("hidden", _FLOAT, ("batch", "tokens", DIMENSIONS)))
    )
    operators = _number(2, 17)
    return _number(1, 8) + _field(7, graph) + _field(8, operators)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    dimensions = b"".join(
        _field(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    tensor = _number(1, kind) + _field(2, dimensions)
    return _text(1, name) + _field(2, _field(1, tensor))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    content = bytearray()
    while value > 0x7F:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)
