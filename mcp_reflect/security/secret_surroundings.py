"""What stands around the many names of a text: where nothing there can tell a secret, a name is not read.

A log names passwords, keys and tokens on every line and tells none. To read all that stands around each name takes long,
so what every reader of values asks for (a sign, a verb, a quotation mark, a word that looks drawn) is looked up once in
the whole text. A name is quiet where none of it stands near: whoever reads it in full finds nothing.
"""

import re
from bisect import bisect_left
from functools import cached_property, lru_cache
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_labels import SecretName
from mcp_reflect.security.secret_tables import pattern_of

_SENTENCE: Final = 150  # characters behind a name in which its sentence may say the value
_BEFORE: Final = 130  # characters before it
_DECLARATION: Final = 420  # characters behind it in which a default may stand
_LONGEST_SIGN: Final = 12  # characters of a sign with the blanks around it
_SHORTEST_ODD: Final = 5  # characters of a word that may look drawn
_FAR: Final = 1 << 60  # behind every text


def _verbs(*kinds: str) -> str:
    return "|".join(pattern_of("secret_verbs.txt", kind) for kind in kinds)


_ENDS_REACH: Final = lazy_compile(r"[.;&+{$]")
"""What a sentence never has between a name and its value."""

_SIGNS: Final = lazy_compile(r"[.;&+{$:=<]")
"""The same, and the signs of assignment: behind the first one stands the value, or nothing of this name."""

_TELLS: Final = lazy_compile(
    lambda: (
        r"[:=：→⇒—–]|->|(?<= )\||\((?=[\"'«„“`])|[^\x00-\x7f](?:"
        rf"{_verbs('is stuck')})|\b(?:{_verbs('is')})(?=[ \t])"
    )
)
"""What may stand between a name and its value in a sentence, in small letters."""

_TELLS_BEFORE: Final = lazy_compile(
    lambda: rf"\b(?:{_verbs('with', 'ahead', 'used', 'whose')})(?=[ \t])|\b(?:{_verbs('changed')})"
)
"""What may stand before the name of a password whose value stands right beside it, or before it, in small letters."""

_APART: Final = lazy_compile(r"[,;(/&+][ \t]?\Z")
"""Before the name of a password whose drawn value stands behind a blank: `ada / password Kelp4`."""

_OPENING_QUOTE: Final = lazy_compile("(?<![\\w.,;!?%)\\]])[\"'`«„“「『]|&quot;|&#")
_DEFAULT: Final = lazy_compile("default")
_LONG_WORD: Final = lazy_compile(r"[^\s\"'`,;()<>{}\[\]|\\]{8,}")
_MAY_BE_ODD: Final = lazy_compile(r".{0,100}?[0-9!@#$%^&*+?~]|.{24}")
"""A long word that may look drawn: it has a digit or a sign, or is very long."""

_ODD_LETTERS: Final = str.maketrans("İıſ", "iis")
"""What a pattern that ignores case takes for a small letter, and `lower` does not."""

_PARTS: Final = lazy_compile(r"[:=&/]+")

_QUOTES: Final = ("'", '"')
"""Before a name that begins a text in quotes, which may end with its value."""

_GOES_ON: Final = lazy_compile(r"(?:\[\w{0,6}\])?(?:::|[./@])(?=\w)|\(\)")
"""Behind a part of a path, of a dotted name, of a test's id."""

_PROSE: Final = lazy_compile(
    r"(?!.{0,3}?\s{0,20}[\"']?(?:value|content)[\"']?[ \t]{0,3}[:=])"
    r"(?:\[\w{0,6}\])?(?P<quote>[\"'`]?)[.,;!?)\]]{0,3}"
    r"(?:[ ](?!(?:bearer|basic|digest|token|bot|ssws|api-?key|genie-?key|negotiate|splunk|sso-key)\b)"
    r"(?:[(\[]?[\w.]|\.{3}[ ])|[ ]{0,3}\d{1,9}(?=\s|\Z)|[ \t\r]{0,3}(?=\n|\Z))",
    re.IGNORECASE,
)
"""Behind a name in prose: another word, a number, or the end of its line."""

_PLAIN_SETTING: Final = lazy_compile(
    r"[ \t]{0,8}(?:->|=>|:=|[:=])[ \t]{0,8}(?:[A-Za-z_.]{1,60}|\d{1,9})(?=[\s,;()\[\]]|\Z)"
    r"|[ ]{1,20}\|[ ]"
)
"""Words of letters, or a number, as the value of a key, which would be drawn; the next column of a table."""

_REST_OF_LINE: Final = lazy_compile(rf"[^\n]{{0,{_SENTENCE}}}")
_NEXT_LINE: Final = lazy_compile(rf"\s{{1,40}}[^\n]{{0,{_SENTENCE}}}")
_ENDS_LINE: Final = lazy_compile(r"[\])}:.,;!? \t\r*_`]{0,8}\Z|.*:[*_`]{0,2}[ \t\r]{0,3}\Z")


