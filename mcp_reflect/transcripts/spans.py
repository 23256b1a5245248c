"""OpenTelemetry spans of generative AI, after the semantic conventions: gen_ai.* attributes.

Tool calls are the spans whose operation is execute_tool. Where there are none, they are read off the
messages of the last span that carries any.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_reflect.transcripts.events import Gathered, as_list, as_record, text_of, unpacked

Record = Mapping[str, Any]


def is_spans(record: Record) -> bool:
    """Whether a record is a span with gen_ai attributes, or an OTLP export that holds spans."""
    if isinstance(record.get("resourceSpans", record.get("resource_spans")), list):
        return True
    return any(name.startswith("gen_ai.") for name in _attributes(record))


def spans_in(record: Record) -> Iterator[Record]:
    """The spans of an OTLP export, or the record itself."""
    resources: object = record.get("resourceSpans", record.get("resource_spans"))
    if not as_list(resources):
        yield record
        return
    for resource in _records(resources):
        for scope in _records(resource.get("scopeSpans", resource.get("scope_spans"))):
            yield from _records(scope.get("spans"))


def by_trace(spans: Sequence[Record]) -> Iterator[Gathered]:
    """One run for each trace, its spans in order of their start."""
    traces: dict[str, list[Record]] = {}
    for span in spans:
        inner = as_record(span.get("context"))
        name = span.get("traceId", span.get("trace_id", inner.get("trace_id")))
        traces.setdefault(str(name), []).append(span)
    for name, found in traces.items():
        run = Gathered(session=None if name == "None" else name)
        _gather(run, sorted(found, key=_start))
        yield run


def _gather(run: Gathered, spans: Sequence[Record]) -> None:
    told = [_attributes(span) for span in spans]
    tools = [span for span in spans if _attributes(span).get("gen_ai.operation.name") == "execute_tool"]
    messages = [_messages(one.get("gen_ai.input.messages")) for one in told]
    if tools:
        first = next((one for one in messages if one), list[Record]())
        for message in first:
            if message.get("role") == "user":
                run.asked(text_of(message.get("parts", message.get("content"))))
        for span in tools:
            _add_tool(run, span)
        return
    longest = max(range(len(spans)), key=lambda at: (len(messages[at]), at), default=None)
    if longest is not None:
        for message in (*messages[longest], *_messages(told[longest].get("gen_ai.output.messages"))):
            _add_message(run, message)


def _add_tool(run: Gathered, span: Record) -> None:
    values = _attributes(span)
    call_id = values.get("gen_ai.tool.call.id")
    run.called(values.get("gen_ai.tool.name"), values.get("gen_ai.tool.call.arguments"), call_id)
    result = values.get("gen_ai.tool.call.result")
    text = result if isinstance(result, str) else text_of(result) or ("" if result is None else str(result))
    run.answered(text, call_id, error=_error(span, values, text))


def _error(span: Record, values: Record, text: str) -> str | None:
    inner = as_record(span.get("status"))
    code = inner.get("code", inner.get("status_code"))
    kind = values.get("error.type")
    if kind is None and code not in (2, "ERROR", "STATUS_CODE_ERROR"):
        return None
    for event in _records(span.get("events")):
        message = _attributes(event).get("exception.message")
        if message:
            return f"{_attributes(event).get('exception.type', kind or 'Error')}: {message}"
    said = inner.get("message", inner.get("description"))
    return str(said or text or kind or "error")


def _add_message(run: Gathered, message: Record) -> None:
    for part in _records(message.get("parts")):
        match part.get("type"):
            case "tool_call":
                run.called(part.get("name"), part.get("arguments"), part.get("id"))
            case "tool_call_response":
                answer = part.get("response", part.get("result"))
                run.answered(answer if isinstance(answer, str) else text_of(answer) or str(answer), part.get("id"))
            case "text" if message.get("role") == "user":
                run.asked(text_of(part))
            case "text" if message.get("role") == "assistant":
                run.told(text_of(part))
            case _:
                pass


def _messages(value: object) -> list[Record]:
    return list(_records(unpacked(value)))


def _records(value: object) -> Iterator[Record]:
    yield from filter(None, map(as_record, as_list(value)))


def _attributes(record: Record) -> Record:
    """A span's attributes, as a map or in OTLP's list of keys and typed values."""
    found: object = record.get("attributes")
    typed = {str(item.get("key")): _typed(item.get("value")) for item in _records(found)}
    return typed or as_record(found)


def _typed(value: object) -> object:
    """A value of OTLP: `{"stringValue": "x"}`, `{"intValue": "5"}`, lists and maps of them."""
    values = as_record(value)
    if len(values) != 1:
        return value
    ((kind, inner),) = values.items()
    match kind:
        case "arrayValue":
            return [_typed(item) for item in as_list(as_record(inner).get("values"))]
        case "kvlistValue":
            return {
                str(item.get("key")): _typed(item.get("value")) for item in _records(as_record(inner).get("values"))
            }
        case "intValue":
            return int(inner) if str(inner).lstrip("-").isdigit() else inner
        case _:
            return inner


def _start(span: Record) -> tuple[int, str]:
    """When a span began: nanoseconds as a number or text, or a time of ISO 8601, each sorted among its kind."""
    value = str(span.get("startTimeUnixNano", span.get("start_time_unix_nano", span.get("start_time", ""))))
    return (int(value), "") if value.isdigit() else (0, value)
