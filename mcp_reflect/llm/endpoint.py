"""The endpoint of a provider: the setting that names it, API keys, JSON over HTTP, and the errors that it returns."""

import ipaddress
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_reflect.llm.protocol import (
    AuthError,
    BadRequestError,
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    NotServedError,
    OverloadedError,
    RateLimitedError,
    RefusedError,
    Reply,
    Request,
    Role,
    Stop,
    TimedOutError,
    UnreachableError,
    Usage,
)
from mcp_reflect.models.common import Json
from mcp_reflect.security.redact import quoted

if TYPE_CHECKING:
    from httpx2 import AsyncClient


def whole(text: str) -> str:
    """`text` with each half of a surrogate pair replaced: it cannot be sent, nor stored."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def strict_json(text: str | bytes) -> Json:
    """Return the JSON value that `text` is, None where it is none (or NaN, or nested beyond reason)."""
    try:
        value: Json = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value


def _no_number(name: str) -> None:
    raise ValueError(name)


def system_text(request: Request, *, structured: bool) -> str:
    """Return the fixed part of the question; the schema stands in it where the endpoint does not take one."""
    if request.schema is None or structured:
        return whole(request.system)
    schema = json.dumps(request.schema, ensure_ascii=False)
    order = "Answer with one JSON value that fits this JSON schema, and with nothing else around it:"
    return whole(f"{request.system}\n\n{order}\n{schema}".lstrip())


def reply_of(request: Request, llm: str, text: str, stop: Stop, usage: Usage) -> Reply:
    """Return the reply, with its JSON where one was asked for; nothing but blanks is an empty one."""
    text = whole(text)
    if stop is Stop.END and not text.strip():
        stop = Stop.EMPTY
    parsed = strict_json(text) if request.schema is not None and stop is Stop.END else None
    return Reply(text=text, stop=stop, llm=llm, parsed=parsed, usage=usage)


def count(usage: Mapping[str, Json], name: str) -> int:
    """Return a number of tokens; 0 where the endpoint gave none, or nonsense."""
    value = usage.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def section(body: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """Return the object under `name`, an empty one where there is none."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


MAIN = "MCP_REFLECT_LLM"
OFF = "off"
EXAMPLES = '"anthropic:claude-sonnet-5-5", "openai:qwen3@http://localhost:11434/v1" or "off"'
_PROVIDER = re.compile(r"[a-z][a-z0-9_-]*")
_HOST = re.compile(r"[a-z0-9._:-]+")
_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
_BARE_ADDRESS = re.compile(r"@(localhost\b|[^@]*[:/])[^@]*$")


@dataclass(frozen=True, slots=True)
class Spec:
    """A provider's name, the model's name there, and the address where it is not the usual one."""

    provider: str
    model: str
    base_url: str | None = None

    @property
    def name(self) -> str:
        """`provider:model`, as results and usage name it."""
        return f"{self.provider}:{self.model}"


def setting_of(role: Role, settings: Mapping[str, str]) -> str:
    """Return the name of the setting that binds `role`: its own where it is not blank, else the one for all."""
    own = f"{MAIN}_{role.value.upper()}"
    return own if settings.get(own, "").strip() else MAIN


def parse_spec(setting: str, text: str) -> Spec | None:
    """Return the spec that `text` holds, None for `off` or nothing. Raises `LLMSettingError`, which names `setting`."""
    text = text.strip()
    if text.casefold() in {"", OFF}:
        return None
    provider, colon, rest = text.partition(":")
    provider = provider.strip().casefold()
    if not colon or not _PROVIDER.fullmatch(provider) or rest.startswith("//"):
        raise LLMSettingError(setting, f'"{_shown(text)}" names no provider', f"Write {EXAMPLES}")
    model, *address = (part.strip() for part in _ADDRESS.split(rest, maxsplit=1))
    if not model or any(char.isspace() or not char.isprintable() for char in model):
        raise LLMSettingError(setting, f'"{_shown(text)}" names no model', f"Write {EXAMPLES}")
    if not address and _BARE_ADDRESS.search(model):
        fault = f'the address in "{_shown(text)}" does not start with http:// or https://'
        raise LLMSettingError(setting, fault, f"Write {EXAMPLES}")
    return Spec(provider, model, parse_base_url(setting, address[0]) if address else None)


def parse_base_url(setting: str, text: str) -> str:
    """Return an http or https address without a slash at its end. Raises `LLMSettingError`, which names `setting`."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and parts.port != 0 and bool(_HOST.fullmatch(parts.hostname or ""))
    except ValueError:
        usable = False
    else:
        if usable and "@" in parts.netloc:
            fix = "Put the key into a key file or the environment"
            raise LLMSettingError(setting, "the address holds a user name or a password", fix)
        usable = usable and not (parts.query or parts.fragment) and text.isprintable() and " " not in text
    if not usable:
        fix = "Write an http or https address such as http://localhost:11434/v1, without a query"
        raise LLMSettingError(setting, "the address cannot be used", fix)
    return text.rstrip("/")


def is_loopback(url: str) -> bool:
    """Return whether the host is this machine: no proxy has anything to do with it."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_near(url: str) -> bool:
    """Return whether the host is this machine or a private network, as far as its name tells."""
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".lan", ".internal", ".home.arpa"))


