"""An endpoint with OpenAI's embeddings API over plain HTTP."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from mcp_reflect.llm.embeddings.embedders import SETTING, Embedder, Vector
from mcp_reflect.llm.endpoint import Endpoint, Spec, find_key, whole
from mcp_reflect.llm.openai import KEY_NAME, endpoint_of
from mcp_reflect.models.common import Json

OWN_KEY_NAME: Final = "OPENAI_EMBEDDINGS_API_KEY"
_SILENCE_SECONDS: Final = 60.0  # whoever asks is less patient, and cancels


def open_embedder(spec: Spec, settings: Mapping[str, str]) -> Embedder:
    """Return the model of `spec`. Raises `LLMSettingError` for an unusable address, or where OpenAI's key is missing.

    The key of OpenAI goes to no other address that was written for embeddings: that one has its own name.
    """
    names = (OWN_KEY_NAME,) if spec.base_url else (OWN_KEY_NAME, KEY_NAME)
    key = find_key(spec, settings, names, nameless=not spec.base_url)
    return OpenAI(spec.model, endpoint_of(spec, settings, SETTING, key, names[-1]))


class OpenAI:
    """One embedding model behind one address."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._model = model
        self._endpoint = endpoint
        self.name = f"openai:{model}@{endpoint.url}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector for each text, unchecked: `Checked` checks them."""
        body: dict[str, Json] = {
            "model": self._model,
            "input": [whole(text) for text in texts],
            "encoding_format": "float",
        }
        answer = await self._endpoint.post("/embeddings", body, key_of="data", seconds=_SILENCE_SECONDS)
        data = answer.get("data")
        if not isinstance(data, list) or not all(isinstance(item, dict) and "embedding" in item for item in data):
            raise self._endpoint.garbled("a body without embeddings")
        items = cast("list[dict[str, Json]]", data)
        places = [item.get("index") for item in items]
        if sorted(places, key=str) == sorted(range(len(items)), key=str):  # in the order of their texts
            items.sort(key=lambda item: cast("int", item["index"]))
        return cast("list[Vector]", [item["embedding"] for item in items])
