"""Which category an error belongs to, by the words that tools really print.

The order matters: what names its cause exactly comes first (a missing module is also an ImportError in
a failed test run), broad words last.
"""

import re

from mcp_reflect.records.trace import ErrorCategory as C

TEXT_LIMIT = 4_000  # characters of an error that are looked at, half from each end


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# Names of exceptions, in any language, by their last part. Read from the line that names the error.
_EXCEPTIONS: tuple[tuple[re.Pattern[str], C], ...] = (
    (
        _any(r"ModuleNotFoundError", r"ImportError", r"ClassNotFoundException", r"NoClassDefFoundError", r"LoadError"),
        C.DEPENDENCY,
    ),
    (_any(r"\b\w{0,60}Time(?:d)?[_ ]?Out(?:Error|Exception|Expired)?(?=[:(\s]|$)", r"DeadlineExceeded"), C.TIMEOUT),
    (
        _any(r"RateLimit\w{0,20}", r"TooManyRequests\w{0,20}", r"ThrottlingException", r"Throttled\w{0,20}Error"),
        C.RATE_LIMIT,
    ),
    (
        _any(
            r"Authentication\w{0,20}(?:Error|Exception|Failed)",
            r"UnauthorizedError",
            r"InvalidCredentials\w{0,20}",
            r"NotAuthenticated",
        ),
        C.AUTH,
    ),
    (
        _any(
            r"PermissionError",
            r"AccessDenied\w{0,20}",
            r"PermissionDenied\w{0,20}",
            r"ForbiddenError",
            r"InsufficientPrivileges?",
        ),
        C.PERMISSION,
    ),
    (
        _any(
            r"FileExistsError",
            r"IntegrityError",
            r"ConflictError",
            r"AlreadyExists\w{0,20}",
            r"ConcurrentModification\w{0,20}",
        ),
        C.CONFLICT,
    ),
    (
        _any(
            r"FileNotFoundError",
            r"NoSuch\w{0,40}",
            r"\w{0,30}NotFound(?:Error|Exception)?\b",
            r"KeyError",
            r"IndexError",
            r"NameError",
            r"ReferenceError",
            r"NotADirectoryError",
            r"\w{0,20}OutOfBounds\w{0,20}",
        ),
        C.NOT_FOUND,
    ),
    (
        _any(
            r"MemoryError",
            r"OutOfMemory\w{0,20}",
            r"RecursionError",
            r"StackOverflow\w{0,20}",
            r"ResourceExhausted\w{0,10}",
            r"QuotaExceeded\w{0,20}",
        ),
        C.RESOURCE_EXHAUSTION,
    ),
    (_any(r"AssertionError", r"AssertionFailed\w{0,20}", r"ComparisonFailure"), C.ASSERTION),
    (
        _any(
            r"SyntaxError",
            r"IndentationError",
            r"TabError",
            r"ParseError",
            r"ParsingError",
            r"JSONDecodeError",
            r"ParserError",
        ),
        C.SYNTAX,
    ),
    (
        _any(
            r"Connection\w{0,30}Error",
            r"ConnectError",
            r"ConnectException",
            r"UnknownHostException",
            r"BrokenPipeError",
            r"SSL\w{0,20}Error",
            r"\bURLError",
            r"NetworkError",
            r"\bgaierror",
            r"ProxyError",
        ),
        C.NETWORK,
    ),
    (
        _any(
            r"\bTypeError",
            r"ValueError",
            r"AttributeError",
            r"ValidationError",
            r"ZeroDivisionError",
            r"InvalidArgument\w{0,20}",
            r"IllegalArgument\w{0,20}",
            r"ArgumentError",
            r"NullPointerException",
            r"ArithmeticError",
            r"OverflowError",
            r"NumberFormatException",
            r"Unicode(?:De|En)codeError",
            r"DataError",
            r"IsADirectoryError",
            r"ClassCastException",
            r"InvalidRequestError",
            r"BadRequest\w{0,10}",
        ),
        C.VALIDATION,
    ),
)