def _shown(text: str) -> str:
    """Return a bad value, short and without what may be a password in an address."""
    text = re.sub(r"//[^/@\s]*@", "//[user]@", text)
    shown = quoted(text, 77)
    return shown if len(shown) < 77 else f"{shown}..."


KEY_FILE = "MCP_REFLECT_LLM_KEY_FILE"
_LONGEST_FILE = 16_384  # bytes


class Key:
    """A key and the name of where it was found. It shows its source only: in a repr, a log, an error."""

    __slots__ = ("_text", "source")

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self.source = source

    def reveal(self) -> str:
        """Return the key itself, for the header of a request and nothing else."""
        return self._text

    def cut_from(self, text: str) -> str:
        """`text` without the key: an endpoint may quote what it was sent."""
        return text.replace(self._text, "[key]")

    def __repr__(self) -> str:
        return f"Key(from {self.source})"


def find_key(spec: Spec, settings: Mapping[str, str], names: tuple[str, ...], *, nameless: bool = True) -> Key | None:
    """Return the first key there is: in the key file under one of `names`, then in the settings under one of them.

    A key file that holds one key without a name serves the provider of `MCP_REFLECT_LLM`, or the only
    one that is bound, unless `nameless` is false. Raises `LLMSettingError` where the file cannot be used,
    or the key is none.
    """
    path = settings.get(KEY_FILE, "").strip()
    written = _read(Path(path).expanduser()) if path else {}
    found = [(KEY_FILE, written[name], f"{KEY_FILE} ({name})") for name in names if written.get(name)]
    if nameless and written.get("") and _is_for(spec, settings):
        found.append((KEY_FILE, written[""], KEY_FILE))
    found += [(name, settings[name].strip(), name) for name in names if settings.get(name, "").strip()]
    if not found:
        return None
    setting, text, source = found[0]
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise LLMSettingError(setting, "the key holds a blank or a character that no key has", "Copy it again")
    return Key(text, source)


def check_way(key: Key | None, setting: str, url: str) -> None:
    """Raise `LLMSettingError` where the key would cross a public network in clear text."""
    if key is not None and url.lower().startswith("http://") and not is_near(url):
        fault = f"the key from {key.source} would travel to {url} in clear text"
        raise LLMSettingError(setting, fault, "Use an https address, or unset the key if the server needs none")


def _is_for(spec: Spec, settings: Mapping[str, str]) -> bool:
    """Return whether a key without a name is meant for this provider."""
    bound = {setting_of(role, settings) for role in Role}
    names = [MAIN] if settings.get(MAIN, "").strip() else sorted(bound)
    specs = [parse_spec(name, settings.get(name, "")) for name in names]
    return {other.provider for other in specs if other is not None} == {spec.provider}


def _read(path: Path) -> dict[str, str]:
    """Return the keys of a file by name; one that stands alone has the name ""."""
    try:
        with path.open("rb") as file:
            _check_mode(os.fstat(file.fileno()).st_mode, path)
            content = file.read(_LONGEST_FILE).decode("utf-8-sig")
    except OSError as error:
        fault = LLMSettingError(KEY_FILE, f"{path} cannot be read ({error.strerror})", "Name a file that can")
    except UnicodeDecodeError:
        fault = LLMSettingError(KEY_FILE, f"{path} is not text", "Write the key into it as one line of text")
    else:
        return _keys_of(content, path)
    raise fault


def _check_mode(mode: int, path: Path) -> None:
    """Refuse what another user of the machine can read. Windows has no such mode bits."""
    if not stat.S_ISREG(mode):
        raise LLMSettingError(KEY_FILE, f"{path} is not a regular file", "Name a file that holds the key")
    if os.name == "posix" and mode & 0o077:
        fault = f"{path} has mode {stat.S_IMODE(mode):04o}, so others can read the key"
        raise LLMSettingError(KEY_FILE, fault, f"Run: chmod 600 {path}")


