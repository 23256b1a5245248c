"""A finding of past sessions as it is shown: as text for a person, as a record for a program."""

from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.clock import iso
from mcp_reflect.models.finding import Finding, FindingKind, FoundCall, Seen, StoredFinding
from mcp_reflect.sessions.call_words import call_line
from mcp_reflect.sessions.text import brief
from mcp_reflect.text.one_line import one_line, visible

_MOST_CALL: Final = 300  # characters of a call
_SESSIONS_SHOWN: Final = 2  # those that show a finding
_LINES_SHOWN: Final = 3  # of each of these sessions
_LEAST_SECONDS: Final = 60  # of work lost that a person is told
_WORDS: Final = {
    "failure": "a failure that came back",
    "hard_won": "it worked after a failure",
    "correction": "you refused a call, and said why",
    "undone": "you said this, and the agent undid its work",
    "repeated": "you said it again and again",
}
_SAID_BY_PERSON: Final = ("repeated", "correction", "undone")
"""The kinds whose line is what a person said; the line of the others is an error."""


def kind_of(stored: StoredFinding) -> str:
    """Return the kind of a finding for a person, a key of `_WORDS`.

    | the finding is of                             | kind       |
    |-----------------------------------------------|------------|
    | a person's words                              | repeated   |
    | a call that a person refused with a reason    | correction |
    | a person's words, after which work was undone | undone     |
    | calls, in several sessions                    | failure    |
    | calls, in one session                         | hard_won   |
    """
    kind = stored.finding.kind
    if kind is FindingKind.SAID:
        return "repeated"
    if kind in (FindingKind.CORRECTION, FindingKind.UNDONE):
        return kind.value
    if stored.sessions > 1:
        return "failure"
    return "hard_won"


def record_of(stored: StoredFinding) -> dict[str, Any]:
    """Return a finding for a program: facts, and the words of a model where it was asked.

    The line of a finding is an error, or what a person said (`_SAID_BY_PERSON`): it stands under "error" or "said".
    """
    finding = stored.finding
    kind = kind_of(stored)
    record: dict[str, Any] = {
        "id": stored.id,
        "kind": kind,
        "project": stored.project,
        "sessions": [_session_record(seen) for seen in stored.seen],
        "count": _times_seen(stored) or stored.sessions,
        "seconds": round(stored.weight),
        "call": _call(finding.failed),
        "error": finding.line,
        "said": None,
        "between": [_call(call) for call in finding.between],
        "worked": _call(finding.worked),
        "wording": None,
    }
    if kind in _SAID_BY_PERSON:
        record["error"] = None
        record["said"] = finding.line
    if finding.wording is not None:
        record["wording"] = asdict(finding.wording)
    return record


def _session_record(seen: Seen) -> dict[str, Any]:
    """Return a session that shows a finding for a program: with the date of its `at`."""
    record = {**asdict(seen), "date": None}
    if seen.at is not None:
        record["date"] = iso(seen.at)
    return record


def _times_seen(stored: StoredFinding) -> int:
    """Return how often past sessions show a finding; 0 where it was found in a live session."""
    return sum(seen.times for seen in stored.seen)


def _call(call: FoundCall | None) -> str | None:
    """Return a call on one line, as "Bash: pytest tests/billing"; None for none."""
    if call is None:
        return None
    return call_line(call.tool, call.arguments)


def text_of(name: object, stored: StoredFinding, *, with_project: bool = False) -> str:
    """Return a finding for a person, under its number or id: its facts, its evidence, and a model's words."""
    head = f"{name}. {_WORDS[kind_of(stored)]}: {_extent_of(stored)}"
    if with_project:
        head += f" ({stored.project})"
    lines = [head, *_facts_of(stored.finding), *_wording_of(stored.finding), *_evidence_of(stored)]
    return visible("\n".join([*lines, ""]))


def _extent_of(stored: StoredFinding) -> str:
    """Return how often a finding was seen and what it cost: "4 times in 2 sessions, 7 min"."""
    count = "once"
    times = _times_seen(stored)
    if times > 1:
        count = f"{times} times"
    sessions = "in one session"
    if stored.sessions > 1:
        sessions = f"in {stored.sessions} sessions"
    cost = ""
    seconds = sum(seen.seconds for seen in stored.seen)
    if seconds >= _LEAST_SECONDS:
        cost = f", {seconds / 60:.0f} min"
    return f"{count} {sessions}{cost}"


def _facts_of(finding: Finding) -> list[str]:
    """Return the lines of what happened.

    | the kind of finding | its lines                                                         |
    |---------------------|-------------------------------------------------------------------|
    | SAID, UNDONE        | what the person said                                              |
    | CORRECTION          | the call that was refused, and what the person said               |
    | any other           | what failed with its error, what was done in between, what worked |
    """
    if finding.kind in (FindingKind.SAID, FindingKind.UNDONE):
        return [f"   you said: {one_line(finding.line)}"]
    if finding.kind is FindingKind.CORRECTION:
        return [f"   refused: {_short(finding.failed)}", f"   you said: {one_line(finding.line)}"]
    code = ""
    if finding.exit_code:
        code = f" (exit code {finding.exit_code})"
    lines = [f"   failed{code}: {_short(finding.failed)}"]
    if finding.line:
        lines.append(f"     {one_line(finding.line)}")
    lines += [f"   in between: {_short(call)}" for call in finding.between]
    if finding.worked is not None:
        lines.append(f"   worked: {_short(finding.worked)}")
    return lines


def _short(call: FoundCall | None) -> str:
    """Return a call on one line of at most _MOST_CALL characters, empty for none."""
    return brief(_call(call) or "", _MOST_CALL)


def _wording_of(finding: Finding) -> list[str]:
    """Return the lines of a lesson that a model worded, none where it was not asked."""
    wording = finding.wording
    if wording is None:
        return []
    lines = [f"   in the words of {one_line(wording.by)}:"]
    if wording.mistake:
        lines.append(f"     | {one_line(wording.mistake)}")
    lines.append(f"     | {one_line(wording.correction)}")
    return lines


def _evidence_of(stored: StoredFinding) -> list[str]:
    """Return lines about the sessions that show a finding, the latest first."""
    lines: list[str] = []
    for seen in reversed(stored.seen[-_SESSIONS_SHOWN:]):
        lines.append(f"     {_day_of(seen)} {seen.host} {seen.session}")
        lines += [f"       line {one_line(line)}" for line in seen.lines[:_LINES_SHOWN]]
    return lines


def _day_of(seen: Seen) -> str:
    """Return the day on which a session worked."""
    if seen.at is None:
        return "no date"
    return iso(seen.at)[: len("2026-01-31")]
