"""What a finished session teaches: calls that were hard-won, calls that failed, and what the person said.

A session is read line by line, so that its size does not matter.
"""

import re
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from mcp_reflect.evidence.background import started_task, task_asked_for, task_end
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import Finding, FindingKind, Seen, SessionCall
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.sessions.call_reader import LOOKS, CallReader
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.faults import Fault
from mcp_reflect.sessions.found import finding_of, found_call
from mcp_reflect.sessions.noticing import MOST_CALLS, found_after
from mcp_reflect.sessions.records import PromptAuthor, Record
from mcp_reflect.sessions.session_calls import preference_in, refusal_in, session_call
from mcp_reflect.sessions.session_lines import is_value, name_of_session, open_session, read_file
from mcp_reflect.sessions.text import clip, ends
from mcp_reflect.sessions.tools import (
    command_of,
    file_of,
    first_text,
    in_words,
    is_own_refusal,
    is_own_tool,
    is_shell,
    named_arguments,
    parts_of,
    without_labels,
)
from mcp_reflect.shell import READING_PROGRAMS, Command, act_of, read_script
from mcp_reflect.text.signature import fingerprint

AWAY: Final = 300.0  # seconds between two lines that count at most: for longer the person was away
MOST_SAID: Final = 600  # characters of a person's words that are kept
_OLD_TEXTS: Final = ("old_string", "old_str", "oldText", "old_text")
_NEW_TEXTS: Final = ("new_string", "new_str", "newText", "new_text")
_MOST_ANSWER: Final = 16_000  # characters of an answer that are looked at, half from each end
_MOST_ERROR: Final = 6_000  # the same of an answer that the host marks as failed

_OF_HOST: Final = re.compile(
    r"\s*(?:[</]|\[Request interrupted|Caveat: |This session is being continued|# AGENTS\.md instructions|\[Image)"
)
_VAGUE: Final = re.compile(
    r"\W*(?:exit(?:ed with)?(?: code)?|found|(?:error|problem|issue|diagnostic)s?"
    r"|failed|command failed|<n>|code|status|\W)*\Z"
)


_SOON: Final = 6  # calls after a person's words in which the agent undoes what it did
_MOST_SHOWN: Final = 3  # failed calls of a finding whose lines are kept
_OF_THE_TASK: Final = (ErrorCategory.ASSERTION, ErrorCategory.NO_RESULT)


@dataclass(slots=True)
class _Answered:
    """A call of the session with the line of the file that answered it, and the seconds worked when it was sent."""

    call: SessionCall
    line: int
    began: float
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class _Edit:
    """An edit of a file: the text that it replaced, and the text that it wrote."""

    file: str
    old: str
    new: str


