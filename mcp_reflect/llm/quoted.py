"""Strings as language models write them: any kind of quote, unescaped quotes inside, stray backslashes.

A quote ends its string only where what follows is the structure of JSON. `"he said "hi" to me", "n": 1` is
therefore one string: after `hi"` comes a word, after `me"` a comma and the next key.
"""

import re

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
