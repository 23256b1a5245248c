"""The calls of a run with their answers, whether an answer is a failure, and the category of its error.

Precision counts more than recall: an answer is a failure if the trace marks it, if a runner says so (exit code, HTTP
status, JSON error), or if the whole answer is an error message. Text that only mentions errors is not a failure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

from mcp_reflect.models.common import Json, json_of
from mcp_reflect.models.run import ErrorCategory, Event, EventType, Trace
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.error_categories import category_of, category_of_status
from mcp_reflect.sessions.text import ends, pattern_table, quote
from mcp_reflect.sessions.tools import (
    Kind,
    command_of,
    finishes,
    found_nothing,
    in_words,
    is_code_search,
    is_own_tool,
    kind_of,
    tool_words,
    without_labels,
)
from mcp_reflect.shell import doing_in
from mcp_reflect.text.signature import exact_call, fingerprint

OPEN_CALLS: Final = (
    64  # calls of one batch that wait for an answer without an id; agents send far fewer
)

_CALL_IDS: Final = ("tool_call_id", "call_id", "tool_use_id", "toolUseId", "callId", "id")
_RESULTS: Final = (EventType.TOOL_RESPONSE, EventType.OBSERVATION, EventType.ERROR_EVENT)

HEAD: Final = 400  # characters at either end of an answer where exit codes are looked for
LINE_LIMIT: Final = 300  # characters of a headline
MESSAGE_LIMIT: Final = (
    400  # characters: fetched text that opens like an error is one only if it is this short
)
# Characters of an error page: it is short; an article on one is not.
_READ_PAGE: Final = 150
_PAGE: Final = 4 * MESSAGE_LIMIT
JSON_LIMIT: Final = 200_000  # characters of an answer that is parsed to look for an error field
TEXT_LIMIT: Final = 40_000  # characters of an answer that are searched, half from each end
EDGES: Final = (
    16_000  # characters of a text in which its headline is looked for, half from each end
)

_ABOUT_ERRORS: Final = frozenset(
    {"errors", "exceptions", "failures", "logs", "incidents", "alerts"}
)
_COMPLAINING: Final = ("bash:", "sh:", "zsh:", "fatal:", "error:", "usage:")
_CODES: Final = ("exit_code", "exitCode", "exitcode", "returncode", "return_code")
_STATUSES: Final = ("status_code", "statusCode", "http_status", "status")

# Error messages as programs print them. Every pattern is anchored to a line and bounded, so that it takes linear time.
_FORMS: Final = pattern_table("error_forms.txt")
_OPENING = _FORMS[
    "opening"
]  # the first line of an answer that is an error message and nothing else
_PROGRAM = _FORMS["program"]
_ANYWHERE = _FORMS["anywhere"]
_TESTS = _FORMS["tests"]
_EXCEPTION_LINE = _FORMS["exception_line"]
_PREFIX = lazy_compile(
    r"^(?:E   |Code output:|(?:/bin/)?(?:ba|z|da)?sh: (?:line )?(?:\d+: )?|\(eval\):(?:\w+:)?\d+: )"
)
_TAG = lazy_compile(r"</?\w{1,40}>|\x1b?\[[\d;]{1,12}m")
# Lines that name no error: rules, headings such as `ERRORS:`, warnings, what a runner says of itself.
_NO_ERROR = lazy_compile(
    r"\W*$|={3}(?:.*[^=])?={3,}$|[A-Z ]{4,40}:$|WARN(?:ING)?\b|> |platform \w+ --|(?:cachedir|rootdir|configfile|plugins): "
    r"|collect(?:ed|ing) (?!.*\b0 selected)|asyncio: mode="
    r"|npm (?:ERR!|error) (?:command|code|errno|path|A complete log|Lifecycle|in workspace)"
)
_NO_OUTPUT = lazy_compile(
    r"(?i)\s*+(?:\(?no output\)?|\(empty\)|(?:command )?exit(?:ed with)? code:? 1)?\s*$"
)
_FROM_THE_SUREST: Final = ((_ANYWHERE, _PROGRAM), (_TESTS,), (_OPENING,))
_EXIT = _FORMS["exit"]
_MOST_EXIT_LINE: Final = 60  # characters of a line that tells an exit code and nothing else
_STATUS = _FORMS["status"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """The failure of a call. `marked`: the trace, an exit code or a status says so, not only the text.

    `told` is the category where a status or an empty answer tells it; else it is read off the texts.
    """

    text: str
    headline: str
    marked: bool = False
    told: ErrorCategory | None = None
    context: str = ""

    @cached_property
    def category(self) -> ErrorCategory:
        """The category of the error."""
        return self.told or category_of(self.headline, f"{self.text}\n{self.context}")


_MARKED: Final = "the answer is marked as failed"
_WORKED: Final = Fault(text="", headline="")
_NO_MATCHES: Final = Fault(
    text="no matches", headline="no matches", told=ErrorCategory.NO_RESULT, marked=True
)


@dataclass(kw_only=True, eq=False)
class CallWithAnswer:
    """A call and, once seen, its answer.

    `index` counts the calls of a run from 0. `made` is False for an answer or error without a call; `spoken` counts the
    messages of people before it; `facts` is the metadata of both events; `marked`: the trace itself calls it an error.
    """

    event_id: str
    tool: str
    arguments: Json
    spoken: int = 0
    index: int = 0
    made: bool = True
    answer_id: str | None = None
    answer: str = ""
    answered: bool = False
    error: str = ""
    marked: bool = False
    facts: dict[str, Json] = field(default_factory=dict[str, Json])

    def answer_with(self, event: Event, content: str) -> None:
        """Note the answer in `event`."""
        self.answered, self.answer_id, self.answer = True, event.id, content
        if event.error or event.type is EventType.ERROR_EVENT:
            self.error, self.marked = event.error or content or "error", True

    @property
    def failing_event(self) -> str:
        """The event in which a failure showed: the answer, or the call that carries its own."""
        return self.answer_id or self.event_id

    @property
    def text(self) -> str:
        """The call as it can stand in a sentence."""
        return in_words(self.tool, self.arguments)

    @cached_property
    def exact(self) -> str:
        """The call in its exact form."""
        return exact_call(self.tool, self.arguments)

    @cached_property
    def fault(self) -> Fault | None:
        """The fault of the call, or None where it worked or nothing is known of it."""
        if self.marked:
            return self._marked_fault()
        if not self.answered:
            return None
        kind = kind_of(self.tool, self.arguments)
        text = ends(self.answer, TEXT_LIMIT)
        fault = (
            _from_facts(self, text)
            or _from_json(text, kind)
            or _from_text(text.strip(), kind, self)
        )
        return None if fault is _WORKED else fault

    def _marked_fault(self) -> Fault:
        """The fault of a call that the trace calls an error; a grep that printed nothing only found nothing."""
        if is_code_search(self.tool, self.arguments) and _NO_OUTPUT.match(self.error):
            return _NO_MATCHES
        return _fault(self.error, marked=True, context=self.answer)

    @property
    def failed(self) -> bool:
        return self.fault is not None

    @property
    def worked(self) -> bool:
        """True where it was answered without a failure. A call without an answer neither worked nor failed."""
        return self.fault is None and self.answered and self.made

    @property
    def category(self) -> ErrorCategory | None:
        return self.fault.category if self.fault else None

    @property
    def empty(self) -> bool:
        """True for a search that found nothing, which is less than an error."""
        return self.fault is not None and self.fault.told is ErrorCategory.NO_RESULT

    @property
    def headline(self) -> str:
        """The line that names the error."""
        return self.fault.headline if self.fault else ""

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.headline)


def calls_of(trace: Trace) -> list[CallWithAnswer]:
    """The calls in the order in which they were made, without those of this server, with answers that stand alone.

    Answers find their call by id, else by tool and order within the open batch.
    """
    # Where answers are events of their own, the content of a call describes it.
    apart = any(event.type in _RESULTS and event.arguments is None for event in trace.events)
    calls: list[CallWithAnswer] = []
    batch: list[CallWithAnswer] = []
    by_id: dict[str, CallWithAnswer] = {}
    spoken, batch_answered = 0, False
    for event in trace.events:
        result = event.type in _RESULTS
        spoken += event.type is EventType.USER_FEEDBACK
        call = _answered_call(event, batch, by_id) if result else None
        if call is not None:  # also where the answer repeats its call's arguments
            batch = [other for other in batch if other is not call]
            batch_answered = True
            call.facts.update(event.metadata)
            call.answer_with(event, event.content)
        elif event.type is EventType.TOOL_CALL or (event.tool and event.arguments is not None):
            batch, batch_answered = [] if batch_answered else batch, False
            calls.append(call := _call(event, spoken, described=apart and not result))
            if not call.answered:
                batch = [*batch, call][-OPEN_CALLS:]
                for key in (event.id, *_ids(event)):
                    by_id.setdefault(key, call)
        elif result or event.error:
            tool = event.tool or "" if result else ""
            calls.append(
                call := CallWithAnswer(
                    event_id=event.id, tool=tool, arguments=None, spoken=spoken, made=False
                )
            )
            call.facts = dict(event.metadata)
            call.answer_with(event, event.content)
    calls = [call for call in calls if not is_own_tool(call.tool, call.arguments)]
    for index, call in enumerate(calls):
        call.index = index
    return calls


def _call(event: Event, spoken: int, *, described: bool) -> CallWithAnswer:
    """A call; its content is its answer, unless it describes the call or stands for its arguments."""
    stands = event.arguments is None and (event.tool is None or bool(event.error))
    tool = event.tool or ""
    arguments = event.arguments
    content = event.content
    if described or stands:
        content = ""
        if arguments is None:
            arguments = event.content or None
    call = CallWithAnswer(
        event_id=event.id, tool=tool, arguments=without_labels(tool, arguments), spoken=spoken
    )
    call.facts = dict(event.metadata)
    if event.error or content:
        call.answer_with(event, content)
    return call


def _answered_call(
    event: Event, batch: list[CallWithAnswer], by_id: Mapping[str, CallWithAnswer]
) -> CallWithAnswer | None:
    """The open call that an event answers: the one that it names, else the first of its tool in the batch."""
    for key in _ids(event):
        named = by_id.get(key)
        if named is not None and not named.answered:
            return named
    for call in batch:
        if event.tool is None or call.tool.lower() == event.tool.lower():
            return call
    return None


def _ids(event: Event) -> Iterator[str]:
    values = (event.metadata.get(key) for key in _CALL_IDS)
    return (
        str(value)
        for value in values
        if isinstance(value, str | int) and not isinstance(value, bool)
    )


# Failures.


def headline(text: str, otherwise: int = 0) -> str:
    """The line that names the error: the last exception, else the first line of a program, a test runner, a message.

    `otherwise` is the place of the line that stands for a text in which none does.
    """
    naming, lines = _lines_of(text)
    line = _PREFIX.sub("", naming or lines[otherwise]).strip()
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[: LINE_LIMIT - len(' ...')].rstrip()} ..."


@lru_cache(maxsize=256)  # a failure's text is asked for several times
def _lines_of(text: str) -> tuple[str | None, list[str]]:
    """The line that names the error, if one does, and the lines that may."""
    lines = _telling_lines(text)
    return _naming_line(lines), lines


def _telling_lines(text: str) -> list[str]:
    """The lines that may name an error; where there are none, those with any words, else all of them."""
    lines = [_TAG.sub("", line).strip() for line in ends(text, EDGES).split("\n")]
    without_exit_codes = [
        line for line in lines if not _EXIT.match(line) or len(line) > _MOST_EXIT_LINE
    ]
    naming = [line for line in without_exit_codes if not _NO_ERROR.match(line)]
    return naming or [line for line in without_exit_codes if line] or lines


def _naming_line(lines: Sequence[str]) -> str | None:
    """The line of the last exception, since the cause comes last; else the first line of the surest form."""
    for line in reversed(lines):
        if _EXCEPTION_LINE.match(line):
            return line
    for forms in _FROM_THE_SUREST:
        for line in lines:
            if any(form.match(line) for form in forms):
                return line
    return None


def _from_facts(call: CallWithAnswer, text: str) -> Fault | None:
    """The fault that metadata tells; _WORKED where they say that the call worked, None where they say nothing."""
    if True in (call.facts.get("is_error"), call.facts.get("isError")):
        return _fault(text or "error", marked=True)
    code = _integer(call.facts, _CODES)
    if code is not None:
        return _from_exit(code, text, call)
    status = _integer(call.facts, _STATUSES)
    if status is not None and _is_error_status(status):
        return _status_fault(status, text)
    return None


def _from_exit(code: int, text: str, call: CallWithAnswer) -> Fault:
    """Code 0 worked, whatever was printed; grep exits with 1 where it finds nothing."""
    if code == 0:
        return _WORKED
    if code == 1 and is_code_search(call.tool, call.arguments) and len(text.strip()) < 40:
        return _NO_MATCHES
    return _fault(text or f"exit code {code}", marked=True)


def _from_json(text: str, kind: Kind) -> Fault | None:
    """The error of a JSON object, by the fields that services use for it, on the first level."""
    stripped = text.strip()
    if not stripped.startswith("{") or len(stripped) > JSON_LIMIT:
        return None
    value = json_of(stripped)
    if not isinstance(value, dict) or (kind is Kind.READ and len(value) > 6):
        return None
    error = _first(value, ("error", "errors", "exception", "error_message", "errorMessage"))
    says = _first(value, ("message", "detail", "reason", "msg", "title", "stderr"))
    status = _integer(value, (*_STATUSES, "code"))
    if status is not None and _is_error_status(status) and (error or says or len(value) <= 4):
        return _status_fault(status, _say(error or says or f"status {status}"))
    code = _integer(value, _CODES)
    if not (error or code or _states_failure(value, has_message=bool(says))):
        return None
    if error is True:
        error = None  # it says that there is an error, and not which
    texts = [_say(text) for text in (error, says) if text]
    if not texts:
        by_code = f"exit code {code}" if code else _MARKED
        texts = [_say(_first(value, ("output", "stdout")) or by_code)]
    is_told_once = texts[-1] in texts[0]
    return _fault(texts[0] if is_told_once else ": ".join(texts), marked=True)


def _states_failure(value: Mapping[str, Json], *, has_message: bool) -> bool:
    """True where a field says that a call failed.

    "failed" may also be the state of what was asked for; with a message it is the call's own.
    """
    stated = str(value.get("status") or value.get("result") or "").lower()
    if stated in {"error", "fail"}:
        return True
    if stated in {"failed", "failure"} and has_message:
        return True
    if any(value.get(key) is False for key in ("success", "ok", "succeeded")):
        return True
    return any(value.get(key) is True for key in ("isError", "is_error", "failed"))


def _is_error_status(status: int) -> bool:
    return 400 <= status <= 599


def _integer(values: Mapping[str, Json], keys: tuple[str, ...]) -> int | None:
    """The first of these values that is a number, which true and false are not."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _from_text(text: str, kind: Kind, call: CallWithAnswer) -> Fault | None:
    if finishes(call.tool):
        return None
    if not text and call.made and is_code_search(call.tool, call.arguments):
        return _NO_MATCHES
    searched = kind is Kind.SEARCH or not (call.made or call.tool)
    if searched and found_nothing(text) and (text or call.made):
        return Fault(
            text=text, headline=_first_line(text) or "an empty answer", told=ErrorCategory.NO_RESULT
        )
    if kind is not Kind.SEARCH:
        code = _exit_code(text)
        if code is not None:
            return _from_exit(code, text, call)
    status = _STATUS.match(_first_line(text))
    most_page = _READ_PAGE if kind is Kind.READ else _PAGE
    if status is not None and (len(text) <= most_page or text.startswith("HTTP/")):
        return _status_fault(int(status[1] or status[2]), text)
    failed = _run_failed(text) if kind is Kind.RUN else _is_message(text, kind, call)
    return _fault(text) if failed else None


