"""Runs from the files that agents leave behind, in any known form."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcp_reflect.analysis import transcript_records as codex
from mcp_reflect.analysis.agent_sessions import add_pi_line, is_pi_line, session_in
from mcp_reflect.analysis.transcript_records import Gathered, as_list, as_record, text_of, unpacked
from mcp_reflect.errors import InputError

# OpenTelemetry spans of generative AI, after the semantic conventions: gen_ai.* attributes.
#
# Tool calls are the spans whose operation is execute_tool. Where there are none, they are read off the
# messages of the last span that carries any.


Record_spans = Mapping[str, Any]


def is_spans(record: Record_spans) -> bool:
    """Whether a record is a span with gen_ai attributes, or an OTLP export that holds spans."""
    if isinstance(record.get("resourceSpans", record.get("resource_spans")), list):
        return True
    return any(name.startswith("gen_ai.") for name in _attributes(record))


def spans_in(record: Record_spans) -> Iterator[Record_spans]:
    """The spans of an OTLP export, or the record itself."""
    resources: object = record.get("resourceSpans", record.get("resource_spans"))
    if not as_list(resources):
        yield record
        return
    for resource in _records(resources):
        for scope in _records(resource.get("scopeSpans", resource.get("scope_spans"))):
            yield from _records(scope.get("spans"))


def by_trace(spans: Sequence[Record_spans]) -> Iterator[Gathered]:
    """One run for each trace, its spans in order of their start."""
    traces: dict[str, list[Record_spans]] = {}
    for span in spans:
        inner = as_record(span.get("context"))
        name = span.get("traceId", span.get("trace_id", inner.get("trace_id")))
        traces.setdefault(str(name), []).append(span)
    for name, found in traces.items():
        run = Gathered(session=None if name == "None" else name)
        _gather(run, sorted(found, key=_start))
        yield run


def _gather(run: Gathered, spans: Sequence[Record_spans]) -> None:
    told = [_attributes(span) for span in spans]
    tools = [span for span in spans if _attributes(span).get("gen_ai.operation.name") == "execute_tool"]
    messages = [_messages(one.get("gen_ai.input.messages")) for one in told]
    if tools:
        first = next((one for one in messages if one), list[Record_spans]())
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


def _add_tool(run: Gathered, span: Record_spans) -> None:
    values = _attributes(span)
    call_id = values.get("gen_ai.tool.call.id")
    run.called(values.get("gen_ai.tool.name"), values.get("gen_ai.tool.call.arguments"), call_id)
    result = values.get("gen_ai.tool.call.result")
    text = result if isinstance(result, str) else text_of(result) or ("" if result is None else str(result))
    run.answered(text, call_id, error=_error(span, values, text))


def _error(span: Record_spans, values: Record_spans, text: str) -> str | None:
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


def _add_message(run: Gathered, message: Record_spans) -> None:
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


def _messages(value: object) -> list[Record_spans]:
    return list(_records(unpacked(value)))


def _records(value: object) -> Iterator[Record_spans]:
    yield from filter(None, map(as_record, as_list(value)))


def _attributes(record: Record_spans) -> Record_spans:
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


def _start(span: Record_spans) -> tuple[int, str]:
    """When a span began: nanoseconds as a number or text, or a time of ISO 8601, each sorted among its kind."""
    value = str(span.get("startTimeUnixNano", span.get("start_time_unix_nano", span.get("start_time", ""))))
    return (int(value), "") if value.isdigit() else (0, value)


# Which form a file has, and the runs in it.
#
# Read are the arguments of `reflect` themselves, session files of Claude Code and Codex, message lists
# (OpenAI, Anthropic, LangChain), OpenTelemetry spans, and ReAct text.


Record_reading = dict[str, Any]
FIX: Final = "Give reflect's arguments, a session of Claude Code or Codex, messages, spans, or ReAct text."


@dataclass(frozen=True, slots=True)
class Found:
    """The runs of a file, each with where it stands (`line 3, `), and the lines that could not be read.

    A run that was read off a transcript has a `run_id`, which names the session and the content.
    """

    runs: list[tuple[str, Record_reading]]
    bad: list[str] = field(default_factory=list[str])


def read_transcript(text: str, outcome: str = "partial", session: str | None = None) -> Found:
    """The runs of a text. `outcome` is how they ended, which no transcript says; `session` overrides its own name.

    InputError where nothing can be read, or for a bad line among the arguments of `reflect`.
    """
    try:
        whole = json.loads(text)
    except RecursionError:
        raise InputError("file", "it is nested too deep", "Send flatter JSON.") from None
    except ValueError:
        numbered, bad = _lines(text)
        if not numbered:
            if codex.is_react(text):
                return Found(_named(codex.runs_in(text), outcome, session))
            raise InputError("file", bad[0] if bad else "it is empty", FIX) from None
        return _read(numbered, bad, "line", outcome, session)
    session_run = session_in(whole)
    if session_run is not None:
        return Found(_named([session_run], outcome, session))
    if isinstance(whole, dict):
        return _read([(1, cast("Record_reading", whole))], [], "", outcome, session)
    if not isinstance(whole, list):
        raise InputError("file", "it is neither an object nor a list", FIX)
    items: list[tuple[int, Record_reading]] = []
    for number, item in enumerate(cast("list[object]", whole), start=1):
        if not isinstance(item, dict):
            raise InputError(f"item {number}", "it is not a JSON object", "Give task, outcome and events.")
        items.append((number, cast("Record_reading", item)))
    return _read(items, [], "item", outcome, session)


def _lines(text: str) -> tuple[list[tuple[int, Record_reading]], list[str]]:
    """The lines that are JSON objects, numbered, and what is wrong with the others."""
    found: list[tuple[int, Record_reading]] = []
    bad: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            bad.append(f"line {number}: it is not JSON: {str(error)[:80]}")
            continue
        if isinstance(value, dict):
            found.append((number, cast("Record_reading", value)))
        else:
            bad.append(f"line {number}: it is not a JSON object")
    return found, bad


def _read(
    records: Sequence[tuple[int, Record_reading]], bad: list[str], place: str, outcome: str, session: str | None
) -> Found:
    """Take the form from the first record that has one; records that are none of that form are named as bad."""
    for test, take in _FORMS:
        if any(test(record) for _, record in records[:50]):
            runs = list(take(records, bad, place))
            return Found(_named(runs, outcome, session), bad)
    if any("messages" in record for _, record in records):
        return _conversations(records, bad, place, outcome, session)
    if bad:
        number, _, rest = bad[0].partition(": ")
        raise InputError(number, rest, "Give one JSON object a line.")
    return Found([(f"{place} {number}, " if place else "", record) for number, record in records])


def _conversations(
    records: Sequence[tuple[int, Record_reading]], bad: list[str], place: str, outcome: str, session: str | None
) -> Found:
    """One conversation a record, under `messages`."""
    found: list[tuple[str, Record_reading]] = []
    for number, record in records:
        run = Gathered()
        for message in as_list(record.get("messages")):
            codex.add_message(run, as_record(message))
        if not run.events:
            bad.append(f"{place} {number}: it holds no messages".strip())
        found += [(f"{place} {number}, " if place else "", one) for _, one in _named([run], outcome, session)]
    return Found(found, bad)


def _one_run(
    add: Callable[[Gathered, Mapping[str, Any]], None], test: Callable[[Mapping[str, Any]], bool]
) -> Callable[[Sequence[tuple[int, Record_reading]], list[str], str], Iterator[Gathered]]:
    def take(records: Sequence[tuple[int, Record_reading]], bad: list[str], place: str) -> Iterator[Gathered]:
        run = Gathered()
        for number, record in records:
            if not test(record):
                bad.append(f"{place} {number}: it is no record of this form")
                continue
            add(run, record)
        yield run

    return take


def _spans(records: Sequence[tuple[int, Record_reading]], bad: list[str], place: str) -> Iterator[Gathered]:
    del bad, place  # spans of other libraries stand among them
    yield from by_trace([span for _, record in records for span in spans_in(record)])


_FORMS: Final = (
    (codex.is_codex_line, _one_run(codex.add_codex_line, codex.is_codex_line)),
    (codex.is_claude_line, _one_run(codex.add_claude_line, lambda record: "type" in record)),
    (is_pi_line, _one_run(add_pi_line, lambda record: "type" in record)),
    (is_spans, _spans),
    (codex.is_item, _one_run(codex.add_item, lambda record: "type" in record)),
    (codex.is_message, _one_run(codex.add_message, codex.is_message)),
)


def _named(
    runs: Iterator[Gathered] | Sequence[Gathered], outcome: str, session: str | None
) -> list[tuple[str, Record_reading]]:
    """Each run with an id that names its session and content, so that the same one is known again."""
    found: list[tuple[str, Record_reading]] = []
    for gathered in runs:
        for run in gathered.runs(outcome):
            content = json.dumps(run, sort_keys=True, ensure_ascii=False, default=str)
            digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]
            found.append(("", {**run, "run_id": f"{(session or gathered.session or 'transcript')[:150]}#{digest}"}))
    return found
