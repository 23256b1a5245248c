"""The category of an error, by names of exceptions and words of messages."""

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from mcp_reflect.analysis.text import pattern
from mcp_reflect.models.run import ErrorCategory as C

Table: TypeAlias = Mapping[C, re.Pattern[str]]


def _words(text: str) -> re.Pattern[str]:
    return pattern(text, re.IGNORECASE)


# The order of the tables matters: errors that name their cause exactly come first (a missing module is also an
# ImportError in a failed test run), broad words last.

# Names of exceptions, in any language, by their last part. Read from the line that names the error.
EXCEPTIONS: Table = {
    C.DEPENDENCY: _words(r"""
        ModuleNotFoundError|ImportError|ClassNotFoundException|NoClassDefFoundError|LoadError"""),
    C.TIMEOUT: _words(r"""
        \b\w{0,60}Time(?:d)?[_ ]?Out(?:Error|Exception|Expired)?(?=[:(\s]|$)|DeadlineExceeded"""),
    C.RATE_LIMIT: _words(r"""
        RateLimit\w{0,20}|TooManyRequests\w{0,20}|ThrottlingException|Throttled\w{0,20}Error"""),
    C.AUTH: _words(r"""
        Authentication\w{0,20}(?:Error|Exception|Failed)|UnauthorizedError|InvalidCredentials\w{0,20}
        |NotAuthenticated"""),
    C.PERMISSION: _words(r"""
        PermissionError|AccessDenied\w{0,20}|PermissionDenied\w{0,20}|ForbiddenError|InsufficientPrivileges?"""),
    C.CONFLICT: _words(r"""
        FileExistsError|IntegrityError|ConflictError|AlreadyExists\w{0,20}|ConcurrentModification\w{0,20}"""),
    C.NOT_FOUND: _words(r"""
        FileNotFoundError|NoSuch\w{0,40}|\w{0,30}NotFound(?:Error|Exception)?\b|KeyError|IndexError|NameError
        |ReferenceError|NotADirectoryError|\w{0,20}OutOfBounds\w{0,20}"""),
    C.RESOURCE_EXHAUSTION: _words(r"""
        MemoryError|OutOfMemory\w{0,20}|RecursionError|StackOverflow\w{0,20}|ResourceExhausted\w{0,10}
        |QuotaExceeded\w{0,20}"""),
    C.ASSERTION: _words(r"""
        AssertionError|AssertionFailed\w{0,20}|ComparisonFailure"""),
    C.SYNTAX: _words(r"""
        SyntaxError|IndentationError|TabError|ParseError|ParsingError|JSONDecodeError|ParserError"""),
    C.NETWORK: _words(r"""
        Connection\w{0,30}Error|ConnectError|ConnectException|UnknownHostException|BrokenPipeError|SSL\w{0,20}Error
        |\bURLError|NetworkError|\bgaierror|ProxyError"""),
    C.VALIDATION: _words(r"""
        \bTypeError|ValueError|AttributeError|ValidationError|ZeroDivisionError|InvalidArgument\w{0,20}
        |IllegalArgument\w{0,20}|ArgumentError|NullPointerException|ArithmeticError|OverflowError
        |NumberFormatException|Unicode(?:De|En)codeError|DataError|IsADirectoryError|ClassCastException
        |InvalidRequestError|BadRequest\w{0,10}"""),
}

