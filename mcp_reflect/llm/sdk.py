"""Models by the SDK of Anthropic (Claude) or of OpenAI, which speaks to each endpoint of chat completions.

Such endpoints are OpenAI, Ollama, vLLM, LM Studio and more.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, cast

from mcp_reflect.llm.endpoint_calls import call, garbled, status_error
from mcp_reflect.llm.protocol import (
    LLM,
    LLMSettingError,
    RefusedError,
    Reply,
    Request,
    Stop,
    TextChunk,
    Usage,
    count_of,
    reply_of,
    without_lone_surrogates,
)
from mcp_reflect.llm.providers import MAIN, Endpoint, Spec, open_endpoint
from mcp_reflect.llm.reply_schemas import is_closed

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from openai import AsyncOpenAI

ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_URL_SETTING = "ANTHROPIC_BASE_URL"
ANTHROPIC_KEY_NAME = "ANTHROPIC_API_KEY"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_URL_SETTING = "OPENAI_BASE_URL"
OPENAI_KEY_NAME = "OPENAI_API_KEY"
_NO_KEY = "none"  # the SDKs insist on a key
_SCHEMA_WORDS = (
    "output_config",
    "output_format",
    "response_format",
    "json_schema",
    "structured output",
    "grammar",
)
"""Words in an error which say that the endpoint does not take the schema."""
_STOPS = {
    **dict.fromkeys(
        ("max_tokens", "model_context_window_exceeded", "pause_turn", "length"), Stop.LENGTH
    ),
    **dict.fromkeys(("refusal", "content_filter"), Stop.REFUSAL),
    **dict.fromkeys(("tool_use", "tool_calls", "function_call"), Stop.TOOL_USE),
}


class SdkModel:
    """One model of one SDK, which a subclass calls. It remembers which parameters the endpoint refused."""

    PACKAGE: ClassVar[str]

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._model = model
        self._endpoint = endpoint
        self._takes_schema = True
        self._limit_name = "max_tokens"
        if endpoint.url == OPENAI_URL:
            self._limit_name = "max_completion_tokens"

    async def complete(self, request: Request) -> Reply:
        """Return the reply; ask again without the parameters that the endpoint refuses.

        Without a schema the reply still has its shape: the prompt says it too.
        """
        # The import takes two seconds, in which others are answered; `ask` tells what to install where it fails.
        with suppress(ImportError):
            await asyncio.to_thread(import_module, self.PACKAGE)
        request = replace(
            request,
            system=without_lone_surrogates(request.system),
            user=without_lone_surrogates(request.user),
        )
        while True:
            if not (self._takes_schema and request.schema and is_closed(request.schema)):
                request = replace(request, schema=None)
            try:
                return await call(self._endpoint, request.timeout, partial(self.ask, request))
            except RefusedError as error:
                if not self._can_do_without(request, error):
                    raise

    def _can_do_without(self, request: Request, error: RefusedError) -> bool:
        """Return whether the endpoint refused a parameter only, which is left out or renamed from now on."""
        if error.status not in (400, 422):
            return False
        fault = error.fault.casefold()
        if self._limit_name == "max_tokens" and "max_completion_tokens" in fault:
            self._limit_name = "max_completion_tokens"
            return True
        if request.schema and any(word in fault for word in _SCHEMA_WORDS):
            self._takes_schema = False
            return True
        return False

    async def ask(self, request: Request, client: "AsyncClient") -> Reply:
        """Return the answer of the SDK, which uses `client`. Raises the errors of the SDK."""
        raise NotImplementedError

    def _reply(self, request: Request, text: str, stop: str | None, usage: Usage) -> Reply:
        """Return the reply with the end that the API names; a stream without one was cut off."""
        end = _STOPS.get(str(stop), Stop.END)
        if stop is None and request.on_text is not None:
            end = Stop.LENGTH
        return reply_of(self._endpoint.llm, text, end, usage)


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """Return the model of `spec`. Raises `LLMSettingError` for an unusable address or a missing key."""
    if spec.provider == "anthropic":
        endpoint = open_endpoint(
            spec, settings, ANTHROPIC_URL, ANTHROPIC_URL_SETTING, (ANTHROPIC_KEY_NAME,)
        )
        return Anthropic(spec.model, endpoint)
    endpoint = open_endpoint(spec, settings, OPENAI_URL, OPENAI_URL_SETTING, (OPENAI_KEY_NAME,))
    return OpenAIModel(spec.model, endpoint)


class Anthropic(SdkModel):
    """One Claude model."""

    PACKAGE = "anthropic"

    async def ask(self, request: Request, client: "AsyncClient") -> Reply:
        """Return the text blocks of the message, its end, and its tokens."""
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - its import takes two seconds

        sdk = AsyncAnthropic(
            api_key=self._endpoint.key or _NO_KEY,
            base_url=self._endpoint.url,
            timeout=request.timeout,
            max_retries=self._endpoint.retries,
            http_client=client,
        )
        body = self._body(request)
        messages = cast("Any", sdk.messages)
        if request.on_text is None:
            message = await messages.create(**body)
        else:
            async with messages.stream(**body) as stream:
                pass_on = _passes_on(request)
                async for text in stream.text_stream:
                    pass_on(text)
                message = await stream.get_final_message()
        if not isinstance(getattr(message, "content", None), list):
            raise garbled(self._endpoint)
        texts = [block.text for block in message.content if getattr(block, "type", "") == "text"]
        tokens = _anthropic_usage(getattr(message, "usage", None))
        return self._reply(request, "".join(filter(None, texts)), message.stop_reason, tokens)

    def _body(self, request: Request) -> dict[str, Any]:
        """Return the body of a request. Its system prompt is the same for each question of a role: it is cached."""
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens,
            "messages": [{"role": "user", "content": request.user}],
        }
        if request.system:
            cached = {"type": "ephemeral"}
            body["system"] = [{"type": "text", "text": request.system, "cache_control": cached}]
        if request.schema is not None:
            reply_format = {"type": "json_schema", "schema": dict(request.schema)}
            body["output_config"] = {"format": reply_format}
        return body


def _anthropic_usage(usage: object) -> Usage:
    """Return the tokens of a reply; Anthropic counts cached ones apart from `input_tokens`."""
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(
        input_tokens=count_of(usage, "input_tokens", *cached),
        output_tokens=count_of(usage, "output_tokens"),
    )


def open_openai(endpoint: Endpoint, client: "AsyncClient", seconds: float) -> "AsyncOpenAI":
    """Return the SDK. Raises `LLMSettingError` where it is not installed."""
    try:
        from openai import AsyncOpenAI  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        fix = "Run: pip install 'openai>=3.50,<4'"
        raise LLMSettingError(
            MAIN, f"the model {endpoint.llm} needs the package openai", fix
        ) from None
    return AsyncOpenAI(
        api_key=endpoint.key or _NO_KEY,
        base_url=endpoint.url,
        timeout=seconds,
        max_retries=endpoint.retries,
        http_client=client,
    )


class OpenAIModel(SdkModel):
    """One model behind one address."""

    PACKAGE = "openai"

    async def ask(self, request: Request, client: "AsyncClient") -> Reply:
        """Return the reply in the first choice of the completion, or raise the error that stands in its place."""
        body = self._body(request)
        sdk = open_openai(self._endpoint, client, request.timeout)
        completions = cast("Any", sdk.chat.completions)
        if request.on_text is None:
            completion = await completions.create(**body)
        else:
            async with completions.stream(**body, stream_options={"include_usage": True}) as stream:
                pass_on = _passes_on(request)
                async for event in stream:
                    if event.type in ("content.delta", "refusal.delta"):
                        pass_on(event.delta)
                # The final one raises where it is cut off or refused.
                completion = stream.current_completion_snapshot
        if not completion.choices:
            error = getattr(completion, "error", None)
            if error:  # some routers report a fault under status 200
                raise status_error(self._endpoint, 200, error)
            raise garbled(self._endpoint)
        return self._reply_in(completion, request)

    def _reply_in(self, completion: Any, request: Request) -> Reply:
        """Return the text of the first choice, or else the model's refusal, with its end and the tokens."""
        usage = getattr(completion, "usage", None)
        tokens = Usage(count_of(usage, "prompt_tokens"), count_of(usage, "completion_tokens"))
        choice = completion.choices[0]
        written = choice.message.content
        if not isinstance(written, str):
            written = ""
        refusal = getattr(choice.message, "refusal", None)
        if refusal:
            return self._reply(request, written or refusal, "refusal", tokens)
        return self._reply(request, written, choice.finish_reason, tokens)

    def _body(self, request: Request) -> dict[str, Any]:
        """Return the body of a request, with the limit of tokens under the name that the endpoint takes."""
        messages = [{"role": "user", "content": request.user}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            self._limit_name: request.max_tokens,
        }
        if request.schema is not None:
            named_schema = {"name": "answer", "schema": dict(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named_schema}
        return body


def _passes_on(request: Request) -> Callable[[str], None]:
    """Return a function that passes pieces of a reply to the listener of the request, and marks the first."""
    is_first = True

    def pass_on(piece: str) -> None:
        """Pass a piece on, without the half of a character with which it may end; an empty one does not count."""
        nonlocal is_first
        if piece and request.on_text:
            text = without_lone_surrogates(piece)
            request.on_text(TextChunk(role=request.role, text=text, first=is_first))
            is_first = False

    return pass_on
