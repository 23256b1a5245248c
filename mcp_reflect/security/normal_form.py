"""The normal form of a text: what of it is shown. A secret is searched in it, and nothing hides in what is not seen."""

from typing import Final

from mcp_reflect.patterns import lazy_compile

_PLAIN: Final = bytes([9, 10, 13, *range(32, 127)])
# Colors, moves of the cursor, titles and links of terminals (ECMA-48), with the characters that they consist of
_TERMINAL: Final = lazy_compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,200}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{0,4000}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{1,8}[0-~]|\x1b[0-~]"
)
# Control characters but tab, newline and return; zero-width and direction marks, annotations, tags: they hide text
_UNSEEN: Final = lazy_compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def normalize(text: str) -> str:
    """Return a text as it is shown: without terminal sequences, overstrikes and unseen characters."""
    if not _has_unseen(text):
        return text
    if "\x1b" in text or not text.isascii():
        text = _TERMINAL.sub("", text)
    if "\b" in text:
        text = "\n".join(map(_without_overstrikes, text.split("\n")))
    return _UNSEEN.sub("", text)


def _has_unseen(text: str) -> bool:
    """True for signs that are not shown; in ASCII they are found without a search."""
    if text.isascii():
        return bool(text.encode().translate(None, _PLAIN))
    return _UNSEEN.search(text) is not None


def _without_overstrikes(line: str) -> str:
    """Return a line without what a backspace takes back: bold and underlined text of `man`."""
    if "\b" not in line:
        return line
    kept: list[str] = []
    for sign in line:
        if sign != "\b":
            kept.append(sign)
        elif kept:
            kept.pop()
    return "".join(kept)
