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


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """How a task in the background ended, with what it printed; `code` is None where it is not told.

    `surely`: the answer says that it ended. Otherwise that may show in what it printed.
    """

    output: str
    code: int | None
    failed: bool
    surely: bool


def started_task(answer: str) -> str | None:
    """Return the id of the task that an answer says to have started, empty without one; None for another answer."""
    found = _STARTED.match(answer[:1_000])
    if found is None:
        return None
    return found[1] or ""


def task_asked_for(arguments: Mapping[str, Json], tasks: Collection[str]) -> str | None:
    """Return which of some tasks a call asks for, by its id or by the file that has its output; None for none."""
    if not tasks:
        return None
    for value in arguments.values():
        text = str(value)[:1_000]
        name = text
        if file := _OUTPUT_FILE.search(text):
            name = file[1]
        if name in tasks:
            return name
    return None


def task_end(answer: str, code: int | None, *, failed: bool) -> TaskEnd | None:
    """Return the end that an answer about a task tells, None where it still runs."""
    if code is None and (told := _CODE.search(answer)):
        code = int(told[1] or told[2])
    state = ""
    if status := _STATUS.search(answer):
        state = status[1]
    if state in _RUNNING or started_task(answer) is not None:
        return None
    bad = failed or state in ("failed", "error", "killed") or code not in (0, None)
    surely = bad or code is not None or bool(state)
    return TaskEnd(_printed(answer), code, bad, surely)


def _printed(answer: str) -> str:
    """Return what stands between the marks of an output, the whole answer without them."""
    begins = _OUTPUT_BEGINS.search(answer)
    ends = begins and _OUTPUT_ENDS.search(answer, begins.end())
    if begins and ends:
        return answer[begins.end() : ends.start()]
    return answer
