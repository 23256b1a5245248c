"""Characters that nobody sees: text that only a program reads."""

import re
from typing import Final

_FLAG: Final = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,8}\U000e007f")  # flags of regions
_TAGS: Final = re.compile("[\U000e0000-\U000e007f]")
_RUN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u180e]{4}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3}")
# Zero-width within a word of Latin letters: no script that is written with them needs it there.
_WITHIN: Final = re.compile("[A-Za-z][\u200b-\u200d\u2060-\u2064\ufeff]+[A-Za-z]")
_TURNED: Final = re.compile("[\u202d\u202e]|[\u2066-\u2068]{2}|[\u2066-\u2068]\u2069")


def hides_text(text: str) -> bool:
    """Whether a text carries signs that are not shown, in the ways in which text is hidden."""
    if text.isascii():
        return False
    return bool(_TAGS.search(_FLAG.sub("", text)) or _RUN.search(text) or _WITHIN.search(text) or _TURNED.search(text))
