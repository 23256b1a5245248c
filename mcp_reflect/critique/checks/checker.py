"""What every checker is given and what it returns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from mcp_reflect.models.critique import Status, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work to check: what was asked, the steps of the answer, and the evidence for it.

    `decided` is the component or tool that was decided on and `executed` the one that ran, where the
    caller said so.
    """

    goal: str
    steps: tuple[str, ...]
    tool_results: tuple[ToolResult, ...] = ()
    decided: str | None = None
    executed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A computed replacement: characters `start` to `end` of the step become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One claim that a checker looked at. Steps count from 1; `claim` quotes the step."""

    step: int
    status: Status
    claim: str
    expected: str | None = None
    detail: str | None = None
    fix: Fix | None = None


class Checker(Protocol):
    """A pure function of the work with a name. It says nothing of steps it does not understand."""

    @property
    def name(self) -> str: ...

    def check(self, work: Work) -> Iterable[Finding]: ...
