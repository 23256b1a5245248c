"""JSON over plain HTTP to an endpoint that speaks OpenAI's API: one question, one answer or why there is none."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcp_reflect.llm.errors import LLMError
from mcp_reflect.llm.faults import Endpoint, proxy_fault
from mcp_reflect.llm.spec import is_loopback
from mcp_reflect.llm.wire import section, strict_json
from mcp_reflect.models.common import Json

if TYPE_CHECKING:
    from httpx2 import AsyncClient

_LONGEST_BODY = 16 * 1024 * 1024  # bytes

_Answer = tuple[int, dict[str, str], bytes]


async def post(
    endpoint: Endpoint, path: str, body: Mapping[str, Json], *, key_of: str, seconds: float, now: float
) -> dict[str, Json] | LLMError:
    """What the endpoint answers to `body` at `path`.

    `key_of` names what a good answer holds at its top: some routers report a fault of the model behind
    them with status 200. `seconds` is how long it may be silent, `now` seconds since 1970 (for a date in Retry-After).
    An error is returned, so that it carries no exception with a request's headers. The client is opened
    and closed here, so nothing stays open.
    """
    from httpx2 import AsyncClient  # noqa: PLC0415 - on first use

    # A TLS context costs some 70 ms; an http address needs none. A proxy is not asked for this machine.
    verify, proxies = endpoint.url.lower().startswith("https://"), not is_loopback(endpoint.url)
    try:
        client = AsyncClient(timeout=seconds, verify=verify, trust_env=proxies)
    except (ImportError, ValueError):
        return proxy_fault()
    answer = await _exchange(client, endpoint, path, body, seconds)
    if isinstance(answer, LLMError):
        return answer
    status, headers, content = answer
    said = strict_json(content)
    if not 200 <= status < 300:
        return endpoint.of_status(status, headers, said, now)
    if not isinstance(said, dict):
        return endpoint.garbled("a body that is no JSON object")
    if said.get("error") and not said.get(key_of):
        return endpoint.of_status(_inner_status(said), headers, said, now)
    return said


async def _exchange(
    client: "AsyncClient", endpoint: Endpoint, path: str, body: Mapping[str, Json], seconds: float
) -> _Answer | LLMError:
    """What came back, or why nothing did. The client is closed in any case."""
    from httpx2 import HTTPError, InvalidURL, TimeoutException  # noqa: PLC0415 - on first use

    try:
        async with client:
            return await _send(client, endpoint, path, body)
    except TimeoutException:
        return endpoint.timed_out(seconds)
    except (HTTPError, InvalidURL) as error:
        return endpoint.unreachable(type(error).__name__)


async def _send(client: "AsyncClient", endpoint: Endpoint, path: str, body: Mapping[str, Json]) -> _Answer:
    """The status, the headers in lower case, and the body up to a length that no answer has."""
    headers = {"content-type": "application/json", "accept": "application/json"}
    if endpoint.key is not None:
        headers["authorization"] = f"Bearer {endpoint.key.reveal()}"
    content = json.dumps(body).encode("ascii")
    received = bytearray()
    async with client.stream("POST", f"{endpoint.url}{path}", headers=headers, content=content) as response:
        async for chunk in response.aiter_bytes():
            received += chunk
            if len(received) > _LONGEST_BODY:
                received.clear()
                break
        return response.status_code, {k.lower(): v for k, v in response.headers.items()}, bytes(received)


def _inner_status(body: Mapping[str, Json]) -> int:
    """The status of a fault that stands in the body of a 200."""
    code = section(body, "error").get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else 500
