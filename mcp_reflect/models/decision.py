"""A decision of an agent, its execution, and the result of checking both."""

from dataclasses import dataclass
from enum import StrEnum

ACTIONS = ("keep", "kill", "marry")
"""The allowed actions where the caller names none."""


class Check(StrEnum):
    """The checks of a decision, in order; the first that fails ends them."""

    PRESENCE = "presence"
    STATE_ERRORS = "state_errors"
    STRUCTURE = "structure"
    REQUIRED_FIELDS = "required_fields"
    ALLOWED_ACTION = "allowed_action"
    SAME_COMPONENT = "same_component"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of one check; `detail` is the fault where it failed."""

    check: Check
    passed: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The results of the checks. `reflection_success` is False where a language model failed to reflect."""

    valid: bool
    failed_check: Check | None = None
    checks: tuple[Checked, ...] = ()
    reflection_success: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision that passed its checks. `action` is in lower case."""

    action: str
    component: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A metric of the execution; None: unknown. `given` is the value that was sent if it is not a number."""

    name: str
    value: float | None = None
    before: float | None = None
    threshold: float | None = None
    given: str | None = None
