"""Calls paired with their answers, from the events of a run."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.analysis.tools import without_labels
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Event, EventType, Trace
from mcp_reflect.patterns import lazy_compile

TEXT_LIMIT: Final = 6_000  # characters of a message that are looked at for an action
OPEN_CALLS: Final = 64  # calls of one batch that wait for an answer without an id; agents send far fewer

_BARE = lazy_compile(r"(?s)^\s{0,20}([A-Za-z][A-Za-z_]{1,30})\[(.{0,4000})\]\s{0,20}$")
_LABELLED = lazy_compile(r"(?im)^[ \t]{0,20}(?:action|act)[ \t]{0,4}\d{0,3}[ \t]{0,4}:[ \t]{0,20}(\S[^\n]{0,4000})$")
_INPUT = lazy_compile(r"(?im)^[ \t]{0,20}action[ _]input[ \t]{0,4}\d{0,3}[ \t]{0,4}:[ \t]{0,20}(\S[^\n]{0,4000})$")
_NAME = lazy_compile(r"^[A-Za-z_][\w.-]{0,60}$")
_CALL_IDS: Final = ("tool_call_id", "call_id", "tool_use_id", "toolUseId", "callId", "id")
_RESULTS: Final = (EventType.TOOL_RESPONSE, EventType.OBSERVATION, EventType.ERROR_EVENT)


def bare_action(content: str) -> tuple[str, str] | None:
    """Tool and argument of a text that is one action: `Search[Nick Park]`. `Search[a], Search[b]` is one, as sent."""
    match = _BARE.match(content) if len(content) <= TEXT_LIMIT else None
    return (match[1], match[2]) if match else None


def action_in(content: str) -> tuple[str, str] | None:
    """Tool and argument of a text that is an action, or of its last line `Action: ...` (with `Action Input: ...`)."""
    whole, text = bare_action(content), content[-TEXT_LIMIT:]
    lines, inputs = _LABELLED.findall(text), _INPUT.findall(text)
    if whole or not lines:
        return whole
    line = str(lines[-1]).strip()
    return (line, str(inputs[-1]).strip().strip('"')) if inputs and _NAME.match(line) else bare_action(line)


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """A call and, once seen, its answer.

    `made` is False for an answer or error that stands alone; `spoken` counts what people had said by then; `facts` is
    the metadata of both events; `marked` says that the trace itself calls it an error.
    """

    event_id: str
    tool: str
    arguments: Json
    spoken: int
    made: bool = True
    answer_id: str | None = None
    answer: str = ""
    answered: bool = False
    error: str = ""
    marked: bool = False
    facts: dict[str, Json] = field(default_factory=dict[str, Json])

    @property
    def event_ids(self) -> tuple[str, ...]:
        """The call's event, and its answer's where that is another."""
        return tuple(dict.fromkeys(name for name in (self.event_id, self.answer_id) if name is not None))

    def answer_with(self, event: Event, content: str) -> None:
        """Note the answer in `event`."""
        self.answered, self.answer_id, self.answer = True, event.id, content
        if event.error or event.type is EventType.ERROR_EVENT:
            self.error, self.marked = event.error or content or "error", True


def calls_of(trace: Trace) -> list[Call]:
    """The calls in the order in which they were made, with answers that stand alone among them."""
    reader = _Reader(trace)
    for event in trace.events:
        reader.read(event)
    return reader.calls


class _Reader:
    """One pass over the events. Answers find their call by id, else by tool and order within the open batch."""

    def __init__(self, trace: Trace) -> None:
        # Where answers are events of their own, the content of a call describes it.
        self._answers_apart = any(e.type in _RESULTS[:2] and e.arguments is None for e in trace.events)
        self._read_texts = all(e.type is not EventType.TOOL_CALL for e in trace.events)
        self.calls: list[Call] = []
        self._open: deque[Call] = deque(maxlen=OPEN_CALLS)
        self._by_id: dict[str, Call] = {}
        self._batch_answered = False
        self._spoken = 0

    def read(self, event: Event) -> None:
        """Take the next event."""
        result = event.type in _RESULTS
        self._spoken += event.type is EventType.USER_FEEDBACK
        # An answer that repeats its call's arguments belongs to that call, if one is open.
        own = event.tool and event.arguments is not None and not (result and self._call_for(event))
        if event.type is EventType.TOOL_CALL or own:
            self._add_call(event, *self._named(event))
        elif result:
            self._add_answer(event)
        elif (
            event.type in (EventType.LLM_CALL, EventType.DECISION)
            and self._read_texts
            and (action := action_in(event.content))
        ):
            self._add_call(event, *action, "")
        elif event.error:
            self._add_alone(event)

    def _named(self, event: Event) -> tuple[str, Json, str]:
        """Tool, arguments, and the part of the content that is an answer."""
        action = bare_action(event.content)
        if event.tool is None:
            return (action[0], action[1], "") if action else ("tool", event.content or None, "")
        if action and action[0].lower() == event.tool.lower():
            return event.tool, action[1] if event.arguments is None else event.arguments, ""
        described = event.type not in _RESULTS and self._answers_apart
        if described or (event.arguments is None and event.error):
            return event.tool, event.content or None if event.arguments is None else event.arguments, ""
        return event.tool, event.arguments, event.content

    def _add_call(self, event: Event, tool: str, arguments: Json, content: str) -> None:
        if self._batch_answered:
            self._open.clear()
            self._batch_answered = False
        arguments = without_labels(tool, arguments)
        call = Call(event_id=event.id, tool=tool, arguments=arguments, spoken=self._spoken)
        call.facts.update(event.metadata)
        self.calls.append(call)
        if event.error or content:
            call.answer_with(event, content)
            return
        self._open.append(call)
        for key in (event.id, *_ids(event)):
            self._by_id.setdefault(key, call)

    def _add_answer(self, event: Event) -> None:
        call = self._call_for(event)
        if call is None:
            self._add_alone(event)
            return
        if call in self._open:
            self._open.remove(call)
        self._batch_answered = True
        call.facts.update(event.metadata)
        call.answer_with(event, event.content)

    def _call_for(self, event: Event) -> Call | None:
        by_id = (self._by_id.get(key) for key in _ids(event))
        named = next((call for call in by_id if call is not None and not call.answered), None)
        same_tool = (call for call in self._open if event.tool is None or call.tool.lower() == event.tool.lower())
        return named or next(same_tool, None)

    def _add_alone(self, event: Event) -> None:
        tool = event.tool or ""
        call = Call(event_id=event.id, tool=tool, arguments=None, spoken=self._spoken, made=False)
        call.facts.update(event.metadata)
        call.answer_with(event, event.content)
        self.calls.append(call)


def _ids(event: Event) -> Iterator[str]:
    for key in _CALL_IDS:
        value = event.metadata.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            yield str(value)