def _keys_of(content: str, path: Path) -> dict[str, str]:
    lines = [line.strip() for line in content.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if len(lines) == 1 and "=" not in lines[0].rstrip("="):
        return {"": lines[0]}
    pairs = [line.removeprefix("export ").partition("=") for line in lines]
    if not pairs or not all(separator for _, separator, _ in pairs):
        fix = "Write one key alone, or a line NAME=KEY for each (ANTHROPIC_API_KEY=..., OPENAI_API_KEY=...)"
        raise LLMSettingError(KEY_FILE, f"{path} does not hold keys", fix)
    return {name.strip(): text.strip().strip("\"'") for name, _, text in pairs}


_LONGEST_QUOTE = 300
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|key|xai|gsk)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|Bearer\s+\S+")
_NO_CREDIT = {"insufficient_quota", "billing_not_active", "billing_error"}
_FILTERED = {"content_filter", "content_policy_violation"}
_TOO_LONG = ("too long", "too large", "context length", "context window")
_PASSING = {408, 409, 425}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The model (`provider:model`), its address, its key, and the variable in which a person would set the key."""

    llm: str
    url: str
    key: Key | None
    key_name: str

    def of_status(self, status: int, headers: Mapping[str, str], body: Json, now: float) -> LLMError:
        """Return the error for an HTTP status outside 2xx. `now` is seconds since 1970, for a date in Retry-After."""
        fault = self._fault(status, body)
        code = _code(body)
        wait = retry_after(headers, now)
        if code & _FILTERED:
            return RefusedError(self.llm, fault, "Take out of the task what its filter objects to")
        if code & _NO_CREDIT or status in {401, 402, 403} or "credit balance" in fault:
            return AuthError(self.llm, fault, self._key_fix())
        if status == 429:
            return RateLimitedError(self.llm, fault, "Wait, or raise the account's limits", retry_after=wait)
        if status >= 500 or status in _PASSING:
            return OverloadedError(self.llm, fault, "Wait, or bind another model to this role", retry_after=wait)
        if status in {404, 405, 410} or status < 400:
            fix = f"Check the model's name and the address {self.url} (many servers want /v1 at its end)"
            return NotServedError(self.llm, fault, fix)
        too_long = any(word in fault.casefold() for word in _TOO_LONG)
        fix = "Send less, or bind a model with a longer context" if too_long else "Check the model and the endpoint"
        return BadRequestError(self.llm, fault, fix)

    def unreachable(self, what: str) -> LLMError:
        """No connection, or a broken one; `what` is the short name of the fault."""
        return UnreachableError(self.llm, f"no reply from {self.url} ({what})", "Check that it runs and is reachable")

    def timed_out(self, seconds: float) -> LLMError:
        """Nothing arrived for as long as the request may take."""
        return TimedOutError(self.llm, f"no reply within {seconds:g} s", "Try again, or bind a faster model")

    def garbled(self, what: str) -> LLMError:
        """Return a 2xx that is no reply; `what` says what is missing."""
        return GarbledReplyError(self.llm, f"{self.url} sent {what}", "Check that the address is this provider's API")

    def _fault(self, status: int, body: Json) -> str:
        quote = _message(body)
        if self.key is not None:
            quote = self.key.cut_from(quote)
        quote = _KEY_SHAPE.sub("[key]", quote)
        quote = " ".join("".join(char if char.isprintable() else " " for char in quote).split()).rstrip(".")
        if len(quote) > _LONGEST_QUOTE:
            quote = quote[:_LONGEST_QUOTE] + "..."
        return f"HTTP {status}: {quote}" if quote else f"HTTP {status}"

    def _key_fix(self) -> str:
        if self.key is None:
            return f"Set {self.key_name}, or a file with the key in MCP_REFLECT_LLM_KEY_FILE"
        return f"Check the key in {self.key.source} and the account behind it"


def proxy_fault() -> LLMSettingError:
    """Return the HTTP client did not start, which it does for want of a proxy that it understands."""
    fix = "Name an http proxy, install socksio for a SOCKS one, or unset it"
    return LLMSettingError("HTTPS_PROXY", "the proxy of the environment cannot be used", fix)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds (0 or more) that an endpoint asks to wait, from milliseconds, seconds or a date; else None.

    `headers` has lower-case names.
    """
    try:
        if "retry-after-ms" in headers:
            return _finite(float(headers["retry-after-ms"]) / 1000)
        return _finite(float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now)


def _finite(seconds: float) -> float | None:
    return max(0.0, seconds) if abs(seconds) < float("inf") else None


def _message(body: Json) -> str:
    """Return the words of an error body, in any of the shapes that servers send."""
    if isinstance(body, str):
        return body
    if not isinstance(body, dict):
        return ""
    return next((_message(body[name]) for name in ("error", "message", "detail") if body.get(name)), "")


def _code(body: Json) -> set[str]:
    """Return the `code` and the `type` of an error."""
    error = body.get("error") if isinstance(body, dict) else None
    values = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    return {value for value in values if isinstance(value, str)}


# JSON over plain HTTP to an endpoint that speaks OpenAI's API: one question, one answer or why there is none.


_LONGEST_BODY = 16 * 1024 * 1024  # bytes

_Answer = tuple[int, dict[str, str], bytes]


async def post(
    endpoint: Endpoint, path: str, body: Mapping[str, Json], *, key_of: str, seconds: float, now: float
) -> dict[str, Json] | LLMError:
    """Return the answer of the endpoint to `body` at `path`.

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
    """Return the answer or the error. The client is closed in any case."""
    from httpx2 import HTTPError, InvalidURL, TimeoutException  # noqa: PLC0415 - on first use

    try:
        async with client:
            return await _send(client, endpoint, path, body)
    except TimeoutException:
        return endpoint.timed_out(seconds)
    except (HTTPError, InvalidURL) as error:
        return endpoint.unreachable(type(error).__name__)


async def _send(client: "AsyncClient", endpoint: Endpoint, path: str, body: Mapping[str, Json]) -> _Answer:
    """Return the status, the headers in lower case, and the body up to a length that no answer has."""
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
    """Return the status of a fault that stands in the body of a 200."""
    code = section(body, "error").get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else 500
