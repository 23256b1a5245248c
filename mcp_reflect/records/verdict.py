"""What checking a piece of work against evidence said."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What is known of a claim: contradicted by evidence is fail, merely unsupported is unchecked."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Evidence: what a tool printed or returned, and its exit code where it had one."""

    content: str
    tool: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One checker's word on one claim of one step. Steps count from 1."""

    step: int
    status: Status
    checker: str
    claim: str
    expected: str | None = None
    detail: str | None = None
