"""Patterns and words as they are written down: on several lines, by paragraphs of a file, or as one text."""

import re
from pathlib import Path

from mcp_reflect.patterns import lazy_compile


def pattern(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The lines joined without their indents. A space at the edge of a line is lost; none needs one there."""
    return lazy_compile("".join(line.strip() for line in text.splitlines()), flags)


def pattern_table(name: str, flags: re.RegexFlag = re.NOFLAG) -> dict[str, re.Pattern[str]]:
    """Return the pattern of each paragraph of a file in this folder by the first line; the other lines are joined."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    paragraphs = (paragraph.partition("\n") for paragraph in text.split("\n\n"))
    return {head: pattern(lines, flags) for head, _, lines in paragraphs}


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())
