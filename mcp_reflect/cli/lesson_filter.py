"""Read and describe filters of lessons, from options and from what a person types in the browser."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from dataclasses import replace
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import RecordKind, State

STATES: Final = (*(state.value for state in State), "quarantined", "all")
KINDS: Final = (*(kind.value for kind in RecordKind), "all")


def add_filter_options(parser: ArgumentParser) -> None:
    """Add the options that `filter_of_options` reads."""
    parser.add_argument("--state", default=SUPPRESS, choices=STATES, help="its state")
    parser.add_argument("--all", action="store_const", const="all", dest="state", default=SUPPRESS, help="any state")
    parser.add_argument("--kind", default=SUPPRESS, choices=KINDS, help="its kind")
    parser.add_argument("--task-type", default=SUPPRESS, help="like debugging, search, deploy")
    parser.add_argument("--tag", default=SUPPRESS, help="one of its tags")
    parser.add_argument("--project", default=SUPPRESS, help="a project that MCP_REFLECT_PROJECTS allows")
    parser.add_argument("--min-effectiveness", type=float, default=SUPPRESS, help="0 to 1; without one it is left out")
    parser.add_argument("--limit", type=int, default=SUPPRESS, help="at most so many (default 50)")
    parser.add_argument("--offset", type=int, default=SUPPRESS, help="skip so many newer ones")


def filter_of_options(options: Namespace) -> Filter:
    """Return the filter of the command's options."""
    values: dict[str, Any] = vars(options)
    least = values.get("min_effectiveness")
    if least is not None and not 0 <= least <= 1:
        raise InputError("--min-effectiveness", f"{least:g} is not in 0 to 1", "Give a number in that range.")
    kind = values.get("kind", RecordKind.LESSON.value)
    return Filter(
        words=tuple(values.get("words", ())),
        kind=None if kind == "all" else RecordKind(kind),
        task_type=values.get("task_type"),
        tag=values.get("tag"),
        min_effectiveness=least,
        limit=max(values.get("limit", 50), 1),
        offset=max(values.get("offset", 0), 0),
        **_state_fields(values.get("state", State.ACTIVE.value)),
    )


def narrow_filter(current: Filter, words: list[str]) -> Filter:
    """Return a filter with `name=value` words added, at its first page. Raises InputError for a bad word."""
    for word in words:
        name, _, value = word.partition("=")
        if not value:
            raise InputError(f"'{word[:40]}'", "it is not name=value", "Type f state=retired, for example.")
        current = replace(current, offset=0, **_fields_of(name, value))
    return current


def _fields_of(name: str, value: str) -> dict[str, Any]:
    match name:
        case "state":
            return _state_fields(value)
        case "kind":
            if value not in KINDS:
                raise InputError("kind", f"'{value[:40]}' is not one", f"Give one of {', '.join(KINDS)}.")
            return {"kind": None if value == "all" else RecordKind(value)}
        case "type":
            return {"task_type": value}
        case "tag":
            return {"tag": value}
        case "effective":
            try:
                return {"min_effectiveness": float(value)}
            except ValueError:
                raise InputError("effective", f"'{value[:40]}' is not a number", "Give one in 0 to 1.") from None
        case _:
            raise InputError(f"'{name[:40]}'", "there is no such filter", "Use state, kind, type, tag or effective.")


def _state_fields(name: str) -> dict[str, Any]:
    """Return the filter fields of a state's name. What waits in quarantine is active; what was rejected is retired."""
    if name not in STATES:
        raise InputError("state", f"'{name[:40]}' is not one", f"Give one of {', '.join(STATES)}.")
    if name == "quarantined":
        return {"state": State.ACTIVE, "held": True}
    if name == "all":
        return {"state": None, "held": None}
    return {"state": State(name), "held": False if name == "active" else None}


def describe_filter(current: Filter) -> str:
    """Return a filter in words, as far as it differs from the default one."""
    state = "quarantined" if current.held else current.state.value if current.state else "all"
    kind = current.kind.value if current.kind else "all"
    parts = {
        "words": " ".join(current.words),
        "state": "" if state == "active" else state,
        "kind": "" if kind == "lesson" else kind,
        "type": current.task_type or "",
        "tag": current.tag or "",
        "effective": "" if current.min_effectiveness is None else f"{current.min_effectiveness:g}",
    }
    return ", ".join(f"{name} {value}" for name, value in parts.items() if value)
