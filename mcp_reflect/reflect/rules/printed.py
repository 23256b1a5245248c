"""Error messages as real programs print them, and the line of one that names the error.

Every pattern is anchored to a line and bounded, so that each takes linear time.
"""

import re

from mcp_reflect.patterns import late
from mcp_reflect.reflect.rules.patterns import pattern

HEAD = 400  # characters at either end of an answer where exit codes are looked for
LINE_LIMIT = 300  # characters of a headline

# The first line of an answer that is an error message and nothing else.
_OPENING = pattern(
    r"""
    ^\s{0,20}(?:[\[<(*`❌✗×⚠️]{1,6}\s{0,3})?(?:
    (?:\w{1,30} ){0,2}(?:error|exception|fatal|panic|failure|failed|fault)
    (?:\s?\(?[\w-]{0,40}\)?|\[\w{1,12}\]|(?: \w{1,30}){1,6})?\s{0,2}[:\]>!]
    |(?:[\w.]{1,80}\.)?\w{1,80}(?:Error|Exception|Expired|Timeout)(?:\b:|\s?\(|\s{0,3}$)
    |error from server \(|\([\w.]{0,80}(?:error|errors|exception)\b[\w.]{0,80}\)|<\w{0,30}error\w{0,20}>
    |(?:an? )?(?:unexpected |internal |unknown )?error\s
    (?:occurred|while|executing|calling|running|in|at|reading|when|\d{3})\b
    |(?:failed|unable) to \w|(?:could not|couldn't|cannot|can't) \w
    |invalid (?:action|argument|input|parameter|request|tool|option|command|json|value|path|api|key|format|id)\b
    |unknown (?:tool|action|command|function|argument|language|option|parameter|method)\b
    |unrecogni[sz]ed (?:arguments?|option|command)
    |(?:access|permission|request|connection|operation) (?:is |was |has been )?
    (?:denied|forbidden|refused|timed out|failed|not permitted|rejected|reset)
    |(?:unauthorized|forbidden|not found|too many requests|bad request|internal server error|service unavailable
    |bad gateway|gateway time-?out|conflict)[.!]?\s{0,3}$
    |no such (?:file|tool|directory|table|column|function|command)
    |(?:rate limit|quota|timeout|time limit) (?:exceeded|reached|expired)
    |(?:the )?(?:tool|function|action|command|file|path|directory|element|page) (?:\S{1,200} )?
    (?:(?:is |was |does |did |has |could |can)?(?:not|n't) (?:found|exist|available|be|been|supported|allowed)
    |failed\b|timed out\b)
    |(?:timed out|timeout) (?:after|waiting|while)
    |(?:tool|command|process) (?:execution )?(?:failed|timed out|was killed)
    |killed\s{0,3}$|segmentation fault|command timed out|nothing happens|old_str .{0,40}not found
    |no replacement was performed
    |(?:\w{1,20} )?(?:is |are )?not (?:a valid|allowed|permitted|authorized|recognized|supported|available)\b
    |missing required\b
    )""",
    re.IGNORECASE,
)
_PROGRAM = pattern(  # `cat: x: No such file or directory`, `bash: line 1: foo: command not found`
    r"""
    ^[\w./+-]{1,60}(?::\s?(?:line )?\d{1,6})?: .{0,250}
    (?:no such file|not found|permission denied|cannot |can't |could not|unable to|invalid|unrecogni[sz]ed|unknown
    |denied|refused|failed|is a directory|not a directory|timed out|error|missing|not permitted|too many|no space)""",
    re.IGNORECASE,
)
_ANYWHERE = pattern(  # lines that end or mark a failed program, wherever they stand in what it printed
    r"""
    ^(?:[\w.]{0,80}(?:Error|Exception|Expired|Exit|Interrupt|Timeout)(?::|$)|Exception in thread\b|panic:\s
    |thread '.{1,80}' panicked|npm (?:ERR!|error\b)|E: |error\[E\d{4}\]|error: (?!0)|fatal: |ERROR(?::| in)\s|FAILED\s
    |--- FAIL
    |FAIL\b|make(?:\[\d{1,3}\])?: \*\*\*|PHP (?:Fatal|Parse) error|Unhandled exception|Segmentation fault
    |curl: \(\d{1,3}\)|BUILD FAILED|Killed$|[\w./-]{1,200}(?::\d{1,6}){1,2}: (?:fatal )?error:\s
    |[\w./-]{1,200}\(\d{1,6},\d{1,6}\): error\b
    |[\w./-]{1,60}(?:: line \d{1,6})?: .{1,200}: (?:command not found|No such file or directory|Permission denied)$
    |(?:sh|bash|zsh): .{0,200}not found)""",
    re.MULTILINE,
)
_TESTS = pattern(
    r"""
    ^=*\s?(?:\d{1,6} \w{1,10}, ){0,6}[1-9]\d{0,5} (?:failed|errors?)\b.{0,80}\bin \d
    |^FAILED \((?:failures|errors)=[1-9]|^Tests:\s{1,9}[1-9]\d{0,5} failed|^--- FAIL: |^FAIL\t|^test result: FAILED
    |^\s{0,8}[1-9]\d{0,4} failing\b|^Failures?: [1-9]|^\d{1,6} examples?, [1-9]\d{0,5} failures?
    |Tests run: \d{1,6}, Failures: (?:[1-9]|0, Errors: [1-9])""",
    re.MULTILINE,
)
_TRACEBACK = late(r"(?m)^\s{0,12}Traceback \(most recent call last\):")
_EXCEPTION_LINE = pattern(
    r"""
    ^(?:E {1,7})?(?:Caused by: |Uncaught |Unhandled |Exception in thread .{1,80}? )?(?:[\w$]{1,60}[.:]{1,2}){0,12}
    [A-Z]\w{0,80}(?:Error|Exception|Expired|Exit|Interrupt|Timeout|Warning|Failure|NotFound|Privileges|Denied|Exceeded)
    \w{0,10}(?:: |:?$| \[)"""
)
_EXIT = pattern(
    r"""
    (?:\bexit[ _-]?(?:code|status)\]?["']?\s{0,3}[:=]?\s{0,3}["']?|exited with (?:code|status|exit code)\s
    |return ?code[:=>]{0,2}\s{0,2}|\bnon-zero exit (?:status|code):?\s|\[exit\s)(-?\d{1,5})\b""",
    re.IGNORECASE,
)
_STATUS = pattern(
    r"""
    ^\s{0,8}(?:HTTP/\d(?:\.\d)?\s|http(?: error| status(?: code)?)?:?\s|status(?: ?code)?[:=]?\s
    |(?:error|request failed with(?: status(?: code)?)?|(?:\d{3} )?(?:client|server) error):?\s)?
    ([1-5]\d\d)\b(?:\s|:|$|\))(?!\d)""",
    re.IGNORECASE,
)
_STATUS_WORDS = pattern(
    r"""
    \b(?:HTTP/\d(?:\.\d)?\s|status(?: code)?[:=]?\s|http(?: error)?\s|response\s)[45]\d\d\b
    |\b[45]\d\d[: ]{1,2}(?:bad|unauth|forbid|not\s|method|conflict|gone|too many|internal|service|gateway|request
    |unprocess|client error|server error|payload)""",
    re.IGNORECASE,
)


