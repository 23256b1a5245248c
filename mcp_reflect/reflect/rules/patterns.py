"""Long patterns written over several lines, so that they can be read."""

import re

from mcp_reflect.patterns import late


def pattern(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The lines joined without their indents. A space at the edge of a line is lost; none needs one there."""
    return late("".join(line.strip() for line in text.splitlines()), flags)


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())
