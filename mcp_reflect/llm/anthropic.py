"""Claude, through Anthropic's SDK, which is imported in the first completion and not before."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from mcp_reflect.clock import Clock
from mcp_reflect.llm.endpoint import (
    MAIN,
    Endpoint,
    Key,
    Spec,
    check_way,
    count,
    find_key,
    is_loopback,
    parse_base_url,
    proxy_fault,
    reply_of,
    section,
    strict_json,
    system_text,
    whole,
)
from mcp_reflect.llm.protocol import LLM, BadRequestError, LLMError, LLMSettingError, Reply, Request, Stop, Usage
from mcp_reflect.llm.reply_schema import closed
from mcp_reflect.models.common import Json

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import OutputConfigParam

_URL = "https://api.anthropic.com"
_URL_SETTING = "ANTHROPIC_BASE_URL"
_KEY_NAMES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_STOPS = {
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "pause_turn": Stop.LENGTH,
    "refusal": Stop.REFUSAL,
    "tool_use": Stop.TOOL_USE,
}
_SCHEMA_WORDS = ("output_config", "output_format", "json_schema", "structured output")


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """Return the model of `spec`. Raises `LLMSettingError` where there is no key, or the address cannot be used."""
    url = spec.base_url or parse_base_url(_URL_SETTING, settings.get(_URL_SETTING, "").strip() or _URL)
    key = find_key(spec, settings, _KEY_NAMES)
    if key is None:
        fix = "Set it, or name a file with the key in MCP_REFLECT_LLM_KEY_FILE"
        raise LLMSettingError(_KEY_NAMES[0], f"the model {spec.name} needs a key", fix)
    check_way(key, MAIN if spec.base_url else _URL_SETTING, url)
    return Anthropic(spec.model, key, url)


class Anthropic:
    """One model behind one address. Each completion opens a client and closes it, so nothing stays open."""

    def __init__(self, model: str, key: Key, base_url: str = _URL, clock: Clock | None = None) -> None:
        self._model = model
        self._key = key
        self._endpoint = Endpoint(f"anthropic:{model}", base_url, key, _KEY_NAMES[0])
        self._clock = clock or Clock()
        self._structured = True

    async def complete(self, request: Request) -> Reply:
        """Return the reply to `request`; a model that takes no schema is told it in words from then on."""
        outcome = await self._attempt(request)
        if isinstance(outcome, BadRequestError) and self._structured and _blames_schema(outcome):
            self._structured = False
            outcome = await self._attempt(request)
        if isinstance(outcome, LLMError):
            raise outcome
        return outcome

    async def _attempt(self, request: Request) -> Reply | LLMError:
        """One HTTP request. An error is returned, so that it carries no exception with a request's headers."""
        # About two seconds of importing, kept off the event loop. The later imports then cost nothing.
        await asyncio.to_thread(import_module, "anthropic")
        try:
            client = self._client(request.timeout)
        except (ImportError, ValueError):
            return proxy_fault()
        body = await self._exchange(client, request)
        if isinstance(body, LLMError):
            return body
        if not isinstance(body, dict) or not isinstance(body.get("content"), list):
            return self._endpoint.garbled("a body without content")
        return self._reply(request, body)

    async def _exchange(self, client: "AsyncAnthropic", request: Request) -> "Json | LLMError":
        """Return the JSON of a 2xx answer, or what went wrong. The client is closed in any case."""
        from anthropic import AnthropicError, APIConnectionError, APIStatusError, APITimeoutError  # noqa: PLC0415

        try:
            async with client:
                return await self._send(client, request)
        except APITimeoutError:
            return self._endpoint.timed_out(request.timeout)
        except APIConnectionError as error:
            return self._endpoint.unreachable(type(error.__cause__ or error).__name__)
        except APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            said = strict_json(error.response.content)
            return self._endpoint.of_status(error.status_code, headers, said, self._clock.now())
        except AnthropicError as error:
            return self._endpoint.garbled(f"what the SDK cannot read ({type(error).__name__})")

    def _client(self, timeout: float) -> "AsyncAnthropic":
        """Return a client of one request: it neither tries again by itself nor follows a redirect elsewhere."""
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415 - see above

        url = self._endpoint.url
        http = DefaultAsyncHttpxClient(
            follow_redirects=False,
            # A TLS context costs some 70 ms; an http address needs none.
            verify=url.lower().startswith("https://"),
            # The SDK sends even what is for this machine to a proxy of the environment, if we let it.
            mounts=dict.fromkeys(("http://", "https://", "all://") if is_loopback(url) else ()),
        )
        key = self._key.reveal()
        return AsyncAnthropic(api_key=key, base_url=url, timeout=timeout, max_retries=0, http_client=http)

    async def _send(self, client: "AsyncAnthropic", request: Request) -> Json:
        """Return the JSON of the answer, read by ourselves: the SDK would guess at a broken one."""
        from anthropic import omit  # noqa: PLC0415 - see above

        schema = closed(request.schema) if self._structured and request.schema is not None else None
        config: OutputConfigParam = {"format": {"type": "json_schema", "schema": dict(schema or {})}}
        system = system_text(request, structured=schema is not None)
        raw = await client.messages.with_raw_response.create(
            model=self._model,
            max_tokens=request.max_tokens,
            system=[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}] if system else omit,
            messages=[{"role": "user", "content": whole(request.user)}],
            output_config=config if schema is not None else omit,
        )
        return strict_json(raw.http_response.content)

    def _reply(self, request: Request, body: Mapping[str, Json]) -> Reply:
        blocks = body.get("content")
        blocks = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
        text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
        stop = _STOPS.get(str(body.get("stop_reason")), Stop.END)
        if stop is Stop.END and any(block.get("type") == "tool_use" for block in blocks):
            stop = Stop.TOOL_USE
        return reply_of(request, self._endpoint.llm, text, stop, _usage(section(body, "usage")))


def _usage(usage: Mapping[str, Json]) -> Usage:
    """Anthropic counts what the cache served apart from `input_tokens`; we count it in."""
    read, write = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    return Usage(
        input_tokens=count(usage, "input_tokens") + read + write,
        output_tokens=count(usage, "output_tokens"),
        cache_read=read,
        cache_write=write,
    )


def _blames_schema(error: BadRequestError) -> bool:
    said = error.fault.casefold()
    return any(word in said for word in _SCHEMA_WORDS)
