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
    """A value in a script is computed, and not written down."""


@dataclass(frozen=True, slots=True)
class ScriptWords:
    """The words of a script or of a part of it, asked for by their indexes from 0; beyond its ends there is nothing."""

    words: Sequence[ScriptWord]

    def __len__(self) -> int:
        """The number of words."""
        return len(self.words)

    def at(self, index: int) -> ScriptWord:
        """The word at an index, of no kind beyond the ends."""
        if 0 <= index < len(self.words):
            return self.words[index]
        return _NOTHING

    def code_at(self, index: int) -> str:
        """The name or mark at an index; a blank for a text or number, whose content is never taken for code."""
        word = self.at(index)
        if word.kind in ("name", "mark"):
            return word.word
        return " "

    def text_at(self, index: int) -> str | None:
        """The value of the text at an index, None where another word stands there."""
        word = self.at(index)
        if word.kind != "text":
            return None
        return _value_of_text(word.word)

    def part(self, start: int, end: int) -> "ScriptWords":
        """The words from an index up to another."""
        return ScriptWords(self.words[start:end])


def words_of(script: str) -> ScriptWords:
    """The words of a script, without blanks and comments: `f("a") // go` has f, (, "a" and )."""
    return ScriptWords(
        [
            ScriptWord(match.lastgroup, match[0])
            for match in _TOKEN.finditer(script)
            if match.lastgroup is not None
        ]
    )


def literal_at(words: ScriptWords, index: int, depth: int = 0) -> tuple[Json, int]:
    """The value of the literal at an index, and the index of the word after it.

    In `{cmd: "ls"}, 5` it is {"cmd": "ls"} for index 0, with the index 5, that of the comma. NotLiteralError where a
    value is computed.
    """
    if depth > _MOST_DEPTH:
        raise NotLiteralError
    kind, word = words.at(index)
    match kind:
        case "text":
            if word[0] == "`" and "${" in word:
                raise NotLiteralError
            return _value_of_text(word), index + 1
        case "number":
            return _value_of_number(word), index + 1
        case "name" if word in _WORDS:
            return _WORDS[word], index + 1
        case "mark" if word == "[":
            return _list_at(words, index + 1, depth)
        case "mark" if word == "{":
            return _object_at(words, index + 1, depth)
        case _:
            raise NotLiteralError


def _list_at(words: ScriptWords, index: int, depth: int) -> tuple[Json, int]:
    """The items of a list from behind its bracket, and the index after it."""
    items: list[Json] = []
    while words.code_at(index) != "]":
        value, index = literal_at(words, index, depth + 1)
        items.append(value)
        index = _after_item(words, index, "]")
    return items, index + 1


def _object_at(words: ScriptWords, index: int, depth: int) -> tuple[Json, int]:
    """The values of an object from behind its brace, and the index after it."""
    values: dict[str, Json] = {}
    while words.code_at(index) != "}":
        name = _key_at(words, index)
        if words.code_at(index + 1) != ":":
            raise NotLiteralError
        values[name], index = literal_at(words, index + 2, depth + 1)
        index = _after_item(words, index, "}")
    return values, index + 1


def _key_at(words: ScriptWords, index: int) -> str:
    """The key of an object at an index: a name, or a text in quotes."""
    kind, word = words.at(index)
    if kind == "name":
        return word
    if kind == "text":
        return _value_of_text(word)
    raise NotLiteralError


def _after_item(words: ScriptWords, index: int, closing: str) -> int:
    """The index of what follows an item: behind a comma, or the closing mark itself."""
    if words.code_at(index) == ",":
        return index + 1
    if words.code_at(index) != closing:
        raise NotLiteralError
    return index


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
