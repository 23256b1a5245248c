"""The normal form of a text: what is shown, without terminal sequences, overstrikes and characters that nobody sees."""

import re
from typing import Final

from mcp_reflect.patterns import lazy_compile

_PLAIN: Final = bytes([9, 10, 13, *range(32, 127)])
# Colors, moves of the cursor, titles and links of terminals (ECMA-48), with the characters that they consist of.
_TERMINAL: Final = lazy_compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,200}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4000}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{1,8}[0-~]|\x1b[0-~]"
)
# Control characters but tab, newline and return; zero-width and direction marks, annotations, tags: they hide text.
_UNSEEN: Final = lazy_compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def normalize(text: str) -> str:
    """Return the normal form of a text. It is judged, redacted, stored, indexed and shown; doing it twice is once."""
    if not (text.encode().translate(None, _PLAIN) if text.isascii() else _UNSEEN.search(text)):
        return text
    if "\x1b" in text or not text.isascii():
        text = _TERMINAL.sub("", text)
    if "\b" in text:
        text = _without_overstrikes(text)
    return _UNSEEN.sub("", text)


def _without_overstrikes(text: str) -> str:
    """Return the text with each backspace applied, as a terminal shows it: bold and underlined text of `man`."""
    shown: list[str] = []
    for piece in re.split("(\b)", text):
        if piece != "\b":
            shown.extend(piece)
        elif shown and shown[-1] != "\n":
            shown.pop()
    return "".join(shown)
