"""What a setting such as `openai:qwen3@http://localhost:11434/v1` says."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mcp_reflect.llm.errors import LLMSettingError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.security.redact import quoted

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
    """The name of the setting that binds `role`: its own where it is not blank, else the one for all."""
    own = f"{MAIN}_{role.value.upper()}"
    return own if settings.get(own, "").strip() else MAIN


def parse_spec(setting: str, text: str) -> Spec | None:
    """The spec that `text` holds, null for `off` or nothing. Raises `LLMSettingError`, which names `setting`."""
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
    """An http or https address without a slash at its end. Raises `LLMSettingError`, which names `setting`."""
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
    """Whether the host is this machine: no proxy has anything to do with it."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_near(url: str) -> bool:
    """Whether the host is this machine or a private network, as far as its name tells."""
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".lan", ".internal", ".home.arpa"))


def _shown(text: str) -> str:
    """A bad value, short and without what may be a password in an address."""
    text = re.sub(r"//[^/@\s]*@", "//[user]@", text)
    shown = quoted(text, 77)
    return shown if len(shown) < 77 else f"{shown}..."
