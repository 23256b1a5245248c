"""The endpoint of a provider: the setting that names it, its key, JSON over HTTP, and the errors that it returns."""

import ipaddress
import json
import math
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import urlsplit

from mcp_reflect.llm import protocol
from mcp_reflect.llm.protocol import LLMError, LLMSettingError, Reply, Request, Role, Stop, Usage
from mcp_reflect.models.common import Json
from mcp_reflect.security.redact import quoted


def whole(text: str) -> str:
    """Return `text` with each half of a surrogate pair replaced: it can be neither sent nor stored."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def strict_json(text: str | bytes) -> Json:
    """Return the JSON value of `text`; None for any other text, NaN and endless nesting."""
    try:
        value: Json = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def reply_of(request: Request, llm: str, text: str, stop: Stop, usage: Usage) -> Reply:
    """Return the reply, with its JSON where the request has a schema; a blank text is an empty reply."""
    text = whole(text)
    if stop is Stop.END and not text.strip():
        stop = Stop.EMPTY
    parsed = strict_json(text) if request.schema is not None and stop is Stop.END else None
    return Reply(text=text, stop=stop, llm=llm, parsed=parsed, usage=usage)


def count(usage: Mapping[str, Json], name: str) -> int:
    """Return a number of tokens; 0 where the endpoint sent none or nonsense."""
    value = usage.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def section(body: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """Return the object under `name`, or an empty one."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


MAIN = "MCP_REFLECT_LLM"
OFF = "off"
KEY_FILE = "MCP_REFLECT_LLM_KEY_FILE"
_EXAMPLES = '"anthropic:claude-sonnet-5-5", "openai:qwen3@http://localhost:11434/v1", "claude-code" or "off"'
_PROGRAMS = {"claude-code", "codex", "gemini"}  # they know their model
_PROVIDER = re.compile(r"[a-z][a-z0-9_-]*")
_HOST = re.compile(r"[a-z0-9._:-]+")
_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
_BARE_ADDRESS = re.compile(r"@(localhost\b|[^@]*[:/])[^@]*$")
_LONGEST_FILE = 16_384  # bytes


@dataclass(frozen=True, slots=True)
class Spec:
    """The name of a provider, the name of its model (empty: its own choice), and the address if not the usual one."""

    provider: str
    model: str
    base_url: str | None = None

    @property
    def name(self) -> str:
        """`provider:model`, as results and usage name it; the provider alone where it chooses the model."""
        return f"{self.provider}:{self.model}" if self.model else self.provider


def setting_of(role: Role, settings: Mapping[str, str]) -> str:
    """Return the name of the setting that binds `role`: its own where it is not blank, else the one for all."""
    own = f"{MAIN}_{role.value.upper()}"
    return own if settings.get(own, "").strip() else MAIN


def parse_spec(setting: str, text: str) -> Spec | None:
    """Return the spec in `text`, None for `off` or nothing. Raises `LLMSettingError`, which names `setting`."""
    text = text.strip()
    if text.casefold() in {"", OFF}:
        return None
    provider, colon, rest = text.partition(":")
    provider = provider.strip().casefold()
    if provider in _PROGRAMS and not rest.strip():
        return Spec(provider, "")
    model, *address = (part.strip() for part in _ADDRESS.split(rest, maxsplit=1))
    # A bad value may hold a password in its address.
    quote = quoted(re.sub(r"//[^/@\s]*@", "//[user]@", text), 80)
    fault = ""
    if not colon or not _PROVIDER.fullmatch(provider) or rest.startswith("//"):
        fault = f'"{quote}" names no provider'
    elif not model or any(char.isspace() or not char.isprintable() for char in model):
        fault = f'"{quote}" names no model'
    elif not address and _BARE_ADDRESS.search(model):
        fault = f'the address in "{quote}" does not start with http:// or https://'
    if fault:
        raise LLMSettingError(setting, fault, f"Write {_EXAMPLES}")
    return Spec(provider, model, parse_base_url(setting, address[0]) if address else None)


