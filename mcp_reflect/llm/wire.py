"""What every provider does with what goes over the wire and what comes back."""

import json
from collections.abc import Mapping

from mcp_reflect.llm.protocol import Reply, Request, Stop, Usage
from mcp_reflect.models.common import Json


def whole(text: str) -> str:
    """`text` with each half of a surrogate pair replaced: it cannot be sent, nor stored."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def strict_json(text: str | bytes) -> Json:
    """The JSON value that `text` is, null where it is none (or NaN, or nested beyond reason)."""
    try:
        value: Json = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value


def _no_number(name: str) -> None:
    raise ValueError(name)


def system_text(request: Request, *, structured: bool) -> str:
    """The fixed part of the question; the schema stands in it where the endpoint does not take one."""
    if request.schema is None or structured:
        return whole(request.system)
    schema = json.dumps(request.schema, ensure_ascii=False)
    order = "Answer with one JSON value that fits this JSON schema, and with nothing else around it:"
    return whole(f"{request.system}\n\n{order}\n{schema}".lstrip())


def reply_of(request: Request, llm: str, text: str, stop: Stop, usage: Usage) -> Reply:
    """The reply, with its JSON where one was asked for; nothing but blanks is an empty one."""
    text = whole(text)
    if stop is Stop.END and not text.strip():
        stop = Stop.EMPTY
    parsed = strict_json(text) if request.schema is not None and stop is Stop.END else None
    return Reply(text=text, stop=stop, llm=llm, parsed=parsed, usage=usage)


def count(usage: Mapping[str, Json], name: str) -> int:
    """A number of tokens; 0 where the endpoint gave none, or nonsense."""
    value = usage.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def section(body: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """The object under `name`, an empty one where there is none."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}
