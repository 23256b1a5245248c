"""Claude by Anthropic's SDK; by OpenAI's, each endpoint of chat completions: Ollama, vLLM, LM Studio and more."""

import asyncio
import json
import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

from mcp_reflect.llm.json_replies import is_closed
from mcp_reflect.llm.protocol import (
    LLM,
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    RefusedError,
    Reply,
    Request,
    Stop,
    TextChunk,
    TimedOutError,
    UnreachableError,
    Usage,
    count_of,
    reply_of,
    whole,
)
from mcp_reflect.llm.providers import KEY_FILE, MAIN, Endpoint, Spec, is_near, open_endpoint
from mcp_reflect.security.redact import quoted

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from httpx2 import AsyncByteStream, AsyncClient, Response
    from httpx2 import Request as HttpRequest
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_URL_SETTING = "OPENAI_BASE_URL"
OPENAI_KEY_NAME = "OPENAI_API_KEY"
_NO_KEY = "none"  # the SDKs insist on a key, and `open_client` takes it out
_LONGEST_QUOTE = 300  # characters
_LONGEST_BODY = 16 * 1024 * 1024  # bytes
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|key|xai|gsk)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|Bearer\s+\S+")
_Answered = TypeVar("_Answered")
_SCHEMA_WORDS = ("output_config", "output_format", "response_format", "json_schema", "structured output", "grammar")
"""Words in an error which say that the endpoint does not take the schema."""
_STOPS = {
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded", "pause_turn", "length"), Stop.LENGTH),
    **dict.fromkeys(("refusal", "content_filter"), Stop.REFUSAL),
    **dict.fromkeys(("tool_use", "tool_calls", "function_call"), Stop.TOOL_USE),
}


class Answer(NamedTuple):
    """What an SDK returned: the text, the word for the reason why it ends, and the tokens."""

    text: str
    stop: str | None
    usage: Usage


class SdkModel:
    """One model behind one SDK; a subclass knows the SDK. It remembers what the endpoint refused."""

    PACKAGE: ClassVar[str]

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._model = model
        self._endpoint = endpoint
        self._structured = True
        self._limit_name = "max_completion_tokens" if endpoint.url == OPENAI_URL else "max_tokens"

    async def complete(self, request: Request) -> Reply:
        """Return the reply to `request`, asked again with the schema in words where the endpoint refuses it."""
        with suppress(ImportError):  # which `ask` tells, with what to install
            await asyncio.to_thread(import_module, self.PACKAGE)  # takes two seconds, in which others are answered
        while True:
            schema, system = request.schema, request.system
            if schema is not None and not (self._structured and is_closed(schema)):
                order = "Answer with one JSON value that fits this JSON schema, and with nothing else around it:"
                system = f"{system}\n\n{order}\n{json.dumps(schema, ensure_ascii=False)}".lstrip()
                schema = None
            asked = replace(request, system=whole(system), user=whole(request.user), schema=schema)
            try:
                answer = await call(self._endpoint, request.timeout, partial(self.ask, asked))
            except RefusedError as error:
                if error.status not in (400, 422) or not self._adapts(error.fault.casefold(), schema is not None):
                    raise
            else:
                stop = _STOPS.get(str(answer.stop), Stop.END)
                return reply_of(self._endpoint.llm, answer.text, stop, answer.usage)

    async def ask(self, request: Request, client: "AsyncClient") -> Answer:
        """Return the answer of the SDK, which uses `client`. Raises the errors of the SDK."""
        raise NotImplementedError

    def _adapts(self, fault: str, has_schema: bool) -> bool:
        """True if the newer name of the limit, or the schema in words, avoids the fault from now on."""
        if self._limit_name == "max_tokens" and "max_completion_tokens" in fault:
            self._limit_name = "max_completion_tokens"
            return True
        refused = has_schema and any(word in fault for word in _SCHEMA_WORDS)
        self._structured = self._structured and not refused
        return refused


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """Return the model of `spec`. Raises `LLMSettingError` for an unusable address or a missing key."""
    if spec.provider == "anthropic":
        usual, setting, key_name = "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"
        return Anthropic(spec.model, open_endpoint(spec, settings, usual, setting, (key_name,)))
    endpoint = open_endpoint(spec, settings, OPENAI_URL, OPENAI_URL_SETTING, (OPENAI_KEY_NAME,))
    return OpenAI(spec.model, endpoint)


