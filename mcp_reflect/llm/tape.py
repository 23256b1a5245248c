"""The form of recorded completions: one JSON object a line, `request` with `reply` or `error`.

The seconds are left out of a request: they differ from run to run and change no answer.
"""

from collections.abc import Callable, Mapping

from mcp_reflect.llm import errors
from mcp_reflect.llm.errors import LLMError, LLMSettingError
from mcp_reflect.llm.protocol import Reply, Request, Stop, Usage
from mcp_reflect.llm.wire import count, section
from mcp_reflect.records.json import Json

Redact = Callable[[str], str]

_KINDS: dict[str, type[LLMError]] = {
    kind.kind: kind
    for kind in (
        errors.AuthError,
        errors.NotServedError,
        errors.RateLimitedError,
        errors.OverloadedError,
        errors.UnreachableError,
        errors.TimedOutError,
        errors.BadRequestError,
        errors.GarbledReplyError,
        errors.RefusedError,
        errors.BudgetExceededError,
    )
}


def request_json(request: Request, redact: Redact) -> dict[str, Json]:
    """What identifies a request, without what `redact` cuts out."""
    return {
        "role": request.role.value,
        "system": redact(request.system),
        "user": redact(request.user),
        "schema": None if request.schema is None else dict(request.schema),
        "max_tokens": request.max_tokens,
    }


def reply_json(reply: Reply, redact: Redact) -> dict[str, Json]:
    """A reply without what `redact` cuts out."""
    return {
        "text": redact(reply.text),
        "stop": reply.stop.value,
        "llm": reply.llm,
        "parsed": _redacted(reply.parsed, redact),
        "usage": {
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "cache_read": reply.usage.cache_read,
            "cache_write": reply.usage.cache_write,
        },
    }


def error_json(error: LLMError, redact: Redact) -> dict[str, Json]:
    """An error without what `redact` cuts out."""
    return {
        "kind": error.kind,
        "llm": error.llm,
        "fault": redact(error.fault),
        "fix": error.fix,
        "retry_after": error.retry_after,
    }


def read_reply(line: Mapping[str, Json]) -> Reply | LLMError:
    """The reply or the error of a recorded line. Raises `ValueError` where it is neither."""
    error, reply = section(line, "error"), section(line, "reply")
    if error:
        return _read_error(error)
    if "text" not in reply:
        raise ValueError("neither a reply nor an error")
    usage = section(reply, "usage")
    return Reply(
        text=str(reply["text"]),
        stop=Stop(str(reply.get("stop"))),
        llm=str(reply.get("llm")),
        parsed=reply.get("parsed"),
        usage=Usage(
            input_tokens=count(usage, "input_tokens"),
            output_tokens=count(usage, "output_tokens"),
            cache_read=count(usage, "cache_read"),
            cache_write=count(usage, "cache_write"),
        ),
    )


def _read_error(error: Mapping[str, Json]) -> LLMError:
    llm, fault, fix = (str(error.get(name, "")) for name in ("llm", "fault", "fix"))
    if error.get("kind") == LLMSettingError.kind:
        return LLMSettingError(llm, fault, fix)
    kind = _KINDS.get(str(error.get("kind")))
    if kind is None:
        raise ValueError(f"no error is called {error.get('kind')}")
    wait = error.get("retry_after")
    return kind(llm, fault, fix, retry_after=float(wait) if isinstance(wait, int | float) else None)


def _redacted(value: Json, redact: Redact) -> Json:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted(item, redact) for item in value]
    if isinstance(value, dict):
        return {redact(name): _redacted(item, redact) for name, item in value.items()}
    return value
