"""The mark that stands where a secret stood."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

START: Final = "[redacted:"


def mark(kind: str) -> str:
    """What is written in the place of a secret of that kind."""
    return f"{START}{kind}]"


def is_mark(text: str) -> bool:
    """Whether a text begins with a mark."""
    return text.startswith(START)


def replaced(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """The text with a mark for each span (start, end, kind); of two that overlap, the first or longer one."""
    pieces: list[str] = []
    done = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= done:
            pieces += [text[done:start], mark(kind)]
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled when it is first needed: all of them would cost the command line 15 ms at each start."""
    return re.compile(pattern, flags)
