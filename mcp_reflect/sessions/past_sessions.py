"""What a finished session teaches: calls that were hard-won, calls that failed, and what the person said.

A session is read line by line, so that its size does not matter.
"""

import re
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from mcp_reflect.evidence.background import started_task, task_asked_for, task_end
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import Draft, Finding, FindingKind, Seen, SessionCall
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.sessions.calls import Call, Fault
from mcp_reflect.sessions.drafts import ALREADY_THERE, EDIT_REFUSALS, HIDES
from mcp_reflect.sessions.hard_won import (
    MOST_CALLS,
    MOST_TEXT,
    found_after,
    is_check,
    preference_in,
    refusal_in,
    session_call,
)
from mcp_reflect.sessions.records import Record, Speaker
from mcp_reflect.sessions.session_lines import is_value, name_of_session, open_session, read_file
from mcp_reflect.sessions.text import clip, ends
from mcp_reflect.sessions.tools import (
    file_of,
    in_words,
    is_own_refusal,
    is_own_tool,
    is_shell,
    parts_of,
    without_labels,
)
from mcp_reflect.sessions.transcripts import LOOKS, CallReader
from mcp_reflect.shell import READING_PROGRAMS, Part
from mcp_reflect.text.signature import fingerprint

AWAY: Final = 300.0  # seconds between two lines that count at most: for longer the person was away
MOST_SAID: Final = 600  # characters of a person's words that are kept
_NO_FOLDER: Final = re.compile(
    r"\bcd\b.{0,40}no such file|no such file or directory: \S+$", re.IGNORECASE
)
_BREAKS: Final = (
    re.compile(r"(?i)edit (?:has |would have )?introduced? (?:\w+ )?syntax error"),
    "`{tool}` that leaves a syntax error in the file is refused.",
    "Replace whole statements, to their last line, with the indentation of the file.",
)
_OF_EDITS: Final = frozenset(row[2] for row in (*EDIT_REFUSALS, _BREAKS))
_NONE_SELECTED: Final = re.compile(r"\b0 selected\b")
# What a tool reads to know how it is to work; another task needs it as well.
_SETTINGS: Final = re.compile(
    r"(?i)(?:\.(?:toml|cfg|ini|ya?ml|conf)|\Wpackage\.json|rc|config\.\w+|file)\Z"
)
_MOST_SETTING: Final = 160  # characters of the lines of a setting that are told
_OLD_TEXTS: Final = ("old_string", "old_str", "oldText", "old_text")
_NEW_TEXTS: Final = ("new_string", "new_str", "newText", "new_text", "content")
_MOST_ANSWER: Final = 16_000  # characters of an answer that are looked at, half from each end
_MOST_ERROR: Final = 6_000  # the same of an answer that the host marks as failed

_OF_HOST: Final = re.compile(
    r"\s*(?:[</]|\[Request interrupted|Caveat: |This session is being continued|# AGENTS\.md instructions|\[Image)"
)
_VAGUE: Final = re.compile(
    r"\W*(?:exit(?:ed with)?(?: code)?|found|(?:error|problem|issue|diagnostic)s?"
    r"|failed|command failed|<n>|code|status|\W)*\Z"
)


_MANY: Final = 4  # tries after which a check that turned green is hard-won

_OF_THE_TASK: Final = (ErrorCategory.ASSERTION, ErrorCategory.NO_RESULT)


