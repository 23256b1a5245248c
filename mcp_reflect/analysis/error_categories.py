"""The category of an error, by names of exceptions and words of messages."""

import re
from collections.abc import Mapping
from typing import Final

from mcp_reflect.analysis.text import pattern
from mcp_reflect.models.run import ErrorCategory as C


def _words(text: str) -> re.Pattern[str]:
    return pattern(text, re.IGNORECASE)


# The tables are tried in their order: errors that name their cause exactly come first (a missing module is also an
# ImportError in a failed test run), broad words last.

# Names of exceptions, in any language, by their last part, in the line that names the error.
EXCEPTIONS: Final = {
    C.DEPENDENCY: _words("ModuleNotFound|ImportError|ClassNotFound|NoClassDefFound|LoadError"),
    C.TIMEOUT: _words(r"Time(?:d)?[_ ]?Out|DeadlineExceeded"),
    C.RATE_LIMIT: _words("RateLimit|TooManyRequests|Throttl"),
    C.AUTH: _words("Authenticat|Unauthorized|InvalidCredentials"),
    C.PERMISSION: _words("PermissionError|AccessDenied|PermissionDenied|Forbidden|InsufficientPrivilege"),
    C.CONFLICT: _words("FileExists|IntegrityError|Conflict|AlreadyExists|ConcurrentModification"),
    C.NOT_FOUND: _words("NoSuch|NotFound|KeyError|IndexError|NameError|ReferenceError|NotADirectory|OutOfBounds"),
    C.RESOURCE_EXHAUSTION: _words("MemoryError|OutOfMemory|Recursion|StackOverflow|ResourceExhausted|QuotaExceeded"),
    C.ASSERTION: _words("Assertion|ComparisonFailure"),
    C.SYNTAX: _words("SyntaxError|IndentationError|TabError|Pars(?:e|ing|er)Error|DecodeError"),
    C.NETWORK: _words("Connect|UnknownHost|BrokenPipe|SSL|URLError|NetworkError|gaierror|ProxyError"),
    C.VALIDATION: _words(r"""
        TypeError|ValueError|AttributeError|Validation|Division|Argument|NullPointer|Arithmetic|Overflow|Format
        |Unicode|DataError|IsADirectory|Cast|InvalidRequest|BadRequest"""),
}

