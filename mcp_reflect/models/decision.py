"""A decision of an agent, its execution, and the result of checking both."""

from dataclasses import dataclass
from enum import StrEnum

ACTIONS = ("keep", "kill", "marry")
"""What may be decided where the caller names nothing else."""


class Check(StrEnum):
    """What is checked, in this order; the first that fails ends it."""

    PRESENCE = "presence"
    STATE_ERRORS = "state_errors"
    STRUCTURE = "structure"
    REQUIRED_FIELDS = "required_fields"
    ALLOWED_ACTION = "allowed_action"
    SAME_COMPONENT = "same_component"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One check that was run; `detail` says what is wrong, null where it passed."""

    check: Check
    passed: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What the checks say. `failed_check` is null where all passed.

    `reflection_success` is false where a language model was to reflect and failed, true where a reflection
    was made, null where none was tried.
    """

    valid: bool
    failed_check: Check | None = None
    checks: tuple[Checked, ...] = ()
    reflection_success: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision that passed its checks: what to do with which component. `action` is in lower case."""

    action: str
    component: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A metric of the execution; null is not known. `given` is what the caller sent where that is no number."""

    name: str
    value: float | None = None
    before: float | None = None
    threshold: float | None = None
    given: str | None = None
