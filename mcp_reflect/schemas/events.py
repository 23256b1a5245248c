"""The events of a run, read from whatever form agents send them in."""

import re
from collections.abc import Sequence
from itertools import count
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import BeforeValidator, Field, JsonValue, ValidationInfo

from mcp_reflect.models.common import to_json
from mcp_reflect.models.run import EventType
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.event_errors import are_messages, read_error
from mcp_reflect.schemas.fields import Arguments, ReadContext, normalized, parsed, without_class
from mcp_reflect.schemas.reading import field_of

Content = Annotated[str, BeforeValidator(fields.as_text)]

_EVENT_TYPES: Final = fields.meanings(
    {
        "tool_call": "call tool_use function_call action command tool invocation request",
        "tool_response": "response result output tool_result function_call_output tool_output return",
        "error_event": "error exception failure crash",
        "llm_call": "assistant llm model message thought text llm_response",
        "user_feedback": "user human feedback user_message correction",
        "system_event": "system info log",
        "decision": "plan choice",
        "observation": "note observe finding",
    }
)
START_SHARE: Final = 5
"""One part in so many of a limit is for the start of a run, where the plan is, the rest for its end."""

_COMMAND: Final = re.compile(r"^\s*\$ (?P<command>.+)")
_NO_OUTPUT: Final = "(no output)"
_NAMES_OF_ARGUMENTS: Final = ("arguments", "args", "parameters", "params", "tool_input")
_VALUES_FOR_NO_ERROR: Final = (False, "", "none", "None", "null")
_MAX_EXIT_CODE_DIGITS: Final = 9


class EventArguments(Arguments):
    """One thing that happened in a run. Unknown fields are kept in `metadata`."""

    ALIASES: ClassVar = {
        "event_id": "id",
        "event_type": "type",
        "tool_name": "tool",
        "error_message": "error",
    }
    SYNONYMS: ClassVar = {
        "type": "kind role",
        "tool": "name function function_name action",
        "arguments": "args input inputs params parameters kwargs tool_input",
        "content": "output result response stdout text message observation data tool_output",
        "error": "stderr exception traceback failure",
        "id": "call_id tool_call_id tool_use_id",
        "timestamp": "time ts created_at",
        "exit_code": "exit_code exitcode returncode return_code exit_status",
        "command": "command cmd shell",
    }

    type: EventType
    content: Content = ""
    tool: fields.Label | None = None
    arguments: JsonValue = None
    error: Content | None = None
    id: fields.Label | None = None
    timestamp: str | float | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


def as_events(value: Any, info: ValidationInfo) -> Any:
    """Return events under our names, each with a type and an id of its own.

    [{"function": "bash", "input": {"command": "make"}}, "no rule for docs"] becomes
    [{"id": "e1", "type": "tool_call", "tool": "bash", "arguments": {"command": "make"}},
    {"id": "e2", "type": "tool_response", "content": "no rule for docs"}].

    An empty event is left out and noted, except for an empty response: a command that works is often silent. Of a very
    long run the middle is not read: `ReadContext.unread` has its length.
    """
    context = ReadContext.of(info)
    sent_items = _listed_events(parsed(value, context))
    if sent_items is None:
        return value
    events: list[dict[str, Any]] = []
    ids: set[str] = set()
    empty_paths: list[str] = []
    unread = _middle_of(sent_items, context)
    for index, item in enumerate(sent_items):
        if index in unread:
            continue
        unread_before = 0
        if index >= unread.stop:
            unread_before = len(unread)
        earlier_events = events
        if index == unread.stop:  # the item behind the unread ones follows no known event
            earlier_events = []
        for event in _events_of(parsed(to_json(item), context), context, earlier_events):
            if _is_empty(event):
                if event["type"] != EventType.TOOL_RESPONSE:
                    empty_paths.append(f"events[{index}]")
                    continue
                event["content"] = _NO_OUTPUT
            number = unread_before + len(events) + 1
            events.append(_with_unique_id(event, number, ids))
    if empty_paths:
        context.ignored.append(_note_on_empty(empty_paths))
    return events


def _note_on_empty(paths: Sequence[str]) -> str:
    """Return one note that names all empty events, since a note for each would be cut."""
    verb = "they have"
    if len(paths) == 1:
        verb = "it has"
    return f"{', '.join(paths)}: {verb} neither content, tool nor error"


def _middle_of(sent: Sequence[Any], context: ReadContext) -> range:
    """Return the indices that are not read of a very long run, of which the middle is cut all the same.

    An item is an event or two: so many items as there may be events are enough, and twice as many are never too long to
    read, as this reads its own answer once more.
    """
    context.limits.refuse_more("max_sent_events", "events", len(sent), "items")
    most = context.limits.max_events
    if len(sent) <= 2 * most:
        return range(0)
    first = most // START_SHARE
    middle = range(first, len(sent) - (most - first))
    context.unread["events"] = len(middle)
    return middle


