"""A small embedding model that knows what some words mean, behind a real HTTP server on loopback."""

import re
from collections.abc import Callable, Sequence
from zlib import crc32

from mcp_reflect.models.common import Json
from tests.llm.loopback import Answer, Loopback, Received, Step

CONCEPTS: tuple[frozenset[str], ...] = (
    frozenset("database postgres sql query table replica".split()),
    frozenset("slow latency sluggish crawls lag delay".split()),
    frozenset("deploy release rollout ship production".split()),
    frozenset("credential password secret token login".split()),
    frozenset("mail newsletter letter customer outbox".split()),
    frozenset("cake oven bake recipe flour".split()),
)


OTHERS = 16


def vector(text: str) -> list[float]:
    """How much of each concept a text has, and a little of each other word."""
    words = re.findall(r"[a-z]+", text.lower())
    known = [float(sum(word in concept for word in words)) for concept in CONCEPTS]
    others = [0.1] * OTHERS
    for word in words:
        others[crc32(word.encode()) % OTHERS] += 0.3 * (
            len(word) > 3 and not any(word in one for one in CONCEPTS)
        )
    return [*known, *others]


def inputs(received: Received) -> list[str]:
    """The texts of a request."""
    texts = received.body["input"]
    assert isinstance(texts, list)
    return [str(text) for text in texts]


def embeddings(vectors: Sequence[Sequence[float]]) -> Answer:
    """Vectors as the API says them, the last first: `index` tells whose they are."""
    data: list[Json] = [
        {"object": "embedding", "index": index, "embedding": list(values)}
        for index, values in enumerate(vectors)
    ]
    return Answer(body={"object": "list", "model": "concepts", "data": data[::-1]})


def answer(received: Received) -> Step:
    """What the model makes of a request."""
    return embeddings([vector(text) for text in inputs(received)])


def served(*steps: Step, embed: Callable[[Received], Step] = answer) -> Loopback:
    """The server: it plays `steps`, then embeds whatever comes."""
    return Loopback(*steps, answer=embed)


def setting(server: Loopback, model: str = "concepts") -> str:
    """What MCP_REFLECT_EMBEDDINGS says to use it."""
    return f"openai:{model}@{server.url}/v1"


class Concepts:
    """The same model as an embedder of this process; `asked` are the texts that it was sent, in order."""

    name = "concepts"
    dims = len(CONCEPTS) + OTHERS

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [vector(text) for text in texts]
