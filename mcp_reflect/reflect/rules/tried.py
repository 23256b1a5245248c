"""A call together with what became of it: the form in which the other rules read a trace."""

from dataclasses import dataclass

from mcp_reflect.models.run import Trace
from mcp_reflect.reflect.rules.calls import Call, calls_of
from mcp_reflect.reflect.rules.faults import Fault, fault_of
from mcp_reflect.reflect.rules.words import call_text
from mcp_reflect.signature import exact_call, fingerprint


@dataclass(slots=True, kw_only=True, eq=False)
class Tried:
    """A call, its exact form, and its fault where it failed. `index` counts calls from 0."""

    index: int
    call: Call
    exact: str
    fault: Fault | None
    fingerprint: str = ""

    @property
    def failed(self) -> bool:
        return self.fault is not None

    @property
    def worked(self) -> bool:
        """It was answered, and the answer is no failure. A call without an answer neither worked nor failed."""
        return self.fault is None and self.call.answered and self.call.made

    @property
    def failing_event(self) -> str:
        """The event in which the failure showed: the answer, or the call that carries its own."""
        return self.call.answer_id or self.call.event_id

    @property
    def text(self) -> str:
        """The call as it can stand in a sentence."""
        return call_text(self.call.tool or "an event", self.call.arguments)


def tried_calls(trace: Trace) -> list[Tried]:
    """Every call of the trace in order."""
    return [_tried(index, call) for index, call in enumerate(calls_of(trace))]


def _tried(index: int, call: Call) -> Tried:
    fault = fault_of(call)
    return Tried(
        index=index,
        call=call,
        exact=exact_call(call.tool, call.arguments),
        fault=fault,
        fingerprint=fingerprint(fault.headline) if fault else "",
    )