def _exit_code(text: str) -> int | None:
    """The exit code that a runner tells in the first or the last lines of an output."""
    for line in (*text[:HEAD].split("\n", 2)[:2], *_last_lines(text, 2)):
        if len(line) > HEAD:
            continue
        match = _EXIT.search(line)
        if match:
            return int(match[1])
    return None


def _run_failed(text: str) -> bool:
    """True for the output of a program that failed, where no exit code tells."""
    last = _last_lines(text, 3)
    ends_in_stack = any(line.startswith("at ") for line in last)
    if ends_in_stack and _ANYWHERE.search(text):  # a stack follows the error's name
        return True
    if _TESTS.search(text):
        return True
    if any(_EXCEPTION_LINE.match(line) or _ANYWHERE.match(line) for line in last):
        return True
    return _opens_with_error(text) and (len(text) <= 2 * MESSAGE_LIMIT or text.count("\n") <= 12)


def _is_message(text: str, kind: Kind, call: CallWithAnswer) -> bool:
    """True where the answer of a tool that runs nothing is an error message and nothing else."""
    if tool_words(call.tool) & _ABOUT_ERRORS:
        return False
    opens = _opens_with_error(text)
    if opens and len(text) <= MESSAGE_LIMIT:
        return kind is not Kind.READ or _is_about_reading(text, call)
    starts = text.lower().startswith(("error", "traceback", "your proposed edit has introduced"))
    return kind is Kind.OTHER and starts and len(text) <= 10 * MESSAGE_LIMIT


