"""Categories of errors, by names of exceptions and words of messages."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.sessions.required_words import Alternatives, folded
from mcp_reflect.sessions.text import ends
from mcp_reflect.sessions.word_tables import pattern_table

# The tables are tried in their order: errors that name their cause exactly come first (a missing module is also an
# ImportError in a failed test run), broad words last.
_TABLES: Final = pattern_table("error_words.txt", re.IGNORECASE)


def _tables_of(kind: str) -> dict[ErrorCategory, re.Pattern[str]]:
    """Return the pattern of each category, from the paragraphs of error_words.txt whose heads are `KIND CATEGORY`."""
    tables: dict[ErrorCategory, re.Pattern[str]] = {}
    for head, words in _TABLES.items():
        kind_of_head, category = head.split()[:2]
        if kind_of_head == kind:
            tables[ErrorCategory(category)] = words
    return tables


EXCEPTIONS: Final = _tables_of("exception")
"""The names of exceptions of each category."""

MESSAGES: Final = _tables_of("message")
"""The words of messages of each category."""

CATEGORY_LIMIT: Final = 4_000  # characters of an error that are looked at, half from each end
_SHORT: Final = 400  # characters in which the patterns themselves are quick
_MOST_NAMED: Final = 8  # names of exceptions in a headline that are looked at
_MOST_NAMES: Final = 20  # the same in a whole text

_EXCEPTION_NAME = re.compile(
    r"[A-Z]\w{1,80}(?:Error|Exception|Expired|Warning|Failure|Privileges|Exceeded|NotFound\w{0,20}|Denied|Timeout)\b|\bgaierror"
)


@lru_cache(maxsize=256)
def category_of(headline: str, text: str = "") -> ErrorCategory:
    """The category of an error, from the line that names it, then from the whole text; unknown where nothing fits."""
    category = _category_of_headline(headline)
    if category is None and text != headline:
        whole = ends(text, CATEGORY_LIMIT)
        names = " ".join(_EXCEPTION_NAME.findall(whole)[:_MOST_NAMES])
        category = _category_in(EXCEPTIONS, names) or _category_in(MESSAGES, whole)
    return category or ErrorCategory.UNKNOWN


def _category_of_headline(headline: str) -> ErrorCategory | None:
    """The category of the line that names an error: by its exceptions, then by its words; None where nothing fits.

    The cause comes last in a line: "requests.ConnectionError: ... ReadTimeoutError(...)". An exception that only says
    that a value is wrong, such as a ValueError, says less than the words beside it, and is asked after them.
    """
    named = _EXCEPTION_NAME.findall(headline)[:_MOST_NAMED]
    for name in reversed(named):
        category = _category_in(EXCEPTIONS, name)
        if category not in (None, ErrorCategory.VALIDATION):
            return category
    return _category_in(MESSAGES, headline) or _category_in(EXCEPTIONS, " ".join(named))


def _category_in(table: Mapping[ErrorCategory, re.Pattern[str]], text: str) -> ErrorCategory | None:
    """The first category whose words a text has, None where it has none; a long text is searched for single words first."""
    if len(text) <= _SHORT:
        for category, words in table.items():
            if words.search(text):
                return category
        return None
    letters = folded(text)
    for category, words in table.items():
        if _alternatives(words).match_in(text, letters):
            return category
    return None


@cache
def _alternatives(pattern: re.Pattern[str]) -> Alternatives:
    """The alternatives of a pattern, which are taken apart once."""
    return Alternatives(pattern)


_FIRST_OF_SERVER: Final = 500  # the statuses from here on are faults of the server
_BY_STATUS: Final = {
    401: ErrorCategory.AUTH, 403: ErrorCategory.PERMISSION, 404: ErrorCategory.NOT_FOUND,
    408: ErrorCategory.TIMEOUT, 409: ErrorCategory.CONFLICT, 410: ErrorCategory.NOT_FOUND,
    413: ErrorCategory.RESOURCE_EXHAUSTION, 429: ErrorCategory.RATE_LIMIT, 504: ErrorCategory.TIMEOUT,
    507: ErrorCategory.RESOURCE_EXHAUSTION,
}  # fmt: skip


def category_of_status(status: int) -> ErrorCategory:
    """The category of an HTTP status of 400 or more (RFC 9110); other 4xx are validation, other 5xx network."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status < _FIRST_OF_SERVER:
        return ErrorCategory.VALIDATION
    return ErrorCategory.NETWORK
