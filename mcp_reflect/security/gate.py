"""The gate: every text from outside passes here once, whole, before anything is derived from it.

A secret that was split, sorted, put into JSON, unquoted or shortened is not recognized any more. So what leaves the gate
has a type of its own, which prompts, the spool and what is written down of a session ask for, and every method of str
gives a plain str again. Only the functions of this module keep the type, and only `security` makes a `Clean`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.normal_form import normalize
from mcp_reflect.security.redact import LONGEST_SECRET, clean, clean_text, note_clean
from mcp_reflect.security.secret_shapes import long_words

_encoded: Final = json.JSONEncoder(ensure_ascii=False).encode
"""`json.dumps` would make an encoder for each value."""

CleanJson: TypeAlias = "dict[str, CleanJson] | list[CleanJson] | Clean | int | float | bool | None"
"""A JSON value in which every text is clean."""

_MARGIN: Final = 4_000  # characters of the longest secret but a private key
_BESIDE_CUT: Final = 400
"""Characters beside a cut, of which a longer secret that reaches over the margin has some lines."""

_OF_LONG_SECRETS: Final = ("PRIVATE", "OpenVPN")  # in the first line of a private key
_CODE: Final = lazy_compile("[A-Za-z0-9+=]{20,}")  # without the signs of paths and names
_MARKS: Final = lazy_compile(r"(\[redacted:\w{1,40}\])")
_ROOM_FOR_HASH: Final = 50  # characters by which a text that was shortened is longer than its ends
_READ_AT_ONCE: Final = 200_000  # characters of an argument that are read here


def clean_value(value: Any) -> CleanJson:
    """Return a JSON value with every text in it cleaned, and every value of a secret's name cut out."""
    return cast("CleanJson", clean(value))


def clean_json(value: Any) -> Clean:
    """Return a JSON value as a clean text: cleaned as a value first, and then encoded."""
    return Clean(_encoded(clean(value)))


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
    left = _READ_AT_ONCE
    waiting = [value]
    while waiting and left >= 0:
        item = waiting.pop()
        left -= 1
        if isinstance(item, str):
            left -= len(item)
        elif isinstance(item, Mapping):
            pairs = cast("Mapping[Any, Any]", item)
            waiting += [*pairs.keys(), *pairs.values()]
        elif isinstance(item, list | tuple):
            waiting += cast("list[Any]", item)[: left + 1]
    return left >= 0


def clean_ends(text: str, most: int) -> Clean:
    """Return a text clean, a long one as its two ends of `most` characters, with a mark between them.

    Each end is cleaned with a margin that holds the longest secret, and what came from the margin is dropped: a secret
    that the outer edge of the margin halves is not recognized, and it ends within the margin.
    """
    ends = ends_of(text, most)
    if ends.tail is None:
        return ends.head
    return ends.around("...")


class Ends(NamedTuple):
    """A clean text, or the first and the last characters of one, without secrets at the cuts."""

    head: Clean
    tail: Clean | None = None

    def around(self, between: str) -> Clean:
        """Return both ends as one text, with a line of ours between them. It is not read again before it is stored."""
        return note_clean(f"{self.head}\n{between}\n{self.tail}")


def ends_of(text: str, most: int) -> Ends:
    """Return a text whole, or its two ends of `most` characters: see `clean_ends`."""
    if len(text) > 2 * (most + _MARGIN):
        return Ends(Clean(_head(text, most)[:most]), Clean(_tail(text, most)[-most:]))
    whole = clean_text(text)
    if len(whole) <= 2 * most:
        return Ends(whole)
    return Ends(Clean(whole[:most]), Clean(whole[-most:]))


