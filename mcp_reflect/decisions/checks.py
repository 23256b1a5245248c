"""Check an agent's decision about a component, and how it was carried out, before anybody reflects on it.

The checks have an order: each relies on those before it, so that the first that fails is the fault.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import ACTIONS, Decision, DecisionCheck, Validation

LONGEST: Final = 200
"""Characters of an action or a component."""
_SHOWN: Final = 80  # characters of a sent value in a fault
_LONGEST_ERROR: Final = 300  # characters

# The first whose type a value has, in words: True is an int to Python as well, so bool is first. All others are numbers.
_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "true or false"),
    (str, "text"),
    (list, "a list"),
    (dict, "an object"),
    (type(None), "null"),
)


def validate(
    decision: Json,
    execution: Json,
    allowed: Sequence[str] = ACTIONS,
    state: Mapping[str, Json] | None = None,
) -> Validation:
    """Run the checks in their order, up to the first that fails.

    `allowed` are the actions that a decision may name. `state` is that of a graph, whose errors count as well.
    """
    sent = _Sent(decision, execution, allowed, state or {})
    passed: list[DecisionCheck] = []
    for name, fault_of in _CHECKS.items():
        fault = fault_of(sent)
        if fault is not None:
            failed = DecisionCheck(check=name, passed=False, detail=fault)
            return Validation(valid=False, failed_check=name, checks=(*passed, failed))
        passed.append(DecisionCheck(check=name, passed=True, detail=None))
    return Validation(valid=True, checks=tuple(passed))


@dataclass(frozen=True, slots=True)
class _Sent:
    """What was sent of a decision, as it came."""

    decision: Json
    execution: Json
    allowed: Sequence[str]
    state: Mapping[str, Json]

    @property
    def action(self) -> str:
        """The action in lower case, empty or "none" if there is none."""
        return one_line(record_of(self.decision).get("action")).lower()

    @property
    def component(self) -> str:
        """The component that the decision is about, in one line."""
        return one_line(record_of(self.decision).get("component"))

    @property
    def used_component(self) -> str:
        """The component that was executed: an execution that names none is of the one that was decided about."""
        return one_line(record_of(self.execution).get("component") or self.component)


# Each of the checks returns its fault in words, None where it passes.


def _absence(sent: _Sent) -> str | None:
    """Return the fault where there is no decision."""
    if sent.decision is not None:
        return None
    if sent.execution is None:
        return "There is no decision."
    return "There is an execution and no decision."


def _reported_error(sent: _Sent) -> str | None:
    """Return the error that the state, the decision or the execution names: what comes after it cannot be relied on."""
    parts = {
        "state": sent.state,
        "decision": record_of(sent.decision),
        "execution": record_of(sent.execution),
    }
    for name, part in parts.items():
        error = part.get("error") or part.get("error_message")
        if error:
            return f"{name}.error says: {str(error)[:_LONGEST_ERROR]}"
    return None


def _wrong_kind(sent: _Sent) -> str | None:
    """Return the fault where the decision, the execution or its metrics are no object; only the decision has to be there."""
    if not isinstance(sent.decision, dict):
        return f"decision is {_kind(sent.decision)}, not an object."
    optional = {
        "execution": sent.execution,
        "execution.metrics": record_of(sent.execution).get("metrics"),
    }
    for name, value in optional.items():
        if value is not None and not isinstance(value, dict):
            return f"{name} is {_kind(value)}, not an object."
    return None


def _missing_text(sent: _Sent) -> str | None:
    """Return the fault where the action or the component is missing, no text, or too long."""
    record = record_of(sent.decision)
    action_fault = _text_fault("decision.action", record.get("action"))
    return action_fault or _text_fault("decision.component", record.get("component"))


def _other_action(sent: _Sent) -> str | None:
    """Return the fault where the action is none of those that the caller allows."""
    if sent.action in [name.strip().lower() for name in sent.allowed]:
        return None
    return f"'{sent.action[:_SHOWN]}' is not allowed; allowed are {', '.join(sent.allowed)}."


def _other_component(sent: _Sent) -> str | None:
    """Return the fault where another component was executed than was decided about."""
    decided = sent.component
    used = sent.used_component
    if used == decided:
        return None
    return f"The decision is about '{decided[:_SHOWN]}', and '{used[:_SHOWN]}' was executed."


# Each check in its order, and what finds its fault: a later one relies on those before it.
_CHECKS: Final[dict[str, Callable[[_Sent], str | None]]] = {
    "presence": _absence,
    "state_errors": _reported_error,
    "structure": _wrong_kind,
    "required_fields": _missing_text,
    "allowed_action": _other_action,
    "same_component": _other_component,
}


def decision_of(decision: Json) -> Decision:
    """Return a decision that passed the checks as a record."""
    record = record_of(decision)
    return Decision(
        action=one_line(record["action"]).lower(), component=one_line(record["component"])
    )


def record_of(value: Json) -> dict[str, Json]:
    """Return a value that is an object, an empty object for any other value."""
    if isinstance(value, dict):
        return value
    return {}


def _text_fault(field: str, value: Json) -> str | None:
    """Return what is wrong with a field that has to be a text of at most LONGEST characters; None if nothing is."""
    if value is None or value == "":
        return f"{field} is missing."
    if not isinstance(value, str):
        return f"{field} is {_kind(value)}, not text."
    if not value.strip():
        return f"{field} is empty."
    if len(value) > LONGEST:
        return f"{field} has {len(value)} characters, more than {LONGEST}."
    return None


def one_line(name: Json) -> str:
    """Return a value as a text in one line, with single blanks."""
    return " ".join(str(name).split())


def _kind(value: Json) -> str:
    """Return what a value is, in words: "a list"."""
    for json_type, words in _KINDS:
        if isinstance(value, json_type):
            return words
    return "a number"
