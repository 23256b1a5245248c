"""Train the table of word vectors that the package ships: python train.py --model DIR --taught DIR --out FILE.

`collect.py` gathers texts, `teacher.py` writes the teacher's vector of each. Here each token gets a vector of 256
numbers such that the direction of the sum of a text's tokens is the direction that the teacher gives the text.

1. Vocabulary: BERT's tokens in Latin letters and digits. The most frequent words of the texts that BERT splits
   (config, kubernetes, async) take the places of its rarest tokens.
2. Start: the teacher's own vector of each token alone, reduced to 256 dimensions by the principal components of the
   teacher's vectors of the texts, times a weight that is small for frequent tokens.
3. Training: the direction of the sum of a text's tokens has to be the direction of the teacher's vector. (Also asking
   for the same neighbours within a batch, and leaving out tokens at random, made retrieval worse.)
4. Written with 8 bits a number, and a scale a token.
"""

import argparse
import re
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from teacher import Teacher
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

from mcp_reflect.text.word_vectors import BIAS, HEADER, LARGEST_SCALE, MAGIC, VERSION, pieces, words

DIMENSIONS, TOKENS = 256, 30_000
BATCH, PEAK_RATE, EPOCHS = 1_024, 0.004, 6
HELD_BACK = 4_096  # texts that are not trained on