def _head(text: str, most: int) -> str:
    """Return the first `most` characters of a text clean; a mark may make them longer.

    Of "Deployed. export TOKEN=ghp_… and then it worked", 30 end in the token. The margin shows it whole, so that it is
    marked: "Deployed. export TOKEN=[redacted:github_token]". What stands behind it came from the margin, and goes. It is
    read backward, as the end that is kept lies behind the margin then.
    """
    near = normalize(text[: 2 * (most + LONGEST_SECRET)])
    reach = near[max(0, most - LONGEST_SECRET) : most + LONGEST_SECRET]
    margin = _margin(reach, near[most : most + _BESIDE_CUT])
    raw = near[: most + margin]
    parts = _MARKS.split(clean_text(raw))
    backward = [part[::-1] for part in reversed(parts)]
    return _behind(raw[::-1], backward, len(raw) - most)[::-1]


def _tail(text: str, most: int) -> str:
    """Return the last `most` characters of a text clean; a mark may make them longer.

    Of the same text, 40 begin in the token: "[redacted:github_token] and then it worked".
    """
    near = normalize(text[-2 * (most + LONGEST_SECRET) :])
    margin = _margin(near[-most - LONGEST_SECRET : -most], near[-most - _BESIDE_CUT : -most])
    raw = near[-most - margin :]
    return _behind(raw, _MARKS.split(clean_text(raw)), len(raw) - most)


def _margin(reach: str, beside: str) -> int:
    """Return how wide a margin has to be, by the text within reach of a secret and by what of it stands beside the cut.

    A secret that is longer than the margin and reaches over it fills what stands beside the cut with its long words,
    and it is a private key that says so, or mere code.
    """
    if not long_words(beside):
        return _MARGIN
    is_key = any(sign in reach for sign in _OF_LONG_SECRETS)
    code = sum(len(run) for run in _CODE.findall(beside))
    return LONGEST_SECRET if is_key or 2 * code >= len(beside) else _MARGIN


def _behind(raw: str, parts: list[str], margin: int) -> str:
    """Return what of a cleaned text certainly came from behind the margin of the raw text.

    `parts` has in turn what was kept of the raw text and a mark. Each kept part is taken to stand at the first place
    where it can stand, so it never counts as further from the edge than it is; a part that is not found is passed over.

    "key=abc123 the end" is cleaned to "key=", a mark and " the end". Behind a margin of 11 characters certainly came
    "the end"; behind one of 6, which ends in the secret, the mark and " the end".
    """
    place = 0
    for number in range(0, len(parts), 2):
        kept = parts[number]
        start = raw.find(kept, place)
        if number == len(parts) - 1 and raw.endswith(kept):
            start = len(raw) - len(kept)
        if start < 0:
            continue
        place = start + len(kept)
        if start >= margin:
            return "".join(parts[max(0, number - 1) :])
        if place > margin:
            return "".join((kept[margin - start :], *parts[number + 1 :]))
    return ""


def clean_output(value: Any, most: int) -> CleanJson:
    """Return what a tool printed or answered clean, a long text or value as its two ends of `most` characters."""
    if not isinstance(value, str | dict | list):
        return clean_value(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean_value(value) if len(text) <= 2 * most else clean_ends(text, most)


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
    if isinstance(value, str) and len(value) > 2 * (most + _ROOM_FOR_HASH):
        from hashlib import sha256  # noqa: PLC0415 - a hook that leaves a call in the spool needs none

        whole = sha256(value.encode("utf-8", "replace")).hexdigest()[:16]
        return f"{clean_ends(value, most)} {whole}"
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: _without_middles(item, most) for key, item in items}
    if isinstance(value, list):
        return [_without_middles(item, most) for item in cast("list[Any]", value)]
    return value


def shortened(text: Clean, most: int) -> Clean:
    """Return the beginning of a clean text."""
    return Clean(text[:most])


def joined(sign: str, parts: Iterable[Clean]) -> Clean:
    """Return clean texts as one."""
    return Clean(sign.join(parts))


def clean_inputs(inputs: Mapping[str, Any]) -> dict[str, Clean | int | float | None]:
    """Return what fills the places of a prompt: texts clean, numbers as they are."""
    return {name: _input_of(value) for name, value in inputs.items()}


def _input_of(value: Any) -> Clean | int | float | None:
    if value is None or isinstance(value, int | float):
        return value
    return clean_text(str(value))