# Words of messages, in the order in which they are tried.
WORDS: Final = {
    C.DEPENDENCY: _words(r"""
        no module named|(?:cannot|could not|can't) (?:find|resolve) (?:a )?(?:module|package|version)|module not found
        |package .{1,80} is not installed|unresolved (?:import|dependenc)|no matching distribution|ERESOLVE
        |unable to locate package|(?:unmet|missing) (?:peer )?dependenc|dependency conflict|can't resolve '
        |cannot open shared object file|could not resolve dependenc|is not in std|command not found
        |is not recognized as an internal or external command|executable file not found|cannot load such file"""),
    C.RATE_LIMIT: _words(r"rate.?limit|too many requests|\b429\b|throttl|requests? per (?:second|minute|hour|day)"),
    C.TIMEOUT: _words(r"""
        timed?[ -]?out|time.?out (?:of|after|exceeded|expired|error|waiting)|\btimeout\b|deadline exceeded
        |\b(?:408|504)\b|took too long|ETIMEDOUT"""),
    C.AUTH: _words(r"""
        invalid (?:api|access|auth|bearer)[ _-]?(?:key|token)|\b401\b|unauthori[sz]ed|authentication|not logged in
        |(?:incorrect|no) api key|api[ _-]key (?:is )?(?:missing|required|invalid|not (?:set|provided|found|valid))
        |(?:token|session|credentials?) (?:has |have |is |are )?(?:expired|invalid|revoked|missing)
        |expired (?:token|session|credentials?)|login (?:failed|required)|could not read username|publickey
        |(?:no|bad|invalid|wrong|missing) (?:credentials?|password|username|login)|password .{0,20}incorrect"""),
    C.PERMISSION: _words(r"""
        permission denied|access (?:is )?denied|\b403\b|forbidden|not (?:permitted|allowed to|authori[sz]ed)|\bEPERM\b
        |insufficient (?:permission|privilege|scope|right)|\bEACCES\b|read-only file ?system|protected branch
        |(?:requires?|must be) (?:root|admin|elevated|superuser|owner)|you do not have (?:permission|access)
        |outside (?:of )?(?:the )?(?:allowed|permitted)"""),
    C.RESOURCE_EXHAUSTION: _words(r"""
        no space left|disk (?:is )?full|out of memory|\boom\b|cannot allocate memory|(?:memory|heap) limit|^killed$
        |quota (?:is |was )?exceeded|exceeded your .{0,30}quota|too many open files|context (?:length|window) exceeded
        |(?:insufficient|not enough) (?:memory|storage|space|disk|resources|quota|funds|balance|credit|seats|capacity
        |stock|tokens)|maximum context length|resource exhausted|\b(?:413|507)\b|payload too large|stack overflow
        |exceeds? (?:the )?(?:maximum|max) (?:size|length|tokens)"""),
    C.NETWORK: _words(r"""
        connection (?:refused|reset|aborted|closed|error|failed)|could not resolve (?:host|proxy)|no route to host
        |name or service not known|temporary failure in name|getaddrinfo|network (?:is )?(?:unreachable|error)
        |\bE(?:CONNREFUSED|CONNRESET|NOTFOUND|HOSTUNREACH|NETUNREACH|PIPE)\b|failed to (?:connect|fetch)|net::ERR_
        |could ?n[o']t connect|ssl (?:error|certificate|handshake)|certificate verify failed|tls handshake
        |\b(?:500|502|503)\b|bad gateway|service (?:is )?(?:temporarily )?unavailable|internal server error|broken pipe
        |dns (?:lookup|resolution)|remote end closed|socket hang up|server (?:is )?(?:overloaded|down|busy)"""),
    C.ASSERTION: _words(r"""
        \d failed|(?:tests?|checks?|assertions?) failed|\bfailures?[=:] ?[1-9]|--- FAIL|test result: FAILED
        |assertion (?:error|`)|\bassert \S|^FAIL\b|^FAILED\b|\d failing\b
        |expected .{1,200}(?:but (?:got|was)|to (?:be|equal|match)|received)"""),
    C.CONFLICT: _words(r"""
        \bconflict(?:s|ing|ed)?\b|already (?:exists?|in use|running|taken|registered|booked|locked|checked out)|\b409\b
        |duplicate (?:key|entry)|unique constraint|non-fast-forward|fetch first|deadlock|database is locked|stale
        |would be overwritten|index\.lock|EADDRINUSE|EEXIST|has been modified since|version mismatch|\[rejected\]"""),
    C.NOT_FOUND: _words(r"""
        no such (?:file|directory|table|column|host|container|image|service|option|tool|command|index|key|user|branch
        |function|element)|not found|\b(?:404|410)\b|(?:does(?:n't| not)|do not|did not) exist|is not defined
        |is undefined|(?:could(?:n't| not)|cannot|can't|unable to) (?:find|be found|locate)|\bENOENT\b|cannot access
        |unknown (?:tool|command|column|table|function|user|id|key|method|host|field|model)
        |has no (?:column|member|field)|undefined (?:variable|method|function|name|reference|local variable|symbol|:)
        |no element|did not match any file|missing (?:file|table|column)|invalid (?:object|column) name"""),
    C.SYNTAX: _words(r"""
        syntax error|unexpected (?:token|end of|indent|identifier|character|eof|keyword `)|pars(?:e|ing) error
        |invalid (?:syntax|json)|malformed|unterminated|unbalanced|unmatched|expecting value|missing semicolon
        |expected [`'\"]?[;:,)}\]]|(?:could ?n[o']t|failed to|unable to) parse|not valid (?:json|yaml|xml|sql)"""),
    C.VALIDATION: _words(r"""
        validation|invalid|\b(?:400|405|406|415|422)\b|bad request|nothing happens|should be|(?:is|are) required
        |missing (?:\d+ )?(?:required|positional|argument|parameter|field)|must (?:be|have|match|contain|not|provide)
        |required (?:argument|parameter|field|property|option)|expected .{1,100}(?:type|found|got|received|instead)
        |unexpected (?:keyword )?(?:argument|parameter|option|field|key|value)|unrecogni[sz]ed|out of (?:range|bounds)
        |unknown (?:argument|parameter|option|flag|property|language)|not (?:a )?valid|not supported|unsupported
        |type mismatch|mismatched types|cannot be (?:used|null|empty|blank|converted|parsed|negative|assigned)
        |does(?:n't| not) (?:match|add up|support)|violates|illegal|wrong (?:type|number|format)|incorrect|usage:
        |is not (?:a|an|in|one of|callable|iterable|assignable|available|unique|a function)|not subscriptable
        |too (?:long|short|large|small|many|few)|null value in|multiple (?:matches|occurrences)|null ?pointer
        |division by zero|cannot read propert|no replacement|is a directory"""),
}

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
