"""The calls of a run, each with its answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import ErrorCategory, Event, EventType, Trace
from mcp_reflect.sessions.call_words import in_words
from mcp_reflect.sessions.faults import Fault, JudgedAnswer, fault_of_answer, fault_of_marked
from mcp_reflect.sessions.own_calls import is_own_tool
from mcp_reflect.sessions.tools import without_labels
from mcp_reflect.text.signature import exact_call, fingerprint

# Calls of one batch that wait for an answer without an id; agents send far fewer.
OPEN_CALLS: Final = 64

_CALL_IDS: Final = ("tool_call_id", "call_id", "tool_use_id", "toolUseId", "callId", "id")
_RESULTS: Final = (EventType.TOOL_RESPONSE, EventType.OBSERVATION, EventType.ERROR_EVENT)


@dataclass(kw_only=True, eq=False)
class CallWithAnswer:
    """A call and, once seen, its answer.

    `index` counts the calls of a run from 0, and `prompts_before` the messages of people before this one. `is_call` is
    False for an answer or error of which the trace has no call. `marked_failed`: the trace itself calls the answer an
    error. `facts` is the metadata of both events.
    """

    event_id: str
    tool: str
    arguments: Json
    prompts_before: int = 0
    index: int = 0
    is_call: bool = True
    answer_id: str | None = None
    answer: str = ""
    answered: bool = False
    error: str = ""
    marked_failed: bool = False
    facts: dict[str, Json] = field(default_factory=dict[str, Json])

    def answer_with(self, event: Event, content: str) -> None:
        """Note the answer in `event`."""
        self.answered = True
        self.answer_id = event.id
        self.answer = content
        if event.error or event.type is EventType.ERROR_EVENT:
            self.error = event.error or content or "error"
            self.marked_failed = True

    @property
    def failing_event(self) -> str:
        """The event in which a failure showed: the answer, or the call that carries its own."""
        return self.answer_id or self.event_id

    @property
    def text(self) -> str:
        """The call as it can stand in a sentence."""
        return in_words(self.tool, self.arguments)

    @cached_property
    def exact(self) -> str:
        """The call in its exact form."""
        return exact_call(self.tool, self.arguments)

    @cached_property
    def fault(self) -> Fault | None:
        """The fault of the call, or None where it worked or nothing is known of it."""
        if self.marked_failed:
            return fault_of_marked(self.tool, self.arguments, self.error, self.answer)
        if not self.answered:
            return None
        return fault_of_answer(
            JudgedAnswer(
                text=self.answer,
                tool=self.tool,
                arguments=self.arguments,
                facts=self.facts,
                has_call=self.is_call,
            )
        )

    @property
    def failed(self) -> bool:
        """True where it failed, or found nothing."""
        return self.fault is not None

    @property
    def worked(self) -> bool:
        """True where it was answered without a failure. A call without an answer neither worked nor failed."""
        return self.fault is None and self.answered and self.is_call

    @property
    def category(self) -> ErrorCategory | None:
        """The category of its error, None where it has none."""
        if self.fault is None:
            return None
        return self.fault.category

    @property
    def empty(self) -> bool:
        """True for a search that found nothing, which is less than an error."""
        return self.fault is not None and self.fault.stated is ErrorCategory.NO_RESULT

    @property
    def headline(self) -> str:
        """The line that names the error, empty where there is none."""
        if self.fault is None:
            return ""
        return self.fault.headline

    @cached_property
    def fingerprint(self) -> str:
        """The headline without what changes from run to run, so that one error is known again."""
        return fingerprint(self.headline)


def answered_call(
    tool: str, arguments: Json, answer: str, *, failed: bool, code: int | None
) -> CallWithAnswer:
    """Return a call of a session's file with its answer.

    `failed`: the host marks the answer as an error; `code` is the exit code that it tells, None for none.
    """
    call = CallWithAnswer(
        event_id="",
        tool=tool,
        arguments=arguments,
        answer=answer,
        answered=True,
        marked_failed=failed,
    )
    if failed:
        call.error = answer or "error"
    if code is not None:
        call.facts["exit_code"] = code
    return call


def calls_of(trace: Trace) -> list[CallWithAnswer]:
    """The calls of a run in the order in which they were made, each with its answer; those of this server are left out.

    An answer belongs to the call that it names by an id, else to the first open call of its tool. One without any call
    counts as a call of its own, since it may tell a failure.
    """
    gathered = _CallsOfTrace(answers_stand_apart=_has_answers_apart(trace.events))
    for event in trace.events:
        gathered.add(event)
    calls = [call for call in gathered.calls if not is_own_tool(call.tool, call.arguments)]
    for index, call in enumerate(calls):
        call.index = index
    return calls


def _has_answers_apart(events: Sequence[Event]) -> bool:
    """True where answers are events of their own, so that the content of a call describes it."""
    return any(event.type in _RESULTS and event.arguments is None for event in events)


@dataclass(slots=True, kw_only=True)
class _CallsOfTrace:
    """The calls of a trace as they are gathered from its events.

    `_batch` has the calls that wait for an answer, in their order. Agents send several calls at once, and their answers
    come afterwards: the first call behind an answer opens the next batch.
    """

    answers_stand_apart: bool
    calls: list[CallWithAnswer] = field(default_factory=list[CallWithAnswer])
    _batch: list[CallWithAnswer] = field(default_factory=list[CallWithAnswer])
    _batch_is_answered: bool = False
    _by_id: dict[str, CallWithAnswer] = field(default_factory=dict[str, CallWithAnswer])
    _prompts: int = 0

    def add(self, event: Event) -> None:
        """Take an event; the first row that fits decides.

        | the event                                                     | is taken as                  |
        |---------------------------------------------------------------|------------------------------|
        | a result, for which a call waits                              | the answer of that call      |
        | a call, or anything with a tool and arguments                 | a call                       |
        | a result without a call, or anything with an error            | an answer without a call     |
        | any other                                                     | nothing                      |
        """
        if event.type is EventType.USER_FEEDBACK:
            self._prompts += 1
        is_result = event.type in _RESULTS
        if is_result:
            call = self._answered_call(event)
            if call is not None:  # also where the answer repeats its call's arguments
                self._answer(call, event)
                return
        if event.type is EventType.TOOL_CALL or (event.tool and event.arguments is not None):
            self._add_call(event, is_result=is_result)
        elif is_result:
            self._add_lone_answer(event, event.tool or "")
        elif event.error:
            self._add_lone_answer(event, "")

    def _answered_call(self, event: Event) -> CallWithAnswer | None:
        """The open call that an event answers: the one that it names, else the first of its tool in the batch."""
        for key in _ids_in(event):
            named = self._by_id.get(key)
            if named is not None and not named.answered:
                return named
        for call in self._batch:
            if event.tool is None or call.tool.lower() == event.tool.lower():
                return call
        return None

    def _answer(self, call: CallWithAnswer, event: Event) -> None:
        """Give a call its answer; it waits no longer."""
        self._batch = [waiting for waiting in self._batch if waiting is not call]
        self._batch_is_answered = True
        call.facts.update(event.metadata)
        call.answer_with(event, event.content)

    def _add_call(self, event: Event, *, is_result: bool) -> None:
        """Take a call, which waits for its answer unless it carries it."""
        if self._batch_is_answered:
            self._batch = []
        self._batch_is_answered = False
        is_described = self.answers_stand_apart and not is_result
        call = _call_in(event, self._prompts, is_described=is_described)
        self.calls.append(call)
        if call.answered:
            return
        self._batch = [*self._batch, call][-OPEN_CALLS:]
        for key in (event.id, *_ids_in(event)):
            self._by_id.setdefault(key, call)

    def _add_lone_answer(self, event: Event, tool: str) -> None:
        """Take an answer or error of which the trace has no call: a failure counts all the same."""
        answer = CallWithAnswer(
            event_id=event.id,
            tool=tool,
            arguments=None,
            prompts_before=self._prompts,
            is_call=False,
        )
        answer.facts = dict(event.metadata)
        answer.answer_with(event, event.content)
        self.calls.append(answer)


def _call_in(event: Event, prompts_before: int, *, is_described: bool) -> CallWithAnswer:
    """The call in an event, of which the content may be three things.

    | the event                                                    | its content is             |
    |--------------------------------------------------------------|----------------------------|
    | `is_described`: answers stand in events of their own         | a description of the call  |
    | without arguments, and without a tool or with an error       | the call in words          |
    | any other                                                    | the answer                 |
    """
    stands_for_arguments = event.arguments is None and (event.tool is None or bool(event.error))
    tool = event.tool or ""
    arguments = event.arguments
    content = event.content
    if is_described or stands_for_arguments:
        content = ""
        if arguments is None:
            arguments = event.content or None
    call = CallWithAnswer(
        event_id=event.id,
        tool=tool,
        arguments=without_labels(tool, arguments),
        prompts_before=prompts_before,
    )
    call.facts = dict(event.metadata)
    if event.error or content:
        call.answer_with(event, content)
    return call


def _ids_in(event: Event) -> Iterator[str]:
    """The ids in an event's metadata that may name a call: each host has a name of its own for them."""
    for key in _CALL_IDS:
        value = event.metadata.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            yield str(value)
