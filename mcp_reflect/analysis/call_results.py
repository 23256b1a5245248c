"""Whether the answer of a call is a failure, and the error message in it.

Precision counts more than recall: an answer is a failure where the trace marks it, where a runner says so (exit code,
HTTP status, JSON error), or where the answer is an error message. Text that only speaks of errors is none.
"""

import json
from dataclasses import dataclass
from typing import Final

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
from mcp_reflect.signature import exact_call, fingerprint

HEAD: Final = 400  # characters at either end of an answer where exit codes are looked for
LINE_LIMIT: Final = 300  # characters of a headline
MESSAGE_LIMIT: Final = 400  # characters: fetched text that opens like an error is one only if it is this short
JSON_LIMIT: Final = 200_000  # characters of an answer that is parsed to look for an error field
TEXT_LIMIT: Final = 40_000  # characters of an answer that are searched, half from each end
EDGES: Final = 16_000  # characters of a text in which its headline is looked for, half from each end

_ABOUT_ERRORS: Final = frozenset({"errors", "exceptions", "failures", "logs", "incidents", "alerts"})
_CODES: Final = ("exit_code", "exitCode", "exitcode", "returncode", "return_code")
_STATUSES: Final = ("status_code", "statusCode", "http_status", "status")

# Error messages as programs print them. Every pattern is anchored to a line and bounded, so that it takes linear time.

# The first line of an answer that is an error message and nothing else.
_OPENING = pattern(r"""
    (?i)^\s{0,20}(?:[\[<(*`❌✗×⚠️]{1,6}\s{0,3})?(?:
    (?:\w{1,30} ){0,2}(?:error|exception|fatal|panic|failure|failed|fault)
    (?:\s?\(?[\w-]{0,40}\)?|\[\w{1,12}\]|(?: \w{1,30}){1,6})?\s{0,2}[:\]>!]
    |(?:[\w.]{1,80}\.)?\w{1,80}(?:Error|Exception|Expired|Timeout)(?:\b:|\s?\(|\s{0,3}$)
    |error from server \(|\([\w.]{0,80}(?:error|errors|exception)\b[\w.]{0,80}\)|<\w{0,30}error\w{0,20}>
    |(?:an? )?(?:unexpected |internal |unknown )?error (?:occurred|while|executing|calling|running|in|at|\d{3})\b
    |(?:failed|unable) to \w|(?:could not|couldn't|cannot|can't) \w|unrecogni[sz]ed (?:arguments?|option|command)
    |invalid (?:action|argument|input|parameter|request|tool|option|command|json|value|path|api|key|format|id)\b
    |unknown (?:tool|action|command|function|argument|language|option|parameter|method)\b
    |(?:access|permission|request|connection|operation) (?:is |was |has been )?(?:denied|forbidden|refused|timed out
    |failed|not permitted|rejected|reset)
    |(?:unauthorized|forbidden|not found|too many requests|bad request|internal server error|service unavailable
    |bad gateway|gateway time-?out|conflict|killed)[.!]?\s{0,3}$|no such (?:file|tool|directory|table|column|function)
    |(?:rate limit|quota|timeout|time limit) (?:exceeded|reached|expired)|(?:timed out|timeout) (?:after|waiting|while)
    |(?:the )?(?:tool|function|action|command|file|path|directory|element|page|process) (?:\S{1,200} )?
    (?:(?:is |was |does |did |has |could |can)?(?:not|n't) (?:found|exist|available|be|been|supported|allowed)
    |(?:execution )?failed\b|timed out\b|was killed)
    |segmentation fault|nothing happens|old_str .{0,40}not found|no replacement was performed|missing required\b
    |(?:\w{1,20} )?(?:is |are )?not (?:a valid|allowed|permitted|authorized|recognized|supported|available)\b
    )""")
_PROGRAM = pattern(r"""
    (?i)^[\w./+-]{1,60}(?::\s?(?:line )?\d{1,6})?: .{0,250}
    (?:no such file|not found|permission denied|cannot |can't |could not|unable to|invalid|unrecogni[sz]ed|unknown
    |denied|refused|failed|is a directory|not a directory|timed out|error|missing|not permitted|too many|no space)""")
