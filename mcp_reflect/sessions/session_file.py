"""A session's file, read into its ledger while the host still writes it.

Each time only what is new is read, and of a long file only the end.
"""

import gc
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from mcp_reflect.evidence.answered_call import AnsweredCall
from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.models.common import Json
from mcp_reflect.sessions.call_reader import CallReader, is_one_value, is_rewritten, records_in
from mcp_reflect.sessions.own_calls import is_own_tool
from mcp_reflect.sessions.records import PromptAuthor, parsed
from mcp_reflect.sessions.text import ends
from mcp_reflect.whole_files import open_regular

MOST_BYTES: Final = 24_000_000
"""The most that is read at once; of a longer file the end."""

_STRETCH_SIZE: Final = 1_000_000  # bytes that are read along at a time

_MOST_LAST_BYTES: Final = (
    64  # bytes before the offset, by which a file is known that was written anew
)
_MOST_ANSWER: Final = 200_000  # characters of an answer that the ledger is given
_CONTINUED: Final = "This session is being continued from a previous conversation"
_MOST_COMPARED: Final = 400  # characters of a last message, without blanks
_MOST_PROMPT: Final = 20_000  # characters of a prompt in which a person may say so
_MOST_OPENING: Final = 4_000  # characters of a prompt in which the host writes what was run
_MOST_EARLY_CALLS: Final = (
    5  # calls; a summary before them says that the session began in another file
)
# What a person says to have seen or done; what the person typed as a command is not read.
_SAYS_IT_WAS_RUN: Final = re.compile(
    r"\b\d+ (?:tests? )?(?:passed|passing)\b|BUILD SUCCESS|test result: ok|"
    r"\bI(?:'ve| have)? (?:just |already )?(?:ran|run|pushed|deployed|committed|merged|built|started|tested)\b|"
    r"\b(?:tests|it|build) (?:all )?(?:pass|passes|passed|works|builds) (?:now|for me|on my|here|locally)\b",
    re.IGNORECASE,
)
# What a host writes of a command that the person ran in it.
_RAN_BY_PERSON: Final = re.compile(r"<(?:bash-(?:input|stdout|stderr)|user_shell_command)>")


