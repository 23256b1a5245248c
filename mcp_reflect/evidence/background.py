"""Commands that were only started: what a host answers then, and how it tells their end later."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json

_STARTED: Final = re.compile(
    r"\s*(?:Chunk ID: .{0,40}\n|Wall time: .{0,40}\n){0,3}"
    r"(?:Command (?:is |was )?(?:running in (?:the )?background|moved to (?:the )?background"
    r"|manually backgrounded)|Process running with session ID|Started (?:in )?background)"
    r"[^\n]{0,40}?(?:(?:ID|PID|id):? ?[\"']?([\w-]{1,60}))?",
)
_STATUS: Final = re.compile(r"<status>\s*(\w{1,20})\s*</status>")
_CODE: Final = re.compile(r"<exit_code>\s*(-?\d{1,4})\s*</exit_code>|\(exit code:? (-?\d{1,4})\)")
_OUTPUT_BEGINS: Final = re.compile(r"<(?:output|stdout)>\n?")
_OUTPUT_ENDS: Final = re.compile(r"\n?</(?:output|stdout)>")
_OUTPUT_FILE: Final = re.compile(r"(?:^|[/\\])([\w-]{1,60})\.output$")
_RUNNING: Final = frozenset({"running", "pending", "in_progress"})
_FAILED: Final = frozenset({"failed", "error", "killed"})
_MOST_OPENING: Final = 1_000  # characters of an answer or an argument that are looked at


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """How a task in the background ended, with what it printed; `code` is None where nobody tells it.

    `is_stated` says that the answer tells of the end. Otherwise the end may show in what the task printed.
    """

    output: str
    code: int | None
    failed: bool
    is_stated: bool


def started_task(answer: str) -> str | None:
    """Return the id of the task that an answer says to have started, empty without one; None for another answer."""
    started = _STARTED.match(answer[:_MOST_OPENING])
    if started is None:
        return None
    return started[1] or ""


def task_asked_for(arguments: Mapping[str, Json], tasks: Collection[str]) -> str | None:
    """Return which of some tasks a call asks for, by its id or by the file that has its output; None for none."""
    if not tasks:
        return None
    for value in arguments.values():
        text = str(value)[:_MOST_OPENING]
        file = _OUTPUT_FILE.search(text)
        task_id = text if file is None else file[1]
        if task_id in tasks:
            return task_id
    return None


def task_end(answer: str, code: int | None, *, failed: bool) -> TaskEnd | None:
    """Return the end that an answer about a task tells, None where the task still runs.

    `code` and `failed` are what the host says of the answer. Where it tells no code, the answer may:
    "<exit_code>2</exit_code>", "(exit code 2)".
    """
    code_in_answer = _CODE.search(answer)
    if code is None and code_in_answer is not None:
        code = int(code_in_answer[1] or code_in_answer[2])
    status = _STATUS.search(answer)
    state = "" if status is None else status[1]
    if state in _RUNNING or started_task(answer) is not None:
        return None
    has_failed = failed or state in _FAILED or code not in (0, None)
    is_stated = has_failed or code is not None or bool(state)
    return TaskEnd(_printed(answer), code, failed=has_failed, is_stated=is_stated)


def _printed(answer: str) -> str:
    """Return what stands between the marks of an output, the whole answer without them."""
    opening = _OUTPUT_BEGINS.search(answer)
    if opening is None:
        return answer
    closing = _OUTPUT_ENDS.search(answer, opening.end())
    if closing is None:
        return answer
    return answer[opening.end() : closing.start()]