# What messages say, in the order in which they are tried.
WORDS: Table = {
    C.DEPENDENCY: _words(r"""
        no module named|cannot find module|module not found|package .{1,80} is not installed|unresolved import
        |could not find a version that satisfies|no matching distribution|unable to locate package|ERESOLVE
        |unmet (?:peer )?dependenc|missing dependenc|dependency conflict|cannot open shared object file
        |could not resolve dependenc|unresolved dependenc|can't resolve '|cannot find package|is not in std
        |command not found|is not recognized as an internal or external command|executable file not found
        |cannot load such file|error: linker .{1,40} not found|failed to resolve import"""),
    C.RATE_LIMIT: _words(r"""
        rate.?limit|too many requests|\b429\b|throttl|requests? per (?:second|minute|hour|day)|slow down"""),
    C.TIMEOUT: _words(r"""
        timed?[ -]?out|time.?out (?:of|after|exceeded|expired|error|waiting)|\btimeout\b|deadline exceeded
        |\b(?:408|504)\b|took too long|ETIMEDOUT"""),
    C.AUTH: _words(r"""
        invalid (?:api|access|auth|bearer)[ _-]?(?:key|token)|\b401\b|unauthori[sz]ed|authentication|not logged in
        |incorrect api key|api[ _-]key (?:is )?(?:missing|required|invalid|not (?:set|provided|found|valid))
        |(?:token|session|credentials?) (?:has |have |is |are )?(?:expired|invalid|revoked|missing)
        |expired (?:token|session|credentials?)
        |(?:no|bad|invalid|wrong|missing) (?:credentials?|password|username|login)|login (?:failed|required)
        |password .{0,20}(?:incorrect|wrong)|publickey|could not read username|no api key"""),
    C.PERMISSION: _words(r"""
        permission denied|access (?:is )?denied|\b403\b|forbidden|not (?:permitted|allowed to|authori[sz]ed)
        |insufficient (?:permission|privilege|scope|right)|\bEACCES\b|\bEPERM\b|read-only file ?system
        |requires? (?:root|admin|elevated)|must be (?:superuser|root|owner)|you do not have (?:permission|access)
        |protected branch|outside (?:of )?(?:the )?(?:allowed|permitted)"""),
    C.RESOURCE_EXHAUSTION: _words(r"""
        no space left|disk (?:is )?full|out of memory|\boom\b|cannot allocate memory|memory limit|heap limit
        |quota (?:is |was )?exceeded|exceeded your .{0,30}quota|too many open files
        |context (?:length|window) exceeded|maximum context length
        |insufficient (?:memory|storage|resources|quota|funds|balance|credit|capacity|stock)
        |not enough (?:memory|space|disk|balance|funds|credit|seats|capacity|stock|tokens|resources)
        |resource exhausted|\b507\b|^killed$|payload too large|\b413\b
        |exceeds? (?:the )?(?:maximum|max) (?:size|length|tokens)|stack overflow"""),
    C.NETWORK: _words(r"""
        connection (?:refused|reset|aborted|closed|error|failed)|could not resolve (?:host|proxy)
        |name or service not known|temporary failure in name resolution|getaddrinfo
        |network (?:is )?(?:unreachable|error)|no route to host
        |\bE(?:CONNREFUSED|CONNRESET|NOTFOUND|HOSTUNREACH|NETUNREACH|PIPE)\b|failed to (?:connect|fetch)
        |could ?n[o']t connect|ssl (?:error|certificate|handshake)|certificate verify failed|tls handshake
        |\b(?:500|502|503)\b|bad gateway|service (?:is )?(?:temporarily )?unavailable|internal server error
        |net::ERR_|dns (?:lookup|resolution)|broken pipe|remote end closed|socket hang up
        |server (?:is )?(?:overloaded|down|busy)|unexpected eof while reading"""),
    C.ASSERTION: _words(r"""
        \d failed|tests? failed|\bfailures?[=:] ?[1-9]|--- FAIL|test result: FAILED|assertion(?:s)? (?:failed|error)
        |assertion `|\bassert \S|^FAIL\b|^FAILED\b|\d failing\b
        |expected .{1,200}(?:but (?:got|was)|to (?:be|equal|match)|received)|failed tests?|check(?:s)? failed"""),
    C.CONFLICT: _words(r"""
        merge conflict|^CONFLICT\b|\bconflict(?:s|ing|ed)?\b
        |already (?:exists?|in use|running|taken|registered|booked|locked|checked out)|\b409\b
        |duplicate (?:key|entry)|unique constraint|non-fast-forward|fetch first|deadlock|database is locked
        |would be overwritten|index\.lock|address already in use|EADDRINUSE|EEXIST|has been modified since
        |version mismatch|\[rejected\]|resource busy|stale"""),
    C.NOT_FOUND: _words(r"""
        no such (?:file|directory|table|column|host|container|image|service|option|tool|command
        |index|key|user|branch|function|element)
        |not found|\b404\b|\b410\b|does(?:n't| not) exist|do not exist|did not exist
        |could(?:n't| not) (?:find|be found|locate)|cannot find|can't find|unable to (?:find|locate)
        |unknown (?:tool|command|column|table|function|user|id|key|method|host|field|model)|has no column|no element
        |undefined (?:variable|method|function|name|reference|local variable|symbol|:)|is not defined|is undefined
        |\bENOENT\b|cannot access|did not match any file|no default for|was not found|missing (?:file|table|column)
        |invalid (?:object|column) name|has no (?:member|field)"""),
    C.SYNTAX: _words(r"""
        syntax error|unexpected (?:token|end of|indent|identifier|character|eof)|parse error|parsing error
        |invalid syntax|invalid json|malformed|unterminated|unbalanced|unmatched|expecting value
        |expected [`'\"]?[;:,)}\]]|unexpected keyword `|could ?n[o']t parse|failed to parse
        |not valid (?:json|yaml|xml|python|sql)|unable to parse|missing semicolon"""),
    C.VALIDATION: _words(r"""
        validation|invalid|\b(?:400|405|406|415|422)\b|bad request
        |missing (?:\d+ )?(?:required|positional|argument|parameter|field)
        |required (?:argument|parameter|field|property|option)|(?:is|are) required
        |must (?:be|have|match|contain|not|provide|specify)|nothing happens|should be
        |expected .{1,100}(?:type|found|got|received|instead)
        |unexpected (?:keyword )?(?:argument|parameter|option|field|key|value)|unrecogni[sz]ed
        |unknown (?:argument|parameter|option|flag|property|language)|out of range|not (?:a )?valid|not supported
        |unsupported|type mismatch|mismatched types
        |cannot be (?:used|null|empty|blank|converted|parsed|negative|assigned)
        |does(?:n't| not) (?:match|add up|support)
        |is not (?:a|an|in|one of|callable|iterable|assignable|available|unique|a function)|violates|illegal
        |wrong (?:type|number|format)|incorrect|too (?:long|short|large|small|many|few)|null value in
        |not subscriptable|out of bounds|multiple (?:matches|occurrences)|null(?: pointer|pointer)?|division by zero
        |cannot read propert|no replacement|is a directory|usage:"""),
}

