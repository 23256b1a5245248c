"""Whether the answer of a call is a failure, and the error message in it."""

import json
import re
from dataclasses import dataclass

from mcp_reflect.analysis.calls import Call, calls_of
from mcp_reflect.analysis.error_categories import category_of, category_of_status
from mcp_reflect.analysis.text import call_text, pattern, quote
from mcp_reflect.analysis.tools import (
    Kind,
    command_of,
    finishes,
    found_nothing,
    is_code_search,
    is_own_tool,
    kind_of,
    program_of,
    tool_words,
)
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import ErrorCategory, Trace
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.signature import exact_call, fingerprint

# Error messages as real programs print them, and the line of one that names the error.
#
# Every pattern is anchored to a line and bounded, so that each takes linear time.


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
_TRACEBACK = lazy_compile(r"(?m)^\s{0,12}Traceback \(most recent call last\):")
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
    lines = [line.strip() for line in _edges_printed(text) if line.strip()]
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


def _edges_printed(text: str) -> list[str]:
    """The lines of the first and the last 8,000 characters."""
    return (text if len(text) <= 16_000 else f"{text[:8_000]}\n{text[-8_000:]}").split("\n")


# Whether the answer of a call is a failure, and what it says.
#
# Precision counts more than recall: an answer is a failure where the trace marks it so, where a runner
# says so (exit code, HTTP status, JSON error), or where the answer *is* an error message. Text that only
# speaks of errors (a log that was read, an article) is none.


MESSAGE_LIMIT = 400  # characters: fetched text that opens like an error is one only if it is this short
JSON_LIMIT = 200_000  # characters of an answer that is parsed to look for an error field
TEXT_LIMIT = 40_000  # characters of an answer that are searched, half from each end


_ABOUT_ERRORS = frozenset({"errors", "exceptions", "failures", "logs", "incidents", "alerts"})  # what such a tool lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a call counts as failed. `marked`: the trace, an exit code or a status says so; else its text does."""

    text: str
    headline: str
    category: ErrorCategory
    marked: bool = False

    @property
    def empty(self) -> bool:
        """A search that found nothing: a finding, and less than an error."""
        return self.category is ErrorCategory.NO_RESULT


def fault_of(call: Call) -> Fault | None:
    """The fault of a call, or null where it worked or nothing is known of it."""
    if call.marked:
        return _fault(call.error, marked=True, context=call.answer)
    if not call.answered:
        return None
    kind = kind_of(call.tool, call.arguments)
    text = call.answer if len(call.answer) <= TEXT_LIMIT else _edges_faults(call.answer)
    fact = _from_facts(call, text)
    if fact is not None:
        return fact if fact.text else None
    return _from_json(text, kind) or _from_text(text.strip(), kind, call)


def _from_facts(call: Call, text: str) -> Fault | None:
    """What metadata says. A fault without text means that the metadata says it worked."""
    facts = call.facts
    if facts.get("is_error") is True or facts.get("isError") is True:
        return _fault(text or "error", marked=True)
    for key in ("exit_code", "exitCode", "exitcode", "returncode", "return_code"):
        code = facts.get(key)
        if type(code) is int:
            return _from_exit(code, text, call)
    for key in ("status_code", "statusCode", "http_status", "status"):
        status = facts.get(key)
        if type(status) is int and 400 <= status <= 599:
            return _status_fault(status, text)
    return None


def _from_exit(code: int, text: str, call: Call) -> Fault:
    """Code 0 worked, whatever was printed; grep exits with 1 where it finds nothing."""
    if code == 0:
        return Fault(text="", headline="", category=ErrorCategory.UNKNOWN)
    if code == 1 and is_code_search(call.tool, call.arguments) and len(text.strip()) < 40:
        return Fault(text=text or "no matches", headline="no matches", category=ErrorCategory.NO_RESULT, marked=True)
    if code == 124 and not program_error(text):  # what GNU timeout exits with
        return Fault(
            text=text or "timed out", headline="timed out (exit code 124)", category=ErrorCategory.TIMEOUT, marked=True
        )
    return _fault(text or f"exit code {code}", marked=True)


def _from_json(text: str, kind: Kind) -> Fault | None:
    """The error of a JSON object, by the fields that services use for it, on the first level."""
    stripped = text.strip()
    if not stripped.startswith("{") or len(stripped) > JSON_LIMIT:
        return None
    try:
        value: Json = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or (kind is Kind.READ and len(value) > 6):
        return None
    return _from_object(value)


def _from_object(value: dict[str, Json]) -> Fault | None:
    status = next(
        (value[key] for key in ("status_code", "statusCode", "status", "code") if type(value.get(key)) is int), None
    )
    error = next(
        (value[key] for key in ("error", "errors", "exception", "error_message", "errorMessage") if value.get(key)),
        None,
    )
    says = next(
        (value[key] for key in ("message", "detail", "reason", "msg", "title", "stderr") if value.get(key)), None
    )
    if type(status) is int and 400 <= status <= 599 and (error or says or len(value) <= 4):
        return _status_fault(status, _say(error or says or f"status {status}"))
    if error and error is not True:
        return _fault(_join(error, says), marked=True)
    for key in ("exit_code", "exitCode", "returncode", "return_code"):
        code = value.get(key)
        if type(code) is int and code != 0:
            return _fault(
                _say(value.get("stderr") or value.get("output") or value.get("stdout") or f"exit code {code}"),
                marked=True,
            )
    flagged = any(value.get(key) is False for key in ("success", "ok", "succeeded")) or any(
        value.get(key) is True for key in ("isError", "is_error", "error", "failed")
    )
    stated = str(value.get("status") or value.get("result") or "").lower()
    if flagged or stated in {"error", "fail"} or (stated in {"failed", "failure"} and says):
        return _fault(_say(says or error or "the answer is marked as failed"), marked=True)
    return None


