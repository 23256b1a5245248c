"""The ordered checks of a decision and its execution. A failed one ends them: what comes after rests on it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.decision import ACTIONS, Check, Checked, Decision, Validation

LONGEST: Final = 200
"""Characters of an action or a component."""
_SHOWN: Final = 80  # characters of what was sent that a fault quotes


def validate(decision: Json, execution: Json, allowed: Sequence[str] = ACTIONS) -> Validation:
    """Run the checks in order up to the first that fails."""
    done: list[Checked] = []
    for check, fault in _checks(decision, execution, allowed):
        detail = fault()
        done.append(Checked(check=check, passed=detail is None, detail=detail))
        if detail is not None:
            return Validation(valid=False, failed_check=check, checks=tuple(done))
    return Validation(valid=True, checks=tuple(done))


def decision_of(decision: Json) -> Decision:
    """A decision that passed the checks, as the record."""
    assert isinstance(decision, dict)  # noqa: S101 - checked by `validate`
    return Decision(action=_action(decision), component=_flat(decision["component"]))


def _checks(
    decision: Json, execution: Json, allowed: Sequence[str]
) -> Iterator[tuple[Check, Callable[[], str | None]]]:
    yield Check.PRESENCE, lambda: "There is an execution and no decision." if decision is None else None
    yield Check.STATE_ERRORS, lambda: _error_in("decision", decision) or _error_in("execution", execution)
    yield Check.STRUCTURE, lambda: _structure(decision, execution)
    yield Check.REQUIRED_FIELDS, lambda: _missing(decision)
    yield Check.ALLOWED_ACTION, lambda: _not_allowed(decision, allowed)
    yield Check.SAME_COMPONENT, lambda: _other_component(decision, execution)


def _error_in(name: str, value: Json) -> str | None:
    error = (value.get("error") or value.get("error_message")) if isinstance(value, dict) else None
    return f"{name}.error says: {str(error)[:300]}" if error else None


def _structure(decision: Json, execution: Json) -> str | None:
    if not isinstance(decision, dict):
        return f"decision is {_kind(decision)}, not an object."
    if execution is not None and not isinstance(execution, dict):
        return f"execution is {_kind(execution)}, not an object."
    metrics = execution.get("metrics") if isinstance(execution, dict) else None
    if metrics is not None and not isinstance(metrics, dict):
        return f"execution.metrics is {_kind(metrics)}, not an object."
    return None


def _missing(decision: Json) -> str | None:
    assert isinstance(decision, dict)  # noqa: S101 - checked before
    for name in ("action", "component"):
        value = decision.get(name)
        if value is None or value == "":
            return f"decision.{name} is missing."
        if not isinstance(value, str):
            return f"decision.{name} is {_kind(value)}, not text."
        if not value.strip():
            return f"decision.{name} is empty."
        if len(value) > LONGEST:
            return f"decision.{name} has {len(value)} characters, more than {LONGEST}."
    return None


def _not_allowed(decision: Json, allowed: Sequence[str]) -> str | None:
    action = _action(decision)
    if action in {name.strip().lower() for name in allowed}:
        return None
    return f"'{action[:_SHOWN]}' is not allowed; allowed are {', '.join(allowed)}."


def _other_component(decision: Json, execution: Json) -> str | None:
    """An execution that names no component leaves open which one it used; that is no fault."""
    assert isinstance(decision, dict)  # noqa: S101 - checked before
    used = execution.get("component") if isinstance(execution, dict) else None
    decided = _flat(decision["component"])
    if used is None or _flat(used) == decided:
        return None
    return f"The decision is about '{decided[:_SHOWN]}', and '{_flat(used)[:_SHOWN]}' was executed."


def _flat(name: Json) -> str:
    """A name on one line."""
    return " ".join(str(name).split())


def _action(decision: Json) -> str:
    assert isinstance(decision, dict)  # noqa: S101 - checked before
    return _flat(decision["action"]).lower()


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a number"