TEXT_LIMIT: Final = 4_000  # characters of an error that are looked at, half from each end

_EXCEPTION_NAME = re.compile(
    r"[A-Z]\w{1,80}(?:Error|Exception|Expired|Warning|Failure|Privileges|Exceeded|NotFound\w{0,20}|Denied|Timeout)\b|\bgaierror"
)


def category_of(headline: str, text: str = "") -> C:
    """The category of an error, from the line that names it, then from the whole text; unknown where nothing fits."""
    named = _EXCEPTION_NAME.findall(headline)[:8]
    # The cause comes last: "requests.ConnectionError: ... ReadTimeoutError(...)". Words say more than a ValueError.
    exact = [found for name in reversed(named) if (found := _first(EXCEPTIONS, name)) not in (None, C.VALIDATION)]
    found = exact[0] if exact else _first(WORDS, headline) or _first(EXCEPTIONS, " ".join(named))
    if found is None and text and text != headline:
        whole = text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT // 2]}\n{text[-TEXT_LIMIT // 2 :]}"
        found = _first(EXCEPTIONS, whole) or _first(WORDS, whole)
    return found or C.UNKNOWN


def _first(table: Table, text: str) -> C | None:
    return next((category for category, words in table.items() if words.search(text)), None)


_HTTP: Final = {
    400: C.VALIDATION, 401: C.AUTH, 403: C.PERMISSION, 404: C.NOT_FOUND, 408: C.TIMEOUT, 409: C.CONFLICT,
    410: C.NOT_FOUND, 413: C.RESOURCE_EXHAUSTION, 422: C.VALIDATION, 429: C.RATE_LIMIT, 504: C.TIMEOUT,
    507: C.RESOURCE_EXHAUSTION,
}  # fmt: skip


def category_of_status(status: int) -> C:
    """The category of an HTTP status of 400 or more (RFC 9110); other 4xx are validation, other 5xx network."""
    return _HTTP.get(status, C.VALIDATION if status < 500 else C.NETWORK)
