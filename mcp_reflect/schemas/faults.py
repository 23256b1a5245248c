"""A fault of an argument in words: pydantic's errors as an InputError with the field, the fault and the fix."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

_PLAIN_WORD: Final = re.compile(r"[A-Za-z _-]{1,40}|\w{1,5}")
UNKNOWN: Final = ": no such argument"
"""How the note on an unknown argument ends."""

_LONGEST_WORD: Final = 80  # characters of a word that is compared with the allowed ones
_CUTOFF: Final = 0.5
"""The similarity (0..1, difflib's ratio) of an allowed word that is proposed: it is only asked about, so a low one."""

_LONGEST_PATH: Final = 120  # characters
_LONGEST_NAME: Final = 40
_LONGEST_MESSAGE: Final = 200

_FAULTS: Final = {
    "missing": ("it is missing", "Send it."),
    "greater_than_equal": ("{value} is too small", "Send {ge} or more."),
    "less_than_equal": ("{value} is too large", "Send {le} or less."),
    "over_limit": ("it has {count} {what}", "Send at most {bound}."),
    "string_too_short": ("it is empty", "Send text."),
    "string_too_long": ("it has {length} characters", "Send at most {max_length}."),
    "too_long": ("it has {length} items", "Send at most {max_length}."),
    "finite_number": ("{value} is not a number", "Send a finite number."),
    "int_from_float": ("{value} is not a whole number", "Send a whole number."),
}
_WANTED: Final = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}
_KINDS: Final = (  # the first that fits: a truth value is an int to Python as well
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "text"),
    (type(None), "null"),
    ((list, tuple), "a list"),
    (dict, "an object"),
)


def _kind_of(value: object) -> str:
    """Return what a JSON value is, in words."""
    for kind, words in _KINDS:
        if isinstance(value, kind):
            return words
    return "something else"


def explain(errors: Sequence[Any]) -> InputError:
    """Return the first of pydantic's errors as an InputError, with the number of the others."""
    error = errors[0]
    fault, fix = _fault_and_fix(error)
    if len(errors) > 1:
        fix += f" ({len(errors) - 1} more to correct after this one)"
    return InputError(error_path(error["loc"]), fault, fix)


def _fault_and_fix(error: Any) -> tuple[str, str]:
    """Return what is wrong, and what to send, for one of pydantic's errors, by its type."""
    kind = error["type"]
    if kind in _FAULTS:
        return _from_table(error)
    if kind == "value_error":  # raised by a validator of ours as `fault|fix`
        fault, _, fix = str(error["ctx"]["error"]).partition("|")
        return fault, fix
    if kind in ("enum", "literal_error"):
        return _other_value(error)
    if kind.endswith(("_type", "_parsing")):
        wanted = _wanted(kind)
        return f"it is {_kind_of(error['input'])}, not {wanted}", f"Send {wanted}."
    return quoted(error["msg"], _LONGEST_MESSAGE), "Send a value that the tool's schema allows."


def _from_table(error: Any) -> tuple[str, str]:
    """Return the fault and the fix of `_FAULTS`, with the values of this error in them."""
    value = error["input"]
    length: object = "too many"
    if hasattr(value, "__len__"):
        length = len(value)
    values = {**error.get("ctx", {}), "value": value, "length": length}
    fault, fix = _FAULTS[error["type"]]
    return fault.format_map(values), fix.format_map(values)


def _other_value(error: Any) -> tuple[str, str]:
    """Return the fault and the fix of a word that is none of the allowed ones; the fix names the one that is most alike.

    A validator may have changed the case of a word, by which a secret is recognized: only a plain word is repeated.
    """
    value = str(error["input"])
    expected = str(error.get("ctx", {}).get("expected", "")).replace(" or ", ", ")
    names = [part.strip().strip("'") for part in expected.split(",")]
    word = "this"
    if _PLAIN_WORD.fullmatch(value):
        word = f"'{quoted(error['input'])}'"
    fix = f"Send one of {', '.join(names)}."
    near = get_close_matches(value[:_LONGEST_WORD].lower(), names, n=1, cutoff=_CUTOFF)
    if near:
        fix += f" Did you mean '{near[0]}'?"
    return f"{word} is not one of its values", fix


def _wanted(kind: str) -> str:
    """Return what a field takes, in words, by the type of the error: `list_type`, `int_parsing`."""
    name = kind.rsplit("_", 1)[0]
    if name in _WANTED:
        return _WANTED[name]
    if "list" in kind or "tuple" in kind:
        return "a list"
    return "an object"


def error_path(loc: Sequence[str | int]) -> str:
    """Return `("events", 2, "type")` as `events[2].type`; the names of union members are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif str(part).isidentifier() or not path:
            path += f".{quoted(part, _LONGEST_NAME)}"
    return quoted(path.removeprefix("."), _LONGEST_PATH) or "arguments"


def with_notes(error: InputError, notes: Sequence[str], most_names: int) -> InputError:
    """Return the error with the reason for which its argument was ignored, if it was, and the unknown names.

    A required argument that was left out as unreadable would else only be said to be missing.
    """
    prefix = f"{error.field}: "
    fault = error.fault
    for note in notes:
        if note.startswith(prefix):
            fault = note.removeprefix(prefix)
            break
    names = [note.removesuffix(UNKNOWN) for note in notes if note.endswith(UNKNOWN)]
    if not names:
        return InputError(error.field, fault, error.fix)
    listed = ", ".join(names[:most_names])
    return InputError(error.field, fault, f"{error.fix} Unknown arguments: {listed}.")
