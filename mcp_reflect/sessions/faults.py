"""Whether an answer is a failure, and which.

Precision counts more than recall: an answer is a failure if the trace marks it, if a runner says so (exit code, HTTP
status, JSON error), or if the whole answer is an error message. Text that only mentions errors is not a failure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mcp_reflect.models.common import Json, json_of
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.empty_answers import found_nothing
from mcp_reflect.sessions.error_categories import category_of, category_of_status
from mcp_reflect.sessions.failing_words import MESSAGE_LIMIT, looks_failed
from mcp_reflect.sessions.headlines import (
    ERROR_FORMS,
    first_line,
    headline,
    last_lines,
)
from mcp_reflect.sessions.text import ends, quote
from mcp_reflect.sessions.tools import (
    Kind,
    finishes,
    is_code_search,
    kind_of,
)

HEAD: Final = 400  # characters at either end of an answer where exit codes are looked for
# Characters of an error page: it is short; an article on one is not.
_READ_PAGE: Final = 150
_PAGE: Final = 4 * MESSAGE_LIMIT
_MOST_FIELDS_OF_ANSWER: Final = 6  # of an object that was read and may be an answer with an error
_MOST_FIELDS_OF_STATUS: Final = 4  # of an object whose status alone says that it is an error
_MOST_DEPTH: Final = 4  # levels of an error object in which its message is looked for
_MOST_MESSAGES: Final = 5  # of a list of errors
_MOST_OF_EMPTY: Final = 40  # characters of what a search prints that matched nothing
JSON_LIMIT: Final = 200_000  # characters of an answer that is parsed to look for an error field
TEXT_LIMIT: Final = 40_000  # characters of an answer that are searched, half from each end

_CODES: Final = ("exit_code", "exitCode", "exitcode", "returncode", "return_code")
_STATUSES: Final = ("status_code", "statusCode", "http_status", "status")

_EXIT = ERROR_FORMS["exit"]
_STATUS = ERROR_FORMS["status"]
_NO_OUTPUT = lazy_compile(
    r"(?i)\s*+(?:\(?no output\)?|\(empty\)|(?:command )?exit(?:ed with)? code:? 1)?\s*$"
)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """The failure of a call: its text, and the line of it that names the error.

    `stated` is the category where a status (404) or an empty search states it; else the category is read off the texts,
    of which `context` is a further one.
    """

    text: str
    headline: str
    stated: ErrorCategory | None = None
    context: str = ""

    @cached_property
    def category(self) -> ErrorCategory:
        """The category of the error."""
        return self.stated or category_of(self.headline, f"{self.text}\n{self.context}")


_NO_WORDS: Final = "the answer is marked as failed"
# What a rule returns that is sure that the call worked, so that no later rule is asked; it is compared by identity.
_WORKED: Final = Fault(text="", headline="")
_NO_MATCHES: Final = Fault(text="no matches", headline="no matches", stated=ErrorCategory.NO_RESULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """An answer whose failure is looked for, with what is known of its call.

    `has_call` is False for an answer without a call; `facts` is the metadata of the call and of its answer.
    """

    text: str
    tool: str
    arguments: Json
    facts: Mapping[str, Json]
    has_call: bool

    @property
    def kind(self) -> Kind:
        """What the tool does: it runs, searches, reads, or does something else."""
        return kind_of(self.tool, self.arguments)

    @property
    def is_code_search(self) -> bool:
        """True for a grep or its like, for which code 1 and no output mean that nothing matches."""
        return is_code_search(self.tool, self.arguments)


def fault_of_answer(answer: JudgedAnswer) -> Fault | None:
    """The failure that an answer shows, None where it shows none. The surest rule that says anything decides.

    | rule         | says                                       | example                                  |
    |--------------|--------------------------------------------|------------------------------------------|
    | `_from_facts`| metadata: an exit code or an HTTP status   | `{"exit_code": 2}`                       |
    | `_from_json` | an object with a field for errors          | `{"error": "no such user"}`              |
    | `_from_text` | the words of the answer                    | "fatal: not a git repository"            |
    """
    text = ends(answer.text, TEXT_LIMIT)
    kind = answer.kind
    fault = (
        _from_facts(answer, text)
        or _from_json(text, kind)
        or _from_text(text.strip(), kind, answer)
    )
    if fault is _WORKED:
        return None
    return fault


def fault_of_marked(tool: str, arguments: Json, error: str, answer: str) -> Fault:
    """The failure of a call that the trace calls an error.

    A grep that printed nothing ends with code 1, which hosts call an error: it only found nothing.
    """
    if is_code_search(tool, arguments) and _NO_OUTPUT.match(error):
        return _NO_MATCHES
    return _fault(error, context=answer)


def _fault(text: str, *, context: str = "") -> Fault:
    """The failure that a text tells; one without any words gets a headline all the same, so that it can be named."""
    line = headline(text) or "an error without a message"
    return Fault(text=text or line, headline=line, context=context)


def _status_fault(status: int, text: str) -> Fault:
    """The failure that an HTTP status tells, which decides the category; the text only names it."""
    line = headline(text) or f"HTTP status {status}"
    return Fault(text=text or line, headline=line, stated=category_of_status(status))


# Metadata.


def _from_facts(answer: JudgedAnswer, text: str) -> Fault | None:
    """The failure that metadata tell; _WORKED where they say that the call worked, None where they say nothing."""
    if True in (answer.facts.get("is_error"), answer.facts.get("isError")):
        return _fault(text or "error")
    code = _integer(answer.facts, _CODES)
    if code is not None:
        return _from_exit(code, text, answer)
    status = _integer(answer.facts, _STATUSES)
    if status is not None and _is_error_status(status):
        return _status_fault(status, text)
    return None


def _from_exit(code: int, text: str, answer: JudgedAnswer) -> Fault:
    """What an exit code tells: 0 that the call worked, whatever it printed; 1 of a grep that it found nothing."""
    if code == 0:
        return _WORKED
    if code == 1 and answer.is_code_search and len(text.strip()) < _MOST_OF_EMPTY:
        return _NO_MATCHES
    return _fault(text or f"exit code {code}")


def _is_error_status(status: int) -> bool:
    """True for the statuses with which HTTP says that a request failed."""
    return 400 <= status <= 599


def _integer(values: Mapping[str, Json], keys: tuple[str, ...]) -> int | None:
    """The first of these values that is a number, which true and false are not."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


