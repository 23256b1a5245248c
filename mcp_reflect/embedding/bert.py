"""A sentence embedder of the BERT family on numpy alone: tokens in, one unit vector a text out.

The architecture is BERT's encoder (Devlin et al. 2018) with the pooling of sentence-transformers (Reimers and
Gurevych 2019), at inference: no dropout, no gradients. All tokens of a batch go through each dense layer in
one matrix product, without padding; only attention goes text by text.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    np: Any  # the extra need not be there where types are checked
    Array = Any
else:
    import numpy as np

    Array = np.ndarray

_LAYER: Final = "encoder.layer.{}."
_SERIES: Final = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


class Bert:
    """The weights of one model, ready to run. Threads may share it: running changes nothing.

    `weights` has the names that the reference implementation saves; `KeyError` where one is missing.
    """

    def __init__(self, weights: dict[str, Array], *, layers: int, heads: int, epsilon: float) -> None:
        taken = {name.removeprefix("bert."): value.astype(np.float32, copy=False) for name, value in weights.items()}
        self._heads = heads
        self._epsilon = epsilon
        self._words = taken["embeddings.word_embeddings.weight"]
        # Every token is of the first segment: there is one text.
        self._places = (
            taken["embeddings.position_embeddings.weight"] + taken["embeddings.token_type_embeddings.weight"][0]
        )
        self._first_norm = _norm(taken, "embeddings.LayerNorm.")
        self._layers = [_Layer(taken, _LAYER.format(number)) for number in range(layers)]

    @property
    def longest(self) -> int:
        """The most tokens that a text may have."""
        return len(self._places)

    def run(self, texts: Sequence[Sequence[int]], *, mean: bool) -> Array:
        """A float32 array with one unit vector for each text of token ids (at least one, at most `longest`).

        `mean` pools over all tokens, else the first token stands for the text.
        """
        ends = np.cumsum([0, *map(len, texts)])
        tokens = np.concatenate([np.asarray(text, dtype=np.int64) for text in texts])
        places = np.concatenate([np.arange(len(text)) for text in texts])
        hidden = self._normed(self._words[tokens] + self._places[places], self._first_norm)
        spans = list(pairwise(ends.tolist()))
        for layer in self._layers:
            hidden = self._normed(hidden + self._attended(hidden, layer, spans), layer.attention_norm)
            inner = gelu(hidden @ layer.wide + layer.wide_bias)
            hidden = self._normed(hidden + inner @ layer.narrow + layer.narrow_bias, layer.output_norm)
        pooled = np.add.reduceat(hidden, ends[:-1], axis=0) if mean else hidden[ends[:-1]]
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)

    def _attended(self, hidden: Array, layer: "_Layer", spans: list[tuple[int, int]]) -> Array:
        """What each token takes from the tokens of its own text."""
        width = hidden.shape[1]
        size = width // self._heads
        asked = (hidden @ layer.asking + layer.asking_bias).reshape(-1, 3, self._heads, size)
        context = np.empty_like(hidden)
        for start, end in spans:
            query, key, value = asked[start:end].transpose(1, 2, 0, 3)
            weights = query @ key.transpose(0, 2, 1) * np.float32(size**-0.5)
            weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            context[start:end] = (weights @ value).transpose(1, 0, 2).reshape(-1, width)
        return context @ layer.mixing + layer.mixing_bias

    def _normed(self, values: Array, norm: tuple[Array, Array]) -> Array:
        """Layer normalisation over the last axis."""
        values = values - values.mean(axis=-1, keepdims=True)
        values /= np.sqrt(np.square(values).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return values * norm[0] + norm[1]


class _Layer:
    """The weights of one encoder layer, turned so that rows of tokens stand on the left."""

    def __init__(self, weights: dict[str, Array], prefix: str) -> None:
        parts = [_dense(weights, f"{prefix}attention.self.{name}.") for name in ("query", "key", "value")]
        self.asking = np.concatenate([weight for weight, _ in parts], axis=1)
        self.asking_bias = np.concatenate([bias for _, bias in parts])
        self.mixing, self.mixing_bias = _dense(weights, f"{prefix}attention.output.dense.")
        self.attention_norm = _norm(weights, f"{prefix}attention.output.LayerNorm.")
        self.wide, self.wide_bias = _dense(weights, f"{prefix}intermediate.dense.")
        self.narrow, self.narrow_bias = _dense(weights, f"{prefix}output.dense.")
        self.output_norm = _norm(weights, f"{prefix}output.LayerNorm.")


def _dense(weights: dict[str, Array], prefix: str) -> tuple[Array, Array]:
    return np.ascontiguousarray(weights[f"{prefix}weight"].T), weights[f"{prefix}bias"]


def _norm(weights: dict[str, Array], prefix: str) -> tuple[Array, Array]:
    return weights[f"{prefix}weight"], weights[f"{prefix}bias"]


def gelu(values: Array) -> Array:
    """x·Φ(x), with the error function as Abramowitz and Stegun 7.1.26 approximate it (off by 1.5e-7 at most).

    Written in place, for this is a quarter of the work.
    """
    size = np.abs(values)
    size *= np.float32(0.5**0.5)
    t = np.float32(0.3275911) * size
    t += 1
    np.reciprocal(t, out=t)
    tail = t * np.float32(_SERIES[0])
    for factor in _SERIES[1:]:
        tail += np.float32(factor)
        tail *= t
    size *= size
    np.negative(size, out=size)
    np.exp(size, out=size)
    tail *= size  # 1 - erf(|x| / √2)
    tail *= np.float32(0.5)
    np.copysign(tail, values, out=tail)
    return values * ((values > 0) - tail)
