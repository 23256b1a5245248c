"""The category of an error, by names of exceptions and words of messages."""

import re
from collections.abc import Mapping
from typing import Final

from mcp_reflect.analysis.text import pattern_table
from mcp_reflect.models.run import ErrorCategory as C

# The tables are tried in their order: errors that name their cause exactly come first (a missing module is also an
# ImportError in a failed test run), broad words last.
_TABLES: Final = pattern_table("error_words.txt", re.IGNORECASE)
EXCEPTIONS: Final = {C(head.split()[1]): names for head, names in _TABLES.items() if head.startswith("exception ")}
"""Names of exceptions, in any language, by their last part, in the line that names the error."""
WORDS: Final = {C(head.split()[1]): words for head, words in _TABLES.items() if head.startswith("message ")}
"""Words of messages."""

TEXT_LIMIT: Final = 4_000  # characters of an error that are looked at, half from each end

_EXCEPTION_NAME = re.compile(
    r"[A-Z]\w{1,80}(?:Error|Exception|Expired|Warning|Failure|Privileges|Exceeded|NotFound\w{0,20}|Denied|Timeout)\b|\bgaierror"
)


def category_of(headline: str, text: str = "") -> C:
    """The category of an error, from the line that names it, then from the whole text; unknown where nothing fits."""
    named = _EXCEPTION_NAME.findall(headline)[:8]
    # The cause comes last: "requests.ConnectionError: ... ReadTimeoutError(...)". Words say more than a ValueError.
    exact = [category for name in reversed(named) if (category := _first(EXCEPTIONS, name)) not in (None, C.VALIDATION)]
    category = exact[0] if exact else _first(WORDS, headline) or _first(EXCEPTIONS, " ".join(named))
    if category is None and text != headline:
        whole = text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT // 2]}\n{text[-TEXT_LIMIT // 2 :]}"
        category = _first(EXCEPTIONS, " ".join(_EXCEPTION_NAME.findall(whole)[:20])) or _first(WORDS, whole)
    return category or C.UNKNOWN


def _first(table: Mapping[C, re.Pattern[str]], text: str) -> C | None:
    return next((category for category, words in table.items() if words.search(text)), None)


_HTTP: Final = {
    400: C.VALIDATION, 401: C.AUTH, 403: C.PERMISSION, 404: C.NOT_FOUND, 408: C.TIMEOUT, 409: C.CONFLICT,
    410: C.NOT_FOUND, 413: C.RESOURCE_EXHAUSTION, 422: C.VALIDATION, 429: C.RATE_LIMIT, 504: C.TIMEOUT,
    507: C.RESOURCE_EXHAUSTION,
}  # fmt: skip


def category_of_status(status: int) -> C:
    """The category of an HTTP status of 400 or more (RFC 9110); other 4xx are validation, other 5xx network."""
    return _HTTP.get(status, C.VALIDATION if status < 500 else C.NETWORK)