# JSON.


def _from_json(text: str, kind: Kind) -> Fault | None:
    """The failure that a JSON object tells by the fields that services use for it, on its first level.

    `{"status": 404, "message": "no such user"}` and `{"error": {"message": "no such user"}}` are failures. A file that
    was read may be any object, with a field `error` of its own: only a small one is an answer.
    """
    stripped = text.strip()
    if not stripped.startswith("{") or len(stripped) > JSON_LIMIT:
        return None
    value = json_of(stripped)
    if not isinstance(value, dict):
        return None
    if kind is Kind.READ and len(value) > _MOST_FIELDS_OF_ANSWER:
        return None
    error = _first(value, ("error", "errors", "exception", "error_message", "errorMessage"))
    says = _first(value, ("message", "detail", "reason", "msg", "title", "stderr"))
    status = _integer(value, (*_STATUSES, "code"))
    if status is not None and _is_error_status(status):
        is_about_status = error or says or len(value) <= _MOST_FIELDS_OF_STATUS
        if is_about_status:
            return _status_fault(status, _message_in(error or says or f"status {status}"))
    code = _integer(value, _CODES)
    if error or code or _states_failure(value, has_message=bool(says)):
        return _fault(_text_of_json_error(value, error, says, code))
    return None


def _text_of_json_error(value: dict[str, Json], error: Json, says: Json, code: int | None) -> str:
    """What a JSON object says of its error: "Conflict: the name is taken" of the error "Conflict" and that message.

    Where the error has the message in it, the error alone is enough. Where there are neither, what was printed counts.
    """
    if error is True:
        error = None  # it says that there is an error, and not which
    texts = [_message_in(text) for text in (error, says) if text]
    if not texts:
        return _message_in(_first(value, ("output", "stdout")) or _told_by_code(code))
    error_has_message = texts[-1] in texts[0]
    if error_has_message:
        return texts[0]
    return ": ".join(texts)


