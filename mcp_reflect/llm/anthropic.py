"""Claude, by Anthropic's SDK."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from mcp_reflect.llm.protocol import LLM, Request, Stop, TextChunk, Usage, count_of, whole
from mcp_reflect.llm.sdk import Answer, SdkModel, garbled, unended
from mcp_reflect.llm.settings import Spec, open_endpoint

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message
    from httpx2 import AsyncClient

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


class Anthropic(SdkModel):
    """One Claude model."""

    PACKAGE = "anthropic"
    SCHEMA_WORDS = ("output_config", "output_format", "json_schema", "structured output")
    NEEDS_CLOSED = True

    async def ask(self, request: Request, client: "AsyncClient") -> Answer:
        """Return the text blocks of the message, its end, and its tokens."""
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - its import takes two seconds

        sdk = AsyncAnthropic(
            api_key=self._endpoint.key.text if self._endpoint.key else "",
            base_url=self._endpoint.url,
            timeout=request.timeout,
            max_retries=self._endpoint.retries,
            http_client=client,
        )
        message = await self._message(sdk, request)
        if not isinstance(getattr(message, "content", None), list):
            raise garbled(self._endpoint, "a body without content")
        blocks = cast("list[Any]", message.content)
        texts = [block.text for block in blocks if getattr(block, "type", "") == "text"]
        stop = _STOPS.get(str(message.stop_reason), Stop.END)
        usage = getattr(message, "usage", None)
        # Anthropic counts cached tokens apart from `input_tokens`.
        read_in = count_of(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return Answer("".join(filter(None, texts)), stop, Usage(read_in, count_of(usage, "output_tokens")))

    async def _message(self, sdk: "AsyncAnthropic", request: Request) -> "Message":
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens,
            "messages": [{"role": "user", "content": request.user}],
        }
        if request.system:  # the same for each question of a role: marked for the prompt cache
            body["system"] = [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]
        if request.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
        if request.on_text is None:
            return cast("Message", await sdk.messages.create(**body))
        first = True
        async with cast("Any", sdk.messages).stream(**body) as stream:
            async for text in stream.text_stream:
                request.on_text(TextChunk(role=request.role, text=whole(text), first=first))
                first = False
            message: Message = await stream.get_final_message()
        if message.stop_reason is None:
            raise unended(self._endpoint)
        return message
