"""What pydantic found wrong, in our words: the field, the fault, the fix."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final

from mcp_reflect.config import PREFIX
from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

_KIND: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def explain(errors: Sequence[Any]) -> InputError:
    """The first of pydantic's errors as ours, and how many more there are."""
    first = errors[0]
    path = _path(first["loc"])
    fault, fix = _said(first)
    more = f" ({len(errors) - 1} more to mend after this one)" if len(errors) > 1 else ""
    return InputError(path, fault, f"{fix}{more}")


def unknown(path: str, name: str, known: Iterable[str]) -> InputError:
    """A name that is not known, with the nearest that is."""
    names = list(known)
    near = get_close_matches(name[:80], names, n=1, cutoff=0.5)
    fix = f"Did you mean '{near[0]}'?" if near else f"Send any of {', '.join(names)}."
    return InputError(quoted(path, 120), "there is no such argument", fix)


def _said(error: Any) -> tuple[str, str]:
    kind, context = error["type"], error.get("ctx", {})
    if kind in _FAULTS:
        return _FAULTS[kind](error["input"], context)
    if kind.endswith(("_type", "_parsing")):
        wanted = {"string": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}.get(
            kind.rsplit("_", 1)[0], "a list" if "list" in kind or "tuple" in kind else "an object"
        )
        return f"it is {_named(error['input'])}, not {wanted}", f"Send {wanted}."
    return quoted(error["msg"], 200), "Send a value that the tool's schema allows."


def _named(value: object) -> str:
    return "null" if value is None else _KIND.get(type(value), "something else")


_PLAIN_WORD: Final = re.compile(r"[A-Za-z _-]{1,40}|\w{1,5}")


def _choice(value: object, context: dict[str, Any]) -> tuple[str, str]:
    expected = str(context.get("expected", ""))
    names = [part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",")]
    near = get_close_matches(str(value)[:80].lower(), names, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    # A validator may have changed its case, by which a secret is known: only what is a plain word is repeated.
    told = f"'{quoted(value)}'" if _PLAIN_WORD.fullmatch(str(value)) else "what was sent"
    return f"{told} is not one of its values", f"Send one of {', '.join(names)}.{hint}"


def _custom(_: object, context: dict[str, Any]) -> tuple[str, str]:
    """An error raised by one of our own validators: `fault|fix`."""
    fault, _, fix = str(context["error"]).partition("|")
    return fault, fix


_FAULTS: Final[dict[str, Callable[[Any, dict[str, Any]], tuple[str, str]]]] = {
    "missing": lambda _value, _context: ("it is missing", "Send it."),
    "enum": _choice,
    "literal_error": _choice,
    "value_error": _custom,
    "finite_number": lambda value, _context: (f"{value} is not a number", "Send a finite number."),
    "greater_than_equal": lambda value, context: (f"{value} is too small", f"Send {context['ge']} or more."),
    "less_than_equal": lambda value, context: (f"{value} is too large", f"Send {context['le']} or less."),
    "string_too_short": lambda _value, _context: ("it is empty", "Send text."),
    "over_limit": lambda _value, context: (
        f"it has {context['count']} {context['what']}",
        f"Send at most {context['bound']} ({PREFIX}{context['name'].upper()}).",
    ),
    "over_bound": lambda value, context: (
        f"{value} is too large",
        f"Send {context['bound']} or less ({PREFIX}{context['name'].upper()}).",
    ),
    "string_too_long": lambda value, context: (
        f"it has {len(value)} characters",
        f"Send at most {context['max_length']}.",
    ),
    "too_long": lambda _value, context: (
        f"it has {context['actual_length'] or 'too many'} items",
        f"Send at most {context['max_length']}.",
    ),
    "int_from_float": lambda value, _context: (f"{value} is not a whole number", "Send a whole number."),
}


def _path(loc: Sequence[str | int]) -> str:
    """`("events", 2, "type")` as `events[2].type`; the names of union members are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() or not path:
            path += f".{part}" if path else part
    return quoted(path, 120) or "arguments"