class Anthropic(SdkModel):
    """One Claude model."""

    PACKAGE = "anthropic"

    async def ask(self, request: Request, client: "AsyncClient") -> Answer:
        """Return the text blocks of the message, its end, and its tokens."""
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - its import takes two seconds

        sdk = AsyncAnthropic(
            api_key=self._endpoint.key.text if self._endpoint.key else _NO_KEY,
            base_url=self._endpoint.url,
            timeout=request.timeout,
            max_retries=self._endpoint.retries,
            http_client=client,
        )
        message = await self._message(sdk, request)
        if not isinstance(getattr(message, "content", None), list):
            raise garbled(self._endpoint, "a body without content")
        texts = [block.text for block in message.content if getattr(block, "type", "") == "text"]
        usage = getattr(message, "usage", None)
        # Anthropic counts cached tokens apart from `input_tokens`.
        read_in = count_of(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return Answer(
            "".join(filter(None, texts)), message.stop_reason, Usage(read_in, count_of(usage, "output_tokens"))
        )

    async def _message(self, sdk: "AsyncAnthropic", request: Request) -> Any:
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
            return cast("Any", await sdk.messages.create(**body))
        first = True
        async with cast("Any", sdk.messages).stream(**body) as stream:
            async for text in stream.text_stream:
                request.on_text(TextChunk(role=request.role, text=whole(text), first=first))
                first = False
            message = await stream.get_final_message()
        if message.stop_reason is None:
            raise unended(self._endpoint)
        return message


def open_openai(endpoint: Endpoint, client: "AsyncClient", seconds: float, retries: int) -> "AsyncOpenAI":
    """Return the SDK, which may try `retries` times more. Raises `LLMSettingError` where it is not installed."""
    try:
        from openai import AsyncOpenAI  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        fix = "Run: pip install 'mcp-reflect-server[openai]'"
        raise LLMSettingError(MAIN, f"the model {endpoint.llm} needs the package openai", fix) from None
    key = endpoint.key.text if endpoint.key else _NO_KEY
    return AsyncOpenAI(api_key=key, base_url=endpoint.url, timeout=seconds, max_retries=retries, http_client=client)


class OpenAI(SdkModel):
    """One model behind one address."""

    PACKAGE = "openai"

    async def ask(self, request: Request, client: "AsyncClient") -> Answer:
        """Return the text of the first choice, its end, and the tokens."""
        sdk = open_openai(self._endpoint, client, request.timeout, self._endpoint.retries)
        messages = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [*messages, {"role": "user", "content": request.user}],
            self._limit_name: request.max_tokens,
        }
        if request.schema is not None:
            named = {"name": "answer", "schema": dict(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        completion = await self._completion(sdk, body, request)
        if not completion.choices:
            if error := getattr(completion, "error", None):
                raise status_error(self._endpoint, 200, {}, {"error": error})
            raise garbled(self._endpoint, "a body without choices")
        choice, usage = completion.choices[0], getattr(completion, "usage", None)
        text, refusal = choice.message.content, getattr(choice.message, "refusal", None)
        written = text if isinstance(text, str) else ""
        tokens = Usage(count_of(usage, "prompt_tokens"), count_of(usage, "completion_tokens"))
        return Answer(written or refusal or "", "refusal" if refusal else choice.finish_reason, tokens)

    async def _completion(self, sdk: "AsyncOpenAI", body: dict[str, Any], request: Request) -> Any:
        if request.on_text is None:
            return cast("Any", await sdk.chat.completions.create(**body))
        first = True
        async with cast("Any", sdk.chat.completions).stream(**body, stream_options={"include_usage": True}) as stream:
            async for event in stream:
                if event.type in ("content.delta", "refusal.delta") and event.delta:
                    request.on_text(TextChunk(role=request.role, text=whole(event.delta), first=first))
                    first = False
            completion = stream.current_completion_snapshot  # the final one raises where it is cut off or refused
        if not completion.choices or not completion.choices[0].finish_reason:
            raise unended(self._endpoint)
        return completion


async def call(endpoint: Endpoint, seconds: float, ask: Callable[["AsyncClient"], Awaitable[_Answered]]) -> _Answered:
    """Return what `ask` gets by an HTTP client. Whatever goes wrong is raised as an `LLMError`."""
    try:
        async with open_client(endpoint, seconds) as client:
            return await ask(client)
    except LLMError as error:
        fault = error
    except Exception as error:  # noqa: BLE001 - code of other packages
        fault = error_of(error, endpoint)
    raise fault  # not inside the handler: the context of the SDK's error may hold the key


def open_client(endpoint: Endpoint, seconds: float) -> "AsyncClient":
    """Return the HTTP client of one request. `seconds` is how long the endpoint may be silent.

    It follows no redirect, which could carry the key to another host, and ends a body after 16 MiB. A machine nearby
    is not asked through a proxy. Raises `LLMSettingError` where the proxy of the environment cannot be used.
    """
    from httpx2 import AsyncByteStream, AsyncClient  # noqa: PLC0415 - imported with the first request

    end = time.monotonic() + seconds

    class Limited(AsyncByteStream):
        def __init__(self, body: "AsyncByteStream") -> None:
            self._body = body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = _LONGEST_BODY
            async for chunk in self._body:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    return

        async def aclose(self) -> None:
            await self._body.aclose()

    async def check(response: "Response") -> None:
        """Bound the body, and let the SDK not wait longer than the request may last."""
        wait = _retry_after(response.headers)
        if wait is not None and wait >= end - time.monotonic():
            response.headers["x-should-retry"] = "false"  # the SDKs go by this header
        response.stream = Limited(cast("AsyncByteStream", response.stream))

    is_tls = endpoint.url.lower().startswith("https://")  # a TLS context costs some 70 ms
    hooks: dict[str, list[Callable[[Any], Any]]] = {
        "response": [check],
        "request": [] if endpoint.key else [_leave_out_key],
    }
    try:
        return AsyncClient(timeout=seconds, verify=is_tls, trust_env=not is_near(endpoint.url), event_hooks=hooks)
    except (ImportError, ValueError):
        fix = "Name an http proxy, install socksio for a SOCKS one, or unset it"
    raise LLMSettingError("HTTPS_PROXY", "the proxy of the environment cannot be used", fix)


async def _leave_out_key(request: "HttpRequest") -> None:
    for name in ("authorization", "x-api-key"):
        request.headers.pop(name, None)


def error_of(error: Exception, endpoint: Endpoint) -> LLMError:
    """Return what an SDK raised as one of our errors, without the key and without the error itself."""
    sdk_error = cast("Any", error)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "APIStatusError" in kinds:
        return status_error(endpoint, sdk_error.status_code, sdk_error.response.headers, sdk_error.body)
    if "APIError" in kinds and isinstance(getattr(error, "body", None), dict):  # an error event of a stream
        return status_error(endpoint, 200, {}, sdk_error.body)
    if kinds & {"APITimeoutError", "TimeoutException"}:
        return TimedOutError(endpoint.llm, "no reply in time", "Try again, or bind a faster model")
    if kinds & {"APIConnectionError", "HTTPError", "InvalidURL"}:
        cause = error.__cause__ or error
        fix = "Check that it runs and is reachable"
        if not is_near(endpoint.url):
            fix += ", also through the proxy that HTTPS_PROXY may name"
        return UnreachableError(endpoint.llm, f"no reply from {endpoint.url} ({type(cause).__name__})", fix)
    return garbled(endpoint)


def garbled(endpoint: Endpoint, content: str = "a body that is not a reply") -> LLMError:
    """Return the error for a good status with a body that is not a reply; `content` describes what came."""
    fix = "Check that the address is this provider's API"
    return GarbledReplyError(endpoint.llm, f"{endpoint.url} sent {content}", fix)


def unended(endpoint: Endpoint) -> LLMError:
    """Return the error for a stream that broke off before its end."""
    return UnreachableError(endpoint.llm, f"{endpoint.url} broke off its reply", "Try again")


def status_error(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: object) -> LLMError:
    """Return the error for an HTTP status, with the server's own words, cut short and without a key.

    Some routers report a fault of the model behind them under status 200: the code in the body counts then.
    """
    words = _message(body)
    fields: Mapping[str, object] = cast("Mapping[str, object]", body) if isinstance(body, dict) else {}
    inner = fields.get("error")  # the SDKs hand on the whole body, or the part under `error`
    fields = cast("Mapping[str, object]", inner) if isinstance(inner, dict) else fields
    code = fields.get("code")
    if status < 300:
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
    if endpoint.key is not None:
        words = words.replace(endpoint.key.text, "[key]")  # an endpoint may quote what it received
    words = quoted(" ".join(_KEY_SHAPE.sub("[key]", words).split()).rstrip("."), _LONGEST_QUOTE)
    if status in (401, 402, 403) and endpoint.key is not None:
        fix = f"Check the key in {endpoint.key.source} and the account behind it"
    elif status in (401, 402, 403):
        fix = f"Set {endpoint.key_name}, or a file with the key in {KEY_FILE}"
    elif status == 429:
        fix = "Wait, or raise the account's limits or credit"
    elif status >= 500:
        fix = "Wait, or bind another model to this role"
    elif status in (404, 405, 410) or status < 400:
        fix = f"Check the model's name and the address {endpoint.url} (many servers want /v1 at its end)"
    else:
        fix = "Check the model and the endpoint, or send less"
    fault = f"HTTP {status}: {words}" if words else f"HTTP {status}"
    return RefusedError(endpoint.llm, fault, fix, status=status, retry_after=_retry_after(headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds (0 or more) that an endpoint asks to wait; None where it does not."""
    with suppress(KeyError, ValueError):
        seconds = float(headers["retry-after"])
        return max(0.0, seconds) if math.isfinite(seconds) else None
    return None


def _message(body: object) -> str:
    if not isinstance(body, dict):
        return body if isinstance(body, str) else ""
    fields = cast("Mapping[str, object]", body)
    return next((_message(fields[name]) for name in ("error", "message", "detail") if fields.get(name)), "")