class Surroundings:
    """The places in a text of all that may tell a secret, in their order, each kind looked up when a name first needs it.

    Most names of a text that is full of them are told by what stands right behind them.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _small(self) -> str:
        """The text in small letters, of the same length: a search that ignores case takes three times as long."""
        if self._text.isascii():
            return self._text.lower()
        return self._text.translate(_ODD_LETTERS).lower()

    @cached_property
    def _ends_reach(self) -> list[int]:
        return _starts(_ENDS_REACH, self._text)

    @cached_property
    def _tells(self) -> list[int]:
        return _starts(_TELLS, self._small)

    @cached_property
    def _tells_before(self) -> list[int]:
        return _starts(_TELLS_BEFORE, self._small)

    @cached_property
    def _signs(self) -> list[int]:
        return _starts(_SIGNS, self._text)

    @cached_property
    def _quotes(self) -> list[int]:
        return _starts(_OPENING_QUOTE, self._text)

    @cached_property
    def _defaults(self) -> list[int]:
        return _starts(_DEFAULT, self._small)

    @cached_property
    def _odd_words(self) -> list[int]:
        long_words = _LONG_WORD.finditer(self._text)
        return [word.start() for word in long_words if _is_odd_word(word[0])]

    def is_quiet(self, name: SecretName) -> bool:
        """True where nothing around a name can tell its value: see the readers that `secret_names` calls."""
        text, end = self._text, name.end
        if name.foreign or text[name.start] == "-" or not _goes_on_plainly(text, name):
            return False
        if _next(self._defaults, end) < end + _DECLARATION:
            return False
        line_end = _end_of(_REST_OF_LINE, text, end)
        has_value = self._may_be_quoted
        if name.kind == "password":
            has_value = self._may_be_told
        return not has_value(name, line_end) and not self._has_odd_word_in_reach(name, line_end)

    def _may_be_told(self, name: SecretName, line_end: int) -> bool:
        """True where a sentence may say a password: behind its name, before it, or right beside it."""
        text, start, end = self._text, name.start, name.end
        if _next(self._tells, end) < min(line_end, _next(self._ends_reach, end)):
            return True
        line_start = text.rfind("\n", max(0, start - _BEFORE), start) + 1
        if _next(self._tells_before, max(line_start, start - _BEFORE)) < start:
            return True
        has_blank_behind = text[end : end + 1] == " "
        return has_blank_behind and _APART.search(text, max(0, start - 2), start) is not None

    def _may_be_quoted(self, name: SecretName, line_end: int) -> bool:
        """True where the value of a key may stand in quotation marks behind its name."""
        end_of_sign = _next(self._signs, name.end) + _LONGEST_SIGN
        return _next(self._quotes, name.end) < min(line_end, end_of_sign)

    def _has_odd_word_in_reach(self, name: SecretName, line_end: int) -> bool:
        """True where a word that looks drawn stands as far behind a name as its value may."""
        start = name.end
        if self._text.startswith("::", start):  # the value may go on in the same word
            start = self._text.rfind(" ", max(0, name.start - _BEFORE), start)
        return _next(self._odd_words, start) < self._end_of_reach(name.end, line_end)

    def _end_of_reach(self, end: int, line_end: int) -> int:
        """Return how far a drawn word would be a value: in the line, or in the next one where the line ends with the name."""
        if line_end - end < _SENTENCE and _ENDS_LINE.match(self._text, end, line_end):
            return _end_of(_NEXT_LINE, self._text, line_end)
        return line_end


def _starts(pattern: re.Pattern[str], text: str) -> list[int]:
    return [place.start() for place in pattern.finditer(text)]


def _next(places: list[int], at: int) -> int:
    """Return the first of some places from `at` on."""
    number = bisect_left(places, at)
    return places[number] if number < len(places) else _FAR


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _goes_on_plainly(text: str, name: SecretName) -> bool:
    """True where no value begins right behind a name, unless it looks drawn."""
    if _GOES_ON.match(text, name.end):
        return True
    prose = _PROSE.match(text, name.end)
    if name.kind == "password":
        return prose is not None and not prose["quote"]
    if prose is not None:
        return True
    is_quoted = text[name.start - 1 : name.start] in _QUOTES
    return not is_quoted and _PLAIN_SETTING.match(text, name.end) is not None


@lru_cache(maxsize=20_000)
def _is_odd_word(word: str) -> bool:
    """True for a long word that looks drawn, or has a part that does."""
    return _MAY_BE_ODD.match(word) is not None and any(
        _is_odd(part) for part in (word, *_PARTS.split(word))
    )


def _is_odd(part: str) -> bool:
    if len(part) < _SHORTEST_ODD:
        return False
    return values.is_random(part) or values.is_mixed(part) or values.strange(part)