# What messages say, in the order in which they are tried.
_WORDS: tuple[tuple[re.Pattern[str], C], ...] = (
    (
        _any(
            r"no module named",
            r"cannot find module",
            r"module not found",
            r"package .{1,80} is not installed",
            r"unresolved import",
            r"could not find a version that satisfies",
            r"no matching distribution",
            r"unable to locate package",
            r"ERESOLVE",
            r"unmet (?:peer )?dependenc",
            r"missing dependenc",
            r"dependency conflict",
            r"cannot open shared object file",
            r"could not resolve dependenc",
            r"unresolved dependenc",
            r"can't resolve '",
            r"cannot find package",
            r"is not in std",
            r"command not found",
            r"is not recognized as an internal or external command",
            r"executable file not found",
            r"cannot load such file",
            r"error: linker .{1,40} not found",
            r"failed to resolve import",
        ),
        C.DEPENDENCY,
    ),
    (
        _any(
            r"rate.?limit",
            r"too many requests",
            r"\b429\b",
            r"throttl",
            r"requests? per (?:second|minute|hour|day)",
            r"slow down",
        ),
        C.RATE_LIMIT,
    ),
    (
        _any(
            r"timed?[ -]?out",
            r"time.?out (?:of|after|exceeded|expired|error|waiting)",
            r"\btimeout\b",
            r"deadline exceeded",
            r"\b(?:408|504)\b",
            r"took too long",
            r"ETIMEDOUT",
        ),
        C.TIMEOUT,
    ),
    (
        _any(
            r"invalid (?:api|access|auth|bearer)[ _-]?(?:key|token)",
            r"\b401\b",
            r"unauthori[sz]ed",
            r"authentication",
            r"not logged in",
            r"incorrect api key",
            r"api[ _-]key (?:is )?(?:missing|required|invalid|not (?:set|provided|found|valid))",
            r"(?:token|session|credentials?) (?:has |have |is |are )?(?:expired|invalid|revoked|missing)",
            r"expired (?:token|session|credentials?)",
            r"(?:no|bad|invalid|wrong|missing) (?:credentials?|password|username|login)",
            r"login (?:failed|required)",
            r"password .{0,20}(?:incorrect|wrong)",
            r"publickey",
            r"could not read username",
            r"no api key",
        ),
        C.AUTH,
    ),
    (
        _any(
            r"permission denied",
            r"access (?:is )?denied",
            r"\b403\b",
            r"forbidden",
            r"not (?:permitted|allowed to|authori[sz]ed)",
            r"insufficient (?:permission|privilege|scope|right)",
            r"\bEACCES\b",
            r"\bEPERM\b",
            r"read-only file ?system",
            r"requires? (?:root|admin|elevated)",
            r"must be (?:superuser|root|owner)",
            r"you do not have (?:permission|access)",
            r"outside (?:of )?(?:the )?(?:allowed|permitted)",
        ),
        C.PERMISSION,
    ),
    (
        _any(
            r"no space left",
            r"disk (?:is )?full",
            r"out of memory",
            r"\boom\b",
            r"cannot allocate memory",
            r"memory limit",
            r"heap limit",
            r"quota (?:is |was )?exceeded",
            r"exceeded your .{0,30}quota",
            r"too many open files",
            r"context (?:length|window) exceeded",
            r"maximum context length",
            r"insufficient (?:memory|storage|resources|quota|funds|balance|credit|capacity|stock)",
            r"not enough (?:memory|space|disk|balance|funds|credit|seats|capacity|stock|tokens|resources)",
            r"resource exhausted",
            r"\b507\b",
            r"^killed$",
            r"payload too large",
            r"\b413\b",
            r"exceeds? (?:the )?(?:maximum|max) (?:size|length|tokens)",
            r"stack overflow",
        ),
        C.RESOURCE_EXHAUSTION,
    ),
    (
        _any(
            r"connection (?:refused|reset|aborted|closed|error|failed)",
            r"could not resolve (?:host|proxy)",
            r"name or service not known",
            r"temporary failure in name resolution",
            r"getaddrinfo",
            r"network (?:is )?(?:unreachable|error)",
            r"no route to host",
            r"\bE(?:CONNREFUSED|CONNRESET|NOTFOUND|HOSTUNREACH|NETUNREACH|PIPE)\b",
            r"failed to (?:connect|fetch)",
            r"could ?n[o']t connect",
            r"ssl (?:error|certificate|handshake)",
            r"certificate verify failed",
            r"tls handshake",
            r"\b(?:500|502|503)\b",
            r"bad gateway",
            r"service (?:is )?(?:temporarily )?unavailable",
            r"internal server error",
            r"net::ERR_",
            r"dns (?:lookup|resolution)",
            r"broken pipe",
            r"remote end closed",
            r"socket hang up",
            r"server (?:is )?(?:overloaded|down|busy)",
            r"unexpected eof while reading",
        ),
        C.NETWORK,
    ),
    (
        _any(
            r"\d failed",
            r"tests? failed",
            r"\bfailures?[=:] ?[1-9]",
            r"--- FAIL",
            r"test result: FAILED",
            r"assertion(?:s)? (?:failed|error)",
            r"assertion `",
            r"\bassert \S",
            r"^FAIL\b",
            r"^FAILED\b",
            r"\d failing\b",
            r"expected .{1,200}(?:but (?:got|was)|to (?:be|equal|match)|received)",
            r"failed tests?",
            r"check(?:s)? failed",
        ),
        C.ASSERTION,
    ),
    (
        _any(
            r"merge conflict",
            r"^CONFLICT\b",
            r"\bconflict(?:s|ing|ed)?\b",
            r"already (?:exists?|in use|running|taken|registered|booked|locked|checked out)",
            r"\b409\b",
            r"duplicate (?:key|entry)",
            r"unique constraint",
            r"non-fast-forward",
            r"fetch first",
            r"deadlock",
            r"database is locked",
            r"would be overwritten",
            r"index\.lock",
            r"address already in use",
            r"EADDRINUSE",
            r"EEXIST",
            r"has been modified since",
            r"version mismatch",
            r"\[rejected\]",
            r"resource busy",
            r"stale",
        ),
        C.CONFLICT,
    ),
    (
        _any(
            r"no such (?:file|directory|table|column|host|container|image|service|option|tool|command|index|key|user|branch|function|element)",
            r"not found",
            r"\b404\b",
            r"\b410\b",
            r"does(?:n't| not) exist",
            r"do not exist",
            r"did not exist",
            r"could(?:n't| not) (?:find|be found|locate)",
            r"cannot find",
            r"can't find",
            r"unable to (?:find|locate)",
            r"unknown (?:tool|command|column|table|function|user|id|key|method|host|field|model)",
            r"has no column",
            r"no element",
            r"undefined (?:variable|method|function|name|reference|local variable|symbol|:)",
            r"is not defined",
            r"is undefined",
            r"\bENOENT\b",
            r"cannot access",
            r"did not match any file",
            r"no default for",
            r"was not found",
            r"missing (?:file|table|column)",
            r"invalid (?:object|column) name",
            r"has no (?:attribute|member|field)",
        ),
        C.NOT_FOUND,
    ),
    (
        _any(
            r"syntax error",
            r"unexpected (?:token|end of|indent|identifier|character|eof)",
            r"parse error",
            r"parsing error",
            r"invalid syntax",
            r"invalid json",
            r"malformed",
            r"unterminated",
            r"unbalanced",
            r"unmatched",
            r"expecting value",
            r"expected [`'\"]?[;:,)}\]]",
            r"unexpected keyword `",
            r"could ?n[o']t parse",
            r"failed to parse",
            r"not valid (?:json|yaml|xml|python|sql)",
            r"unable to parse",
            r"missing semicolon",
            r"invalid action",
        ),
        C.SYNTAX,
    ),
    (
        _any(
            r"validation",
            r"invalid",
            r"\b(?:400|405|406|415|422)\b",
            r"bad request",
            r"missing (?:\d+ )?(?:required|positional|argument|parameter|field)",
            r"required (?:argument|parameter|field|property|option)",
            r"(?:is|are) required",
            r"must (?:be|have|match|contain|not|provide|specify)",
            r"should be",
            r"expected .{1,100}(?:type|found|got|received|instead)",
            r"unexpected (?:keyword )?(?:argument|parameter|option|field|key|value)",
            r"unrecogni[sz]ed",
            r"unknown (?:argument|parameter|option|flag|property|language)",
            r"out of range",
            r"not (?:a )?valid",
            r"not supported",
            r"unsupported",
            r"type mismatch",
            r"mismatched types",
            r"cannot be (?:used|null|empty|blank|converted|parsed|negative|assigned)",
            r"does(?:n't| not) (?:match|add up|support)",
            r"is not (?:a|an|in|one of|callable|iterable|assignable|available|unique|a function)",
            r"violates",
            r"illegal",
            r"wrong (?:type|number|format)",
            r"incorrect",
            r"too (?:long|short|large|small|many|few)",
            r"null value in",
            r"not subscriptable",
            r"out of bounds",
            r"multiple (?:matches|occurrences)",
            r"null(?: pointer|pointer)?",
            r"division by zero",
            r"cannot read propert",
            r"no replacement",
            r"is a directory",
            r"usage:",
        ),
        C.VALIDATION,
    ),
)
_EXCEPTION_NAME = re.compile(
    r"[A-Z]\w{1,80}(?:Error|Exception|Expired|Warning|Failure|Privileges|Exceeded|NotFound\w{0,20}|Denied|Timeout)\b|\bgaierror"
)


def category_of(headline: str, text: str = "") -> C:
    """The category of an error, from the line that names it, then from the whole text; unknown where nothing fits."""
    named = _EXCEPTION_NAME.findall(headline)
    for name in reversed(named[:8]):  # "requests.ConnectionError: ... ReadTimeoutError(...)": the cause comes last
        found = _first(_EXCEPTIONS, name)
        if found is not None and found is not C.VALIDATION:
            return found
    worded = _first(_WORDS, headline)
    if worded is not None:
        return worded
    for name in named[:8]:
        found = _first(_EXCEPTIONS, name)
        if found is not None:
            return found
    if text and text != headline:
        whole = text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT // 2]}\n{text[-TEXT_LIMIT // 2 :]}"
        return _first(_EXCEPTIONS, whole) or _first(_WORDS, whole) or C.UNKNOWN
    return C.UNKNOWN


def _first(table: tuple[tuple[re.Pattern[str], C], ...], text: str) -> C | None:
    return next((category for pattern, category in table if pattern.search(text)), None)


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
