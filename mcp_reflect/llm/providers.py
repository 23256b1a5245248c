"""The language model of each role, by the settings that name its provider, its address and its key."""

import asyncio
import ipaddress
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from mcp_reflect.llm.budget import Account, TokenCounter, open_account
from mcp_reflect.llm.protocol import (
    LLM,
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    Reply,
    Request,
    Role,
    TimedOutError,
)
from mcp_reflect.security.redact import quoted

MAIN = "MCP_REFLECT_LLM"
OFF = "off"
_KEY_FILE = "MCP_REFLECT_LLM_KEY_FILE"
_EXAMPLES = '"anthropic:claude-sonnet-5-5", "openai:qwen3@http://localhost:11434/v1", "claude-code" or "off"'
_PROGRAMS = ("claude-code", "codex", "gemini")  # they know their model
_PRIVATE_DOMAINS = (".local", ".localhost", ".lan", ".internal", ".home.arpa")
_SHOWN_VALUE = 80  # characters of a bad value in an error
_PROVIDER = re.compile(r"[a-z][a-z0-9_-]*")
_HOST = re.compile(r"[a-z0-9._:-]+")
_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
_BARE_ADDRESS = re.compile(r"@(localhost\b|[^@]*[:/])[^@]*$")


@dataclass(frozen=True, slots=True)
class Spec:
    """The name of a provider, the name of its model (empty: its own choice), and the address if not the usual one."""

    provider: str
    model: str
    base_url: str | None = None

    @property
    def name(self) -> str:
        """`provider:model`, as results and usage name it; the provider alone where it chooses the model."""
        if not self.model:
            return self.provider
        return f"{self.provider}:{self.model}"


def parse_spec(setting: str, text: str, examples: str = _EXAMPLES) -> Spec | None:
    """Return the spec in `text`. Raises `LLMSettingError`, which names `setting`.

    | text                                   | spec                                                 |
    |----------------------------------------|------------------------------------------------------|
    | "" or "off"                            | None                                                 |
    | "claude-code"                          | Spec("claude-code", ""): the program knows its model |
    | "anthropic:claude-sonnet-5-5"          | Spec("anthropic", "claude-sonnet-5-5")               |
    | "openai:qwen3@http://localhost:11434/" | Spec("openai", "qwen3", "http://localhost:11434")    |
    """
    text = text.strip()
    if text.casefold() in {"", OFF}:
        return None
    provider, _, model_and_address = text.partition(":")
    provider = provider.strip().casefold()
    if provider in _PROGRAMS and not model_and_address.strip():
        return Spec(provider, "")
    parts = [part.strip() for part in _ADDRESS.split(model_and_address, maxsplit=1)]
    model = parts[0]
    address = parts[1] if len(parts) > 1 else None
    fault = _fault_of_spec(text, provider, model, has_address=address is not None)
    if fault is not None:
        raise LLMSettingError(setting, fault, f"Write {examples}")
    if address is None:
        return Spec(provider, model)
    return Spec(provider, model, parse_base_url(setting, address))


def _fault_of_spec(text: str, provider: str, model: str, *, has_address: bool) -> str | None:
    """Return what is wrong with a text that is to name a provider and its model, None if nothing is."""
    # A bad value may have a password in its address.
    quote = quoted(re.sub(r"//[^/@\s]*@", "//[user]@", text), _SHOWN_VALUE)
    is_address_alone = text.partition(":")[2].startswith("//")
    if ":" not in text or not _PROVIDER.fullmatch(provider) or is_address_alone:
        return f'"{quote}" names no provider'
    if not model or any(char.isspace() or not char.isprintable() for char in model):
        return f'"{quote}" names no model'
    if not has_address and _BARE_ADDRESS.search(model):
        return f'the address in "{quote}" does not start with http:// or https://'
    return None


