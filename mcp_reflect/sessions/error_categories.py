"""Categories of errors, by names of exceptions and words of messages."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.sessions.required_words import Alternatives, folded
from mcp_reflect.sessions.text import ends, pattern_table

# The tables are tried in their order: errors that name their cause exactly come first (a missing module is also an
# ImportError in a failed test run), broad words last.
_TABLES: Final = pattern_table("error_words.txt", re.IGNORECASE)
EXCEPTIONS, MESSAGES = (
    {
        ErrorCategory(head.split()[1]): words
        for head, words in _TABLES.items()
        if head.startswith(kind)
    }
    for kind in ("exception ", "message ")
)
CATEGORY_LIMIT: Final = 4_000  # characters of an error that are looked at, half from each end
_SHORT: Final = 400  # characters in which the patterns themselves are quick

_EXCEPTION_NAME = re.compile(
    r"[A-Z]\w{1,80}(?:Error|Exception|Expired|Warning|Failure|Privileges|Exceeded|NotFound\w{0,20}|Denied|Timeout)\b|\bgaierror"
)


@lru_cache(maxsize=256)
def category_of(headline: str, text: str = "") -> ErrorCategory:
    """The category of an error, from the line that names it, then from the whole text; unknown where nothing fits."""
    named = _EXCEPTION_NAME.findall(headline)[:8]
    # The cause comes last: "requests.ConnectionError: ... ReadTimeoutError(...)". Words say more than a ValueError.
    exact = [_category_in(EXCEPTIONS, name) for name in reversed(named)]
    telling = next(
        (category for category in exact if category not in (None, ErrorCategory.VALIDATION)), None
    )
    category = (
        telling or _category_in(MESSAGES, headline) or _category_in(EXCEPTIONS, " ".join(named))
    )
    if category is None and text != headline:
        whole = ends(text, CATEGORY_LIMIT)
        names = " ".join(_EXCEPTION_NAME.findall(whole)[:20])
        category = _category_in(EXCEPTIONS, names) or _category_in(MESSAGES, whole)
    return category or ErrorCategory.UNKNOWN


def _category_in(table: Mapping[ErrorCategory, re.Pattern[str]], text: str) -> ErrorCategory | None:
    """The first category whose words a text has; a long text is looked through for single words first."""
    if len(text) <= _SHORT:
        return next((category for category, words in table.items() if words.search(text)), None)
    letters = folded(text)
    found = (
        category
        for category, words in table.items()
        if _alternatives(words).match_in(text, letters)
    )
    return next(found, None)


@cache
def _alternatives(pattern: re.Pattern[str]) -> Alternatives:
    return Alternatives(pattern)


_BY_STATUS: Final = {
    401: ErrorCategory.AUTH, 403: ErrorCategory.PERMISSION, 404: ErrorCategory.NOT_FOUND,
    408: ErrorCategory.TIMEOUT, 409: ErrorCategory.CONFLICT, 410: ErrorCategory.NOT_FOUND,
    413: ErrorCategory.RESOURCE_EXHAUSTION, 429: ErrorCategory.RATE_LIMIT, 504: ErrorCategory.TIMEOUT,
    507: ErrorCategory.RESOURCE_EXHAUSTION,
}  # fmt: skip


def category_of_status(status: int) -> ErrorCategory:
    """The category of an HTTP status of 400 or more (RFC 9110); other 4xx are validation, other 5xx network."""
    return _BY_STATUS.get(
        status, ErrorCategory.VALIDATION if status < 500 else ErrorCategory.NETWORK
    )
