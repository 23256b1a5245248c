r"""Texts in which signs are written as JSON escapes them: `\\u0142` for `ł`, `\\u0022` for a quote."""

import re
from typing import Final

from mcp_reflect.patterns import late

_ESCAPE: Final = late(r"(?<!\\)(?P<slashes>\\{1,16})u(?P<code>[0-9a-fA-F]{4})")


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