def parse_base_url(setting: str, text: str) -> str:
    """Return an http or https address without a slash at its end. Raises `LLMSettingError`, which names `setting`."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        is_web_scheme = parts.scheme in {"http", "https"}
        has_host = _HOST.fullmatch(parts.hostname or "") is not None
        is_usable = is_web_scheme and parts.port != 0 and has_host
    except ValueError:  # a port that is no number, for one
        parts = urlsplit("")
        is_usable = False
    if is_usable and "@" in parts.netloc:
        fix = "Put the key into the environment or a key file"
        raise LLMSettingError(setting, "the address holds a user name or a password", fix)
    if not is_usable or parts.query or parts.fragment or not text.isprintable() or " " in text:
        fix = "Write an http or https address such as http://localhost:11434/v1, without a query"
        raise LLMSettingError(setting, "the address cannot be used", fix)
    return text.rstrip("/")


def is_near(url: str) -> bool:
    """Return whether the host of an address is this machine or in a private network, as far as its name shows.

    True for `http://localhost:11434`, `http://10.0.0.7` and `http://box.lan`, False for `https://api.openai.com`.
    """
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:  # a name
        return "." not in host or host.endswith(_PRIVATE_DOMAINS)


def _read_keys(path: Path) -> dict[str, str]:
    """Return the keys of a file, `NAME=KEY` in each line, by name. Raises `LLMSettingError` where it cannot be used."""
    try:
        mode = path.stat().st_mode
        text = path.read_text("utf-8-sig", "replace")
    except OSError as error:
        fault = f"{path} cannot be read ({error.strerror})"
        raise LLMSettingError(_KEY_FILE, fault, "Name a file that holds the key") from None
    if os.name == "posix" and mode & 0o077:  # Windows has no such mode bits
        fault = f"{path} has mode {stat.S_IMODE(mode):04o}, so others can read the key"
        raise LLMSettingError(_KEY_FILE, fault, f"Run: chmod 600 {path}")
    lines = [line.strip().removeprefix("export ") for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    if not pairs or not all(separator for _, separator, _ in pairs):
        fix = "Write a line NAME=KEY for each key (ANTHROPIC_API_KEY=..., OPENAI_API_KEY=...)"
        raise LLMSettingError(_KEY_FILE, f"{path} does not hold keys", fix)
    return {name.strip(): key.strip().strip("\"'") for name, _, key in pairs}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked, and with which key."""

    llm: str  # `provider:model`
    url: str
    key: str = field(repr=False)  # empty where it needs none
    key_name: str  # the variable that has the key
    retries: int = 2  # that the SDK may make, as long as the time of the request lasts


def open_endpoint(
    spec: Spec,
    settings: Mapping[str, str],
    usual: str,
    url_setting: str,
    key_names: tuple[str, ...],
) -> Endpoint:
    """Return the endpoint of `spec`: its own address, else the one in `url_setting`, else the `usual` one.

    The key is the first under one of `key_names`, in the key file or else in the settings; the usual address needs
    one, and an error names the last. Raises `LLMSettingError` where the address, the file or the key cannot be used, a
    key is missing, or it would cross a public network in clear text.
    """
    url = spec.base_url or parse_base_url(
        url_setting, settings.get(url_setting, "").strip() or usual
    )
    keys = dict(settings)
    key_file = settings.get(_KEY_FILE, "").strip()
    if key_file:
        keys |= _read_keys(Path(key_file).expanduser())
    names_with_key = [name for name in key_names if keys.get(name, "").strip()]
    key_name = names_with_key[0] if names_with_key else key_names[-1]
    key = keys.get(key_name, "").strip()
    if not key and url == usual:
        fix = f"Set it, or name a file with the key in {_KEY_FILE}"
        raise LLMSettingError(key_name, f"the model {spec.name} needs a key", fix)
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise LLMSettingError(
            key_name, "the key holds a blank or a character that no key has", "Copy it again"
        )
    if key and url.lower().startswith("http://") and not is_near(url):
        fix = "Use an https address, or unset the key if the server needs none"
        raise LLMSettingError(key_name, f"the key would travel to {url} in clear text", fix)
    return Endpoint(spec.name, url, key, key_name)