def _told_by_code(code: int | None) -> str:
    """The words for an error without any: its exit code, or only that it is one."""
    if code:
        return f"exit code {code}"
    return _NO_WORDS


def _states_failure(value: Mapping[str, Json], *, has_message: bool) -> bool:
    """True where a field says that a call failed: `{"status": "error"}`, `{"success": false}`, `{"failed": true}`.

    `{"status": "failed"}` may be the state of the job that was asked for; with a message it is the call's own.
    """
    stated = str(value.get("status") or value.get("result") or "").lower()
    if stated in {"error", "fail"}:
        return True
    if stated in {"failed", "failure"} and has_message:
        return True
    if any(value.get(key) is False for key in ("success", "ok", "succeeded")):
        return True
    return any(value.get(key) is True for key in ("isError", "is_error", "failed"))


def _first(value: dict[str, Json], keys: tuple[str, ...]) -> Json:
    """The first value under these keys that says something, else None."""
    for key in keys:
        if value.get(key):
            return value[key]
    return None


def _message_in(value: Json, depth: int = 0) -> str:
    """The message in an error field: "no such user" of `{"error": {"message": "no such user"}}` or of a list of such."""
    if isinstance(value, dict) and depth < _MOST_DEPTH:
        inner = _first(value, ("message", "detail", "msg", "error", "type", "code"))
        if inner is not None:
            return _message_in(inner, depth + 1)
    if isinstance(value, list) and depth < _MOST_DEPTH:
        return "; ".join(_message_in(item, depth + 1) for item in value[:_MOST_MESSAGES])
    if isinstance(value, str):
        return value
    return quote(value, MESSAGE_LIMIT)


# Words.


def _from_text(text: str, kind: Kind, answer: JudgedAnswer) -> Fault | None:
    """The failure that the words of an answer tell, None where they tell none; the first row that fits decides.

    | the answer                                            | failure                     |
    |-------------------------------------------------------|-----------------------------|
    | of a call with which the agent hands over its answer  | none: it is the agent's own |
    | of a grep that printed nothing                        | nothing was found           |
    | of a search that says so ("No results")               | nothing was found           |
    | with "exit code 2" in its first or last lines         | by the code                 |
    | is an error page ("404 Not Found")                    | by the status               |
    | looks like an error message                           | the message                 |
    """
    if finishes(answer.tool):
        return None
    if not text and answer.has_call and answer.is_code_search:
        return _NO_MATCHES
    empty = _empty_search(text, kind, answer)
    if empty is not None:
        return empty
    if kind is not Kind.SEARCH:
        code = _exit_code(text)
        if code is not None:
            return _from_exit(code, text, answer)
    status = _status_of_page(text, kind)
    if status is not None:
        return _status_fault(status, text)
    if looks_failed(text, kind, answer.tool, answer.arguments):
        return _fault(text)
    return None


def _empty_search(text: str, kind: Kind, answer: JudgedAnswer) -> Fault | None:
    """The failure of a search that found nothing, None for any other answer.

    Nobody knows which tool gave an answer without a call and a tool: it may be that of a search.
    """
    may_be_search = kind is Kind.SEARCH or not (answer.has_call or answer.tool)
    is_of_something = bool(text) or answer.has_call
    if not (may_be_search and is_of_something and found_nothing(text)):
        return None
    line = first_line(text) or "an empty answer"
    return Fault(text=text, headline=line, stated=ErrorCategory.NO_RESULT)


def _exit_code(text: str) -> int | None:
    """The exit code that a runner tells in the first two or the last two lines of an output ("Exit code 2")."""
    for line in (*text[:HEAD].split("\n", 2)[:2], *last_lines(text, 2)):
        if len(line) > HEAD:
            continue
        match = _EXIT.search(line)
        if match:
            return int(match[1])
    return None


def _status_of_page(text: str, kind: Kind) -> int | None:
    """The HTTP status in the first line of an error page ("404 Not Found"), None where there is none.

    An error page is short: a longer text may be an article on one.
    """
    status = _STATUS.match(first_line(text))
    if status is None:
        return None
    most_page = _PAGE
    if kind is Kind.READ:
        most_page = _READ_PAGE
    if len(text) > most_page and not text.startswith("HTTP/"):
        return None
    return int(status[1] or status[2])
