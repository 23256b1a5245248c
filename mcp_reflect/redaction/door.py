"""The door itself: what is done to a text, a structure, a context."""

import hashlib
from typing import Any, Final, cast

from mcp_reflect.patterns import late
from mcp_reflect.redaction import assigned, places
from mcp_reflect.redaction.armour import cut_armour
from mcp_reflect.redaction.assigned import cut_assigned
from mcp_reflect.redaction.escapes import unescaped
from mcp_reflect.redaction.gate import Gate
from mcp_reflect.redaction.marks import is_mark, mark
from mcp_reflect.redaction.names import Holds, holds
from mcp_reflect.redaction.places import cut_places
from mcp_reflect.redaction.shapes import cut_shapes

# Control characters but tab, newline and return; zero-width and direction marks, tags: they hide text.
_UNSEEN: Final = late(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_PLAIN: Final = bytes([9, 10, 13, *range(32, 127)])
_LEAST: Final = 20  # signs in one word from which on it can be a key
_PASSES: Final = 6  # a cut may lay bare another; one pass is enough for nearly every text

_GATE: Final = Gate((*places.WORDS, *assigned.WORDS))

# Texts that came through unchanged: one call takes the same text through the door several times, on its way in, into
# the index, and onto the disk. None that held a secret is kept here.
_passed: Final[set[str]] = set()
_MOST_PASSED: Final = 2_000
_LONGEST_PASSED: Final = 2_000


def clean_text(text: str) -> str:
    """`text` without unseen characters, each secret replaced by `[redacted:KIND]`."""
    if text.encode().translate(None, _PLAIN) if text.isascii() else _UNSEEN.search(text):
        text = _UNSEEN.sub("", text)
    if len(text) < _LEAST and text.isalnum():
        return text  # a single short word, of which indexes have many
    if text in _passed:
        return text
    cut = _cut(text)
    if cut == text and len(text) <= _LONGEST_PASSED:
        if len(_passed) >= _MOST_PASSED:
            _passed.clear()
        _passed.add(text)
    return cut


def _cut(text: str) -> str:
    cut = _passed_over(text)
    if "\\u" in cut:
        plain = unescaped(cut)
        again = _passed_over(plain)
        if again != plain:
            return again
    return cut


def _passed_over(text: str) -> str:
    for _ in range(_PASSES):
        cut = _cut_named(cut_shapes(cut_armour(text)))
        if cut == text:
            break
        text = cut
    return text


def _cut_named(text: str) -> str:
    """The text without what its place or a name before it tells."""
    folded = _folded(text)
    words = _GATE.opened(folded)
    placed = cut_places(text, folded, words)
    return cut_assigned(placed, folded if placed is text else _folded(placed), words)


def _folded(text: str) -> str:
    """The text in lower case, of the same length: a few characters have a longer lower case, and keep theirs."""
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def quoted(value: object, most: int = 80) -> str:
    """What an error may repeat of a value: cleaned first, then cut, for half a secret would pass the door."""
    text = str(value)
    return clean_text(text[: most * 50])[:most]


def clean(value: Any) -> Any:
    """A JSON value with every text in it cleaned, and every value of a secret's name cut out."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            named = cast("dict[Any, Any]", value)
            told = named.get("name", named.get("key"))  # {"name": "DB_PASSWORD", "value": …}
            hidden = isinstance(told, str) and _whole(told)
            return {
                clean_text(str(name)): _cut_whole(item) if hidden and name == "value" else _clean_named(str(name), item)
                for name, item in named.items()
            }
        case list() | tuple():
            items = cast("list[Any]", value)
            if len(items) == 2 and isinstance(items[0], str) and isinstance(items[1], str) and _whole(items[0]):
                return [clean_text(items[0]), _cut_whole(items[1])]  # a header as a pair
            return [clean(item) for item in items]
        case _:
            return value


def _clean_named(name: str, value: Any) -> Any:
    return _cut_whole(value) if _whole(name) else clean(value)


def _cut_whole(value: Any) -> Any:
    """A value that is a secret whatever it looks like; structures, and numbers that only count, are looked into."""
    match value:
        case str() if value and not is_mark(value):
            return mark("password")
        case int() if not isinstance(value, bool) and abs(value) >= _LEAST_NUMBER:
            return mark("password")
        case list():
            return [_cut_whole(item) for item in cast("list[Any]", value)]
        case _:
            return clean(value)


_LEAST_NUMBER: Final = 100_000  # a password of digits; what is smaller counts something

_NAME: Final = late(r"[\w .$@-]{1,80}")

# Names whose value is a secret whatever it looks like.
_WHOLE: Final = late(
    r"(?i)(?:.{0,40}[_-])?(?:secret|api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|secret[_-]?key"
    r"|client[_-]?secret|private[_-]?key|authorization)$"
)


def _whole(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and (bool(_WHOLE.match(name)) or holds(name) is Holds.PASSWORD)


def context_hash(context: str | None) -> str | None:
    """The first 16 hex digits of the SHA-256 of a context, as it is kept: cleaned."""
    return hashlib.sha256(clean_text(context).encode()).hexdigest()[:16] if context else None
