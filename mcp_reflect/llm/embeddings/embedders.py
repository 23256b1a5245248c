"""Embedders: from the setting to one, over HTTP, checked, and given up for a while after a failure."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import mul
from typing import Final, Protocol, cast

from mcp_reflect.clock import Clock
from mcp_reflect.llm.endpoint import Spec, parse_spec
from mcp_reflect.llm.protocol import GarbledReplyError, LLMError, LLMSettingError, TimedOutError

# The seam to an embedder: texts in, vectors out, one method.


Vector = Sequence[float]
"""A unit vector; the cosine of two is the sum of their products."""


class Embedder(Protocol):
    """An embedding model, or a wrapper around one.

    `name` tells which: vectors under different names are never compared. `embed` returns a vector for each
    text, in order, all of one length, or raises an `LLMError`; it leaves nothing running when it is
    cancelled, but for a thread that ends by itself.
    """

    @property
    def name(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]: ...


# Whatever an embedder returns or raises, what comes out here is unit vectors, or an `LLMError`.


_LEAST_LENGTH = 1e-6  # a shorter vector has no direction


class Checked:
    """Stands around every embedder. `maker` is who wrote it, for a person who reports a fault."""

    def __init__(self, embedder: Embedder, maker: str = "this server") -> None:
        self._embedder = embedder
        self._maker = maker
        self.name = embedder.name

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a unit vector for each text, all of one length."""
        try:
            given: object = await self._embedder.embed(texts)
        except LLMError:
            raise
        except Exception as error:  # noqa: BLE001 - may be code that is not ours: its words may hold the texts
            fault = f"{self._maker} raised {type(error).__name__}"
        else:
            vectors = unit_vectors(given, len(texts))
            if not isinstance(vectors, str):
                return vectors
            fault = f"{self._maker} gave {vectors}"
        raise GarbledReplyError(self.name, fault, "Name another embedding model, or write to its makers")


def unit_vectors(given: object, count: int) -> list[Vector] | str:
    """`given` as that many unit vectors of one length; else what it is instead, in a few words."""
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        return "no list of vectors"
    items = cast("Sequence[object]", given)
    if len(items) != count:
        return f"{len(items)} vectors for {count} texts"
    vectors: list[Vector] = []
    for item in items:
        if not isinstance(item, Sequence) or not all(
            type(number) in (int, float) for number in cast("list[object]", item)
        ):
            return "a vector that is no list of numbers"
        vector = cast("Sequence[float]", item)
        try:
            length = math.hypot(*vector)
        except OverflowError:
            length = math.inf
        if not _LEAST_LENGTH < length < math.inf:
            return "a vector without a direction (empty, zero, or not finite)"
        if vectors and len(vectors[0]) != len(vector):
            return f"vectors of different lengths ({len(vectors[0])} and {len(vector)})"
        vectors.append([number / length for number in vector])
    return vectors


# An embedder that nobody waits for: asked for a moment, and after a failure not again for a while.


FIRST_PAUSE: Final = 30.0  # seconds after a failure in which nobody asks again; doubled by each further one
LONGEST_PAUSE: Final = 900.0


