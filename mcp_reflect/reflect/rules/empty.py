"""Answers that say that a search found nothing."""

import json
import re

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import late
from mcp_reflect.reflect.rules.patterns import pattern

SHORT = 600  # characters: a longer answer of a search holds something, whatever its first words are

_SAYS_NOTHING = pattern(
    r"""
    ^[\s"'(\[]{0,8}(?:error: {0,3})?(?:sorry, |unfortunately, )?(?:could(?:n't| not) find\b
    |no (?:\w{1,20} ){0,3}(?:results?|matches|match|hits|documents?|files?|records?|rows|entries|items|data)\b
    (?! (?:from|were lost|loss))
    |(?:the )?last page searched was not found|0 (?:results?|matches|hits|rows|records|documents|files|items)\b
    |nothing (?:was )?found|not found\b|found (?:0|no|nothing)\b|(?:your |the )?(?:search|query|term)\b.{0,300}?
    (?:returned (?:no|0|nothing)|did ?n[o']t match|did not return|found (?:no|nothing|0)|has no results|yielded no
    |no results)
    |there (?:are|were) no (?:\w{1,20} ){0,3}(?:results?|matches|records|documents)|empty (?:result|set|response)
    |none found|no (?:such )?(?:page|article|entry)\b.{0,80}(?:found|exists?)
    |that page (?:could not be found|does not exist))""",
    re.IGNORECASE,
)
_EMPTY = frozenset({"", "[]", "{}", "null", "none", "()", "[[]]", '""', "''", "n/a", "set()", "undefined"})
_LISTS = [
    "results",
    "items",
    "hits",
    "data",
    "documents",
    "matches",
    "rows",
    "records",
    "entries",
    "organic",
    "value",
    "docs",
]
_COUNTS = ["count", "total", "total_count", "totalCount", "num_results", "total_results", "numFound", "hits", "found"]
_SIMILAR = late(
    r"(?i)(?:similar|did you mean|perhaps you meant|maybe you meant|suggestions?|closest matches)"
    r"\s{0,4}:?\s{0,4}(.{0,1200})"
)
_QUOTED = late(r"'((?:[^'\\\n]|(?<=\w)'(?=\w)){2,120})'(?=[\s,\]?.]|$)|\"([^\"\n]{2,120})\"")


def found_nothing(answer: str) -> bool:
    """Whether the whole answer of a search says that there is nothing."""
    text = answer.strip()
    if text.lower() in _EMPTY:
        return True
    if text[:1] in "{[" and len(text) <= 20_000:
        try:
            return _holds_nothing(json.loads(text))
        except (ValueError, RecursionError):
            pass  # not JSON: `[SAS] was not found` also starts with a bracket
    # What could not be found may come with pages of suggestions, so the first line alone decides there.
    return bool(_SAYS_NOTHING.match(text)) and (len(text) <= SHORT or text.lower().startswith("could not find"))


def suggestions_in(answer: str) -> tuple[str, ...]:
    """What the tool proposed instead, in its order: `Similar: ['Nick Park', ...]`, `did you mean "x"?`."""
    match = _SIMILAR.search(answer[:3_000])
    if match is None:
        return ()
    return tuple(single or double for single, double in _QUOTED.findall(match[1]))


def _holds_nothing(value: Json) -> bool:
    """An empty list or object, or an object whose list of results is empty or whose count is 0."""
    if isinstance(value, list):
        return all(item in ([], {}, None, "") for item in value)
    if not isinstance(value, dict):
        return value is None
    if not value:
        return True
    lists = [value[key] for key in _LISTS if isinstance(value.get(key), list)]
    if lists:
        return all(not items for items in lists)
    counts = [value[key] for key in _COUNTS if key in value]
    return bool(counts) and all(type(count) is int and count == 0 for count in counts)
