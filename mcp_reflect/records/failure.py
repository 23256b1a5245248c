"""A call that failed, in a form that the next run can be compared with."""

from dataclasses import dataclass

from mcp_reflect.records.json import Json
from mcp_reflect.records.trace import ErrorCategory


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failing call and its signature.

    `call` is the normalised tool and arguments, `fingerprint` the error with numbers, paths, ids and
    times taken out, `signature` 16 hex digits over tool, call and fingerprint. `head`, `exact`, `bare` and
    `loose` are the keys of the call's forms. `worked` holds the arguments of the later call that succeeded,
    where the trace shows one.
    """

    event_id: str
    tool: str
    arguments: Json
    call: str
    head: str
    exact: str
    bare: str
    loose: str
    fingerprint: str
    signature: str
    category: ErrorCategory
    error: str
    worked: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedCall:
    """A call that worked, by the keys of its forms."""

    bare: str
    exact: str
