"""Claude by Anthropic's SDK; by OpenAI's, each endpoint of chat completions: Ollama, vLLM, LM Studio and more."""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

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
from mcp_reflect.llm.providers import MAIN, Endpoint, Spec, is_near, open_endpoint
from mcp_reflect.security.redact import quoted

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, AsyncClient, Response
    from openai import AsyncOpenAI

ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_URL_SETTING = "ANTHROPIC_BASE_URL"
ANTHROPIC_KEY_NAME = "ANTHROPIC_API_KEY"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_URL_SETTING = "OPENAI_BASE_URL"
OPENAI_KEY_NAME = "OPENAI_API_KEY"
_NO_KEY = "none"  # the SDKs insist on a key
_LONGEST_QUOTE = 300  # characters
_LONGEST_BODY = 16 * 1024 * 1024  # bytes
# OpenAI quotes a wrong key with its start and its end
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|key|xai|gsk)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|Bearer\s+\S+")
_Answered = TypeVar("_Answered")
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
    """One model of one SDK, which a subclass calls. It remembers what the endpoint refused."""

    PACKAGE: ClassVar[str]

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._model = model
        self._endpoint = endpoint
        self._structured = True
        self._limit_name = "max_tokens"
        if endpoint.url == OPENAI_URL:
            self._limit_name = "max_completion_tokens"

    async def complete(self, request: Request) -> Reply:
        """Return the reply; ask again without parameters that the endpoint refuses. The prompt has the schema too."""
        # The import takes two seconds, in which others are answered; `ask` tells what to install where it fails.
        with suppress(ImportError):
            await asyncio.to_thread(import_module, self.PACKAGE)
        request = replace(request, system=whole(request.system), user=whole(request.user))
        while True:
            if not (self._structured and request.schema and is_closed(request.schema)):
                request = replace(request, schema=None)
            try:
                return await call(self._endpoint, request.timeout, partial(self.ask, request))
            except RefusedError as error:
                if not self._can_do_without(request, error):
                    raise

    def _can_do_without(self, request: Request, error: RefusedError) -> bool:
        """Return whether the endpoint refused a parameter only, and leave that out from now on."""
        if error.status not in (400, 422):
            return False
        fault = error.fault.casefold()
        if self._limit_name == "max_tokens" and "max_completion_tokens" in fault:
            self._limit_name = "max_completion_tokens"
            return True
        if request.schema and any(word in fault for word in _SCHEMA_WORDS):
            self._structured = False
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
                tell = _teller(request)
                async for text in stream.text_stream:
                    tell(text)
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
            answer_format = {"type": "json_schema", "schema": dict(request.schema)}
            body["output_config"] = {"format": answer_format}
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
        """Return the text of the first choice, its end, and the tokens."""
        body = self._body(request)
        sdk = open_openai(self._endpoint, client, request.timeout)
        completions = cast("Any", sdk.chat.completions)
        if request.on_text is None:
            completion = await completions.create(**body)
        else:
            async with completions.stream(**body, stream_options={"include_usage": True}) as stream:
                tell = _teller(request)
                async for event in stream:
                    if event.type in ("content.delta", "refusal.delta"):
                        tell(event.delta)
                # The final one raises where it is cut off or refused.
                completion = stream.current_completion_snapshot
        if not completion.choices:
            error = getattr(completion, "error", None)
            if error:  # some routers report a fault under status 200
                raise status_error(self._endpoint, 200, error)
            raise garbled(self._endpoint)
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
            named = {"name": "answer", "schema": dict(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body


def _teller(request: Request) -> Callable[[str], None]:
    """Return a function that passes pieces of a reply to the listener of the request."""
    first = True

    def tell(piece: str) -> None:
        """Pass a piece on; an empty one is no piece."""
        nonlocal first
        if piece and request.on_text:
            request.on_text(TextChunk(role=request.role, text=whole(piece), first=first))
            first = False

    return tell


async def call(
    endpoint: Endpoint, seconds: float, ask: Callable[["AsyncClient"], Awaitable[_Answered]]
) -> _Answered:
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
        """A body that ends after _LONGEST_BODY bytes."""

        def __init__(self, body: "AsyncByteStream") -> None:
            self._body = body
            self.aclose = body.aclose

        async def __aiter__(self) -> AsyncIterator[bytes]:
            """Yield the body in chunks, up to the limit."""
            bytes_left = _LONGEST_BODY
            async for chunk in self._body:
                yield chunk[:bytes_left]
                bytes_left -= len(chunk)
                if bytes_left <= 0:
                    return

    async def check(response: "Response") -> None:
        """Bound the body, and let the SDK not wait longer than the request may last."""
        if _wait(response.headers) >= end - time.monotonic():
            response.headers["x-should-retry"] = "false"  # the SDKs go by this header
        response.stream = Limited(cast("AsyncByteStream", response.stream))

    is_tls = endpoint.url.lower().startswith("https://")  # a TLS context costs some 70 ms
    try:
        return AsyncClient(
            timeout=seconds,
            verify=is_tls,
            trust_env=not is_near(endpoint.url),
            event_hooks={"response": [check]},
        )
    except (ImportError, ValueError):
        fix = "Name an http proxy, install socksio for a SOCKS one, or unset it"
    raise LLMSettingError("HTTPS_PROXY", "the proxy of the environment cannot be used", fix)


def _wait(headers: Mapping[str, str]) -> float:
    """Return the seconds that an endpoint asks to wait; a date counts as too long."""
    try:
        return float(headers.get("retry-after", 0))
    except ValueError:
        return math.inf


def error_of(error: Exception, endpoint: Endpoint) -> LLMError:
    """Return what an SDK raised as one of our errors, without the key and without the error itself."""
    class_names = {base.__name__ for base in type(error).__mro__}
    body = cast("object", getattr(error, "body", None))
    is_event = "APIError" in class_names and isinstance(body, dict)  # of a stream
    if "APIStatusError" in class_names or is_event:
        return status_error(endpoint, getattr(error, "status_code", 200), cast("object", body))
    if class_names & {"APITimeoutError", "TimeoutException"}:
        return TimedOutError(endpoint.llm, "no reply in time", "Try again, or set a faster model")
    if class_names & {"APIConnectionError", "HTTPError", "InvalidURL"}:
        cause = error.__cause__ or error
        fix = "Check that it runs and is reachable"
        if not is_near(endpoint.url):
            fix += ", also through the proxy that HTTPS_PROXY may name"
        return UnreachableError(
            endpoint.llm, f"no reply from {endpoint.url} ({type(cause).__name__})", fix
        )
    return garbled(endpoint)


def garbled(endpoint: Endpoint) -> LLMError:
    """Return the error for a good status with a body that is not a reply."""
    fix = "Check that the address is this provider's API"
    return GarbledReplyError(endpoint.llm, f"{endpoint.url} sent a body that is not a reply", fix)


def status_error(endpoint: Endpoint, status: int, body: object) -> LLMError:
    """Return the error for an HTTP status, with the server's own words, cut short and without the key."""
    words = _message(body)
    if endpoint.key:
        words = words.replace(endpoint.key, "[key]")  # an endpoint may quote what it received
    words = quoted(" ".join(_KEY_SHAPE.sub("[key]", words).split()).rstrip("."), _LONGEST_QUOTE)
    fault = f"HTTP {status}"
    if words:
        fault += f": {words}"
    return RefusedError(endpoint.llm, fault, _fix_for_status(endpoint, status), status=status)


def _fix_for_status(endpoint: Endpoint, status: int) -> str:
    """Return what a person can do about an HTTP status."""
    if status in (401, 402, 403):
        if not endpoint.key:
            return f"Set {endpoint.key_name}"
        return f"Check the key in {endpoint.key_name} and its account"
    if status == 429:
        return "Wait, or raise the account's limits or credit"
    if status >= 500 or status < 300:
        return "Wait, or set another model for this role"
    if status in (404, 405, 410) or status < 400:
        return (
            f"Check the model's name and the address {endpoint.url} "
            "(many servers want /v1 at its end)"
        )
    return "Check the model and the endpoint, or send less"


def _message(body: object) -> str:
    """Return the words of an error: a text, or that in the first field which APIs use for it."""
    if isinstance(body, str):
        return body
    if not isinstance(body, dict):
        return ""
    fields = cast("Mapping[str, object]", body)
    for name in ("error", "message", "detail"):
        if fields.get(name):
            return _message(fields[name])
    return ""
