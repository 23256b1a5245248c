"""From what an endpoint did wrong to the error that says who has to react."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from mcp_reflect.llm.errors import (
    AuthError,
    BadRequestError,
    GarbledReplyError,
    LLMError,
    LLMSettingError,
    NotServedError,
    OverloadedError,
    RateLimitedError,
    RefusedError,
    TimedOutError,
    UnreachableError,
)
from mcp_reflect.llm.keys import Key
from mcp_reflect.models.common import Json

_LONGEST_QUOTE = 300
_KEY_SHAPE = re.compile(r"\b(?:sk|pk|key|xai|gsk)[-_][\w*.-]{6,}|\bAIza[\w-]{20,}|Bearer\s+\S+")
_NO_CREDIT = {"insufficient_quota", "billing_not_active", "billing_error"}
_FILTERED = {"content_filter", "content_policy_violation"}
_TOO_LONG = ("too long", "too large", "context length", "context window")
_PASSING = {408, 409, 425}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Who is asked: `provider:model`, the address, the key and the variable that a person would set it in."""

    llm: str
    url: str
    key: Key | None
    key_name: str

    def of_status(self, status: int, headers: Mapping[str, str], body: Json, now: float) -> LLMError:
        """The error for an HTTP status outside 2xx. `now` is seconds since 1970, for a date in Retry-After."""
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
        """A 2xx that is no reply; `what` says what is missing."""
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
    """The HTTP client did not start, which it does for want of a proxy that it understands."""
    fix = "Name an http proxy, install socksio for a SOCKS one, or unset it"
    return LLMSettingError("HTTPS_PROXY", "the proxy of the environment cannot be used", fix)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds (0 or more) that an endpoint asks to wait, from milliseconds, seconds or a date; else null.

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
    """The words of an error body, in any of the shapes that servers send."""
    if isinstance(body, str):
        return body
    if not isinstance(body, dict):
        return ""
    return next((_message(body[name]) for name in ("error", "message", "detail") if body.get(name)), "")


def _code(body: Json) -> set[str]:
    """What the error calls itself: its `code` and its `type`."""
    error = body.get("error") if isinstance(body, dict) else None
    values = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    return {value for value in values if isinstance(value, str)}
