"""One request to a model's endpoint over HTTP: its client, and what goes wrong as an `LLMError`.

No error holds a key: neither its words nor an error that it was raised from.
"""

import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from mcp_reflect.llm.protocol import (
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    RefusedError,
    TimedOutError,
    UnreachableError,
)
from mcp_reflect.llm.providers import Endpoint, is_near
from mcp_reflect.security.redact import quoted

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, AsyncClient, Response

_LONGEST_QUOTE = 300  # characters
_LONGEST_BODY = 16 * 1024 * 1024  # bytes
# OpenAI quotes a wrong key with its start and its end.
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|key|xai|gsk)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|Bearer\s+\S+")
_Answered = TypeVar("_Answered")


async def call(
    endpoint: Endpoint, seconds: float, ask: Callable[["AsyncClient"], Awaitable[_Answered]]
) -> _Answered:
    """Return what `ask` gets from the endpoint, with a client that is open meanwhile; any error is an `LLMError`.

    `seconds` is how long the endpoint may be silent.
    """
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
        """Bound the body, and keep the SDK from waiting longer for its next try than the request may last."""
        if _seconds_to_wait(response.headers) >= end - time.monotonic():
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


def _seconds_to_wait(headers: Mapping[str, str]) -> float:
    """Return the seconds that an endpoint asks to wait before the next try; a date counts as too long."""
    try:
        return float(headers.get("retry-after", 0))
    except ValueError:
        return math.inf


def error_of(error: Exception, endpoint: Endpoint) -> LLMError:
    """Return what an SDK raised as one of our errors, without the key and without the error itself.

    | it raised                                                        | our error                                  |
    |------------------------------------------------------------------|--------------------------------------------|
    | an HTTP status, or an event of a stream that is an error         | `RefusedError`, by `status_error`          |
    | that the time is over                                            | `TimedOutError`                            |
    | that there is no connection, or that it broke                    | `UnreachableError`                         |
    | anything else                                                    | `GarbledReplyError`: what came is no reply |

    Errors are known by the names of their classes: both SDKs use the same, and neither is imported here.
    """
    class_names = {base.__name__ for base in type(error).__mro__}
    body = cast("object", getattr(error, "body", None))
    is_event_of_stream = "APIError" in class_names and isinstance(body, dict)
    if "APIStatusError" in class_names or is_event_of_stream:
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
    """Return what a person can do about an HTTP status; the first row that fits decides.

    | status                        | fix                                                |
    |-------------------------------|----------------------------------------------------|
    | 401, 402, 403                 | set the key, or check it and its account           |
    | 429                           | wait, or raise the limits                          |
    | 5xx; 2xx with an error in it  | wait, or set another model                         |
    | 404, 405, 410; 3xx            | check the model's name and the address             |
    | any other                     | check the model and the endpoint, or send less     |
    """
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
    """Return the words of an error: {"error": {"message": "no such model"}} -> "no such model"; empty for none.

    APIs put them into the field `error`, `message` or `detail`, each of which may be an object that has such a field.
    """
    if isinstance(body, str):
        return body
    if not isinstance(body, dict):
        return ""
    fields = cast("Mapping[str, object]", body)
    for name in ("error", "message", "detail"):
        if fields.get(name):
            return _message(fields[name])
    return ""