@dataclass(slots=True)
class _Answered:
    """A call of the session with the line of the file that answered it, and the seconds worked when it was sent."""

    call: SessionCall
    line: int
    began: float
    fault: Fault | None


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
    _won: set[int] = field(default_factory=set[int])
    _entered: set[Part] = field(default_factory=set[Part])
    _number: int = 0
    _started: dict[str, tuple[str, Json]] = field(default_factory=dict[str, tuple[str, Json]])

    def begin(self, place: int, record: Record) -> None:
        """Note where the next record stands, and when it was written."""
        self.line = place
        moment = record.get("timestamp")
        try:
            at = datetime.fromisoformat(moment).timestamp() if isinstance(moment, str) else None
        except ValueError:
            at = None
        if at is not None:
            self.worked += min(max(at - (self.at or at), 0.0), AWAY)
            self.at = at

    def asked(self, text: str, by: Speaker = Speaker.PERSON) -> None:
        """Note a person's words; those that the host adds in their name are left out."""
        words = text.strip()
        if by is not Speaker.HOST:
            self.of_person = by is Speaker.PERSON
        if by is Speaker.PERSON and words and not _OF_HOST.match(words):
            self._note_words(FindingKind.SAID, words, Draft("", clip(words, MOST_SAID), None, None))

    def told(self, text: str) -> None:
        """Leave out the agent's words."""

    def met(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Look at a call with its answer; one that was only started is looked at when it ends."""
        task = None if failed else started_task(content)
        if task is not None:
            self._started[task] = tool, arguments
            return
        values = arguments if isinstance(arguments, dict) else {}
        asked_for = task_asked_for(values, self._started) if self._started else None
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
        content = ends(content, _MOST_ERROR if failed else _MOST_ANSWER)
        call = Call(
            event_id="",
            tool=tool,
            arguments=arguments,
            answer=content,
            answered=True,
            marked=failed,
        )
        call.error = content or "error" if failed else ""
        call.facts |= {} if code is None else {"exit_code": code}
        self._number += 1
        seen = _Answered(session_call(self._number, call), self.line, self.sent, call.fault)
        before = [item.call for item in self._calls]
        found = found_after(before, seen.call) if any(item.failed for item in before) else None
        numbers = {*found.failed} if found else set[int]()
        if (
            found
            and numbers - self._won
            and any(item.failed for item in before if item.number in numbers)
        ):
            self._note_won(found, seen)
        self._calls.append(seen)
        if not seen.call.failed:
            self._entered.update(part for part in parts_of(tool, arguments) if part.program == "cd")
        if seen.call.failed and preference_in(content):
            reason = refusal_in(content) or ""
            draft = Draft(
                f"{in_words(tool, arguments)} was refused", reason, _call(seen.call), None
            )
            if self.of_person and is_shell(tool):  # an edit is refused for the sake of its task
                self._note_words(FindingKind.CORRECTION, reason, draft, tool)
        elif seen.call.failed and not seen.call.expected:
            self._failed[seen.call.number] = seen

    def _note_words(self, kind: FindingKind, words: str, draft: Draft, tool: str = "") -> None:
        words = words[:MOST_SAID]
        finding = Finding(
            kind=kind, thing=words, tool=tool, line=clip(words), failed=(), worked=0, draft=draft
        )
        self._note(finding, 0.0, [(self.line, words)])

    def _note_won(self, found: Finding, worked: _Answered) -> None:
        failed = [item for item in self._calls if item.call.number in found.failed]
        self._won.update(found.failed)
        for number in found.failed:
            self._failed.pop(number, None)
        draft, form, thing = found.draft, found.form, found.thing
        blamed = found.failed[0]
        if not form and any(
            item.call.number == blamed and not item.call.says_no for item in failed
        ):
            return  # the evidence would not show what is wrong with it
        if not form and failed and (known := self._known_mistake(failed[-1])):
            draft, form = replace(draft, mistake=known[0], correction=known[1]), True
        if form and not is_shell(found.tool):
            thing = draft.correction if draft.correction in _OF_EDITS else draft.mistake
        checks = is_check(worked.call.tool, worked.call.arguments)
        if (
            found.kind is FindingKind.CHANGED
            and checks
            and not form
            and self._edit_between(failed, worked)[0]
        ):
            return  # the edit made it pass, not its other form
        if found.kind is FindingKind.RETRIED:
            said = [item.call.line for item in failed]
            stuck = len(said) >= _MANY or any(one == two for one, two in pairwise(said))
            if not stuck and checks:
                return  # the next edit put it right: that is the work of a task
            thing += fingerprint(found.line)
            if not draft.correction:
                correction, form = self._edit_between(failed, worked)
                draft, form = replace(draft, correction=correction), form and not checks
        found = replace(found, thing=thing[:300], draft=draft, form=form)
        numbers = {*found.failed[:3], found.worked}
        lines = [(item.line, _told(item)) for item in self._calls if item.call.number in numbers]
        lines.append((worked.line, _told(worked)))
        self._note(
            found, self.worked - min((item.began for item in failed), default=self.worked), lines
        )

    def _edit_between(self, failed: list[_Answered], worked: _Answered) -> tuple[str, bool]:
        """Return what the last edit between a failure and the success changed, and whether that is a setting."""
        last = failed[-1].call.number if failed else worked.call.number
        for item in reversed(self._calls):
            values = item.call.arguments if isinstance(item.call.arguments, dict) else {}
            old, text = (
                next((value for name in names if isinstance(value := values.get(name), str)), "")
                for names in (_OLD_TEXTS, _NEW_TEXTS)
            )
            useful = text and not HIDES.search(text) and not item.call.failed
            if item.call.number > last and useful and (file := file_of(values)):
                name = file.replace("\\", "/").rsplit("/", 1)[-1]
                lines = [
                    line
                    for line in text.splitlines()
                    if line.strip() and line not in old.splitlines()
                ]
                told = " and ".join(f"`{line.strip()}`" for line in lines)
                whole = old and told and len(text) <= MOST_TEXT and len(told) <= _MOST_SETTING
                setting = bool(whole and _SETTINGS.search(f"/{name}"))
                return (
                    f"It worked after an edit of `{name}`{f', with {told}' if setting else ''}.",
                    setting,
                )
        return "", False

    def end(self) -> list[tuple[Finding, Seen]]:
        """Return all that was found, with the calls that failed and were not put right."""
        for seen in self._failed.values():
            known = self._known_mistake(seen)
            thing = known[known[1] in _OF_EDITS] if known else _thing_of(seen)
            if thing:
                what, line = in_words(seen.call.tool, seen.call.arguments), seen.call.line
                mistake, correction = known or (f"{what} failed: {clip(line)}", "")
                draft, form = Draft(mistake, correction, _call(seen.call), None), known is not None
                about: dict[str, Any] = {
                    "failed": (seen.call.number,),
                    "worked": 0,
                    "form": form,
                    "draft": draft,
                }
                failed = Finding(
                    kind=FindingKind.FAILED, thing=thing, tool=seen.call.tool, line=line, **about
                )
                self._note(failed, 0.0, [(seen.line, _told(seen))])
        session = self.session or ""
        return [(finding, replace(seen, session=session)) for finding, seen in self.found.values()]

    def _known_mistake(self, seen: _Answered) -> tuple[str, str] | None:
        """Return mistake and correction of a failure that says by itself what is wrong."""
        if seen.call.tool.lower() in LOOKS and "EISDIR" in seen.call.line:
            return (
                f"`{seen.call.tool}` of a folder is refused.",
                "List the folder, then read the files in it.",
            )
        if "edit" in seen.call.tool.lower():
            known = next(
                (row for row in (*EDIT_REFUSALS, _BREAKS) if row[0].search(seen.call.line)), None
            )
            return (known[1].format(tool=seen.call.tool), known[2]) if known else None
        if _NONE_SELECTED.search(seen.call.line) and (
            parts := parts_of(seen.call.tool, seen.call.arguments)
        ):
            chosen = next(
                (
                    " ".join(pair)
                    for pair in pairwise(parts[-1].own_words)
                    if pair[0] in ("-m", "-k")
                ),
                "",
            )
            return (
                (f"`{chosen}` selects no test.", "Run the tests without it, or name their file.")
                if chosen
                else None
            )
        if _NO_FOLDER.search(seen.call.line):
            parts = [
                part
                for part in parts_of(seen.call.tool, seen.call.arguments)
                if part.program == "cd"
            ]
            if parts and parts[0] in self._entered:
                return ALREADY_THERE
        return None

    def _note(self, finding: Finding, seconds: float, lines: list[tuple[int, str]]) -> None:
        shown = tuple(f"{number}: {clip(text, 300)}" for number, text in lines)
        seen = Seen(session="", host=self.host, at=self.at, seconds=round(seconds, 1), lines=shown)
        if finding.thing in self.found:
            first, known = self.found[finding.thing]
            finding = first if first.draft.correction or not finding.draft.correction else finding
            seen = replace(
                known,
                seconds=known.seconds + seen.seconds,
                times=known.times + 1,
                lines=tuple(sorted(dict.fromkeys((*known.lines, *shown)), key=_line_of))[
                    : self.most_lines
                ],
            )
        self.found[finding.thing] = finding, seen


def _line_of(text: str) -> int:
    return int(text.partition(":")[0])


def _call(call: SessionCall) -> Json:
    return {"tool": call.tool, "arguments": call.arguments}


def _told(seen: _Answered) -> str:
    what = in_words(seen.call.tool, seen.call.arguments)
    return f"{what}: {seen.call.line}" if seen.call.line else what


def _thing_of(seen: _Answered) -> str:
    """Return the key of a failure across sessions; empty if it says nothing, or is a failing test."""
    error = fingerprint(seen.call.line)
    if _VAGUE.match(error) or (seen.fault and seen.fault.category in _OF_THE_TASK):
        return ""
    parts = parts_of(seen.call.tool, seen.call.arguments)
    if (
        parts[-1].program in READING_PROGRAMS
        if parts
        else is_shell(seen.call.tool) or seen.call.tool.lower() in LOOKS
    ):
        return ""
    head = parts[-1].head if parts else seen.call.tool
    return f"{head}: {error}"[:300]


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
