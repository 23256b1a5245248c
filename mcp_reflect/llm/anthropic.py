"""Claude, by Anthropic's Messages API over plain HTTP."""

from collections.abc import Mapping
from types import MappingProxyType

from mcp_reflect.llm.endpoint import ChatModel, Spec, count, open_endpoint, section
from mcp_reflect.llm.json_replies import is_closed
from mcp_reflect.llm.protocol import LLM, Request, Stop, Usage
from mcp_reflect.models.common import Json

_URL = "https://api.anthropic.com"
_KEY_NAMES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_STOPS = {
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "pause_turn": Stop.LENGTH,
    "refusal": Stop.REFUSAL,
    "tool_use": Stop.TOOL_USE,
}


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """Return the model of `spec`. Raises `LLMSettingError` for a missing key or an unusable address."""
    endpoint = open_endpoint(
        spec, settings, _URL, "ANTHROPIC_BASE_URL", _KEY_NAMES, key_name=_KEY_NAMES[0], needs_key=True
    )
    return Anthropic(spec.model, endpoint)


class Anthropic(ChatModel):
    """One Claude model."""

    PATH = "/v1/messages"
    KEY_OF = "content"
    HEADERS = MappingProxyType({"anthropic-version": "2023-06-01"})
    SCHEMA_WORDS = ("output_config", "output_format", "json_schema", "structured output")

    def takes(self, schema: Mapping[str, Json]) -> bool:
        """True if the schema leaves no names free."""
        return is_closed(dict(schema))

    def body(self, request: Request, system: str, user: str, schema: dict[str, Json] | None) -> dict[str, Json]:
        """Return the body of a request; the fixed part is marked for the prompt cache."""
        body: dict[str, Json] = {"model": self._model, "max_tokens": request.max_tokens}
        body["messages"] = [{"role": "user", "content": user}]
        if system:
            body["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        if schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def reply(self, answer: Mapping[str, Json]) -> tuple[str, Stop, Usage]:
        """Return the text blocks of the content, the end, and the tokens."""
        content = answer.get("content")
        if not isinstance(content, list):
            raise self._endpoint.garbled("a body without content")
        blocks = [block for block in content if isinstance(block, dict)]
        text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
        stop = _STOPS.get(str(answer.get("stop_reason")), Stop.END)
        if stop is Stop.END and any(block.get("type") == "tool_use" for block in blocks):
            stop = Stop.TOOL_USE
        usage = section(answer, "usage")
        read, write = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
        # Anthropic counts cached tokens apart from `input_tokens`; `Usage` counts them in.
        read_in = count(usage, "input_tokens") + read + write
        return text, stop, Usage(read_in, count(usage, "output_tokens"), read, write)
