"""Word the faults of arguments: an error of pydantic becomes an InputError with the field, the fault and the fix."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

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


class _Words(NamedTuple):
    """A fault of an argument, and what to send in its place."""

    fault: str
    fix: str


# By the type of pydantic's error; the places are filled with its values.
_WORDS: Final = {
    "missing": _Words("it is missing", "Send it."),
    "greater_than_equal": _Words("{value} is too small", "Send {ge} or more."),
    "less_than_equal": _Words("{value} is too large", "Send {le} or less."),
    "over_limit": _Words("it has {count} {what}", "Send at most {bound}."),
    "string_too_short": _Words("it is empty", "Send text."),
    "string_too_long": _Words("it has {length} characters", "Send at most {max_length}."),
    "too_long": _Words("it has {length} items", "Send at most {max_length}."),
    "finite_number": _Words("{value} is not a number", "Send a finite number."),
    "int_from_float": _Words("{value} is not a whole number", "Send a whole number."),
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
    words = _words_of(error)
    fix = words.fix
    if len(errors) > 1:
        fix += f" ({len(errors) - 1} more to correct after this one)"
    return InputError(error_path(error["loc"]), words.fault, fix)


def _words_of(error: Any) -> _Words:
    """Return the words for one of pydantic's errors, by its type."""
    error_type = error["type"]
    if error_type in _WORDS:
        return _from_table(error)
    if error_type == "value_error":  # raised by a validator of ours as `fault|fix`
        fault, _, fix = str(error["ctx"]["error"]).partition("|")
        return _Words(fault, fix)
    if error_type in ("enum", "literal_error"):
        return _other_value(error)
    if error_type.endswith(("_type", "_parsing")):
        wanted = _wanted(error_type)
        return _Words(f"it is {_kind_of(error['input'])}, not {wanted}", f"Send {wanted}.")
    message = quoted(error["msg"], _LONGEST_MESSAGE)
    return _Words(message, "Send a value that the tool's schema allows.")


def _from_table(error: Any) -> _Words:
    """Return the words of `_WORDS` with the values of this error in them."""
    value = error["input"]
    length: object = "too many"
    if hasattr(value, "__len__"):
        length = len(value)
    values = {**error.get("ctx", {}), "value": value, "length": length}
    words = _WORDS[error["type"]]
    return _Words(words.fault.format_map(values), words.fix.format_map(values))


def _other_value(error: Any) -> _Words:
    """Return the words for a value that is none of the allowed ones; the fix names the one that is most alike.

    "'sucess' is not one of its values", "Send one of success, failure. Did you mean 'success'?"

    Only a plain word is repeated: a validator may have changed the case of a secret, by which it is recognized.
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
    return _Words(f"{word} is not one of its values", fix)


def _wanted(error_type: str) -> str:
    """Return what a field takes, in words: "a list" for the error `list_type`, "a whole number" for `int_parsing`."""
    name = error_type.rsplit("_", 1)[0]
    if name in _WANTED:
        return _WANTED[name]
    if "list" in error_type or "tuple" in error_type:
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


def refusal_of_note(note: str, fix: str) -> InputError:
    """Return the error that refuses what `read` only notes, for a caller that must not guess.

    A note is the path of an argument and its fault: "importance: it is above 1, 1 used".
    """
    path, _, fault = note.partition(": ")
    return InputError(path, fault, fix)


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