@dataclass(slots=True)
class SessionReader(CallReader):
    """Gathers what a session teaches while its records are added.

    `line` is the place of the record in its file. `worked` leaves out a person's pauses.
    `found` has each finding by its thing, with its evidence of at most `most_lines` lines.
    """

    host: str = ""
    most_lines: int = 8
    line: int = 0
    at: float | None = None
    of_person: bool = True
    found: dict[str, tuple[Finding, Seen]] = field(default_factory=dict[str, tuple[Finding, Seen]])
    _calls: deque[_Answered] = field(default_factory=lambda: deque[_Answered](maxlen=MOST_CALLS))
    _failed: dict[int, _Answered] = field(default_factory=dict[int, _Answered])
    _edits: deque[_Edit] = field(default_factory=lambda: deque[_Edit](maxlen=MOST_CALLS))
    _said: str = ""
    _said_at: int = 0
    _number: int = 0
    _started: dict[str, tuple[str, Json]] = field(default_factory=dict[str, tuple[str, Json]])

    def begin(self, place: int, record: Record) -> None:
        """Note where the next record stands, and when it was written."""
        self.line = place
        at = _seconds_of(record.get("timestamp"))
        if at is not None:
            self.worked += min(max(at - (self.at or at), 0.0), AWAY)
            self.at = at

    def asked(self, text: str, by: PromptAuthor = PromptAuthor.PERSON) -> None:
        """Note a person's words; those that the host adds in their name are left out."""
        words = text.strip()
        if by is not PromptAuthor.HOST:
            self.of_person = by is PromptAuthor.PERSON
        if by is PromptAuthor.PERSON and words and not is_word_of_host(words):
            self._said, self._said_at = words[:MOST_SAID], self._number
            self._note_words(FindingKind.SAID, words)

    def told(self, text: str) -> None:
        """Leave out the agent's words."""

    def met(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Look at a call with its answer; one that was only started in the background is looked at when it ends.

        `_started` has such calls by the ids of their tasks. Calls of this server, and those it refused, are left out.
        """
        if not failed:
            task = started_task(content)
            if task is not None:
                self._started[task] = tool, arguments
                return
        asked_for = None
        if self._started:
            asked_for = task_asked_for(named_arguments(arguments), self._started)
        if asked_for is not None:
            end = task_end(content, code, failed=failed)
            if end is None or not end.surely:
                return
            tool, arguments = self._started.pop(asked_for)
            content, code, failed = end.output, end.code, end.failed
        if not (is_own_tool(tool, arguments) or (failed and is_own_refusal(content))):
            self._look_at(tool, without_labels(tool, arguments), content, failed=failed, code=code)

    def _look_at(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Look at a call: what it put right, what it undid, and whether it failed."""
        most = _MOST_ANSWER
        if failed:
            most = _MOST_ERROR
        content = ends(content, most)
        call = CallWithAnswer(
            event_id="",
            tool=tool,
            arguments=arguments,
            answer=content,
            answered=True,
            marked=failed,
        )
        if failed:
            call.error = content or "error"
        if code is not None:
            call.facts["exit_code"] = code
        self._number += 1
        seen = _Answered(session_call(self._number, call), self.line, self.sent, call.fault)
        found = found_after([item.call for item in self._calls], seen.call)
        if found is not None:
            self._note_won(found, seen)
        self._calls.append(seen)
        self._note_undone(seen.call)
        if seen.call.failed and preference_in(content):
            if self.of_person and is_shell(tool):  # an edit is refused for the sake of its task
                self._note_words(FindingKind.CORRECTION, refusal_in(content) or "", seen.call)
        elif seen.call.failed and not seen.call.expected:
            self._failed[seen.call.number] = seen

    def _note_words(
        self, kind: FindingKind, words: str, refused: SessionCall | None = None
    ) -> None:
        """Keep a person's words, with the call that they refused."""
        words = words[:MOST_SAID]
        finding = Finding(kind=kind, act="", thing=words, line=clip(words, MOST_SAID))
        if refused is not None:
            finding = replace(finding, act=refused.tool, failed=found_call(refused))
        self._note(finding, 0.0, [(self.line, words)])

    def _note_undone(self, call: SessionCall) -> None:
        """Note a person's words after which the agent soon undid its work."""
        if call.failed:
            return
        undoes = False
        edit = _edit_of(call)
        if edit is not None:
            undoes = (
                _Edit(edit.file, edit.new, edit.old) in self._edits
            )  # an earlier edit, turned round
            self._edits.append(edit)
        if is_shell(call.tool) and _undoes(command_of(call.arguments) or ""):
            undoes = True
        is_soon = 0 < call.number - self._said_at <= _SOON
        if undoes and self._said and self._said_at and is_soon:
            self.found.pop(self._said, None)  # noted as a request until now
            self._note_words(FindingKind.UNDONE, self._said)
            self._said = ""

    def _note_won(self, finding: Finding, worked: _Answered) -> None:
        """Note what was hard-won: the failed calls and the one that worked, and the work between them as the cost.

        Failures with the same line are put right by it: they are noted no more by themselves.
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
        shown = [(answered.line, _in_a_line(answered)) for answered in failed[:_MOST_SHOWN]]
        began = min((answered.began for answered in failed), default=self.worked)
        self._note(finding, self.worked - began, [*shown, (worked.line, _in_a_line(worked))])

    def end(self) -> list[tuple[Finding, Seen]]:
        """Return all that was found, with the calls that failed and were not put right."""
        for seen in self._failed.values():
            thing = _thing_of(seen)
            if thing:
                act = thing.partition(": ")[0]
                failed = finding_of(FindingKind.FAILED, act, seen.call, None)
                self._note(failed, 0.0, [(seen.line, _in_a_line(seen))])
        session = self.session or ""
        return [(finding, replace(seen, session=session)) for finding, seen in self.found.values()]

    def _note(self, finding: Finding, seconds: float, lines: list[tuple[int, str]]) -> None:
        """Keep a finding with its evidence; of one that is known both are put together."""
        shown = tuple(f"{number}: {clip(text, 300)}" for number, text in lines)
        seen = Seen(session="", host=self.host, at=self.at, seconds=round(seconds, 1), lines=shown)
        if finding.thing in self.found:
            first, known = self.found[finding.thing]
            if first.worked or not finding.worked:
                finding = first
            lines_of_both = sorted(dict.fromkeys((*known.lines, *shown)), key=_line_of)
            seen = replace(
                known,
                seconds=known.seconds + seen.seconds,
                times=known.times + 1,
                lines=tuple(lines_of_both[: self.most_lines]),
            )
        self.found[finding.thing] = finding, seen


def is_word_of_host(text: str) -> bool:
    """Return whether a host added a text in the person's name."""
    return bool(_OF_HOST.match(text))


def _seconds_of(moment: object) -> float | None:
    """Return a time in ISO form as seconds, None for anything else."""
    if not isinstance(moment, str):
        return None
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None


def _line_of(text: str) -> int:
    """Return the number of the line that a piece of evidence names first."""
    return int(text.partition(":")[0])


def _edit_of(call: SessionCall) -> _Edit | None:
    """Return what an edit replaced, None for another call or a text that was cut."""
    values = named_arguments(call.arguments)
    file = file_of(values)
    old = first_text(values, _OLD_TEXTS)
    new = first_text(values, _NEW_TEXTS)
    if file is None or old is None or new is None or old == new:
        return None
    return _Edit(file, old, new)


def _in_a_line(seen: _Answered) -> str:
    """Return a call in words, with the line of its answer."""
    what = in_words(seen.call.tool, seen.call.arguments)
    if not seen.call.line:
        return what
    return f"{what}: {seen.call.line}"


def _thing_of(seen: _Answered) -> str:
    """Return the key of a failure across sessions; empty if it says nothing, or is a failing test."""
    error = fingerprint(seen.call.line)
    if _VAGUE.match(error) or (seen.fault and seen.fault.category in _OF_THE_TASK):
        return ""
    head = _head_of_work(seen.call)
    return f"{head}: {error}"[:300] if head is not None else ""


def _head_of_work(call: SessionCall) -> str | None:
    """Return the last program of a command, or the tool; None for one that only looks at something."""
    parts = parts_of(call.tool, call.arguments)
    if parts:
        last = parts[-1]
        if last.program in READING_PROGRAMS:
            return None
        return last.head
    if is_shell(call.tool) or call.tool.lower() in LOOKS:
        return None
    return call.tool


def read_session(
    path: Path, host: str, known: frozenset[str] | None = None
) -> tuple[list[tuple[Finding, Seen]], list[str]]:
    """Read a session's file to its end: each finding with its evidence, and what could not be read.

    Records whose keys are among the `known` ones were read in another session. OSError where the file cannot be read.
    """
    reader = SessionReader(session=None, host=host)
    reader.told_elsewhere = known or frozenset()
    with open_session(path) as file:
        faults = read_file(file, reader, is_value=is_value(path))
    reader.session = reader.session or name_of_session(path)
    return reader.end(), faults


def _undoes(command: str) -> bool:
    """Return whether a command turns files back to what they were: `git restore`, `git checkout -- FILE`."""
    return any(_turns_back(one) for one in read_script(command).commands)


def _turns_back(command: Command) -> bool:
    """Return whether a command of git takes back what was changed."""
    act = act_of(command)
    if act is None or act.program != "git":
        return False
    if act.subcommand == "checkout":
        return "--" in command.words
    if act.subcommand == "reset":
        return "--hard" in command.words
    return act.subcommand in ("restore", "revert") or act.subcommand.startswith("stash")