def _from_text(text: str, kind: Kind, call: Call) -> Fault | None:
    if finishes(call.tool):
        return None
    searched = kind is Kind.SEARCH or not (call.made or call.tool)
    if not text and call.made and is_code_search(call.tool, call.arguments):
        return Fault(text="", headline="no matches", category=ErrorCategory.NO_RESULT)
    if searched and found_nothing(text) and (text or call.made):
        return Fault(text=text, headline=first_line(text) or "an empty answer", category=ErrorCategory.NO_RESULT)
    code = None if kind is Kind.SEARCH else exit_code(text)
    if code is not None:
        fault = _from_exit(code, text, call)
        return fault if fault.text else None
    status = http_status(text)
    page = 150 if kind is Kind.READ else 4 * MESSAGE_LIMIT  # an error page is short; an article on one is not
    if status is not None and (len(text) <= page or text.startswith("HTTP/")):
        return _status_fault(status, text)
    failed = _run_failed(text) if kind is Kind.RUN else _message(text, kind, call)
    return _fault(text) if failed else None


def _run_failed(text: str) -> bool:
    """What a program prints when it fails, where no exit code tells."""
    if failed_tests(text) or ends_in_error(text):
        return True
    short = len(text) <= 2 * MESSAGE_LIMIT or text.count("\n") <= 12
    return opening_error(text) and short


def _message(text: str, kind: Kind, call: Call) -> bool:
    """Whether the answer of a tool that runs nothing is an error message and nothing else."""
    if tool_words(call.tool) & _ABOUT_ERRORS:
        return False
    if opening_error(text) and len(text) <= MESSAGE_LIMIT:
        return kind is not Kind.READ or _about_reading(text, call)
    if kind is Kind.OTHER and (opening_error(text) or traceback_in(text[:200])):
        return len(text) <= 10 * MESSAGE_LIMIT and (
            ends_in_error(text) or text.lower().startswith(("error", "traceback"))
        )
    return False


def _about_reading(text: str, call: Call) -> bool:
    """An error of the reading itself, not a line that was read."""
    command = (
        command_of(call.arguments) if tool_words(call.tool) & {"bash", "shell", "terminal", "command", "sh"} else None
    )
    if command:  # a shell names the program that complains
        programs = (f"{program_of(command)[0]}:", "bash:", "sh:", "zsh:", "fatal:", "error:", "usage:")
        return text.lower().startswith(programs)
    log = str(call.arguments).lower()
    if ".log" in log or "/log" in log:
        return category_of(first_line(text)) in {ErrorCategory.NOT_FOUND, ErrorCategory.PERMISSION}
    return category_of(first_line(text)) is not ErrorCategory.ASSERTION


def _status_fault(status: int, text: str) -> Fault:
    line = headline(text) or f"HTTP status {status}"
    return Fault(text=text or line, headline=line, category=category_of_status(status), marked=True)


def _fault(text: str, *, marked: bool = False, context: str = "") -> Fault:
    line = headline(text) or "an error without a message"
    return Fault(text=text or line, headline=line, category=category_of(line, f"{text}\n{context}"), marked=marked)


def _say(value: Json, depth: int = 0) -> str:
    if isinstance(value, dict) and depth < 4:
        inner = next(
            (value[key] for key in ("message", "detail", "msg", "error", "type", "code") if value.get(key)), None
        )
        return quote(value, MESSAGE_LIMIT) if inner is None else _say(inner, depth + 1)
    if isinstance(value, list) and depth < 4:
        return "; ".join(_say(item, depth + 1) for item in value[:5])
    return value if isinstance(value, str) else quote(value, MESSAGE_LIMIT)


def _join(error: Json, says: Json) -> str:
    first, second = _say(error), _say(says) if says else ""
    return first if not second or second in first else f"{first}: {second}"


def _edges_faults(text: str) -> str:
    return f"{text[: TEXT_LIMIT // 2]}\n{text[-TEXT_LIMIT // 2 :]}"


# A call together with what became of it: the form in which the other rules read a trace.


@dataclass(slots=True, kw_only=True, eq=False)
class Tried:
    """A call, its exact form, and its fault where it failed. `index` counts calls from 0."""

    index: int
    call: Call
    exact: str
    fault: Fault | None
    fingerprint: str = ""

    @property
    def failed(self) -> bool:
        return self.fault is not None

    @property
    def worked(self) -> bool:
        """It was answered, and the answer is no failure. A call without an answer neither worked nor failed."""
        return self.fault is None and self.call.answered and self.call.made

    @property
    def failing_event(self) -> str:
        """The event in which the failure showed: the answer, or the call that carries its own."""
        return self.call.answer_id or self.call.event_id

    @property
    def text(self) -> str:
        """The call as it can stand in a sentence."""
        return call_text(self.call.tool or "an event", self.call.arguments)


def tried_calls(trace: Trace) -> list[Tried]:
    """The calls of the trace in order, without those of this server."""
    calls = [call for call in calls_of(trace) if not is_own_tool(call.tool, call.arguments)]
    return [_tried(index, call) for index, call in enumerate(calls)]


def _tried(index: int, call: Call) -> Tried:
    fault = fault_of(call)
    return Tried(
        index=index,
        call=call,
        exact=exact_call(call.tool, call.arguments),
        fault=fault,
        fingerprint=fingerprint(fault.headline) if fault else "",
    )
