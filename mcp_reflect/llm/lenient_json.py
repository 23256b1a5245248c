"""JSON with the slips of language models: other quotes and literals, comments, commas too many or too few."""

import json
import re
from dataclasses import dataclass, field

from mcp_reflect.models.common import Json

# Strings as language models write them: any kind of quote, unescaped quotes inside, stray backslashes.
#
# A quote ends its string only where what follows is the structure of JSON. `"he said "hi" to me", "n": 1` is
# therefore one string: after `hi"` comes a word, after `me"` a comma and the next key.


CLOSERS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": '”“"',
    "”": '”“"',
    "„": '“”"',
    "‘": "’‘'",
    "’": "’‘'",
    "«": "»",
}
"""Which characters may end a string, by the one that began it."""

GAP = re.compile(r"(?:[\s\u200b\u200c\u200d\ufeff]+|//[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*)*", re.DOTALL)
"""What may stand between two tokens: white space, also zero-width, and comments."""

_KEY = re.compile(
    r"""(?:["'“”„‘’`][^"'“”„‘’`\n]{0,200}["'“”„‘’`]|[\w$][\w$.-]{0,100})\s*(?:[:：]|=>?|\Z)|["'][^"']{0,200}\Z"""
)
_VALUE = re.compile(r"""["'“„‘`{\[]|-?\d|(?:true|false|null|True|False|None)\b""")
_LANGUAGE = re.compile(r"\A[\w+-]*\n")
_BARE = re.compile(r"""(?!//|/\*|\#)[^\s"'“”`{}\[\](),;:][^"'“”`{}\[\],\n]*""")
_NUMERIC = re.compile(r"[-+\d._eE]+")
_MEMBER = re.compile(r"""["']\s*:\s*["'{\[]""")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    '"': '"',
    "\\": "\\",
    "/": "/",
    "'": "'",
    "`": "`",
    "\n": "\n",
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:\\|\\\\\w")
_ANY_QUOTE = "\"'`“”‘’"


def read_string(text: str, start: int, stack: str, *, key: bool, mixed: bool = False) -> tuple[str, int] | None:
    """The string that begins at `start` and where it ends, or null where no quote can be its end.

    `stack` holds the open containers, innermost last. With `mixed`, any kind of quote may end it.
    """
    quote = text[start]
    if text.startswith(quote * 3, start) and quote in "\"'`":
        end = text.find(quote * 3, start + 3)
        body = text[start + 3 : end]
        if quote == "`":  # a fence as a value: its first line names a language, its last is the fence's own
            body = _LANGUAGE.sub("", body).removesuffix("\n")
        return None if end < 0 else (_unescape(body), end + 3)
    closers = _ANY_QUOTE if mixed else CLOSERS[quote]
    inner = 0
    for match in re.compile(rf"\\.|[{closers}]", re.DOTALL).finditer(text, start + 1):
        if match[0][0] == "\\":
            continue
        if _ends(text, match.end(), stack, key=key):
            body = text[start + 1 : match.start()]
            ran_away = quote == "'" and "\n\n" in body
            return None if ran_away or _doubtful(body, quote, inner) else (_unescape(body), match.end())
        inner += match[0] == quote
        if inner > 400:
            return None
    return None


def read_bare(text: str, start: int) -> tuple[str, int] | None:
    """A value of an object that lost its quotes altogether, up to the next member or the end of the object."""
    match = _BARE.match(text, start)
    if match is None:
        return None
    body = match[0].rstrip()
    at = _skip(text, match.end())
    goes_on = text[at : at + 1] in {"", "}"} or (text[at] == "," and _goes_on(text, _skip(text, at + 1), "{"))
    if not goes_on or _NUMERIC.fullmatch(body) or re.search(r"(?<!:)//|/\*|\s\#|:\s", body):
        return None
    return body, match.end()


def _doubtful(body: str, quote: str, inner: int) -> bool:
    """Whether one of the `inner` quotes in a body may have been its end: an odd one, a doubled one, or a member's."""
    if quote != '"' or not inner:
        return False
    doubled = inner == 2 and body[0] == body[-1] == quote
    return inner % 2 == 1 or doubled or bool(_MEMBER.search(body))


def _ends(text: str, at: int, stack: str, *, key: bool) -> bool:
    """Whether a quote just before `at` ends its string."""
    at = _skip(text, at)
    following = text[at : at + 1]
    if key:
        return following in {":", "：", "="}
    if not following:
        return True
    if following in ",，;":
        after = _skip(text, at + 1)
        return _goes_on(text, after, stack) or text[after : after + 1] in set("}]，,") | {""}
    if following in "}]":
        after = text[_skip(text, at + 1) :][:1]
        return len(stack) == 1 or after in {"", ",", "}", "]", "\n", ";", "，", "`"}
    if following == "+":
        return text[_skip(text, at + 1) :][:1] in {'"', "'", "`"}
    return _goes_on(text, at, stack) if stack[-1:] == "{" else following in "\"'“" and text[at - 1].isspace()


def _goes_on(text: str, at: int, stack: str) -> bool:
    """Whether the next member of the innermost container begins at `at`."""
    return bool((_KEY if stack[-1:] == "{" else _VALUE).match(text, at)) or text.startswith("...", at)


def _skip(text: str, at: int) -> int:
    gap = GAP.match(text, at)
    return gap.end() if gap else at


def _unescape(body: str) -> str:
    """The characters that `body` stands for; an escape that JSON does not know keeps its backslash."""
    if "\\" not in body:
        return body
    found = {match[1][0] for match in _ESCAPE.finditer(body)}
    if _DRIVE.match(body) and found - _ESCAPES.keys() - {"u"}:
        return body  # C:\Users\new: nobody who writes \U means \n
    plain = _ESCAPE.sub(_one, body)
    return _SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), plain)


def _one(escape: re.Match[str]) -> str:
    letter = escape[1]
    if len(letter) == 5:
        return chr(int(letter[1:], 16))
    return _ESCAPES.get(letter, escape[0])


# JSON with the slips whose meaning is plain: other quotes and literals, comments, commas too many or too few.
#
# It reads what it understands and gives up on the rest: what is doubtful is left to `json_repair`.


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
