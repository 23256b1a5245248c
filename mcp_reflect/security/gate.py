"""The gate: every text and value from outside passes here once, whole, before anything is derived from it.

A secret that was split, sorted, put into JSON, unquoted or shortened is not recognized any more. So what leaves the gate
has a type of its own, which prompts, the spool and what is written down of a session ask for, and every method of str
gives a plain str again. Only the functions here and of `text_ends` keep the type, and only `security` makes a `Clean`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from mcp_reflect.security.clean import Clean
from mcp_reflect.security.redact import clean, clean_text, without_printed
from mcp_reflect.security.text_ends import clean_ends

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
"""The text of a JSON value. `json.dumps` would make an encoder for each value."""

CleanJson: TypeAlias = "dict[str, CleanJson] | list[CleanJson] | Clean | int | float | bool | None"
"""A JSON value in which every text is clean."""

_ROOM_FOR_HASH: Final = 50  # characters by which a text that was shortened is longer than its ends
_DIGITS_OF_HASH: Final = 16
_READ_AT_ONCE: Final = 200_000  # characters of an argument that are read here
_EACH_TEXT: Final = 100  # characters that are read in the time which each text takes beside its own


def clean_value(value: Any) -> CleanJson:
    """Return a JSON value with every text in it cleaned, and every value of a secret's name cut out."""
    return cast("CleanJson", clean(value))


def clean_json(value: Any) -> Clean:
    """Return a JSON value as a clean text: cleaned as a value first, and then encoded."""
    return Clean(_encode(clean(value)))


def clean_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, cleaned before anything looks at them.

    A longer one is the trace of a run or the output of tools: its reader shortens it with a margin for the longest
    secret, cleans it and shortens it again.
    """
    short = {name: value for name, value in arguments.items() if _is_short(value)}
    cleaned = cast("dict[str, Any]", clean(short))
    long = {name: value for name, value in arguments.items() if name not in short}
    return {**cleaned, **long}


def _is_short(value: object) -> bool:
    """Return whether an argument is read at once: its texts and items are at most _READ_AT_ONCE together."""
    room = _READ_AT_ONCE
    waiting = [value]
    while waiting and room >= 0:
        item = waiting.pop()
        room -= 1
        if isinstance(item, str):
            room -= len(item) + _EACH_TEXT
        elif isinstance(item, Mapping):
            pairs = cast("Mapping[Any, Any]", item)
            waiting += [*pairs.keys(), *pairs.values()]
        elif isinstance(item, list | tuple):
            waiting += cast("list[Any]", item)[: room + 1]
    return room >= 0


def clean_output(value: Any, most: int) -> CleanJson:
    """Return what a tool printed or answered clean, a long text or value as its two ends of `most` characters."""
    if not isinstance(value, str | dict | list):
        return clean_value(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= 2 * most:
        return clean_value(value)
    return clean_ends(text, most)


class CleanAnswer(NamedTuple):
    """What a call printed or answered, and its error, clean."""

    result: CleanJson
    error: CleanJson


def clean_answer(arguments: Any, result: Any, error: str | None, most: int) -> CleanAnswer:
    """Return the answer of a call clean, read together with its arguments, each part as its ends (`clean_output`).

    What `pass show work/db` prints is a secret because of the command, not of its looks.
    """
    call = without_printed({"arguments": arguments, "result": result, "error": error})
    return CleanAnswer(clean_output(call["result"], most), clean_output(call["error"], most))


def clean_record(record: Mapping[str, Any], printed: Iterable[str], most: int | None) -> CleanJson:
    """Return a record clean, with the texts in the fields that are `printed` as their two ends of `most` characters.

    It is cleaned whole before that: half a secret would not be recognized.
    """
    cleaned = cast("dict[str, CleanJson]", clean(dict(record)))
    if most is None:
        return cleaned
    for name in printed:
        text = cleaned.get(name)
        if isinstance(text, Clean) and len(text) > 2 * most:
            cleaned[name] = Clean(f"{text[:most]}\n...\n{text[-most:]}")
    return cleaned


def clean_middles(value: Any, most: int) -> CleanJson:
    """Return arguments clean, long texts in them as their two ends with a hash that tells them apart."""
    return clean_value(_without_middles(value, most))


def _without_middles(value: Any, most: int) -> Any:
    """Return a value in which each long text is its two ends and a hash, by which texts with the same ends differ."""
    if isinstance(value, str) and len(value) > 2 * (most + _ROOM_FOR_HASH):
        from hashlib import sha256  # noqa: PLC0415 - a hook that leaves a call in the spool needs none

        digest = sha256(value.encode("utf-8", "replace")).hexdigest()[:_DIGITS_OF_HASH]
        return f"{clean_ends(value, most)} {digest}"
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: _without_middles(item, most) for key, item in items}
    if isinstance(value, list):
        return [_without_middles(item, most) for item in cast("list[Any]", value)]
    return value


def shortened(text: Clean, most: int) -> Clean:
    """Return the beginning of a clean text."""
    return Clean(text[:most])


def joined(separator: str, parts: Iterable[Clean]) -> Clean:
    """Return clean texts as one, with a separator of ours between them."""
    return Clean(separator.join(parts))


def clean_inputs(inputs: Mapping[str, Any]) -> dict[str, Clean | int | float | None]:
    """Return what fills the places of a prompt: texts clean, numbers as they are."""
    return {name: _input_of(value) for name, value in inputs.items()}


def _input_of(value: Any) -> Clean | int | float | None:
    """Return a value that fills a place of a prompt: a number or None as it is, anything else as a clean text."""
    if value is None or isinstance(value, int | float):
        return value
    return clean_text(str(value))
