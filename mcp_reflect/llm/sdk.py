"""What the SDKs of Anthropic and OpenAI share: an HTTP client with limits, their errors, and a schema in words."""

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
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    RefusedError,
    Reply,
    Request,
    Stop,
    TimedOutError,
    UnreachableError,
    Usage,
    reply_of,
    whole,
)
from mcp_reflect.llm.settings import KEY_FILE, Endpoint, is_near
from mcp_reflect.models.common import Json
from mcp_reflect.security.redact import quoted

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, AsyncClient, Response
    from httpx2 import Request as HttpRequest

_LONGEST_QUOTE = 300  # characters
_LONGEST_BODY = 16 * 1024 * 1024  # bytes
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|key|xai|gsk)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|Bearer\s+\S+")
_Answered = TypeVar("_Answered")
_NO_CREDIT = {"insufficient_quota", "billing_not_active", "billing_error"}


class Answer(NamedTuple):
    """What an SDK returned: the text, the reason why it ends, and the tokens."""

    text: str
    stop: Stop
    usage: Usage


class SdkModel:
    """One model behind one SDK; a subclass knows the SDK. It remembers that the endpoint refused a schema."""

    PACKAGE: ClassVar[str]
    SCHEMA_WORDS: ClassVar[tuple[str, ...]]
    """Words in an error which say that the endpoint does not take the schema."""
    NEEDS_CLOSED: ClassVar[bool] = False
    """True if the API takes no schema that leaves names free; such a one is sent in words."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._model = model
        self._endpoint = endpoint
        self._structured = True

    async def complete(self, request: Request) -> Reply:
        """Return the reply to `request`, asked again with the schema in words where the endpoint refuses it."""
        with suppress(ImportError):  # which `ask` tells, with what to install
            await asyncio.to_thread(import_module, self.PACKAGE)  # takes two seconds, in which others are answered
        while True:
            schema = dict(request.schema) if request.schema and self._structured else None
            if schema and self.NEEDS_CLOSED and not is_closed(schema):
                schema = None
            system = request.system
            if request.schema and schema is None:
                order = "Answer with one JSON value that fits this JSON schema, and with nothing else around it:"
                system = f"{system}\n\n{order}\n{json.dumps(request.schema, ensure_ascii=False)}".lstrip()
            asked = replace(request, system=whole(system), user=whole(request.user), schema=schema)
            try:
                answer = await call(self._endpoint, request.timeout, partial(self.ask, asked))
            except RefusedError as error:
                if error.status not in (400, 422) or not self.adapts(error.fault.casefold(), schema):
                    raise
            else:
                return reply_of(request, self._endpoint.llm, *answer)

    async def ask(self, request: Request, client: "AsyncClient") -> Answer:
        """Return the answer of the SDK, which uses `client`. Raises the errors of the SDK."""
        raise NotImplementedError

    def adapts(self, fault: str, schema: Mapping[str, Json] | None) -> bool:
        """True if another form of the request avoids the fault; from then on the schema is sent in words."""
        refused = schema is not None and any(word in fault for word in self.SCHEMA_WORDS)
        self._structured = self._structured and not refused
        return refused


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
    request.headers.pop("authorization", None)  # the SDKs insist on a key


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
    no_credit = bool({str(code), str(fields.get("type"))} & _NO_CREDIT) or "credit balance" in words
    if (no_credit or status in (401, 402, 403)) and endpoint.key is not None:
        fix = f"Check the key in {endpoint.key.source} and the account behind it"
    elif no_credit or status in (401, 402, 403):
        fix = f"Set {endpoint.key_name}, or a file with the key in {KEY_FILE}"
    elif status == 429:
        fix = "Wait, or raise the account's limits"
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
