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
_MOST_LINE: Final = 200  # characters at either end of an answer in which its exit code stands
_MOST_OPENING: Final = (
    400  # characters in which a host says that a call did not run, or did not end
)
_MOST_ENDING: Final = 2_000  # characters in which the host says so behind what was printed
# Plain texts: a search for a pattern of them takes a tenth of all reading of a session.
_UNENDED: Final = (
    *("ommand timed out", "running in background", "running in the background"),
    *("Process running with session ID", "timed out after", "was killed", "Session still running"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredCall:
    """A call of a session with its answer.

    `failed` says that the host marks it so, `code` is the exit code that the host tells (None for none), and `answered` is
    false for a call whose answer is not known.
    """

    tool: str
    arguments: Json
    answer: str = ""
    failed: bool = False
    code: int | None = None
    answered: bool = True

    @property
    def was_not_run(self) -> bool:
        """Whether it was refused, or interrupted by the person."""
        return self.failed and bool(_NOT_RUN.search(self.answer[:_MOST_OPENING]))

    @property
    def is_unended(self) -> bool:
        """Whether it went on in the background, or was stopped before its end."""
        opening = self.answer[:_MOST_OPENING]
        ending = self.answer[-_MOST_ENDING:]
        return any(words in opening or words in ending for words in _UNENDED)


def exit_code(call: AnsweredCall) -> int | None:
    """Return the exit code of a call: as the host tells it, else as the answer's first or last line does.

    Where neither does, it is 1 for a call that the host marks as failed, and 0 for any other.
    """
    if call.code is not None:
        return call.code
    stated = _EXIT.search(call.answer[:_MOST_LINE]) or _LAST_EXIT.search(call.answer[-_MOST_LINE:])
    if stated is not None:
        return int(stated[1])
    return 1 if call.failed else 0
