"""What a finished session teaches: calls that were hard-won, calls that failed, and what the person said.

A session is read line by line, so that its size does not matter.
"""

import re
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.evidence.background import started_task, task_asked_for, task_end
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import Finding, FindingKind, SessionCall
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.sessions.call_reader import LOOKING_TOOLS, CallReader
from mcp_reflect.sessions.call_words import in_words
from mcp_reflect.sessions.calls import answered_call
from mcp_reflect.sessions.faults import Fault
from mcp_reflect.sessions.found import finding_of, found_call
from mcp_reflect.sessions.noticing import RECENT_CALLS, found_after
from mcp_reflect.sessions.own_calls import is_own_refusal, is_own_tool
from mcp_reflect.sessions.records import PromptAuthor, Record
from mcp_reflect.sessions.session_calls import preference_in, refusal_in, session_call
from mcp_reflect.sessions.session_findings import (
    MOST_LINES,
    EvidenceLine,
    FoundInSession,
    SessionFindings,
)
from mcp_reflect.sessions.session_lines import is_value, name_of_session, open_session, read_file
from mcp_reflect.sessions.text import clip, ends
from mcp_reflect.sessions.tools import (
    command_of,
    is_shell,
    named_arguments,
    parts_of,
    without_labels,
)
from mcp_reflect.sessions.undoing import Edit, edit_of, undoes_changes
from mcp_reflect.shell import READING_PROGRAMS
from mcp_reflect.text.signature import fingerprint

MOST_SAID: Final = 600  # characters of a person's words that are kept
_MOST_ANSWER: Final = 16_000  # characters of an answer that are looked at, half from each end
_MOST_ERROR: Final = 6_000  # the same of an answer that the host marks as failed

_OF_HOST: Final = re.compile(
    r"\s*(?:[</]|\[Request interrupted|Caveat: |This session is being continued|# AGENTS\.md instructions|\[Image)"
)
_SAYS_NOTHING: Final = re.compile(
    r"\W*(?:exit(?:ed with)?(?: code)?|found|(?:error|problem|issue|diagnostic)s?"
    r"|failed|command failed|<n>|code|status|\W)*\Z"
)


_MOST_CALLS_UNTIL_UNDONE: Final = (
    6  # calls after a person's words in which the agent undoes what it did
)
_MOST_SHOWN: Final = 3  # failed calls of a finding whose lines are kept
_OF_THE_TASK: Final = (ErrorCategory.ASSERTION, ErrorCategory.NO_RESULT)


@dataclass(slots=True)
class _Answered:
    """A call of the session that was answered.

    `line` is the number of the line in the file that has the answer, `began_at_work` counts the seconds of work in the
    session until the call was sent.
    """

    call: SessionCall
    line: int
    began_at_work: float
    fault: Fault | None


class ReadSession(NamedTuple):
    """What a session teaches, and what of it could not be read ("line 7: not JSON")."""

    found: list[FoundInSession]
    faults: list[str]


