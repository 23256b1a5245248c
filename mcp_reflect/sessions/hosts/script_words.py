"""The words of a script in JavaScript, and the values of the literals in it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.models.common import Json

_MOST_DEPTH: Final = 20  # lists and objects in one another
_MOST_DIGITS: Final = 18

_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*(?:.*?\*/|.*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)
    |(?P<unclosed>"(?:[^"\\\n]|\\.)*+|'(?:[^'\\\n]|\\.)*+|`(?:[^`\\]|\\.)*+)
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<number>-?\d+(?:\.\d+)?)
    |(?P<mark>=>|[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|(.))", re.DOTALL
)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None, "undefined": None}


class ScriptWord(NamedTuple):
    """A word of a script: its kind (text, unclosed, name, number, mark), and the word."""

    kind: str
    word: str


_NOTHING: Final = ScriptWord("", "")


class NotLiteralError(Exception):
    """What stands there is computed."""


@dataclass(frozen=True, slots=True)
class ScriptWords:
    """The words of a script or of a part of it, asked for by their places; beyond its ends there is nothing."""

    words: Sequence[ScriptWord]

    def __len__(self) -> int:
        """The number of words."""
        return len(self.words)

    def at(self, place: int) -> ScriptWord:
        """The word at a place, of no kind beyond the ends."""
        if 0 <= place < len(self.words):
            return self.words[place]
        return _NOTHING

    def code_at(self, place: int) -> str:
        """The name or mark at a place; a blank for a text or number, whose content is never taken for code."""
        word = self.at(place)
        if word.kind in ("name", "mark"):
            return word.word
        return " "

    def text_at(self, place: int) -> str | None:
        """The value of the text at a place, None where another word stands there."""
        word = self.at(place)
        if word.kind != "text":
            return None
        return _value_of_text(word.word)

    def part(self, start: int, end: int) -> "ScriptWords":
        """The words from a place up to another."""
        return ScriptWords(self.words[start:end])


def words_of(script: str) -> ScriptWords:
    """The words of a script, without its comments and what stands between words."""
    return ScriptWords(
        [
            ScriptWord(match.lastgroup, match[0])
            for match in _TOKEN.finditer(script)
            if match.lastgroup is not None
        ]
    )


def literal_at(words: ScriptWords, place: int, depth: int = 0) -> tuple[Json, int]:
    """The value of the literal at a place, and the place after it; NotLiteralError where there is none."""
    if depth > _MOST_DEPTH:
        raise NotLiteralError
    kind, word = words.at(place)
    match kind:
        case "text":
            if word[0] == "`" and "${" in word:
                raise NotLiteralError
            return _value_of_text(word), place + 1
        case "number":
            return _value_of_number(word), place + 1
        case "name" if word in _WORDS:
            return _WORDS[word], place + 1
        case "mark" if word == "[":
            return _list_at(words, place + 1, depth)
        case "mark" if word == "{":
            return _object_at(words, place + 1, depth)
        case _:
            raise NotLiteralError


def _list_at(words: ScriptWords, place: int, depth: int) -> tuple[Json, int]:
    """The items of a list from behind its bracket, and the place after it."""
    items: list[Json] = []
    while words.code_at(place) != "]":
        value, place = literal_at(words, place, depth + 1)
        items.append(value)
        place = _after_item(words, place, "]")
    return items, place + 1


def _object_at(words: ScriptWords, place: int, depth: int) -> tuple[Json, int]:
    """The values of an object from behind its brace, and the place after it."""
    values: dict[str, Json] = {}
    while words.code_at(place) != "}":
        name = _key_at(words, place)
        if words.code_at(place + 1) != ":":
            raise NotLiteralError
        values[name], place = literal_at(words, place + 2, depth + 1)
        place = _after_item(words, place, "}")
    return values, place + 1


def _key_at(words: ScriptWords, place: int) -> str:
    """The key of an object at a place: a name, or a text in quotes."""
    kind, word = words.at(place)
    if kind == "name":
        return word
    if kind == "text":
        return _value_of_text(word)
    raise NotLiteralError


def _after_item(words: ScriptWords, place: int, closing: str) -> int:
    """The place of what follows an item: behind a comma, or the closing mark itself."""
    if words.code_at(place) == ",":
        return place + 1
    if words.code_at(place) != closing:
        raise NotLiteralError
    return place


def _value_of_number(word: str) -> float | int:
    """The value of a number; a whole one is read up to 18 digits, for no argument has more."""
    if "." in word:
        return float(word)
    return int(word[:_MOST_DIGITS])


def _value_of_text(quoted: str) -> str:
    """The text between its quotes, with what is escaped in it."""
    return _ESCAPE.sub(_unescaped, quoted[1:-1])


def _unescaped(escape: re.Match[str]) -> str:
    """The character for which an escape stands; an escaped end of a line stands for nothing."""
    code = escape[1] or escape[2] or escape[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    if escape[4]:
        return ""
    return _ESCAPED.get(escape[5], escape[5])
