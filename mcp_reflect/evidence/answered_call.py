"""A call of a session with its answer, and how the answer says that it ended."""

import re
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile

_EXIT: Final = lazy_compile(
    r"\A(?:Error: )?(?:Exit code|Process exited with code|Command failed with exit code)[: ] ?(-?\d{1,4})\b"
)
_LAST_EXIT: Final = lazy_compile(
    r"(?:Exit code|Process exited with code|Command exited with code|exit code)[: ] ?(-?\d{1,4})\W*\Z",
    re.IGNORECASE,
)
_NOT_RUN: Final = lazy_compile(
    r"doesn't want to (?:proceed|take this action)|was rejected|requires approval|"
    r"\[Request interrupted|The call is refused|mcp-reflect: |"
    r"permission to use|has been denied|blocked by hook|hook error|Permission denied by|user (?:denied|declined|rejected)"
)
# Plain texts: a search for a pattern of them takes a tenth of all reading of a session.
_UNENDED: Final = (
    *("ommand timed out", "running in background", "running in the background"),
    *("Process running with session ID", "timed out after", "was killed", "Session still running"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredCall:
    """A call of a session with its answer; `failed` where the host marks it so, `code` where it gives an exit code."""

    tool: str
    arguments: Json
    answer: str = ""
    failed: bool = False
    code: int | None = None
    answered: bool = True

    @property
    def was_not_run(self) -> bool:
        """Whether it was refused, or interrupted by the person."""
        return self.failed and bool(_NOT_RUN.search(self.answer[:400]))

    @property
    def is_unended(self) -> bool:
        """Whether it went on in the background, or was stopped before its end."""
        ending, opening = self.answer[-2_000:], self.answer[:400]
        return any(words in ending or words in opening for words in _UNENDED)


def exit_code(call: AnsweredCall) -> int | None:
    """Return how the call ended: as the host says it, or as the answer's first or last line does."""
    if call.code is not None:
        return call.code
    if found := _EXIT.search(call.answer[:200]) or _LAST_EXIT.search(call.answer[-200:]):
        return int(found[1])
    return 1 if call.failed else 0
