"""Which category an error belongs to."""

import re

from mcp_reflect.models.run import ErrorCategory as C
from mcp_reflect.reflect.rules.category_words import EXCEPTIONS, WORDS, Rows, compiled

TEXT_LIMIT = 4_000  # characters of an error that are looked at, half from each end

_EXCEPTION_NAME = re.compile(
    r"[A-Z]\w{1,80}(?:Error|Exception|Expired|Warning|Failure|Privileges|Exceeded|NotFound\w{0,20}|Denied|Timeout)\b|\bgaierror"
)


def category_of(headline: str, text: str = "") -> C:
    """The category of an error, from the line that names it, then from the whole text; unknown where nothing fits."""
    named = _EXCEPTION_NAME.findall(headline)
    for name in reversed(named[:8]):  # "requests.ConnectionError: ... ReadTimeoutError(...)": the cause comes last
        found = _first(EXCEPTIONS, name)
        if found is not None and found is not C.VALIDATION:
            return found
    worded = _first(WORDS, headline)
    if worded is not None:
        return worded
    for name in named[:8]:
        found = _first(EXCEPTIONS, name)
        if found is not None:
            return found
    if text and text != headline:
        whole = text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT // 2]}\n{text[-TEXT_LIMIT // 2 :]}"
        return _first(EXCEPTIONS, whole) or _first(WORDS, whole) or C.UNKNOWN
    return C.UNKNOWN


def _first(rows: Rows, text: str) -> C | None:
    return next((category for category, words in compiled(rows) if words.search(text)), None)


_HTTP = {
    400: C.VALIDATION,
    401: C.AUTH,
    403: C.PERMISSION,
    404: C.NOT_FOUND,
    408: C.TIMEOUT,
    409: C.CONFLICT,
    410: C.NOT_FOUND,
    413: C.RESOURCE_EXHAUSTION,
    422: C.VALIDATION,
    429: C.RATE_LIMIT,
    504: C.TIMEOUT,
    507: C.RESOURCE_EXHAUSTION,
}


def category_of_status(status: int) -> C:
    """The category of an HTTP status of 400 or more (RFC 9110); other 4xx are validation, other 5xx network."""
    return _HTTP.get(status, C.VALIDATION if status < 500 else C.NETWORK)