def vocabulary(bert: dict[str, int], texts: list[str]) -> list[str]:
    """Choose the tokens: BERT's own that are of use, then frequent words that BERT splits, up to TOKENS."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(words(text, bert.get))
    used: Counter[str] = Counter()
    names = {number: token for token, number in bert.items()}
    split: Counter[str] = Counter()
    for word, count in counts.items():
        numbers = pieces(word, bert.get)
        used.update({names[number]: count for number in numbers})
        if len(numbers) > 1 and re.fullmatch(r"[a-z][a-z0-9]{2,19}", word):
            split[word] = count
    latin = [token for token in bert if re.fullmatch(r"(##)?[a-z0-9]+", token)]
    short = {
        token for token in latin if len(token.removeprefix("##")) == 1
    }  # every Latin word can be spelled
    ranked = sorted(latin, key=lambda token: (token not in short, -used[token], bert[token]))
    added = [word for word, count in split.most_common(5_000) if count >= 6]
    kept = ranked[: TOKENS - len(added)]
    print(
        f"{len(kept):,} of BERT's {len(latin):,} Latin tokens, {len(added):,} more: {added[:8]} … {added[-4:]}"
    )
    return kept + added


def rows_of(texts: list[str], number: dict[str, int]) -> list[list[int]]:
    known: dict[str, tuple[int, ...]] = {}
    found: list[list[int]] = []
    for text in texts:
        row: list[int] = []
        for word in words(text, number.get):
            if word not in known:
                known[word] = pieces(word, number.get)
            row += known[word]
        found.append(row[:128])
    return found


def principal_components(vectors: npt.NDArray[np.float16]) -> Tensor:
    """Return the 384 x 256 matrix of the directions in which the teacher's vectors differ most."""
    sample = torch.from_numpy(vectors[:: max(1, len(vectors) // 60_000)].astype(np.float32))
    values, directions = torch.linalg.eigh(sample.T @ sample)
    print(
        f"{float(values[-DIMENSIONS:].sum() / values.sum()):.3f} of the length is in {DIMENSIONS} dimensions"
    )
    return directions[:, -DIMENSIONS:].flip(1).contiguous()


def starting_rows(
    teacher: Teacher, tokens: list[str], counts: npt.NDArray[np.int64], reduced: Tensor
) -> Tensor:
    alone = torch.cat(
        [
            teacher.embed([t.removeprefix("##") for t in tokens[n : n + 256]])
            for n in range(0, len(tokens), 256)
        ]
    )
    rows = normalize((alone - alone.mean(0)) @ reduced, dim=-1)
    share = torch.from_numpy(counts / counts.sum()).float()
    return rows * (1e-4 / (1e-4 + share) + 0.05)[:, None]


def train(
    table: Tensor,
    rows: list[list[int]],
    taught: npt.NDArray[np.float16],
    reduced: Tensor,
    epochs: int,
) -> Tensor:
    """Turn the sums of the rows of each text's tokens towards the teacher's vectors."""
    parts = (torch.from_numpy(part.astype(np.float32)) for part in np.array_split(taught, 64))
    targets = torch.cat([normalize(part @ reduced, dim=-1) for part in parts])

    def distance(chosen: npt.NDArray[np.int64]) -> Tensor:
        lengths = [len(rows[n]) for n in chosen]
        flat = torch.from_numpy(
            np.fromiter((token for n in chosen for token in rows[n]), np.int64, sum(lengths))
        )
        starts = torch.from_numpy(np.cumsum([0, *lengths[:-1]]))
        student = normalize(embedding_bag(flat, table, starts, mode="sum"), dim=-1)
        return 1 - (student * targets[chosen]).sum(-1).mean()

    table = table.clone().requires_grad_()
    optimizer = torch.optim.Adam([table], lr=PEAK_RATE, betas=(0.9, 0.99), fused=True)
    numbers = np.random.default_rng(7)
    steps, began = epochs * ((len(rows) - HELD_BACK) // BATCH), time.monotonic()
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, PEAK_RATE, total_steps=steps + 1, pct_start=0.05
    )
    for epoch in range(epochs):
        order = numbers.permutation(np.arange(HELD_BACK, len(rows)))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            optimizer.zero_grad()
            distance(order[start : start + BATCH]).backward()
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            apart = float(distance(np.arange(HELD_BACK)))
        minutes = (time.monotonic() - began) / 60
        print(
            f"epoch {epoch + 1}, {minutes:.1f} min: held-back texts have cosine {1 - apart:.4f} to the teacher",
            flush=True,
        )
    return table.detach()


def write_table(path: Path, tokens: list[str], table: npt.NDArray[np.float32]) -> None:
    """Write the table in the form that `word_vectors.py` describes."""
    largest = np.maximum(np.abs(table).max(axis=1), 1e-9)
    unit = largest.max() / LARGEST_SCALE / 127
    scales = np.maximum(1, np.ceil(largest / 127 / unit - 1e-6)).astype("<u2")
    values = np.rint(table / (scales[:, None] * unit)).astype(np.int16) + BIAS
    texts = [token.encode() for token in tokens]
    count = 1 << (len(tokens) * 3 // 2).bit_length()
    slots = np.zeros(count, "<u2")
    for number, text in enumerate(texts):
        slot = zlib.crc32(text) & (count - 1)
        while slots[slot]:
            slot = (slot + 1) & (count - 1)
        slots[slot] = number + 1
    ends = np.cumsum([len(text) for text in texts]).astype("<u4")
    header = HEADER.pack(MAGIC, VERSION, table.shape[1], 0, len(tokens), count, int(ends[-1]))
    rows = values.astype(np.uint8).tobytes()
    path.write_bytes(
        header + slots.tobytes() + ends.tobytes() + scales.tobytes() + rows + b"".join(texts)
    )
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="the teacher's folder")
    parser.add_argument("--taught", type=Path, required=True, help="what teacher.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    texts = (given.taught / "texts.txt").read_text(encoding="utf-8").split("\n")
    taught = np.fromfile(given.taught / "vectors.f16", np.float16)
    taught = taught[: len(taught) // 384 * 384].reshape(-1, 384)[: len(texts)]
    teacher = Teacher(given.model)
    tokens = vocabulary(teacher.words, texts)
    number = {token: n for n, token in enumerate(tokens)}
    rows = rows_of(texts[: len(taught)], number)
    full = [n for n, row in enumerate(rows) if row]
    order = np.random.default_rng(3).permutation(full)
    rows, taught = [rows[n] for n in order], taught[order]
    counts = np.bincount([token for row in rows for token in row], minlength=len(tokens))
    print(
        f"{len(rows):,} texts, {counts.sum():,} tokens, {(counts == 0).sum():,} tokens never seen"
    )
    reduced = principal_components(taught)
    table = starting_rows(teacher, tokens, counts, reduced)
    trained = train(table, rows, taught, reduced, given.epochs)
    write_table(given.out, tokens, trained.numpy())
    return 0


if __name__ == "__main__":
    sys.exit(main())