def _is_about_reading(text: str, call: CallWithAnswer) -> bool:
    """True for an error of the reading itself, not for a line that was read."""
    command = command_of(call.arguments)
    if command and tool_words(call.tool) & {"bash", "shell", "terminal", "command", "sh"}:
        part = doing_in(command)
        program = part.program if part else ""
        # A shell names the program that complains.
        return text.lower().startswith((f"{program}:", *_COMPLAINING))
    return category_of(_first_line(text)) not in (
        ErrorCategory.ASSERTION,
        ErrorCategory.RESOURCE_EXHAUSTION,
    )


def _status_fault(status: int, text: str) -> Fault:
    line = headline(text) or f"HTTP status {status}"
    return Fault(text=text or line, headline=line, told=category_of_status(status), marked=True)


def _fault(text: str, *, marked: bool = False, context: str = "") -> Fault:
    line = headline(text) or "an error without a message"
    return Fault(text=text or line, headline=line, marked=marked, context=context)


def _first(value: dict[str, Json], keys: tuple[str, ...]) -> Json:
    return next((value[key] for key in keys if value.get(key)), None)


def _say(value: Json, depth: int = 0) -> str:
    """The message in an error field: a text, or the text deeper in objects and lists."""
    if isinstance(value, dict) and depth < 4:
        inner = _first(value, ("message", "detail", "msg", "error", "type", "code"))
        if inner is not None:
            return _say(inner, depth + 1)
    if isinstance(value, list) and depth < 4:
        return "; ".join(_say(item, depth + 1) for item in value[:5])
    if isinstance(value, str):
        return value
    return quote(value, MESSAGE_LIMIT)


def _opens_with_error(text: str) -> bool:
    return bool(_OPENING.match(_first_line(text)) or _PROGRAM.match(_first_line(text)))


def _first_line(text: str) -> str:
    return text.lstrip(" \t\r\n╷│")[: 2 * LINE_LIMIT].split("\n", 1)[0]


def _last_lines(text: str, count: int) -> list[str]:
    return [line.strip() for line in text.rstrip()[-1_500:].split("\n") if line.strip()][-count:]
