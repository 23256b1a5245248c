"""The model that makes vectors of texts, as the setting names it: its vectors are checked, its failures cost no wait."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from operator import mul
from typing import Any, Final, Protocol

from mcp_reflect.clock import Clock
from mcp_reflect.llm.endpoint_calls import call
from mcp_reflect.llm.local_model import PROVIDER, USUAL_MODEL, LocalModel
from mcp_reflect.llm.protocol import (
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    TimedOutError,
    without_lone_surrogates,
)
from mcp_reflect.llm.providers import Endpoint, open_endpoint, open_package, parse_spec
from mcp_reflect.llm.sdk import OPENAI_KEY_NAME, OPENAI_URL, OPENAI_URL_SETTING, open_openai

Vector = Sequence[float]
"""A unit vector; the cosine of two is the sum of their products."""

SETTING: Final = "MCP_REFLECT_EMBEDDINGS"
EXAMPLES: Final = '"words", "local", "openai:nomic-embed-text@http://localhost:11434/v1" or "off"'
ENTRY_POINTS: Final = "mcp_reflect.embedder"
OWN_KEY_NAME: Final = "OPENAI_EMBEDDINGS_API_KEY"
_SILENCE_SECONDS: Final = 60.0
"""For which an endpoint may send nothing; the caller cancels before that."""

FIRST_PAUSE: Final = 30.0
"""Seconds after a failure in which nothing is asked; each further failure doubles them, up to LONGEST_PAUSE."""

LONGEST_PAUSE: Final = 900.0
LOADING_SECONDS: Final = 10.0
"""A caller with so much time waits for a model that is being loaded; any other is told at once that there is none."""

_LEAST_NORM: Final = 1e-6  # a shorter vector has no direction
_MOST_BACKGROUND: Final = 0.9
"""The most that `measure` returns as a mean cosine: a model that gives all texts one vector shall not divide by zero."""


class Embedder(Protocol):
    """An embedding model, or a wrapper around one.

    Vectors under different names are never compared. `embed` returns a vector for each text, in order, all of one
    length, or raises an `LLMError`; it leaves nothing running when it is canceled, but for a thread that ends by
    itself.
    """

    @property
    def name(self) -> str:
        """The model and who runs it: `openai:nomic-embed-text@http://localhost:11434/v1`."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector for each text."""
        ...


def open_embedder(settings: Mapping[str, str]) -> Embedder:
    """Return the embedder that the settings name. `settings` maps names to texts, as the environment does.

    Raises `LLMSettingError`, for `off` as well. The embedder gives unit vectors or an `LLMError`, whoever made it.
    """
    text = settings.get(SETTING, "").strip()
    if text.casefold() == PROVIDER:
        text = f"{PROVIDER}:{USUAL_MODEL}"
    spec = parse_spec(SETTING, text, EXAMPLES)
    if spec is None:
        raise LLMSettingError(SETTING, "it is off", f"Write {EXAMPLES}")
    if spec.provider == PROVIDER:
        return CheckedEmbedder(LocalModel(spec.model), "the model")
    if spec.provider == "openai":
        # The key of OpenAI goes to no other address that was written for embeddings: that one has its own name.
        names = (OWN_KEY_NAME,) if spec.base_url else (OWN_KEY_NAME, OPENAI_KEY_NAME)
        endpoint = open_endpoint(spec, settings, OPENAI_URL, OPENAI_URL_SETTING, names)
        without_retries = replace(endpoint, retries=0)  # `Patient` tries again
        return CheckedEmbedder(OpenAIEmbedder(spec.model, without_retries), "the endpoint")
    embedder, package = open_package(
        ENTRY_POINTS, spec, settings, setting=SETTING, ours=("openai", PROVIDER)
    )
    has_name = isinstance(getattr(embedder, "name", None), str)
    if not has_name or not callable(getattr(embedder, "embed", None)):
        fault = f'the provider "{spec.provider}" opens no embedder'
        raise LLMSettingError(SETTING, fault, f"Write to the authors of the package {package}")
    return CheckedEmbedder(embedder, f"the package {package}")


class OpenAIEmbedder:
    """One embedding model behind one address."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._model = model
        self._endpoint = endpoint
        self.name = f"openai:{model}@{endpoint.url}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector for each text, unchecked: `CheckedEmbedder` checks them."""

        async def ask(client: Any) -> Any:
            """Ask the endpoint once, by the HTTP client of this request."""
            embeddings = open_openai(self._endpoint, client, _SILENCE_SECONDS).embeddings
            return await embeddings.create(
                model=self._model,
                input=list(map(without_lone_surrogates, texts)),
                encoding_format="float",
            )

        answer = await call(self._endpoint, _SILENCE_SECONDS, ask)
        in_order = sorted(answer.data, key=lambda item: getattr(item, "index", None) or 0)
        return [item.embedding for item in in_order]