_ANYWHERE = pattern(r"""
    (?m)^(?:[\w.]{0,80}(?:Error|Exception|Expired|Exit|Interrupt|Timeout)(?::|$)|Exception in thread\b|panic:\s
    |thread '.{1,80}' panicked|npm (?:ERR!|error\b)|E: |error\[E\d{4}\]|error: (?!0)|fatal: |ERROR(?::| in)\s|FAILED\s
    |--- FAIL
    |FAIL\b|make(?:\[\d{1,3}\])?: \*\*\*|PHP (?:Fatal|Parse) error|Unhandled exception|Segmentation fault
    |curl: \(\d{1,3}\)|BUILD FAILED|Killed$|[\w./-]{1,200}(?::\d{1,6}){1,2}: (?:fatal )?error:\s
    |[\w./-]{1,200}\(\d{1,6},\d{1,6}\): error\b
    |[\w./-]{1,60}(?:: line \d{1,6})?: .{1,200}: (?:command not found|No such file or directory|Permission denied)$
    |(?:sh|bash|zsh): .{0,200}not found)""")
_TESTS = pattern(r"""
    (?m)^=*\s?(?:\d{1,6} \w{1,10}, ){0,6}[1-9]\d{0,5} (?:failed|errors?)\b.{0,80}\bin \d
    |^FAILED \((?:failures|errors)=[1-9]|^Tests:\s{1,9}[1-9]\d{0,5} failed|^--- FAIL: |^FAIL\t|^test result: FAILED
    |^\s{0,8}[1-9]\d{0,4} failing\b|^Failures?: [1-9]|^\d{1,6} examples?, [1-9]\d{0,5} failures?
    |Tests run: \d{1,6}, Failures: (?:[1-9]|0, Errors: [1-9])""")
_EXCEPTION_LINE = pattern(r"""
    ^(?:E {1,7})?(?:Caused by: |Uncaught |Unhandled |Exception in thread .{1,80}? )?(?:[\w$]{1,60}[.:]{1,2}){0,12}
    [A-Z]\w{0,80}(?:Error|Exception|Expired|Exit|Interrupt|Timeout|Warning|Failure|NotFound|Privileges|Denied|Exceeded)
    \w{0,10}(?:: |:?$| \[)""")
_EXIT = pattern(r"""
    (?i)(?:\bexit[ _-]?(?:code|status)\]?["']?\s{0,3}[:=]?\s{0,3}["']?|exited with (?:code|status|exit code)\s
    |return ?code[:=>]{0,2}\s{0,2}|\bnon-zero exit (?:status|code):?\s|\[exit\s)(-?\d{1,5})\b""")