@dataclass(slots=True)
class SessionReader(CallReader):
    """Gathers what a session teaches while its records are added.

    | attribute             | what it has                                                                        |
    |-----------------------|------------------------------------------------------------------------------------|
    | `works_for_person`    | whether a person, and no program, wrote the latest prompt                          |
    | `found`               | what was found so far                                                              |
    | `_calls`, `_edits`    | the latest calls and edits                                                         |
    | `_failed`             | the calls that failed and that nothing has put right so far, by their numbers      |
    | `_last_words`         | the person's latest words; before them the session had `_calls_before_words` calls |
    | `_background_calls`   | the tool and the arguments of calls that go on in the background, by their task    |
    """

    host: str = ""
    most_lines: int = MOST_LINES
    works_for_person: bool = True
    found: SessionFindings = field(default_factory=lambda: SessionFindings(""))
    _calls: deque[_Answered] = field(default_factory=lambda: deque[_Answered](maxlen=RECENT_CALLS))
    _failed: dict[int, _Answered] = field(default_factory=dict[int, _Answered])
    _edits: deque[Edit] = field(default_factory=lambda: deque[Edit](maxlen=RECENT_CALLS))
    _last_words: str = ""
    _calls_before_words: int = 0
    _calls_read: int = 0
    _background_calls: dict[str, tuple[str, Json]] = field(
        default_factory=dict[str, tuple[str, Json]]
    )

    def __post_init__(self) -> None:
        """Keep the findings under the name of the host, with as many lines of evidence as are asked for."""
        self.found = SessionFindings(self.host, self.most_lines)

    def begin_record(self, number: int, record: Record) -> None:
        """Note the line of the next record, and its time."""
        self.note_record(number, _seconds_of(record.get("timestamp")))

    def prompted(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Note a person's words, and whether it is a person whom the agent works for now.

        Words that the host adds in the person's name are left out; they change nothing of that.
        """
        words = text.strip()
        if by is not PromptAuthor.HOST:
            self.works_for_person = by is PromptAuthor.PERSON
        if by is PromptAuthor.PERSON and words and not is_word_of_host(words):
            self._last_words = words[:MOST_SAID]
            self._calls_before_words = self._calls_read
            self._note_words(FindingKind.SAID, words)

    def spoke(self, text: str) -> None:
        """Leave out the agent's words."""

    def call_ended(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Look at a call with its answer, unless it is one of this server, or one that this server refused.

        One that only started a task in the background is looked at when the task ends: with the call that asks for its
        output.
        """
        started = None if failed else started_task(content)
        if started is not None:
            self._background_calls[started] = tool, arguments
            return
        asked_for = task_asked_for(named_arguments(arguments), self._background_calls)
        if asked_for is not None:
            end = task_end(content, code, failed=failed)
            if end is None or not end.is_stated:
                return
            tool, arguments = self._background_calls.pop(asked_for)
            content, code, failed = end.output, end.code, end.failed
        if not (is_own_tool(tool, arguments) or (failed and is_own_refusal(content))):
            self._look_at(tool, without_labels(tool, arguments), content, failed=failed, code=code)

    def _look_at(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Look at a call: what it put right, what it undid, and whether it failed or was refused by the person."""
        limit = _MOST_ERROR if failed else _MOST_ANSWER
        content = ends(content, limit)
        call = answered_call(tool, arguments, content, failed=failed, code=code)
        self._calls_read += 1
        answered = _Answered(
            session_call(self._calls_read, call), self.line, self.sent_at_work, call.fault
        )
        finding = found_after([earlier.call for earlier in self._calls], answered.call)
        if finding is not None:
            self._note_hard_won(finding, answered)
        self._calls.append(answered)
        self._note_undone(answered.call)
        if answered.call.failed:
            self._note_failure(answered, content)

    def _note_failure(self, answered: _Answered, content: str) -> None:
        """Note a call that failed: until the end of the session, a later one may put it right.

        One that the person refused with a wish is noted as their correction, if it is a command: an edit is refused for
        the sake of its task.
        """
        call = answered.call
        if preference_in(content):
            if self.works_for_person and is_shell(call.tool):
                self._note_words(FindingKind.CORRECTION, refusal_in(content) or "", call)
        elif not call.expected:
            self._failed[call.number] = answered

    def _note_words(
        self, kind: FindingKind, words: str, refused: SessionCall | None = None
    ) -> None:
        """Keep a person's words, with the call that they refused."""
        words = words[:MOST_SAID]
        finding = Finding(kind=kind, act="", thing=words, line=clip(words, MOST_SAID))
        if refused is not None:
            finding = replace(finding, act=refused.tool, failed=found_call(refused))
        self.found.add(finding, [EvidenceLine(self.line, words)], time=self.time)

    def _note_undone(self, call: SessionCall) -> None:
        """Note a person's words after which the agent soon undid its work.

        It does so with an edit that turns an earlier one round, or with a command such as `git restore`. The words were
        noted as a request before: now they are a correction. The session's first prompt is none: nothing was done yet to
        undo.
        """
        if call.failed:
            return
        undoes_work = self._turns_edit_round(call) or _runs_undo_command(call)
        is_soon = 0 < call.number - self._calls_before_words <= _MOST_CALLS_UNTIL_UNDONE
        is_first_prompt = self._calls_before_words == 0
        if undoes_work and self._last_words and is_soon and not is_first_prompt:
            self.found.remove(self._last_words)
            self._note_words(FindingKind.UNDONE, self._last_words)
            self._last_words = ""

    def _turns_edit_round(self, call: SessionCall) -> bool:
        """Return whether a call is an edit that takes back an earlier one, and keep it where it is an edit."""
        edit = edit_of(call)
        if edit is None:
            return False
        turned_round = Edit(edit.file, old=edit.new, new=edit.old)
        is_turned_round = turned_round in self._edits
        self._edits.append(edit)
        return is_turned_round

    def _note_hard_won(self, finding: Finding, worked: _Answered) -> None:
        """Note what was hard-won: the failed calls, the one that worked, and the work between them as the cost.

        Other failures with the same line are put right by that call, too: they are not noted by themselves.
        """
        first_number = 0
        if finding.failed is not None:
            first_number = finding.failed.number
        failed: list[_Answered] = []
        for answered in self._calls:
            is_since_failure = answered.call.number >= first_number
            if is_since_failure and answered.call.says_no and answered.call.line:
                failed.append(answered)
        for number, answered in [*self._failed.items()]:
            if answered.call.line == finding.line:
                del self._failed[number]
        lines = [_evidence_of(answered) for answered in (*failed[:_MOST_SHOWN], worked)]
        began_at_work = min(
            (answered.began_at_work for answered in failed), default=self.work_seconds
        )
        cost = self.work_seconds - began_at_work
        self.found.add(finding, lines, time=self.time, seconds=cost)

    def end(self) -> list[FoundInSession]:
        """Return all that was found in the session. Only now it is known which failures nothing put right."""
        for failed in self._failed.values():
            self._note_failed(failed)
        return self.found.of_session(self.session or "")

    def _note_failed(self, failed: _Answered) -> None:
        """Note a call that failed and was not put right, unless its error says nothing to another session."""
        act = _act_that_failed(failed)
        if act is not None:
            finding = finding_of(FindingKind.FAILED, act, failed=failed.call)
            self.found.add(finding, [_evidence_of(failed)], time=self.time)


def _runs_undo_command(call: SessionCall) -> bool:
    """Return whether a call runs a command that takes changes back, such as `git restore app.py`."""
    return is_shell(call.tool) and undoes_changes(command_of(call.arguments) or "")


def is_word_of_host(text: str) -> bool:
    """Return whether a host added a text in the person's name: "[Request interrupted by user]", "<command-name>…"."""
    return bool(_OF_HOST.match(text))


def _seconds_of(moment: object) -> float | None:
    """Return a time in ISO form as seconds, None for anything else."""
    if not isinstance(moment, str):
        return None
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None


def _evidence_of(answered: _Answered) -> EvidenceLine:
    """Return a call as a line of evidence: in words, with the line of its answer: "`npm test`: 1 failed"."""
    call = answered.call
    text = in_words(call.tool, call.arguments)
    if call.line:
        text = f"{text}: {call.line}"
    return EvidenceLine(answered.line, text)


def _act_that_failed(failed: _Answered) -> str | None:
    """Return what failed, as it is known in other sessions: `git push`, or the tool.

    None where the failure teaches nothing: its line says nothing ("failed"), a test failed as a part of the task, or the
    call only looked at something.
    """
    is_of_the_task = failed.fault is not None and failed.fault.category in _OF_THE_TASK
    if is_of_the_task or _SAYS_NOTHING.match(fingerprint(failed.call.line)):
        return None
    return _acting_head(failed.call)


def _acting_head(call: SessionCall) -> str | None:
    """Return what a call acted with, `git push` of a command, else its tool; None for a call that only looks.

    Of several commands in a line the last one counts: its output comes last, and so does the line that names an error.
    """
    parts = parts_of(call.tool, call.arguments)
    if parts:
        last = parts[-1]
        if last.program in READING_PROGRAMS:
            return None
        return last.head
    if is_shell(call.tool) or call.tool.lower() in LOOKING_TOOLS:
        return None
    return call.tool


def read_session(path: Path, host: str, copied: frozenset[str] | None = None) -> ReadSession:
    """Read a session's file to its end. OSError where it cannot be read.

    Records whose keys are among the `copied` ones are left out: they were read in the session that this one copies.
    """
    reader = SessionReader(session=None, host=host)
    reader.read_elsewhere = copied or frozenset()
    with open_session(path) as file:
        faults = read_file(file, reader, is_value=is_value(path))
    reader.session = reader.session or name_of_session(path)
    return ReadSession(reader.end(), faults)