def opening_error(text: str) -> bool:
    """Whether the first line is an error message."""
    first = first_line(text)
    return bool(_OPENING.match(first) or _PROGRAM.match(first))


def failed_tests(text: str) -> bool:
    """Whether a test runner counts failures in it."""
    return bool(_TESTS.search(text))


def traceback_in(text: str) -> bool:
    """Whether a Python traceback stands in it."""
    return bool(_TRACEBACK.search(text))


def ends_in_error(text: str) -> bool:
    """Whether one of the last three lines names an exception or is what a failed program ends with."""
    last = _last_lines(text, 3)
    if any(line.startswith("at ") for line in last):  # the stack of a JavaScript or Java error follows its name
        return program_error(text)
    return any(_EXCEPTION_LINE.match(line) or _ANYWHERE.match(line) for line in last)


def program_error(text: str) -> bool:
    """Whether a line of it marks the end of a failed program."""
    return bool(_ANYWHERE.search(text))


def exit_code(text: str) -> int | None:
    """The exit code that a runner printed around the output: `exitcode: 1 (execution failed)`."""
    for part in (text[:HEAD].split("\n", 2)[:2], _last_lines(text, 2)):
        for line in part:
            match = _EXIT.search(line) if len(line) <= HEAD else None
            if match:
                return int(match[1])
    return None


def http_status(text: str) -> int | None:
    """The HTTP status in the first line, where the line is about one: `HTTP/1.1 404 Not Found`, `429: ...`."""
    first = first_line(text)
    match = _STATUS.match(first)
    if match is None:
        return None
    status = int(match[1])
    lead = first[: match.start(1)].strip()
    if status >= 400 and (lead or _STATUS_WORDS.search(first)):
        return status
    return None


def headline(text: str) -> str:
    """The line that names the error: the last exception, else a runner's summary or the first line that tells."""
    lines = [line.strip() for line in _edges(text) if line.strip()]
    lines = [line for line in lines if not _EXIT.match(line) or len(line) > 60] or lines
    for line in reversed(lines):
        if _EXCEPTION_LINE.match(line):
            return _clean(line)
    for line in lines:
        if _ANYWHERE.match(line) or _PROGRAM.match(line):
            return _clean(line)
    for line in lines:
        if _TESTS.search(line):
            return _clean(line)
    for line in lines:
        if _OPENING.match(line):
            return _clean(line)
    return _clean(lines[0]) if lines else ""


def first_line(text: str) -> str:
    """The first line that is not empty, bounded."""
    return text.lstrip(" \t\r\n╷│")[: 2 * LINE_LIMIT].split("\n", 1)[0][: 2 * LINE_LIMIT]


def _clean(line: str) -> str:
    line = line.removeprefix("E   ").removeprefix("Code output:").strip()
    return line if len(line) <= LINE_LIMIT else f"{line[: LINE_LIMIT - 4].rstrip()} ..."


def _last_lines(text: str, count: int) -> list[str]:
    return [line.strip() for line in text.rstrip()[-1_500:].split("\n") if line.strip()][-count:]


def _edges(text: str) -> list[str]:
    """The lines of the first and the last 8,000 characters."""
    return (text if len(text) <= 16_000 else f"{text[:8_000]}\n{text[-8_000:]}").split("\n")