def parse_base_url(setting: str, text: str) -> str:
    """Return an http or https address without a slash at its end. Raises `LLMSettingError`, which names `setting`."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and parts.port != 0 and bool(_HOST.fullmatch(parts.hostname or ""))
    except ValueError:
        parts, usable = urlsplit(""), False
    if usable and "@" in parts.netloc:
        fix = "Put the key into a key file or the environment"
        raise LLMSettingError(setting, "the address holds a user name or a password", fix)
    if not usable or parts.query or parts.fragment or not text.isprintable() or " " in text:
        fix = "Write an http or https address such as http://localhost:11434/v1, without a query"
        raise LLMSettingError(setting, "the address cannot be used", fix)
    return text.rstrip("/")


def is_near(url: str) -> bool:
    """True if the host is this machine or in a private network, as far as its name shows."""
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".lan", ".internal", ".home.arpa"))


@dataclass(frozen=True, slots=True)
class Key:
    """A key and its source. Its repr shows the source only. `text` is for the header of a request and nothing else."""

    text: str = field(repr=False)
    source: str


def find_key(settings: Mapping[str, str], names: tuple[str, ...]) -> Key | None:
    """Return the first key under one of `names`: in the key file, then in the settings.

    Raises `LLMSettingError` where the file or the key cannot be used.
    """
    path = settings.get(KEY_FILE, "").strip()
    written = _read_key_file(Path(path).expanduser()) if path else {}
    keys = [(KEY_FILE, written[name], f"{KEY_FILE} ({name})") for name in names if written.get(name)]
    keys += [(name, settings[name].strip(), name) for name in names if settings.get(name, "").strip()]
    if not keys:
        return None
    setting, text, source = keys[0]
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise LLMSettingError(setting, "the key holds a blank or a character that no key has", "Copy it again")
    return Key(text, source)


def _read_key_file(path: Path) -> dict[str, str]:
    """Return the keys of a file by name."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            lines = [line.strip() for line in file.read(_LONGEST_FILE).decode("utf-8-sig", "replace").splitlines()]
    except OSError as error:
        fault = f"{path} cannot be read ({error.strerror})"
        raise LLMSettingError(KEY_FILE, fault, "Name a file that holds the key") from None
    if os.name == "posix" and mode & 0o077:  # Windows has no such mode bits
        fault = f"{path} has mode {stat.S_IMODE(mode):04o}, so others can read the key"
        raise LLMSettingError(KEY_FILE, fault, f"Run: chmod 600 {path}")
    pairs = [line.removeprefix("export ").partition("=") for line in lines if line and not line.startswith("#")]
    if not pairs or not all(separator for _, separator, _ in pairs):
        fix = "Write a line NAME=KEY for each key (ANTHROPIC_API_KEY=..., OPENAI_API_KEY=...)"
        raise LLMSettingError(KEY_FILE, f"{path} does not hold keys", fix)
    return {name.strip(): text.strip().strip("\"'") for name, _, text in pairs}