@dataclass(slots=True)
class _Calls(CallReader):
    """Hands the calls of a session to its ledger, each when it is answered.

    `last_words` has the agent's words since its last call, `hooked` counts the calls that hooks note.
    """

    ledger: Ledger = field(default_factory=Ledger)
    last_words: str = ""
    at_prompt: Callable[[str], None] | None = None
    hooked: int = 0
    answered_ids: set[str] = field(default_factory=set[str])

    def prompted(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Take the words of a prompt.

        A person who says to have run the tests may know that they pass, which no call of the session shows. So from then
        on the ledger counts as one of which others did a part.
        """
        if self.at_prompt is not None:
            self.at_prompt(self.last_words)
        by_host = by is PromptAuthor.HOST
        says_it_was_run = not by_host and _SAYS_IT_WAS_RUN.search(text[:_MOST_PROMPT])
        if says_it_was_run or _RAN_BY_PERSON.search(text[:_MOST_OPENING]):
            self.ledger.last_unseen_step = self.ledger.step
        if text.lstrip().startswith(_CONTINUED) and self.ledger.step < _MOST_EARLY_CALLS:
            self.ledger.partial = True
        self.last_words = ""

    def unseen(self) -> None:
        """Count a step of which nobody knows what was done in it, which may be what a claim speaks of."""
        self.ledger.step += 1
        self.ledger.last_unseen_step = self.ledger.step

    def spoke(self, text: str) -> None:
        """Add the agent's words."""
        self.last_words = f"{self.last_words}\n{text}".strip()

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Note a call: words before it are not the agent's last message."""
        super(_Calls, self).called(tool, arguments, call_id)
        self.last_words = ""

    def answered(
        self,
        content: str,
        call_id: object = None,
        *,
        failed: bool = False,
        exit_code: object = None,
    ) -> None:
        """Note which call was answered, and hand it over."""
        self.answered_ids.add(str(call_id))
        super(_Calls, self).answered(content, call_id, failed=failed, exit_code=exit_code)

    def call_ended(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Give the ledger a call with its answer."""
        if not is_own_tool(tool, arguments):
            self.hooked += 1
        answer = ends(content, _MOST_ANSWER)
        self.ledger.note(
            AnsweredCall(tool=tool, arguments=arguments, answer=answer, failed=failed, code=code)
        )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Bytes of a file, and the offset at which they begin."""

    start: int
    data: bytes


@contextmanager
def _collector_paused() -> Generator[None]:
    """Pause the search for cycles: a session has none, and looking for them takes a fifth of its reading."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(slots=True)
class SessionFile:
    """What was read of a session's file, and the offset in bytes to go on from.

    `fault` says why nothing could be read. `at_prompt` is called with the agent's last words before each prompt.
    """

    path: Path
    ledger: Ledger
    at_prompt: Callable[[str], None] | None = None
    fault: str = ""
    offset: int = 0
    _last_bytes: bytes = b""
    _calls: _Calls = field(default_factory=_Calls)

    @property
    def last_message(self) -> str:
        """The words that the agent ended with; empty where a call or a prompt followed."""
        return self._calls.last_words

    @property
    def changed(self) -> float:
        """The time when the file was changed, in seconds since 1970; 0 for one that is not there."""
        try:
            return self.path.stat().st_mtime
        except OSError:
            return 0.0

    @property
    def hooked(self) -> int:
        """The number of answered calls that hooks note: all but those of this server."""
        return self._calls.hooked

    @property
    def answered(self) -> set[str]:
        """The ids of the calls that were answered."""
        return self._calls.answered_ids

    def ends_with(self, message: str | None) -> bool:
        """Return whether the file ends with a message of the agent: then the host has written all that was before it."""
        end = "".join((message or "").split())[-_MOST_COMPARED:]
        return bool(end) and "".join(self.last_message.split()).endswith(end)

    def read(self, most_bytes: int = MOST_BYTES) -> None:
        """Read what is new; of more than `most_bytes` only the end. A line that is not finished waits for the next time."""
        self._read_new(lambda file: self._end_of(file, most_bytes))

    def read_on(self) -> bool:
        """Read the next stretch of what is new, and return whether there was one.

        A session in one value, or one whose later records change earlier ones, is not read in stretches.
        """
        before = self.offset
        self._read_new(self._next_of, only_lines=True)
        return self.offset > before

    def _read_new(
        self, take: Callable[[BinaryIO], "_Stretch"], *, only_lines: bool = False
    ) -> None:
        """Read what `take` takes of the file; `fault` says why it could not."""
        self._calls.ledger = self.ledger
        self._calls.at_prompt = self.at_prompt
        self.fault = ""
        try:
            with open_regular(self.path) as file:
                if self._was_written_anew(file):
                    self._forget()
                new = take(file)
        except OSError as error:
            self.fault = f"the transcript cannot be read: {type(error).__name__}"
            return
        with _collector_paused():
            if not self._is_read_whole(new):
                self._read_lines(new)
            elif not only_lines:
                self._read_whole(new.data)
        if not (self._calls.known or only_lines):
            self.fault = "the transcript is of no host that is known"

    def _was_written_anew(self, file: BinaryIO) -> bool:
        """True where the bytes before the offset are not those that were read there: the host wrote another file."""
        file.seek(self.offset - len(self._last_bytes))
        return file.read(len(self._last_bytes)) != self._last_bytes

    def _end_of(self, file: BinaryIO, most_bytes: int) -> "_Stretch":
        """Return all that is new; of more than `most_bytes` the end, from the beginning of a line on."""
        size = file.seek(0, os.SEEK_END)
        start = max(self.offset, size - most_bytes)
        file.seek(start)
        data = file.read(most_bytes)
        if start == self.offset:
            return _Stretch(start, data)
        self.ledger.partial = True
        line = data.find(b"\n") + 1
        return _Stretch(start + line, data[line:])

    def _next_of(self, file: BinaryIO) -> "_Stretch":
        """Return the first lines of what is new, of some `_STRETCH_SIZE` bytes.

        Of more than MOST_BYTES it is nothing: only the end of so much will be read, so that its beginning is no use.
        """
        size = file.seek(0, os.SEEK_END)
        if size - self.offset > MOST_BYTES:
            return _Stretch(self.offset, b"")
        file.seek(self.offset)
        return _Stretch(self.offset, file.read(_STRETCH_SIZE) + file.readline(MOST_BYTES))

    def _is_read_whole(self, new: "_Stretch") -> bool:
        """True for a session that is one value, or whose later records change earlier ones."""
        is_begun = self.offset > 0 or new.start > 0
        return not is_begun and (is_one_value(new.data) or is_rewritten(new.data))

    def _read_whole(self, data: bytes) -> None:
        """Read a session from its beginning, since a later record may change what earlier ones said."""
        self._forget()
        for record in records_in(data):
            self._calls.add(record)
        self._calls.finish()

    def _read_lines(self, new: "_Stretch") -> None:
        """Read the lines that are whole, and note the offset behind them."""
        data = new.data
        end = data.rfind(b"\n") + 1
        if end < len(data) and parsed(data[end:]):
            end = len(data)  # the last line is whole, only its end is not written
        self._calls.read_lines(data[:end].split(b"\n"))
        self.offset = new.start + end
        last_bytes = data[max(0, end - _MOST_LAST_BYTES) : end]
        self._last_bytes = (self._last_bytes + last_bytes)[-_MOST_LAST_BYTES:]

    def _forget(self) -> None:
        """Forget what was read, so that the file is read from its beginning."""
        self.ledger = Ledger(self.ledger.folder, self.ledger.programs)
        self._calls = _Calls(ledger=self.ledger, at_prompt=self.at_prompt)
        self.offset = 0
        self._last_bytes = b""

    def read_text(self, text: str) -> None:
        """Read a session that was sent as text. It may be the end of a longer one, so that the ledger counts as partial."""
        self.ledger.partial = True
        self._calls.ledger = self.ledger
        self._calls.read_lines(text.encode("utf-8", "replace").split(b"\n"))
        if not self._calls.known:
            self.fault = "the transcript is of no host that is known"
