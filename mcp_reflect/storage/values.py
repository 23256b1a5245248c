"""Values that are bound to SQL: redacted before they are written, unchanged where they are only compared."""

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from mcp_reflect.models.common import Scope
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.gate import clean_json
from mcp_reflect.security.redact import clean_text

Values = Mapping[str, Any]
_STRUCTURES: Final = (dict, list, tuple)
# `json.dumps` would make an encoder for each value.
_as_json: Final = json.JSONEncoder(ensure_ascii=False).encode
_UNCHANGED: Final = frozenset({int, float, bool, bytes, type(None)})


class Derived(str):
    """A text that is written as it is, because it was made of redacted words or digests.

    Redacted again, such words would lose more: out of their sentence, a word next to `token` looks like a secret.
    """

    __slots__ = ()


Written: TypeAlias = Clean | Derived | int | float | bytes | None
"""What is written into a bank: a text only if it passed the gate, or was derived of one that did."""


class Bound(dict[str, Written]):
    """Values as they are written, redacted already; `bound` makes them, and does nothing to them again."""


def bound(values: Values) -> Bound:
    """Return values to write: every text redacted, structures as JSON."""
    if isinstance(values, Bound):
        return values
    return Bound({name: _bound(value) for name, value in values.items()})


def _bound(value: Any) -> Written:
    """Return a value to write: a text redacted, a structure redacted and as JSON, others as they are."""
    if type(value) in _UNCHANGED or isinstance(value, Derived):
        return value
    if isinstance(value, _STRUCTURES):
        return clean_json(value)
    if isinstance(value, str):
        return clean_text(str(value))
    return value


def compared(values: Values) -> dict[str, Any]:
    """Return values that are only compared: structures as JSON, texts unchanged."""
    return {name: _compared(value) for name, value in values.items()}


def _compared(value: Any) -> Any:
    """Return a value as a column has it, to be compared with one: a structure is stored as JSON."""
    if isinstance(value, _STRUCTURES):
        return _as_json(value)
    return value


def scoped(scope: Scope, **values: Any) -> dict[str, Any]:
    """Return values to bind with the scope."""
    return {**values, "tenant": scope.tenant, "project": scope.project}
