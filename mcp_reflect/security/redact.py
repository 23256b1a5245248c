"""Redaction of secrets and invisible characters from a text, a structure or a context."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final, cast

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_assignments as assigned
from mcp_reflect.security import secret_places as places
from mcp_reflect.security.secret_assignments import cut_assigned
from mcp_reflect.security.secret_places import cut_places
from mcp_reflect.security.secret_shapes import cut_armour, cut_shapes
from mcp_reflect.security.secret_values import Holds, compiled, holds, is_mark, mark

# Texts in which signs are written as JSON escapes them: `\\u0142` for `ł`, `\\u0022` for a quote.


_ESCAPE: Final = lazy_compile(r"(?<!\\)(?P<slashes>\\{1,16})u(?P<code>[0-9a-fA-F]{4})")


def unescaped(text: str) -> str:
    r"""The text with the signs that its escapes stand for, so that what was JSON is the same JSON.

    An escape of JSON within JSON has twice the backslashes, and a quote that it stands for has them too. Control
    characters and halves of pairs stay as they are.
    """
    return _ESCAPE.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    code = int(found["code"], 16)
    slashes = len(found["slashes"])
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or slashes & (slashes - 1):
        return found[0]
    sign = chr(code)
    match sign:
        case '"':
            return "\\" * (2 * slashes - 1) + sign
        case "\\":
            return "\\" * (2 * slashes)
        case _:
            return sign


# Which words of the door a text can hold, told from the text's own words: most texts hold none, and are through.
#
# A word of the door (`password`, `identified by`, `jdbc:`) can be in a text only where its stem, its longest run of
# letters, is in a word of the text. The words of texts are learnt as they come: one without a stem is known from then
# on, so that a text of known words costs a split and a look into a set. What a text may hold is never too little: the
# gate says where looking is of use, and the patterns say what is there.


_LETTERS: Final = bytes(at if chr(at).islower() and at < 128 else 32 for at in range(256))
_RUNS: Final = re.compile(r"[a-z]+")
_LEAST_GATE: Final = 2  # letters of a stem
_LONGEST: Final = 24  # letters of a word that is worth knowing: what is longer is seldom a word
_MOST_KNOWN: Final = 40_000  # words, some 3 MB


class Gate:
    """The words of a door, by their stems."""

    def __init__(self, words: Iterable[str]) -> None:
        """`words` are in lower case; those without two letters a to z in a row have no stem."""
        self._by_stem: dict[bytes, list[str]] = {}
        self._plain_signs: list[str] = []
        self._foreign: list[str] = []
        self._order = {word: place for place, word in enumerate(dict.fromkeys(words))}
        for word in self._order:
            stem = max(_RUNS.findall(word), key=len, default="")
            if len(stem) >= _LEAST_GATE:
                self._by_stem.setdefault(stem.encode(), []).append(word)
            else:
                (self._plain_signs if word.isascii() else self._foreign).append(word)
        self._plain: set[bytes] = set()
        self._telling: dict[bytes, tuple[bytes, ...]] = {}

    @property
    def known(self) -> int:
        """How many words of texts are kept in mind."""
        return len(self._plain) + len(self._telling)

    def opened(self, folded: str) -> list[str]:
        """The door's words that are in a text, in their order; `folded` is its lower case."""
        found: set[bytes] = set()
        unknown: list[bytes] = []
        for word in set(folded.encode(errors="replace").translate(_LETTERS).split()) - self._plain:
            stems = self._telling.get(word)
            if stems is None:
                unknown.append(word)
            else:
                found.update(stems)
        if unknown:
            found.update(self._learn(unknown))
        words = [word for word in self._plain_signs if word in folded]
        if not folded.isascii():
            words += [word for word in self._foreign if word in folded]
        if found:
            words += [word for stem in found for word in self._by_stem[stem] if word in folded]
            words.sort(key=self._order.__getitem__)
        return words

    def _learn(self, unknown: list[bytes]) -> list[bytes]:
        """The stems in words that were not met before; the words are kept in mind, but for those too long to be any."""
        joined = b" ".join(unknown)
        found = [stem for stem in self._by_stem if stem in joined]
        if self.known + len(unknown) > _MOST_KNOWN:
            self._plain.clear()
            self._telling.clear()
        for word in unknown:
            if len(word) <= _LONGEST:
                stems = tuple(stem for stem in found if stem in word)
                if stems:
                    self._telling[word] = stems
                else:
                    self._plain.add(word)
        return found


# The door itself: what is done to a text, a structure, a context.


# Control characters but tab, newline and return; zero-width and direction marks, tags: they hide text.
_UNSEEN: Final = lazy_compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_PLAIN: Final = bytes([9, 10, 13, *range(32, 127)])
_LEAST_DOOR: Final = 20  # signs in one word from which on it can be a key
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
    if len(text) < _LEAST_DOOR and text.isalnum():
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

_NAME: Final = lazy_compile(r"[\w .$@-]{1,80}")

# Names whose value is a secret whatever it looks like.
_WHOLE: Final = lazy_compile(
    r"(?i)(?:.{0,40}[_-])?(?:secret|api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|secret[_-]?key"
    r"|client[_-]?secret|private[_-]?key|authorization)$"
)


def _whole(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and (bool(_WHOLE.match(name)) or holds(name) is Holds.PASSWORD)


def context_hash(context: str | None) -> str | None:
    """The first 16 hex digits of the SHA-256 of a context, as it is kept: cleaned."""
    return hashlib.sha256(clean_text(context).encode()).hexdigest()[:16] if context else None


# The door: what every text passes before it is written. Secrets and invisible characters stay outside.
#
# The database runs it over every value that it is given to write, so nothing goes round it; the engine
# runs it over a trace before anything reads it, so what an agent sees is what was kept; errors that repeat
# what was sent pass it too. Running it twice changes nothing.


__all__ = ["clean", "clean_text", "compiled", "context_hash", "quoted"]