class CheckedEmbedder:
    """An embedder that returns unit vectors or raises an `LLMError`; its error names the `maker`."""

    def __init__(self, embedder: Embedder, maker: str) -> None:
        self._embedder = embedder
        self._maker = maker
        self.name = embedder.name

    @property
    def is_loading(self) -> bool:
        """True while the embedder loads its model, which takes longer than a question waits."""
        return _is_loading(self._embedder)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a unit vector for each text, all of one length."""
        try:
            vectors = await self._embedder.embed(texts)
            norms = [math.hypot(*vector) for vector in vectors]
        except LLMError:
            raise
        except Exception as error:  # noqa: BLE001 - may be code that is not ours: its words may hold the texts
            fault = f"gave no vectors ({type(error).__name__})"
        else:
            fault = _fault_of(vectors, norms, len(texts))
            if fault is None:
                return [
                    [number / norm for number in vector]
                    for vector, norm in zip(vectors, norms, strict=True)
                ]
        fix = "Name another embedding model, or write to its makers"
        raise GarbledReplyError(self.name, f"{self._maker} {fault}", fix)


def _fault_of(vectors: Sequence[Vector], norms: Sequence[float], text_count: int) -> str | None:
    """Return why vectors with these lengths (`norms`) cannot be those of so many texts, None if they can."""
    if len(vectors) != text_count:
        return f"gave {len(vectors)} vectors for {text_count} texts"
    if not all(_LEAST_NORM < norm < math.inf for norm in norms):
        return "gave a vector without a direction (empty, zero, or not finite)"
    if len({len(vector) for vector in vectors}) > 1:
        return "gave vectors of different lengths"
    return None


def _is_loading(embedder: Embedder) -> bool:
    """Return whether an embedder loads its model at this moment; those that know no such state never do."""
    return bool(getattr(embedder, "is_loading", False))


class Patient:
    """Opens the embedder with the first texts, limits the wait for it, and pauses after a failure.

    `problem` says in one sentence why the last texts have no vectors, None if they have.
    """

    def __init__(self, open_embedder: Callable[[], Embedder], clock: Clock) -> None:
        self._open = open_embedder
        self._clock = clock
        self._embedder: Embedder | None = None
        self._resting_until = 0.0
        self._pause = 0.0
        self.problem: str | None = None

    @property
    def name(self) -> str | None:
        """The embedder's name. None if it cannot be opened, and `problem` says why."""
        try:
            return self._opened().name
        except LLMSettingError as error:
            self.problem = str(error)
            return None

    @property
    def resting(self) -> bool:
        """True during the pause after a failure."""
        return self._clock.now() < self._resting_until

    async def embed(self, texts: Sequence[str], seconds: float) -> Sequence[Vector] | None:
        """Return a unit vector for each text, or None, of which `problem` says why.

        | the embedder                                      | result   | afterwards                      |
        |---------------------------------------------------|----------|---------------------------------|
        | pauses after a failure                            | None     | the pause goes on               |
        | loads its model, and `seconds` are few or over    | None     | no pause: loading is no failure |
        | fails, or has no vectors within `seconds`         | None     | a pause, longer than the last   |
        | gives vectors                                     | them     | no pause                        |
        """
        if self.resting or (seconds < LOADING_SECONDS and self._notes_loading()):
            return None
        try:
            async with asyncio.timeout(seconds):
                vectors = await self._opened().embed(texts)
        except TimeoutError:
            if not self._notes_loading():
                fault = f"no vectors within {seconds:g} s"
                fix = "Run a faster one, or wait longer"
                self._begin_pause(TimedOutError(self._opened().name, fault, fix))
            return None
        except LLMError as error:
            self._begin_pause(error)
            return None
        self.problem = None
        self._pause = 0.0
        self._resting_until = 0.0
        return vectors

    def _begin_pause(self, failure: LLMError) -> None:
        """Ask nothing for a while after a failure, each time for longer."""
        self.problem = str(failure)
        self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
        self._resting_until = self._clock.now() + self._pause

    def _notes_loading(self) -> bool:
        """Return whether a model is being loaded, and note it as the problem if so."""
        if self._embedder is None or not _is_loading(self._embedder):
            return False
        self.problem = f"{self._embedder.name}: the model is being loaded"
        return True

    async def measure(self, seconds: float) -> tuple[int, float] | None:
        """Return the length of the vectors, and the mean cosine (0 to .9) of unrelated texts; None without vectors.

        Models differ in both: where unrelated texts have a cosine of .7, one of .75 says little.
        """
        vectors = await self.embed(UNRELATED, seconds)
        if not vectors:
            return None
        cosines = [sum(map(mul, first, second)) for first, second in combinations(vectors, 2)]
        mean_cosine = sum(cosines) / len(cosines)
        return len(vectors[0]), min(max(mean_cosine, 0.0), _MOST_BACKGROUND)

    def _opened(self) -> Embedder:
        """Return the embedder, opened once."""
        if self._embedder is None:
            self._embedder = self._open()
        return self._embedder


UNRELATED: Final = (
    "The migration locked the orders table for an hour.",
    "Whisk the eggs before you fold in the flour.",
    "Our flight to Lisbon leaves from another gate.",
    "The tenant has to give three months' notice.",
    "A violin string breaks when it is wound too tight.",
    "Vaccines train the immune system without the disease.",
    "Bees dance to tell where the flowers are.",
    "Interest on the loan is due every quarter.",
)
"""Sentences that have no subject in common."""