_STATUS = pattern(r"""
    (?i)^\s{0,8}(?:HTTP/\d(?:\.\d)?\s|http(?: error| status(?: code)?)?:?\s|status(?: ?code)?[:=]?\s
    |(?:error|request failed with(?: status(?: code)?)?|(?:\d{3} )?(?:client|server) error):?\s)
    ([45]\d\d)\b(?:\s|:|$|\))(?!\d)
    |^\s{0,8}([45]\d\d)[: ]{1,2}(?:bad|unauth|forbid|not\s|method|conflict|gone|too many|internal|service|gateway
    |request|unprocess|client error|server error|payload)""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The failure of a call. `marked`: the trace, an exit code or a status says so, not only the text."""

    text: str
    headline: str
    category: ErrorCategory
    marked: bool = False


_WORKED: Final = Fault(text="", headline="", category=ErrorCategory.UNKNOWN)


def fault_of(call: Call) -> Fault | None:
    """The fault of a call, or None where it worked or nothing is known of it."""
    if call.marked:
        return _fault(call.error, marked=True, context=call.answer)
    if not call.answered:
        return None
    kind, text = kind_of(call.tool, call.arguments), _ends(call.answer, TEXT_LIMIT)
    fault = _from_facts(call, text) or _from_json(text, kind) or _from_text(text.strip(), kind, call)
    return None if fault is _WORKED else fault


def headline(text: str) -> str:
    """The line that names the error: the last exception, else the first line of a program, a test runner, a message."""
    lines = [line.strip() for line in _ends(text, EDGES).split("\n") if line.strip()]
    lines = [line for line in lines if not _EXIT.match(line) or len(line) > 60] or lines
    tests = (_ANYWHERE, _PROGRAM), (_TESTS,), (_OPENING,)
    found = next((line for line in reversed(lines) if _EXCEPTION_LINE.match(line)), None)
    for patterns in tests:
        found = found or next((line for line in lines if any(test.match(line) for test in patterns)), None)
    line = (found or (lines or [""])[0]).removeprefix("E   ").removeprefix("Code output:").strip()
    return line if len(line) <= LINE_LIMIT else f"{line[: LINE_LIMIT - 4].rstrip()} ..."


def _from_facts(call: Call, text: str) -> Fault | None:
    """The fault that metadata tells; _WORKED where they say that the call worked, None where they say nothing."""
    facts = call.facts
    if facts.get("is_error") is True or facts.get("isError") is True:
        return _fault(text or "error", marked=True)
    code = next((facts[key] for key in _CODES if type(facts.get(key)) is int), None)
    if isinstance(code, int):
        return _from_exit(code, text, call)
    status = next((facts[key] for key in _STATUSES if type(facts.get(key)) is int), None)
    return _status_fault(status, text) if isinstance(status, int) and 400 <= status <= 599 else None


def _from_exit(code: int, text: str, call: Call) -> Fault:
    """Code 0 worked, whatever was printed; grep exits with 1 where it finds nothing, GNU timeout with 124."""
    if code == 0:
        return _WORKED
    if code == 1 and is_code_search(call.tool, call.arguments) and len(text.strip()) < 40:
        return Fault(text=text or "no matches", headline="no matches", category=ErrorCategory.NO_RESULT, marked=True)
    if code == 124 and not _ANYWHERE.search(text):
        line = "timed out (exit code 124)"
        return Fault(text=text or line, headline=line, category=ErrorCategory.TIMEOUT, marked=True)
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
    error = _first(value, ("error", "errors", "exception", "error_message", "errorMessage"))
    says = _first(value, ("message", "detail", "reason", "msg", "title", "stderr"))
    status = next((value[key] for key in (*_STATUSES, "code") if type(value.get(key)) is int), None)
    if isinstance(status, int) and 400 <= status <= 599 and (error or says or len(value) <= 4):
        return _status_fault(status, _say(error or says or f"status {status}"))
    if error and error is not True:
        first, second = _say(error), _say(says) if says else ""
        return _fault(first if not second or second in first else f"{first}: {second}", marked=True)
    code = next((value[key] for key in _CODES if type(value.get(key)) is int), 0)
    if code != 0:
        return _fault(_say(_first(value, ("stderr", "output", "stdout")) or f"exit code {code}"), marked=True)
    flagged = any(value.get(key) is False for key in ("success", "ok", "succeeded"))
    flagged = flagged or any(value.get(key) is True for key in ("isError", "is_error", "error", "failed"))
    stated = str(value.get("status") or value.get("result") or "").lower()
    if flagged or stated in {"error", "fail"} or (stated in {"failed", "failure"} and says):
        return _fault(_say(says or error or "the answer is marked as failed"), marked=True)
    return None


def _from_text(text: str, kind: Kind, call: Call) -> Fault | None:
    if finishes(call.tool):
        return None
    if not text and call.made and is_code_search(call.tool, call.arguments):
        return Fault(text="", headline="no matches", category=ErrorCategory.NO_RESULT)
    searched = kind is Kind.SEARCH or not (call.made or call.tool)
    if searched and found_nothing(text) and (text or call.made):
        return Fault(text=text, headline=_first_line(text) or "an empty answer", category=ErrorCategory.NO_RESULT)
    code = None if kind is Kind.SEARCH else _exit_code(text)
    if code is not None:
        return _from_exit(code, text, call)
    status = _STATUS.match(_first_line(text))
    page = 150 if kind is Kind.READ else 4 * MESSAGE_LIMIT  # an error page is short; an article on one is not
    if status is not None and (len(text) <= page or text.startswith("HTTP/")):
        return _status_fault(int(status[1] or status[2]), text)
    failed = _run_failed(text) if kind is Kind.RUN else _is_message(text, kind, call)
    return _fault(text) if failed else None


def _exit_code(text: str) -> int | None:
    """The exit code that a runner printed around the output: `exitcode: 1 (execution failed)`."""
    for line in (*text[:HEAD].split("\n", 2)[:2], *_last_lines(text, 2)):
        match = _EXIT.search(line) if len(line) <= HEAD else None
        if match:
            return int(match[1])
    return None


def _run_failed(text: str) -> bool:
    """True for the output of a program that failed, where no exit code tells."""
    last = _last_lines(text, 3)
    if any(line.startswith("at ") for line in last) and _ANYWHERE.search(text):  # a stack follows the error's name
        return True
    if _TESTS.search(text) or any(_EXCEPTION_LINE.match(line) or _ANYWHERE.match(line) for line in last):
        return True
    return _opens_with_error(text) and (len(text) <= 2 * MESSAGE_LIMIT or text.count("\n") <= 12)


def _is_message(text: str, kind: Kind, call: Call) -> bool:
    """True where the answer of a tool that runs nothing is an error message and nothing else."""
    if tool_words(call.tool) & _ABOUT_ERRORS:
        return False
    opens = _opens_with_error(text)
    if opens and len(text) <= MESSAGE_LIMIT:
        return kind is not Kind.READ or _is_about_reading(text, call)
    starts = text.lower().startswith(("error", "traceback"))
    return kind is Kind.OTHER and starts and len(text) <= 10 * MESSAGE_LIMIT


def _is_about_reading(text: str, call: Call) -> bool:
    """True for an error of the reading itself, not for a line that was read."""
    command = command_of(call.arguments)
    if command and tool_words(call.tool) & {"bash", "shell", "terminal", "command", "sh"}:
        programs = (f"{program_of(command)[0]}:", "bash:", "sh:", "zsh:", "fatal:", "error:", "usage:")
        return text.lower().startswith(programs)  # a shell names the program that complains
    category, arguments = category_of(_first_line(text)), str(call.arguments).lower()
    if ".log" in arguments or "/log" in arguments:
        return category in {ErrorCategory.NOT_FOUND, ErrorCategory.PERMISSION}
    return category is not ErrorCategory.ASSERTION


def _status_fault(status: int, text: str) -> Fault:
    line = headline(text) or f"HTTP status {status}"
    return Fault(text=text or line, headline=line, category=category_of_status(status), marked=True)


def _fault(text: str, *, marked: bool = False, context: str = "") -> Fault:
    line = headline(text) or "an error without a message"
    return Fault(text=text or line, headline=line, category=category_of(line, f"{text}\n{context}"), marked=marked)


def _first(value: dict[str, Json], keys: tuple[str, ...]) -> Json:
    return next((value[key] for key in keys if value.get(key)), None)


def _say(value: Json, depth: int = 0) -> str:
    """The message in an error field: a text, or the text deeper in objects and lists."""
    if isinstance(value, dict) and depth < 4:
        inner = _first(value, ("message", "detail", "msg", "error", "type", "code"))
        return quote(value, MESSAGE_LIMIT) if inner is None else _say(inner, depth + 1)
    if isinstance(value, list) and depth < 4:
        return "; ".join(_say(item, depth + 1) for item in value[:5])
    return value if isinstance(value, str) else quote(value, MESSAGE_LIMIT)


def _opens_with_error(text: str) -> bool:
    first = _first_line(text)
    return bool(_OPENING.match(first) or _PROGRAM.match(first))


def _first_line(text: str) -> str:
    return text.lstrip(" \t\r\n╷│")[: 2 * LINE_LIMIT].split("\n", 1)[0]


def _last_lines(text: str, count: int) -> list[str]:
    return [line.strip() for line in text.rstrip()[-1_500:].split("\n") if line.strip()][-count:]


def _ends(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]}\n{text[-limit // 2 :]}"


@dataclass(slots=True, kw_only=True, eq=False)
class Tried:
    """A call, its exact form, and its fault where it failed: the form in which the rules read a trace.

    `index` counts calls from 0.
    """

    index: int
    call: Call
    exact: str
    fault: Fault | None
    fingerprint: str = ""

    @property
    def failed(self) -> bool:
        return self.fault is not None

    @property
    def empty(self) -> bool:
        """True for a search that found nothing, which is less than an error."""
        return self.category is ErrorCategory.NO_RESULT

    @property
    def category(self) -> ErrorCategory | None:
        return self.fault.category if self.fault else None

    @property
    def headline(self) -> str:
        """The line that names the error."""
        return self.fault.headline if self.fault else ""

    @property
    def worked(self) -> bool:
        """True where it was answered without a failure. A call without an answer neither worked nor failed."""
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
    tried: list[Tried] = []
    for call in calls_of(trace):
        if not is_own_tool(call.tool, call.arguments):
            fault = fault_of(call)
            error = fingerprint(fault.headline) if fault else ""
            exact = exact_call(call.tool, call.arguments)
            tried.append(Tried(index=len(tried), call=call, exact=exact, fault=fault, fingerprint=error))
    return tried