def open_package(
    group: str, spec: Spec, settings: Mapping[str, str], *, setting: str, ours: Iterable[str]
) -> tuple[Any, str]:
    """Return what another package opens for `spec` by its entry point in `group`, and the name of the package.

    `setting` is the name of the variable that has the spec, `ours` are the providers of this package. Raises
    `LLMSettingError`, the package's own, or ours that lists all providers.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - only for a provider that is not ours

    points = {point.name: point for point in entry_points(group=group)}
    if spec.provider not in points:
        known = ", ".join(sorted({*ours, *points}))
        raise LLMSettingError(
            setting, f'there is no provider "{spec.provider}"', f"Write one of: {known}, {OFF}"
        )
    point = points[spec.provider]
    name = point.dist.name if point.dist else point.value.partition(":")[0]
    try:
        return point.load()(spec, settings), name
    except LLMSettingError:
        raise
    except Exception as error:  # noqa: BLE001 - foreign code; its message may hold a key
        why = str(error) if isinstance(error, ImportError) else type(error).__name__
    fault = f'the provider "{spec.provider}" cannot be loaded ({why})'
    raise LLMSettingError(setting, fault, f"Reinstall the package {name}, or write to its authors")


class Model:
    """A model within the time of each request and the token limits. Every exception becomes an `LLMError`.

    `origin` says whose code the model is.
    """

    def __init__(self, llm: LLM, name: str, origin: str, account: Account) -> None:
        self.llm = llm
        self._name = name
        self._origin = origin
        self._account = account

    async def complete(self, request: Request) -> Reply:
        """Return the reply in time. Raises an `LLMError` that repeats no text of a bug: it may hold a key."""
        return await self._account.complete(self._name, self._ask, request)

    async def _ask(self, request: Request) -> Reply:
        """Ask the model once within the time of the request; whatever else it raises becomes an LLMError."""
        limit = asyncio.timeout(request.timeout)
        try:
            async with limit:
                reply = cast("object", await self.llm.complete(request))
            if isinstance(reply, Reply):
                return reply
            fault = f"returned {type(reply).__name__}"
        except LLMError:
            raise
        except Exception as error:  # noqa: BLE001 - code of other packages: a bug in it must not fail the tool
            fault = f"raised {type(error).__name__}"
        # Raised here, not above: the model's own error may hold a key.
        if limit.expired():
            late = f"no reply within {round(request.timeout, 2):g} s"
            raise TimedOutError(self._name, late, "Try again, or set a faster model for this role")
        fix = "Report it to its authors, or set another provider"
        raise GarbledReplyError(self._name, f"{self._origin} {fault}", fix)


class Unusable:
    """A model whose setting is wrong: each completion raises the error of the setting."""

    def __init__(self, error: LLMSettingError) -> None:
        self.error = error

    async def complete(self, request: Request) -> Reply:
        """Raise the error of the setting, a new one each time."""
        del request
        raise LLMSettingError(self.error.setting, self.error.fault, self.error.fix)


ENTRY_POINTS = "mcp_reflect.llm"
_OWN = {
    **dict.fromkeys(("anthropic", "openai"), "mcp_reflect.llm.sdk"),
    **dict.fromkeys(_PROGRAMS, "mcp_reflect.llm.programs"),
}
"""The module of each provider that this package brings."""


class Registry:
    """The language model of each role, held to the limits of the settings. Roles with the same spec share one.

    `settings` maps names to texts, as the environment does; nothing else is read but the key file. Nothing is
    imported, opened or looked up before a role is first needed.
    """

    def __init__(self, settings: Mapping[str, str], store: TokenCounter) -> None:
        self._settings = settings
        self._store = store
        self._account: Account | None = None
        self._opened: dict[Spec, Model] = {}

    def llm(self, role: Role) -> LLM | None:
        """Return the role's language model, None where it is off.

        It never raises: where the settings cannot be used, each completion raises the `LLMSettingError`.
        """
        setting = self._setting_of(role)
        try:
            spec = parse_spec(setting, self._settings.get(setting, ""))
            if spec is None:
                return None
            return self._open(spec, setting)
        except LLMSettingError as error:
            return Unusable(error)

    def is_off(self, role: Role) -> bool:
        """Return whether the role's own setting is `off`: no model is asked then, the host's neither."""
        setting = self._setting_of(role)
        return setting != MAIN and self._settings[setting].strip().casefold() == OFF

    def describe(self, role: Role) -> str:
        """Return the role's model as the setting names it, `off`, or `unusable`."""
        llm = self.llm(role)
        if llm is None:
            return OFF
        if isinstance(llm, Unusable):
            return "unusable"
        return self._settings[self._setting_of(role)].strip()

    def problems(self) -> list[LLMSettingError]:
        """Return the errors of the settings, each once, for the person who runs the server."""
        unusable = (llm for llm in map(self.llm, Role) if isinstance(llm, Unusable))
        return list({str(llm.error): llm.error for llm in unusable}.values())

    def _setting_of(self, role: Role) -> str:
        """Return the name of the setting for `role`: its own if that is set, else the general one."""
        name_for_role = f"{MAIN}_{role.value.upper()}"
        if self._settings.get(name_for_role, "").strip():
            return name_for_role
        return MAIN

    def _open(self, spec: Spec, setting: str) -> LLM:
        """Return the model of a spec, opened once; the provider is ours, or one of another package."""
        if spec in self._opened:
            return self._opened[spec]
        if spec.provider in _OWN:  # no package can take the name of one of ours
            llm: LLM = import_module(_OWN[spec.provider]).open_llm(spec, self._settings)
            origin = "the server"
        else:
            llm, package = open_package(
                ENTRY_POINTS, spec, self._settings, setting=setting, ours=_OWN
            )
            origin = f"the package {package}"
        self._account = self._account or open_account(self._settings, self._store)
        self._opened[spec] = Model(llm, spec.name, origin, self._account)
        return self._opened[spec]