_LONGEST_QUOTE = 300
_LONGEST_BODY = 16 * 1024 * 1024  # bytes
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|key|xai|gsk)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|Bearer\s+\S+")
_NO_CREDIT = {"insufficient_quota", "billing_not_active", "billing_error"}
_FILTERED = {"content_filter", "content_policy_violation"}
_TOO_LONG = ("too long", "too large", "context length", "context window")
_PASSING = {408, 409, 425}
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The model (`provider:model`), its address, its key, and the variable in which a person would set the key."""

    llm: str
    url: str
    key: Key | None
    key_name: str

    async def post(
        self,
        path: str,
        body: Mapping[str, Json],
        *,
        key_of: str,
        seconds: float,
        headers: Mapping[str, str] = _NO_HEADERS,
        stream: "Stream | None" = None,
    ) -> dict[str, Json]:
        """Return the JSON object that the endpoint answers to `body` at `path`, or the one that `stream` joins.

        `key_of` names a field of a good answer: some routers report a fault of the model behind them with status 200.
        `seconds` is how long the endpoint may be silent. Raises an `LLMError` without its cause, which holds the key.
        """
        from httpx2 import AsyncClient, HTTPError, InvalidURL, RemoteProtocolError, TimeoutException  # noqa: PLC0415 - on first use

        sent = {"content-type": "application/json", "accept": "application/json", **headers}
        if self.key is not None:
            sent["authorization"] = f"Bearer {self.key.text}"
        received = bytearray()
        content = json.dumps(body).encode("ascii")
        try:
            # A TLS context costs some 70 ms; an http address needs none. A proxy does not serve machines nearby.
            is_tls = self.url.lower().startswith("https://")
            async with (
                AsyncClient(timeout=seconds, verify=is_tls, trust_env=not is_near(self.url)) as client,
                client.stream("POST", self.url + path, headers=sent, content=content) as response,
            ):
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > _LONGEST_BODY:
                        received.clear()
                        break
                    if stream is not None:
                        stream.feed(chunk)
                if stream is not None and stream.joined == {}:
                    raise RemoteProtocolError("the stream has no end")
        except TimeoutException:
            fix = "Try again, or bind a faster model"
            fault = protocol.TimedOutError(self.llm, f"no reply within {seconds:g} s", fix)
        except (HTTPError, InvalidURL) as error:
            fault = f"no reply from {self.url} ({type(error).__name__})"
            fault = protocol.UnreachableError(self.llm, fault, "Check that it runs and is reachable")
        except (ImportError, ValueError):
            fix = "Name an http proxy, install socksio for a SOCKS one, or unset it"
            fault = LLMSettingError("HTTPS_PROXY", "the proxy of the environment cannot be used", fix)
        else:
            answer = (stream.joined if stream else None) or strict_json(bytes(received))
            return self._checked(response.status_code, response.headers, answer, key_of)
        raise fault

    def _checked(self, status: int, headers: Mapping[str, str], body: Json, key_of: str) -> dict[str, Json]:
        """Return the body of a good answer; raise the error of any other."""
        if not 200 <= status < 300:
            raise self._error_of(status, headers, body)
        if not isinstance(body, dict):
            raise self.garbled("a body that is not a JSON object")
        if body.get("error") and not body.get(key_of):
            code = section(body, "error").get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            raise self._error_of(status, headers, body)
        return body

    def garbled(self, content: str) -> LLMError:
        """Return the error for a 2xx that is not a reply; `content` describes what came."""
        return protocol.GarbledReplyError(
            self.llm, f"{self.url} sent {content}", "Check that the address is this provider's API"
        )

    def _error_of(self, status: int, headers: Mapping[str, str], body: Json) -> LLMError:
        """Return the error for an HTTP status outside 2xx, with the server's own words, cut short and without a key."""
        words = _message(body)
        if self.key is not None:
            words = words.replace(self.key.text, "[key]")  # an endpoint may quote what it received
        words = quoted(" ".join(_KEY_SHAPE.sub("[key]", words).split()).rstrip("."), _LONGEST_QUOTE)
        fault = f"HTTP {status}: {words}" if words else f"HTTP {status}"
        error: Mapping[str, Json] = section(body, "error") if isinstance(body, dict) else {}
        codes = {str(error.get(name)) for name in ("code", "type")}
        key_fix = f"Set {self.key_name}, or a file with the key in {KEY_FILE}"
        if self.key is not None:
            key_fix = f"Check the key in {self.key.source} and the account behind it"
        address_fix = f"Check the model's name and the address {self.url} (many servers want /v1 at its end)"
        no_credit = bool(codes & _NO_CREDIT) or "credit balance" in words
        too_long = any(word in words.casefold() for word in _TOO_LONG)
        kinds: tuple[tuple[bool, type[LLMError], str], ...] = (
            (bool(codes & _FILTERED), protocol.RefusedError, "Take out of the task what its filter objects to"),
            (no_credit or status in {401, 402, 403}, protocol.AuthError, key_fix),
            (status == 429, protocol.RateLimitedError, "Wait, or raise the account's limits"),
            (status >= 500 or status in _PASSING, protocol.OverloadedError, "Wait, or bind another model to this role"),
            (status in {404, 405, 410} or status < 400, protocol.NotServedError, address_fix),
            (too_long, protocol.BadRequestError, "Send less, or bind a model with a longer context"),
            (True, protocol.BadRequestError, "Check the model and the endpoint"),
        )
        kind, fix = next((kind, fix) for holds, kind, fix in kinds if holds)
        return kind(self.llm, fault, fix, retry_after=_retry_after(headers))