class Patient:
    """Opens the embedder when it is first asked, and remembers what is wrong with it.

    `problem` says in one sentence why the last texts have no vectors, None while all is well.
    """

    def __init__(self, open_embedder: Callable[[], Embedder], clock: Clock) -> None:
        self._open = open_embedder
        self._clock = clock
        self._embedder: Embedder | None = None
        self._resting_until = 0.0
        self._pause = 0.0
        self.problem: str | None = None
        self.failures = 0

    @property
    def name(self) -> str | None:
        """The embedder's name, None where it was not opened yet, or cannot be."""
        return self._embedder.name if self._embedder else None

    def opened_name(self) -> str | None:
        """Return the embedder's name, which opens it; None where it cannot be opened, and `problem` says why."""
        try:
            return self._opened().name
        except LLMSettingError as error:
            self.problem = str(error)
            return None

    @property
    def resting(self) -> bool:
        """Whether it failed a short while ago, so that asking would only cost time."""
        return self._clock.now() < self._resting_until

    async def embed(self, texts: Sequence[str], seconds: float) -> Sequence[Vector] | None:
        """Return a unit vector for each text, or None after `seconds` (see `problem`)."""
        if self.resting:
            return None
        try:
            vectors = await self._asked(texts, seconds)
        except LLMError as error:
            self._failed(error)
            return None
        self.problem, self._pause, self._resting_until = None, 0.0, 0.0
        return vectors

    async def _asked(self, texts: Sequence[str], seconds: float) -> Sequence[Vector]:
        embedder = self._opened()
        try:
            async with asyncio.timeout(seconds):
                return await embedder.embed(texts)
        except TimeoutError:
            late = TimedOutError(embedder.name, f"no vectors within {seconds:g} s", "Run a faster one, or wait longer")
        raise late

    def _opened(self) -> Embedder:
        if self._embedder is None:
            self._embedder = self._open()
        return self._embedder

    def _failed(self, error: LLMError) -> None:
        self.problem = str(error)
        self.failures += 1
        wait = LONGEST_PAUSE if isinstance(error, LLMSettingError) else error.retry_after or 0.0
        self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
        self._resting_until = self._clock.now() + max(self._pause, min(wait, LONGEST_PAUSE))


# What `MCP_REFLECT_EMBEDDINGS` says: nothing, an embedder with its model and address, or a model on this machine.


SETTING: Final = "MCP_REFLECT_EMBEDDINGS"
LOCAL: Final = "local"
EXAMPLES: Final = '"local", "local:/path/to/model", "openai:nomic-embed-text@http://localhost:11434/v1" or "off"'


@dataclass(frozen=True, slots=True)
class Folder:
    """A model on this machine: in this folder, or, None, in the package that carries one."""

    path: str | None


def parse(text: str) -> Spec | Folder:
    """Return the embedder's spec or folder that the setting names. Raises `LLMSettingError`, for `off` as well."""
    name, colon, path = text.strip().partition(":")
    if name.strip().casefold() == LOCAL:
        if colon and not path.strip():
            raise LLMSettingError(SETTING, '"local:" names no folder', f"Write {EXAMPLES}")
        return Folder(path.strip() or None)
    try:
        spec = parse_spec(SETTING, text)
    except LLMSettingError as error:
        raise LLMSettingError(SETTING, error.fault, f"Write {EXAMPLES}") from None
    if spec is None:
        raise LLMSettingError(SETTING, "it is off", f"Write {EXAMPLES}")
    return spec


# The cosine of unrelated texts: models differ, one gives .0 and another .7.


UNRELATED: Final = (
    "The migration locked the orders table for an hour.",
    "Whisk the eggs before you fold in the flour.",
    "Our flight to Lisbon leaves from another gate.",
    "The tenant has to give three months' notice.",
    "A violin string breaks when it is wound too tight.",
    "Glaciers carve valleys in the shape of a U.",
    "The goalkeeper was sent off before half time.",
    "Vaccines train the immune system without the disease.",
    "Rotate the logs before the disk is full.",
    "She inherited a stamp collection from her uncle.",
    "Bees dance to tell where the flowers are.",
    "Interest on the loan is due every quarter.",
)
"""Sentences that have no subject in common."""

_MOST_BACKGROUND: Final = 0.9  # a model that tells nothing apart shall not divide by zero


def background(vectors: Sequence[Vector]) -> float:
    """The mean cosine of the vectors of UNRELATED, 0 to .9."""
    cosines = [sum(map(mul, one, other)) for one, other in combinations(vectors, 2)]
    return min(max(sum(cosines) / len(cosines), 0.0), _MOST_BACKGROUND)