def _listed_events(value: Any) -> list[Any] | None:
    """Return the events as a list: a single one, the lines of a terminal ("$ make"), or a list; None of anything else."""
    if isinstance(value, dict):
        return [value]
    if isinstance(value, str):
        if _COMMAND.match(value):
            return [*value.splitlines()]
        return [value]
    if isinstance(value, list | tuple):
        return list(cast("list[Any]", value))
    return None


def _is_empty(event: dict[str, Any]) -> bool:
    """Return whether an event has neither content, tool nor error."""
    return not any(str(event.get(name) or "").strip() for name in ("content", "tool", "error"))


def _with_unique_id(event: dict[str, Any], number: int, ids: set[str]) -> dict[str, Any]:
    """Return the event with an id that none of `ids` is, and add it to these; without an id it gets its `number`.

    A response often has the id of its call: the second `call_7` becomes `call_7-2`, and its metadata has the
    `tool_call_id` `call_7`.
    """
    sent_id = str(event.get("id") or f"e{number}")
    unique_id = sent_id
    for copy in count(2):
        if unique_id not in ids:
            break
        unique_id = f"{sent_id}-{copy}"
    ids.add(unique_id)
    if unique_id != sent_id:
        event["metadata"] = {**event.get("metadata", {}), "tool_call_id": sent_id}
    return {**event, "id": unique_id}


