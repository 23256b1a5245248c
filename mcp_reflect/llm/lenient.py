"""JSON with the slips whose meaning is plain: other quotes and literals, comments, commas too many or too few.

It reads what it understands and gives up on the rest: what is doubtful is left to `json_repair`.
"""

import json
import re
from dataclasses import dataclass, field

from mcp_reflect.llm.quoted import CLOSERS, GAP, read_bare, read_string
from mcp_reflect.models.common import Json

MAX_DEPTH = 200
"""Containers inside each other. Nothing that a model says on purpose comes near."""

_PUNCTUATION = {"：": ":", "，": ",", "、": ",", ";": ",", "｛": "{", "｝": "}", "［": "[", "］": "]", "=": ":"}
_LITERALS = {
    "true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false",
    "null": "null", "None": "null", "NULL": "null", "undefined": "null", "nil": "null",
    "NaN": "NaN", "nan": "NaN", "Infinity": "Infinity",
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z_$][\w$.-]*")
_KEY_WORDS = re.compile(r"[^\W\d][\w$.-]*(?: [\w$.-]+){0,4}(?=\s*[:：])")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(%?)(?=[\s,，;\]}/#:]|$)")
_ENDS = re.compile(r"\s*(?:[,，;}\]\n]|//|/\*|\#|\Z)|\s*\n")
_ELLIPSIS = re.compile(r"\.\.\.|…")
_CLOSER = {"{": "}", "[": "]"}


@dataclass
class _Reader:
    """One walk over a text from `at`, and the JSON written so far."""

    text: str
    at: int
    mixed: bool
    stack: str = ""
    parts: list[str] = field(default_factory=list[str])
    last: str = ""
    """What was written last: an opener, a closer, `:`, `,`, `key` or `value`."""

    def run(self) -> bool:
        """Whether a whole container was read; one that was cut off between two values is closed."""
        while self.at < len(self.text):
            gap = GAP.match(self.text, self.at)
            self.at = gap.end() if gap else self.at
            if self.at >= len(self.text):
                break
            if not self._token():
                return False
            if not self.stack:
                return True
        if self.last in {"key", ":"}:
            return False
        while self.stack:
            self._close(_CLOSER[self.stack[-1]])
        return True

    def _token(self) -> bool:
        char = _PUNCTUATION.get(self.text[self.at], self.text[self.at])
        if char in "{[":
            return self._open(char)
        if char in "}]":
            self.at += 1
            return self._close(char)
        if char in ":,":
            self.at += 2 if self.text.startswith("=>", self.at) else 1
            return self._mark(char)
        if char in CLOSERS:
            return self._string()
        if char == "+" and self.last == "value" and self.parts[-1][:1] == '"':
            return self._join()
        return self._bare()

    def _open(self, char: str) -> bool:
        if len(self.stack) >= MAX_DEPTH or self._at_key() or not self._room():
            return False
        self.at += 1
        self.stack += char
        self.parts.append(char)
        self.last = char
        return True

    def _close(self, char: str) -> bool:
        if self.last in {"key", ":"}:
            return False
        if _CLOSER[self.stack[-1]] != char:
            # The other kind: its own closer was forgotten, if this one fits the container around it.
            if len(self.stack) < 2 or _CLOSER[self.stack[-2]] != char or self.last in _CLOSER:
                return False
            self._close(_CLOSER[self.stack[-1]])
        if self.last == ",":
            self.parts.pop()
        self.parts.append(char)
        self.stack = self.stack[:-1]
        self.last = "value"
        return True

    def _mark(self, char: str) -> bool:
        if char == ":":
            if self.last != "key":
                return False
        elif self.last != "value":
            return self.last == ","  # one comma is as good as two
        self.parts.append(char)
        self.last = char
        return True

    def _string(self) -> bool:
        key = self._at_key()
        read = read_string(self.text, self.at, self.stack, key=key, mixed=self.mixed)
        if read is None:
            return False
        self.at = read[1]
        return self._put(json.dumps(read[0]), key=key)

    def _join(self) -> bool:
        """`"one " + "two"`: the second half goes into the first."""
        gap = GAP.match(self.text, self.at + 1)
        self.at = gap.end() if gap else self.at + 1
        if self.text[self.at : self.at + 1] not in CLOSERS:
            return False
        read = read_string(self.text, self.at, self.stack, key=False)
        if read is None:
            return False
        self.at = read[1]
        self.parts[-1] = self.parts[-1][:-1] + json.dumps(read[0])[1:]
        return True

    def _bare(self) -> bool:
        """What has no quotes: a number, a literal, a key, a value, or an ellipsis, which stands for nothing."""
        number = _NUMBER.match(self.text, self.at)
        if number and (self.last != ":" or _ENDS.match(self.text, number.end())):
            self.at = number.end()
            if self._at_key():
                return self._put(json.dumps(number[0]), key=True)
            return self._put(json.dumps(number[0]) if number[1] else _number(number[0]), key=False)
        if ellipsis := _ELLIPSIS.match(self.text, self.at):
            self.at = ellipsis.end()
            return True
        return self._unquoted_key() if self._at_key() else self._unquoted_value()

    def _unquoted_key(self) -> bool:
        match = _KEY_WORDS.match(self.text, self.at) or _WORD.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        return self._put(json.dumps(match[0]), key=True)

    def _unquoted_value(self) -> bool:
        match = _WORD.match(self.text, self.at)
        literal = self._literal(match) if match else None
        if match and literal:
            self.at = match.end()
            return self._put(literal, key=False)
        bare = read_bare(self.text, self.at) if self.last == ":" else None
        if bare is None:
            return False
        self.at = bare[1]
        return self._put(json.dumps(bare[0]), key=False)

    def _literal(self, match: re.Match[str]) -> str | None:
        """The literal that a word is, or was before the end of the text cut it off."""
        if match.end() == len(self.text) and len(match[0]) > 1:
            return next((value for name, value in _LITERALS.items() if name.startswith(match[0])), None)
        return _LITERALS.get(match[0]) if self.last != ":" or _ENDS.match(self.text, match.end()) else None

    def _at_key(self) -> bool:
        return self.stack[-1:] == "{" and self.last != ":"

    def _put(self, written: str, *, key: bool) -> bool:
        if not self._room():
            return False
        self.parts.append(written)
        self.last = "key" if key else "value"
        return True

    def _room(self) -> bool:
        """Make room for a key or value: a comma that was left out is put in."""
        if self.last == "value":
            self.parts.append(",")
            self.last = ","
        return self.last != "key"


def _number(written: str) -> str:
    """A number as JSON writes it: no plus, a digit before the point, no leading zeros."""
    sign, digits = ("-", written[1:]) if written[0] == "-" else ("", written.lstrip("+"))
    digits = digits.lstrip("0") or "0"
    return f"{sign}{'0' if digits[0] in '.eE' else ''}{digits}"


def read_lenient(text: str, start: int = 0) -> tuple[Json, int] | None:
    """The container that begins at `start` and where it ends, or null where the text is not plain enough."""
    for mixed in (False, True):
        reader = _Reader(text, start, mixed)
        if reader.run() and reader.at > start:
            try:
                return json.loads("".join(reader.parts)), reader.at
            except (ValueError, RecursionError):
                continue
    return None
