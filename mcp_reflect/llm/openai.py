"""Any endpoint that speaks OpenAI's chat completions, by plain HTTP: OpenAI, Ollama, vLLM, LM Studio and more."""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcp_reflect.clock import Clock
from mcp_reflect.llm.errors import BadRequestError, LLMError, LLMSettingError
from mcp_reflect.llm.faults import Endpoint, proxy_fault
from mcp_reflect.llm.keys import Key, check_way, find_key
from mcp_reflect.llm.protocol import LLM, Reply, Request, Stop, Usage
from mcp_reflect.llm.schema import closed, is_strict
from mcp_reflect.llm.spec import MAIN, Spec, is_loopback, parse_base_url
from mcp_reflect.llm.wire import count, reply_of, section, strict_json, system_text, whole
from mcp_reflect.records.json import Json

if TYPE_CHECKING:
    from httpx2 import AsyncClient

_URL = "https://api.openai.com/v1"
_URL_SETTING = "OPENAI_BASE_URL"
_KEY_NAMES = ("OPENAI_API_KEY",)
_LONGEST_BODY = 16 * 1024 * 1024  # bytes
_STOPS = {
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
    "tool_calls": Stop.TOOL_USE,
    "function_call": Stop.TOOL_USE,
}
_SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "guided", "grammar")
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """The model of `spec`. Raises `LLMSettingError` where the address cannot be used, or OpenAI's key is missing."""
    url = spec.base_url or parse_base_url(_URL_SETTING, settings.get(_URL_SETTING, "").strip() or _URL)
    key = find_key(spec, settings, _KEY_NAMES)
    if key is None and url == _URL:
        fix = f"Set it, or name a file with the key in MCP_REFLECT_LLM_KEY_FILE, or write {spec.name}@http://..."
        raise LLMSettingError(_KEY_NAMES[0], f"{spec.name} needs a key", fix)
    check_way(key, MAIN if spec.base_url else _URL_SETTING, url)
    return OpenAI(spec.model, key, url)


_Answer = tuple[int, dict[str, str], bytes]


class OpenAI:
    """One model behind one address. Each completion opens a client and closes it, so nothing stays open.

    What an endpoint turns down is remembered: the schema (it is told in words from then on) and the old
    name of the token limit.
    """

    def __init__(self, model: str, key: Key | None, base_url: str = _URL, clock: Clock | None = None) -> None:
        self._model = model
        self._key = key
        self._endpoint = Endpoint(f"openai:{model}", base_url, key, _KEY_NAMES[0])
        self._clock = clock or Clock()
        self._structured = True
        self._limit_name = "max_completion_tokens" if base_url == _URL else "max_tokens"

    async def complete(self, request: Request) -> Reply:
        """The reply to `request`, asked again in another form where the endpoint turns a form down."""
        outcome = await self._attempt(request)
        while isinstance(outcome, BadRequestError) and self._gives_way(outcome, request):
            outcome = await self._attempt(request)
        if isinstance(outcome, LLMError):
            raise outcome
        return outcome

    def _gives_way(self, error: BadRequestError, request: Request) -> bool:
        """Whether something the endpoint complains of can be left out. Each at most once, so it ends."""
        said = error.fault.casefold()
        if request.schema is not None and self._structured and any(word in said for word in _SCHEMA_WORDS):
            self._structured = False
            return True
        if self._limit_name == "max_tokens" and "max_completion_tokens" in said:
            self._limit_name = "max_completion_tokens"
            return True
        return False

    async def _attempt(self, request: Request) -> Reply | LLMError:
        """One HTTP request. An error is returned, so that it carries no exception with a request's headers."""
        from httpx2 import AsyncClient  # noqa: PLC0415 - on first use

        # A TLS context costs some 70 ms; an http address needs none. A proxy is not asked for this machine.
        verify, proxies = self._endpoint.url.lower().startswith("https://"), not is_loopback(self._endpoint.url)
        try:
            client = AsyncClient(timeout=request.timeout, verify=verify, trust_env=proxies)
        except (ImportError, ValueError):
            return proxy_fault()
        answer = await self._exchange(client, request)
        if isinstance(answer, LLMError):
            return answer
        status, headers, content = answer
        body = strict_json(content)
        if not 200 <= status < 300:
            return self._endpoint.of_status(status, headers, body, self._clock.now())
        if not isinstance(body, dict):
            return self._endpoint.garbled("a body that is no JSON object")
        # Some routers report a fault of the model behind them with status 200.
        if (inner := _inner_status(body)) is not None:
            return self._endpoint.of_status(inner, headers, body, self._clock.now())
        return self._reply(request, body)

    async def _exchange(self, client: "AsyncClient", request: Request) -> _Answer | LLMError:
        """What came back, or why nothing did. The client is closed in any case."""
        from httpx2 import HTTPError, InvalidURL, TimeoutException  # noqa: PLC0415 - on first use

        try:
            async with client:
                return await self._send(client, request)
        except TimeoutException:
            return self._endpoint.timed_out(request.timeout)
        except (HTTPError, InvalidURL) as error:
            return self._endpoint.unreachable(type(error).__name__)

    async def _send(self, client: "AsyncClient", request: Request) -> _Answer:
        """The status, the headers in lower case, and the body up to a length that no reply has."""
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key.reveal()}"
        content = json.dumps(self._body(request)).encode("ascii")
        url = f"{self._endpoint.url}/chat/completions"
        received = bytearray()
        async with client.stream("POST", url, headers=headers, content=content) as response:
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > _LONGEST_BODY:
                    received.clear()
                    break
            return response.status_code, {k.lower(): v for k, v in response.headers.items()}, bytes(received)

    def _body(self, request: Request) -> dict[str, Json]:
        system = system_text(request, structured=self._structured)
        messages: list[Json] = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": whole(request.user)})
        body: dict[str, Json] = {"model": self._model, "messages": messages, self._limit_name: request.max_tokens}
        if request.schema is not None and self._structured:
            narrow = closed(request.schema)
            strict = narrow is not None and is_strict(narrow)
            schema: dict[str, Json] = narrow if narrow is not None and strict else dict(request.schema)
            named: dict[str, Json] = {"name": f"{request.role.value}_reply", "schema": schema, "strict": strict}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def _reply(self, request: Request, body: Mapping[str, Json]) -> Reply | LLMError:
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            return self._endpoint.garbled("a body without choices")
        text, refusal = _text(message.get("content")), _text(message.get("refusal"))
        stop = _STOPS.get(str(choice.get("finish_reason")), Stop.END)
        if stop is Stop.END and message.get("tool_calls"):
            stop = Stop.TOOL_USE
        if refusal:
            text, stop = text or refusal, Stop.REFUSAL
        text = _THOUGHT.sub("", text)
        return reply_of(request, self._endpoint.llm, text, stop, _usage(section(body, "usage")))


def _inner_status(body: Mapping[str, Json]) -> int | None:
    """The status of a fault that stands in the body of a 200, null where there is none."""
    if not body.get("error") or body.get("choices"):
        return None
    code = section(body, "error").get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _text(content: Json) -> str:
    """The words of a message, which are a string or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(usage: Mapping[str, Json]) -> Usage:
    return Usage(
        input_tokens=count(usage, "prompt_tokens"),
        output_tokens=count(usage, "completion_tokens"),
        cache_read=count(section(usage, "prompt_tokens_details"), "cached_tokens"),
    )