def open_endpoint(
    spec: Spec,
    settings: Mapping[str, str],
    usual: str,
    url_setting: str,
    key_names: tuple[str, ...],
    *,
    key_name: str,
    setting: str = MAIN,
    needs_key: bool = False,
) -> Endpoint:
    """Return the endpoint of `spec`: its own address, else the one in `url_setting`, else the `usual` one.

    `setting` is where the spec was written, `key_name` the variable in which a person would set the key; the usual
    address needs one, others only with `needs_key`. Raises `LLMSettingError` where the address cannot be used, a key
    is missing, or the key would cross a public network in clear text.
    """
    url = spec.base_url or parse_base_url(url_setting, settings.get(url_setting, "").strip() or usual)
    key = find_key(settings, key_names)
    if key is None and (needs_key or url == usual):
        fix = f"Set it, or name a file with the key in {KEY_FILE}"
        raise LLMSettingError(key_name, f"the model {spec.name} needs a key", fix)
    if key is not None and url.lower().startswith("http://") and not is_near(url):
        fault = f"the key from {key.source} would travel to {url} in clear text"
        fix = "Use an https address, or unset the key if the server needs none"
        raise LLMSettingError(setting if spec.base_url else url_setting, fault, fix)
    return Endpoint(spec.name, url, key, key_name)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds (0 or more) that an endpoint asks to wait; None where it does not."""
    with suppress(KeyError, ValueError):
        seconds = float(headers["retry-after"])
        return max(0.0, seconds) if math.isfinite(seconds) else None
    return None


def _message(body: Json) -> str:
    """Return the words of an error body, in any of the shapes that servers send."""
    if not isinstance(body, dict):
        return body if isinstance(body, str) else ""
    return next((_message(body[name]) for name in ("error", "message", "detail") if body.get(name)), "")


class Stream:
    """A reply as server-sent events of one line of JSON each, of either API. Its text is passed on and joined.

    `joined` is None before an event, empty before the end or an error, then an answer as both APIs write one.
    """

    def __init__(self, role: Role, on_text: protocol.TextListener) -> None:
        self._role = role
        self._on_text = on_text
        self._rest = b""
        self._text = self._refusal = ""
        self._usage: dict[str, Json] = {}
        self.joined: dict[str, Json] | None = None

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = strict_json(line.removeprefix(b"data:")) if line.startswith(b"data:") else None
            if isinstance(event, dict):
                self._read(event)

    def _read(self, event: dict[str, Json]) -> None:
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else event
        choice = choice if isinstance(choice, dict) else {}
        delta = section(choice, "delta")
        text = delta.get("text") or delta.get("content") or delta.get("refusal")
        if isinstance(text, str) and text:
            self._on_text(protocol.TextChunk(role=self._role, text=whole(text), first=not self._text))
            self._text += text
        self._refusal += str(delta.get("refusal") or "")
        counts = {**section(section(event, "message"), "usage"), **section(event, "usage")}
        self._usage |= {name: value for name, value in counts.items() if value is not None}
        self.joined = self.joined or {}
        if event.get("error"):
            self.joined = {"error": event["error"]}
        elif stop := choice.get("finish_reason") or delta.get("stop_reason"):
            message: dict[str, Json] = {"content": self._text, "refusal": self._refusal}
            self.joined = {"choices": [{"message": message, "finish_reason": stop}], "stop_reason": stop}
            self.joined["content"] = [{"type": "text", "text": self._text}]
            self.joined["usage"] = self._usage  # OpenAI counts in an event after this one


class ChatModel:
    """One model behind one HTTP endpoint; a subclass knows the API. It remembers a form that the endpoint refused."""

    PATH: ClassVar[str]
    KEY_OF: ClassVar[str]  # a field of each good answer
    HEADERS: ClassVar[Mapping[str, str]] = _NO_HEADERS
    SCHEMA_WORDS: ClassVar[tuple[str, ...]]  # in an error: the endpoint does not take the schema
    STREAM: ClassVar[Mapping[str, Json]] = MappingProxyType({"stream": True})  # what is refused first stands last

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._model = model
        self._endpoint = endpoint
        self._structured = True
        self._stream = dict(self.STREAM)

    async def complete(self, request: Request) -> Reply:
        """Return the reply to `request`, sent again in another form where the endpoint refuses a form."""
        while True:
            schema = (
                dict(request.schema) if request.schema and self._structured and self.takes(request.schema) else None
            )
            system = request.system
            if request.schema and schema is None:
                order = "Answer with one JSON value that fits this JSON schema, and with nothing else around it:"
                system = f"{system}\n\n{order}\n{json.dumps(request.schema, ensure_ascii=False)}".lstrip()
            stream = None if request.on_text is None else Stream(request.role, request.on_text)
            fields = self._stream if stream else {}
            body = {**self.body(request, whole(system), whole(request.user), schema), **fields}
            try:
                answer = await self._endpoint.post(
                    self.PATH, body, key_of=self.KEY_OF, seconds=request.timeout, headers=self.HEADERS, stream=stream
                )
            except protocol.BadRequestError as error:
                fault = error.fault.casefold()
                if fields and "stream" in fault:
                    self._stream = dict([*fields.items()][:-1])
                elif not self.adapts(fault, schema):
                    raise
            else:
                return reply_of(request, self._endpoint.llm, *self.reply(answer))

    def takes(self, schema: Mapping[str, Json]) -> bool:
        """True if the API can hold a reply to the schema; it is sent in words otherwise."""
        del schema
        return True

    def adapts(self, fault: str, schema: Mapping[str, Json] | None) -> bool:
        """True if another form of the request avoids the fault; from then on the schema is sent in words."""
        refused = schema is not None and any(word in fault for word in self.SCHEMA_WORDS)
        self._structured = self._structured and not refused
        return refused

    def body(self, request: Request, system: str, user: str, schema: dict[str, Json] | None) -> dict[str, Json]:
        """Return the JSON body of a request."""
        raise NotImplementedError

    def reply(self, answer: Mapping[str, Json]) -> tuple[str, Stop, Usage]:
        """Return the text of an answer, its end and its tokens; raise `GarbledReplyError` where it holds none."""
        raise NotImplementedError
