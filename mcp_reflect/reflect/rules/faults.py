"""Whether the answer of a call is a failure, and what it says.

Precision counts more than recall: an answer is a failure where the trace marks it so, where a runner
says so (exit code, HTTP status, JSON error), or where the answer *is* an error message. Text that only
speaks of errors (a log that was read, an article) is none.
"""

import json
from dataclasses import dataclass

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.reflect.rules import printed
from mcp_reflect.reflect.rules.calls import Call
from mcp_reflect.reflect.rules.categories import category_of, category_of_status
from mcp_reflect.reflect.rules.empty import found_nothing
from mcp_reflect.reflect.rules.tools import (
    Kind,
    command_of,
    finishes,
    is_code_search,
    kind_of,
    program_of,
    tool_words,
)
from mcp_reflect.reflect.rules.words import quote

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
    text = call.answer if len(call.answer) <= TEXT_LIMIT else _edges(call.answer)
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
    if code == 124 and not printed.program_error(text):  # what GNU timeout exits with
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
        return Fault(
            text=text, headline=printed.first_line(text) or "an empty answer", category=ErrorCategory.NO_RESULT
        )
    code = None if kind is Kind.SEARCH else printed.exit_code(text)
    if code is not None:
        fault = _from_exit(code, text, call)
        return fault if fault.text else None
    status = printed.http_status(text)
    page = 150 if kind is Kind.READ else 4 * MESSAGE_LIMIT  # an error page is short; an article on one is not
    if status is not None and (len(text) <= page or text.startswith("HTTP/")):
        return _status_fault(status, text)
    failed = _run_failed(text) if kind is Kind.RUN else _message(text, kind, call)
    return _fault(text) if failed else None


def _run_failed(text: str) -> bool:
    """What a program prints when it fails, where no exit code tells."""
    if printed.failed_tests(text) or printed.ends_in_error(text):
        return True
    short = len(text) <= 2 * MESSAGE_LIMIT or text.count("\n") <= 12
    return printed.opening_error(text) and short


def _message(text: str, kind: Kind, call: Call) -> bool:
    """Whether the answer of a tool that runs nothing is an error message and nothing else."""
    if tool_words(call.tool) & _ABOUT_ERRORS:
        return False
    if printed.opening_error(text) and len(text) <= MESSAGE_LIMIT:
        return kind is not Kind.READ or _about_reading(text, call)
    if kind is Kind.OTHER and (printed.opening_error(text) or printed.traceback_in(text[:200])):
        return len(text) <= 10 * MESSAGE_LIMIT and (
            printed.ends_in_error(text) or text.lower().startswith(("error", "traceback"))
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
        return category_of(printed.first_line(text)) in {ErrorCategory.NOT_FOUND, ErrorCategory.PERMISSION}
    return category_of(printed.first_line(text)) is not ErrorCategory.ASSERTION


def _status_fault(status: int, text: str) -> Fault:
    line = printed.headline(text) or f"HTTP status {status}"
    return Fault(text=text or line, headline=line, category=category_of_status(status), marked=True)


def _fault(text: str, *, marked: bool = False, context: str = "") -> Fault:
    line = printed.headline(text) or "an error without a message"
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


def _edges(text: str) -> str:
    return f"{text[: TEXT_LIMIT // 2]}\n{text[-TEXT_LIMIT // 2 :]}"
