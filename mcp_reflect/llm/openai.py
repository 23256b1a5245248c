"""Any endpoint that speaks OpenAI's chat completions, by OpenAI's SDK: OpenAI, Ollama, vLLM, LM Studio and more."""

import re
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from mcp_reflect.llm.json_replies import is_closed
from mcp_reflect.llm.protocol import LLM, LLMSettingError, Request, Stop, TextChunk, Usage, count_of, whole
from mcp_reflect.llm.sdk import Answer, SdkModel, garbled, status_error, unended
from mcp_reflect.llm.settings import MAIN, Endpoint, Spec, open_endpoint
from mcp_reflect.models.common import Json

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletionChunk

URL = "https://api.openai.com/v1"
KEY_NAME = "OPENAI_API_KEY"
URL_SETTING = "OPENAI_BASE_URL"
_STOPS = {
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
    "tool_calls": Stop.TOOL_USE,
    "function_call": Stop.TOOL_USE,
}
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """Return the model of `spec`. Raises `LLMSettingError` for an unusable address or a missing key of OpenAI."""
    return OpenAI(spec.model, open_endpoint(spec, settings, URL, URL_SETTING, (KEY_NAME,), key_name=KEY_NAME))


def open_sdk(endpoint: Endpoint, client: "AsyncClient", seconds: float, retries: int) -> "AsyncOpenAI":
    """Return the SDK, which may try `retries` times more. Raises `LLMSettingError` where it is not installed."""
    try:
        from openai import AsyncOpenAI  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        fix = "Run: pip install 'mcp-reflect-server[openai]'"
    else:
        return AsyncOpenAI(
            api_key=endpoint.key.text
            if endpoint.key
            else "none",  # the SDK insists on one, and `open_client` takes it out
            base_url=endpoint.url,
            timeout=seconds,
            max_retries=retries,
            http_client=client,
        )
    raise LLMSettingError(MAIN, f"the model {endpoint.llm} needs the package openai", fix)


class OpenAI(SdkModel):
    """One model behind one address. It learns the newer name of the token limit."""

    PACKAGE = "openai"
    SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "guided", "grammar")

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        super().__init__(model, endpoint)
        self._limit_name = "max_completion_tokens" if endpoint.url == URL else "max_tokens"

    def adapts(self, fault: str, schema: Mapping[str, Json] | None) -> bool:
        """True if the limit's newer name, or the schema in words, avoids the fault."""
        if self._limit_name == "max_tokens" and "max_completion_tokens" in fault:
            self._limit_name = "max_completion_tokens"
            return True
        return super().adapts(fault, schema)

    async def ask(self, request: Request, client: "AsyncClient") -> Answer:
        """Return the text of the first choice without thoughts at its start, its end, and the tokens."""
        sdk = open_sdk(self._endpoint, client, request.timeout, self._endpoint.retries)
        messages = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [*messages, {"role": "user", "content": request.user}],
            self._limit_name: request.max_tokens,
        }
        if request.schema is not None:
            schema = dict(request.schema)
            named = {"name": "answer", "schema": schema, "strict": is_closed(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if request.on_text is not None:
            stream = await sdk.chat.completions.create(**body, stream=True, stream_options={"include_usage": True})
            return await self._streamed(cast("AsyncIterator[ChatCompletionChunk]", stream), request)
        completion = cast("Any", await sdk.chat.completions.create(**body))
        if not completion.choices:
            if error := getattr(completion, "error", None):
                raise status_error(self._endpoint, 200, {}, {"error": error})
            raise garbled(self._endpoint, "a body without choices")
        choice = completion.choices[0]
        text, refusal = _text(choice.message.content), _text(getattr(choice.message, "refusal", None))
        calls = bool(getattr(choice.message, "tool_calls", None))
        return _answer(text, refusal, choice.finish_reason, getattr(completion, "usage", None), calls=calls)

    async def _streamed(self, chunks: "AsyncIterator[ChatCompletionChunk]", request: Request) -> Answer:
        text = refusal = ""
        stop: str | None = None
        usage: object = None
        async for chunk in chunks:
            usage = chunk.usage or usage
            for choice in chunk.choices[:1]:
                stop = choice.finish_reason or stop
                piece = choice.delta.content or choice.delta.refusal
                if piece and request.on_text:
                    request.on_text(TextChunk(role=request.role, text=whole(piece), first=not (text or refusal)))
                text += choice.delta.content or ""
                refusal += choice.delta.refusal or ""
        if stop is None:
            raise unended(self._endpoint)
        return _answer(text, refusal, stop, usage)


def _answer(text: str, refusal: str, finish_reason: str | None, sent_usage: object, *, calls: bool = False) -> Answer:
    stop = _STOPS.get(str(finish_reason), Stop.END)
    if stop is Stop.END and calls:
        stop = Stop.TOOL_USE
    if refusal:
        text, stop = text or refusal, Stop.REFUSAL
    tokens = Usage(count_of(sent_usage, "prompt_tokens"), count_of(sent_usage, "completion_tokens"))
    return Answer(_THOUGHT.sub("", text), stop, tokens)


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = [cast("dict[str, object]", part) for part in cast("list[object]", content) if isinstance(part, dict)]
        return "".join(str(part.get("text", "")) for part in parts)
    return content if isinstance(content, str) else ""
