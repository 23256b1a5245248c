"""The checks of a decision and of how it was carried out, in their order, up to the first that fails."""

from collections.abc import Mapping, Sequence
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import ACTIONS, Checked, Decision, Validation

LONGEST: Final = 200
"""Characters of an action or a component."""
_SHOWN: Final = 80  # characters of a sent value in a fault


def validate(
    decision: Json,
    execution: Json,
    allowed: Sequence[str] = ACTIONS,
    state: Mapping[str, Json] | None = None,
) -> Validation:
    """Run the checks in their order, up to the first that fails. The errors of a `state` of a graph count."""
    made, done = record_of(decision), record_of(execution)
    objects = {
        "decision": decision,
        "execution": execution,
        "execution.metrics": done.get("metrics"),
    }
    errors = {name: value.get("error") or value.get("error_message") for name, value in
              (("state", state or {}), ("decision", made), ("execution", done))}  # fmt: skip
    action, component = one_line(made.get("action")).lower(), one_line(made.get("component"))
    used = one_line(done.get("component") or component)  # an execution need not name it
    absent = (
        "There is no decision." if execution is None else "There is an execution and no decision."
    )
    allows = action in [name.strip().lower() for name in allowed]
    faults: dict[str, list[str | None]] = {
        "presence": [absent if decision is None else None],
        "state_errors": [
            f"{name}.error says: {str(error)[:300]}" for name, error in errors.items() if error
        ],
        "structure": [
            f"{name} is {_kind(value)}, not an object."
            for name, value in objects.items()
            if not isinstance(value, dict) and (value is not None or name == "decision")
        ],
        "required_fields": [
            _text_fault(f"decision.{name}", made.get(name)) for name in ("action", "component")
        ],
        "allowed_action": [
            None
            if allows
            else f"'{action[:_SHOWN]}' is not allowed; allowed are {', '.join(allowed)}."
        ],
        "same_component": [
            f"The decision is about '{component[:_SHOWN]}', and '{used[:_SHOWN]}' was executed."
            if used != component
            else None
        ],
    }
    checks: list[Checked] = []
    for check, details in faults.items():
        detail = next(filter(None, details), None)
        checks.append(Checked(check=check, passed=detail is None, detail=detail))
        if detail is not None:
            return Validation(valid=False, failed_check=check, checks=tuple(checks))
    return Validation(valid=True, checks=tuple(checks))


def decision_of(decision: Json) -> Decision:
    """The record of a decision that passed the checks."""
    made = record_of(decision)
    return Decision(action=one_line(made["action"]).lower(), component=one_line(made["component"]))


def record_of(value: Json) -> dict[str, Json]:
    """The value as an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _text_fault(field: str, value: Json) -> str | None:
    if value is None or value == "":
        return f"{field} is missing."
    if not isinstance(value, str):
        return f"{field} is {_kind(value)}, not text."
    if not value.strip():
        return f"{field} is empty."
    return (
        f"{field} has {len(value)} characters, more than {LONGEST}."
        if len(value) > LONGEST
        else None
    )


def one_line(name: Json) -> str:
    """The text of a value with single blanks."""
    return " ".join(str(name).split())


def _kind(value: Json) -> str:
    names: tuple[tuple[type, str], ...] = (
        (bool, "true or false"),
        (str, "text"),
        (list, "a list"),
        (type(None), "null"),
    )
    return next((words for kind, words in names if isinstance(value, kind)), "a number")
