"""How a claim calls a measure (a time, a size, a port), and the lines of outputs that have it."""

import re
from typing import Final

from mcp_reflect.evidence.word_lists import pattern_of

_MEASURES: Final = tuple(
    (pattern_of(f"{name} words", "measures"), pattern_of(f"{name} lines", "measures"))
    for name in (
        "time",
        "changed lines",
        "date",
        "author",
        "size",
        "port",
        "branch",
        "latest commit",
        "refusal",
    )
)


def measures_in(claim: str) -> list[re.Pattern[str]]:
    """Return the patterns of the lines that have a measure of which a claim speaks."""
    return [lines for words, lines in _MEASURES if words.search(claim)]
