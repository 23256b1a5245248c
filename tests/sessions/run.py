"""Short ways to write a trace in a test. Calls and answers are numbered e1, e2, ... as they are added."""

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Event, EventType, Outcome, RunError, Trace


class Run:
    """A trace under construction: `Run().call("bash", {"command": "ls"}, "a.txt").trace()`."""

    def __init__(self, task: str = "Do the task") -> None:
        self.task = task
        self.events: list[Event] = []

    def call(
        self, tool: str, arguments: Json, answer: str | None = None, *, error: str | None = None
    ) -> "Run":
        """A call and its answer, as two events; without an answer, only the call."""
        self._add(EventType.TOOL_CALL, tool=tool, arguments=arguments)
        if answer is not None or error is not None:
            self._add(EventType.TOOL_RESPONSE, tool=tool, content=answer or "", error=error)
        return self

    def bash(self, command: str, answer: str | None = None) -> "Run":
        return self.call("bash", {"command": command}, answer)

    def text(self, action: str, observation: str | None = None) -> "Run":
        """A call as `Search[Nick Park]`, and its observation."""
        tool, _, argument = action.removesuffix("]").partition("[")
        self._add(EventType.TOOL_CALL, tool=tool, arguments=argument)
        if observation is not None:
            self._add(EventType.OBSERVATION, content=observation)
        return self

    def says(self, kind: EventType, content: str) -> "Run":
        self._add(kind, content=content)
        return self

    def trace(self, outcome: Outcome = Outcome.FAILURE, error: RunError | None = None) -> Trace:
        return Trace(task=self.task, outcome=outcome, events=tuple(self.events), error=error)

    def _add(
        self,
        kind: EventType,
        *,
        content: str = "",
        tool: str | None = None,
        arguments: Json = None,
        error: str | None = None,
    ) -> None:
        event_id = f"e{len(self.events) + 1}"
        self.events.append(
            Event(
                id=event_id, type=kind, content=content, tool=tool, arguments=arguments, error=error
            )
        )
