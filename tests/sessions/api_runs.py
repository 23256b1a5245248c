"""Forty runs in which a service refuses a call for the form of one argument and then accepts it in another form.

The half `developed` was at hand while the rules were written, the half `aside` was not.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple


class ApiRun(NamedTuple):
    """One run: `differs` names the arguments whose form was refused."""

    half: str
    tool: str
    refused: dict[str, Any]
    error: str
    accepted: dict[str, Any]
    answer: str
    differs: tuple[str, ...]
    next_task: str

    @property
    def values(self) -> tuple[str, ...]:
        """The accepted values of the arguments that differ: what another task has to replace by its own."""
        return tuple(str(self.accepted[name]) for name in self.differs if name in self.accepted)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The run as events of reflect."""
        calls = ((self.refused, {"error": self.error}), (self.accepted, {"content": self.answer}))
        return [
            event
            for sent, told in calls
            for event in (
                {"type": "tool_call", "tool_name": self.tool, "arguments": sent},
                {"type": "tool_response", "tool_name": self.tool, **told},
            )
        ]


RUNS = [
    ApiRun(**json.loads(line))
    for line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines()
]