def _events_of(
    item: Any, context: ReadContext, earlier_events: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the events of an item that was sent; a call may tell what the item behind it is.

    {"tool": "ls", "arguments": {}, "content": "a.txt"} -> a tool_call and a tool_response, since both were sent as one.
    """
    is_after_call = False
    if earlier_events:
        is_after_call = earlier_events[-1].get("type") == EventType.TOOL_CALL
    if not isinstance(item, dict):
        return [_event_of_text(fields.as_text(item), is_after_call=is_after_call)]
    event = _named_event(cast("dict[Any, Any]", item))
    _read_values(event, context)
    if _is_call_with_result(event):
        call = _fields_of(event, ("id", "tool", "arguments", "timestamp"))
        result = _fields_of(event, ("tool", "content", "error", "metadata", "timestamp"))
        return [{"type": "tool_call", **call}, {"type": "tool_response", **result}]
    kind = event.get("type") or _missing_type(event, is_after_call=is_after_call)
    return [{**event, "type": kind}]


def _event_of_text(text: Any, *, is_after_call: bool) -> dict[str, Any]:
    """Return the event of a line: "$ make" is a call, a line after a call its response, any other an observation."""
    command = _COMMAND.match(str(text))
    if command:
        return {
            "type": "tool_call",
            "tool": "bash",
            "arguments": {"command": command["command"]},
        }
    if is_after_call:
        return {"type": "tool_response", "content": text}
    return {"type": "observation", "content": text}


def _has_ended(event: dict[str, Any]) -> bool:
    """Return whether an event is of a call that ended: it has an error, or an exit code, which only such an event has."""
    return bool(event.get("error")) or "exit_code" in event.get("metadata", {})


def _is_call_with_result(event: dict[str, Any]) -> bool:
    """Return whether a call and its result were sent as one event.

    | the event                                 | was sent as one                                 |
    |-------------------------------------------|-------------------------------------------------|
    | has no arguments                          | no                                              |
    | has no type, and an error or exit code    | yes                                             |
    | has no type, and a content                | yes                                             |
    | is typed as a call, and has an error      | yes                                             |
    | is typed as a call, and has a content     | no: the content may be the agent's own words    |
    """
    if event.get("arguments") is None:
        return False
    kind = event.get("type")
    if kind is None:
        return _has_ended(event) or bool(event.get("content"))
    return kind == EventType.TOOL_CALL and _has_ended(event)


def _missing_type(event: dict[str, Any], *, is_after_call: bool) -> str:
    """Return the type of an event that does not say it; the first row that fits decides.

    | the event                                                                  | its type      |
    |----------------------------------------------------------------------------|---------------|
    | has arguments                                                              | tool_call     |
    | has neither content, error nor exit code, and is no empty answer to a call | tool_call     |
    | names a tool, or follows a call                                            | tool_response |
    | has an error or an exit code                                               | error_event   |
    | any other                                                                  | observation   |
    """
    has_ended = _has_ended(event)
    is_answer = is_after_call and "content" in event
    is_result = has_ended or bool(event.get("content")) or is_answer
    if event.get("arguments") is not None or not is_result:
        return "tool_call"
    if event.get("tool") or is_after_call:
        return "tool_response"
    if has_ended:
        return "error_event"
    return "observation"


def _fields_of(event: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of some fields that an event has."""
    return {name: event[name] for name in names if name in event}


def _named_event(item: dict[Any, Any]) -> dict[str, Any]:
    """Return an event under our names; its `metadata` has the rest: unknown fields, the exit code, the command.

    {"kind": "call", "function": "bash", "args": {…}, "exitcode": 1} becomes
    {"type": "tool_call", "tool": "bash", "arguments": {…}, "metadata": {"exit_code": 1}}.
    """
    if item.get("role") in ("user", "human") and "tool" not in str(item.get("type")):
        item = {**item, "type": EventType.USER_FEEDBACK.value}
    event, metadata = _fields_and_metadata(item)
    if not isinstance(event.get("timestamp", ""), str | int | float):
        metadata["timestamp"] = event.pop("timestamp")
    tool = metadata.get("tool") or metadata.get("tool_name")
    if isinstance(tool, str):
        event.setdefault("tool", tool)
    event, metadata = _with_arguments(event, metadata)
    word = normalized(without_class(str(event.get("type", ""))))
    if word in {*EventType} or word in _EVENT_TYPES:
        event["type"] = _EVENT_TYPES.get(word, word)
    elif "type" in event:
        metadata["type"] = event.pop("type")
    if metadata:
        event["metadata"] = metadata
    return event


def _fields_and_metadata(item: dict[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of an event by our names, the first of each, and all else as its metadata."""
    event: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for key, value in item.items():
        if value is None:
            continue
        name = str(key)
        our_name = field_of(EventArguments, name) or name
        if our_name in EventArguments.model_fields and our_name not in event:
            event[our_name] = value
        elif our_name in ("exit_code", "command"):
            others[our_name] = value
        else:
            others[name] = value
    metadata = event.pop("metadata", {})
    if not isinstance(metadata, dict):
        metadata = {"metadata": metadata}
    return event, {**cast("dict[str, Any]", metadata), **others}


def _with_arguments(
    event: dict[str, Any], metadata: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the event with the arguments that stand in its metadata, and the metadata that goes with it.

    | the event                                      | its arguments        | its metadata                 |
    |------------------------------------------------|----------------------|------------------------------|
    | has arguments                                  | these                | stays                        |
    | has an object named as one: {"params": {…}}    | that object          | stays                        |
    | has a command: {"command": "make"}             | {"command": "make"}  | loses the command            |
    | any other                                      | none                 | stays                        |

    A command is one of `bash` where the event names no tool.
    """
    if "arguments" in event:
        return event, metadata
    for name in _NAMES_OF_ARGUMENTS:
        if isinstance(metadata.get(name), dict):
            return {**event, "arguments": metadata[name]}, metadata
    if "command" not in metadata:
        return event, metadata
    others = {name: value for name, value in metadata.items() if name != "command"}
    arguments = {"command": metadata["command"]}
    return {**event, "tool": event.get("tool", "bash"), "arguments": arguments}, others


def _read_values(event: dict[str, Any], context: ReadContext) -> None:
    """Read the values of an event in place, each in the forms in which agents send it.

    | field     | sent as                                  | becomes                                   |
    |-----------|------------------------------------------|-------------------------------------------|
    | tool      | {"name": "bash", "arguments": …}         | "bash", and its arguments                 |
    | arguments | '{"command": "make"}'                    | {"command": "make"}                       |
    | exit code | "2"                                      | 2                                         |
    | error     | true                                     | the content, or "error"                   |
    | error     | false, "" or "none"                      | no error                                  |
    | error     | [{"message": "a"}, {"message": "b"}]     | "a; b"                                    |
    | error     | {"message": "a", "code": 7}              | "a (7)" (`event_errors.read_error`)       |
    """
    if isinstance(event.get("tool"), dict):  # {"function": {"name": ..., "arguments": ...}}
        function = cast("dict[str, Any]", event["tool"])
        event["tool"] = function.get("name")
        event.setdefault("arguments", function.get("arguments"))
    if "arguments" in event:
        event["arguments"] = parsed(event["arguments"], context)
    exit_code = str(event.get("metadata", {}).get("exit_code", "")).strip()
    if exit_code.lstrip("-").isdigit() and len(exit_code) <= _MAX_EXIT_CODE_DIGITS:
        event["metadata"]["exit_code"] = int(exit_code)
    content = str(event.get("content") or "")
    if event.get("error") is True:  # {"error": true, "content": "..."}
        event["error"] = content or "error"
    elif event.get("error") in _VALUES_FOR_NO_ERROR:
        del event["error"]
    elif are_messages(event.get("error")):
        event["error"] = "; ".join(str(item["message"]) for item in event["error"])
    elif isinstance(event.get("error"), dict):
        read_error(event, cast("dict[str, Any]", event["error"]), content)
