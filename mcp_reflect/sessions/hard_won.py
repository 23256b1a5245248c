"""Notice what was hard-won in a session: after a call that worked, find what failed before and what differs.

`found_after` is given the last calls of a session and the one that just came back, and names at most one finding.
Reading the help, a search without a match, a refusal by the user, and waiting do not count.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final
from zlib import crc32

from mcp_reflect.evidence.kinds import CHECKS, ProofKind, kinds_of
from mcp_reflect.guards.guard import tool_words
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import Finding, FindingKind, SessionCall
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.calls import Call, headline
from mcp_reflect.sessions.drafts import (
    HIDES,
    REFUSED_IT,
    Change,
    Difference,
    changes_between,
    difference_of,
    draft_of,
    form_of,
    names_alike,
    same_kind,
)
from mcp_reflect.sessions.text import word_set
from mcp_reflect.sessions.tools import (
    Kind,
    command_of,
    file_of,
    is_shell,
    kind_of,
    may_change,
    parts_of,
)
from mcp_reflect.shell import READING_PROGRAMS, TELLING_FLAGS, Part, is_idle
from mcp_reflect.text.signature import exact_call, fingerprint

MOST_CALLS: Final = 40  # of a session that are looked at
NEAR: Final = 12  # calls between a failure and the changed call that worked
MOST_TEXT: Final = 600  # characters of a text among the arguments of a call
MOST_LINE: Final = 200
MOST_DEPTH: Final = 6  # levels of nested arguments
FEW: Final = 2  # words of a command that differ, where it only said that there is nothing
FEW_LINES: Final = 3  # lines of an answer that are told whole
MANY_FORMS: Final = (
    3  # forms of one command in one call, which are tries: none of them is known to have worked
)
TRIES: Final = 2  # failures of one test, with edits in between, after which its success is hard-won
SHORT: Final = 300  # characters of an answer that can say as a whole that there is nothing
BRIEF: Final = 80  # characters of the line that says so

REFUSED: Final = lazy_compile(
    r"(?i)user doesn't want to|command aborted|interrupted by (?:the )?user|operation was cancell?ed"
    r"|haven't granted|request(?:ed)? permissions?|user (?:rejected|denied|declined|cancell?ed)"
    r"|\Athis .{0,40}command (?:contains .{0,90})?requires approval|was blocked\. For security, Claude Code"
)
_REASON: Final = lazy_compile(
    r"(?i)(?:reason for the rejection|user feedback|the user said):\s*(\S[^\n]{1,200})"
)
_PREFERENCE: Final = lazy_compile(
    rf"(?i)^{REFUSED_IT}\W{{0,2}}(?:(?:please )?(?:use|don't|do not|never|always|prefer|avoid)\b|.*\binstead\b)[^?]*$"
)
_NO: Final = lazy_compile(
    r"(?i)^\W*(?:0 \w+|no(?:t|ne|thing)?\b|false\b|fail(?:ed|ing)?\b|pending\b|empty\b|missing\b|denied\b|\[\]$|\{\}$)"
    r"|\b(?:not (?:done|found|ready|ok|yet)|0 (?:rows|results|matches|items|records)|nothing (?:found|to do))\b"
)
_USAGE: Final = lazy_compile(
    r"(?i)^\W*(?:usage\b|see help|try .{0,40}--?help|unknown (?:sub)?command)"
)
_HELP: Final = TELLING_FLAGS | {"help", "man", "usage"}
_HELP_ALONE: Final = word_set(
    "-h -v -V version"
)  # with other words a host, a folder that is mounted, more output
_PROBES: Final = word_set(
    "which command type test [ ls stat ping pgrep lsof grep egrep rg ag find diff cmp nc dig host ps kill sleep wait"
)
# Programs whose operands are the work itself: another operand is other work.
_CONTENT: Final = word_set(
    "echo printf tee sed awk perl cd cp mv rm mkdir touch sleep wait true false source . export"
)
_CONTENT_OF_GIT: Final = word_set("add commit log show diff status checkout switch branch stash")
_CHECKS: Final = word_set(
    "check status verify validate test tests health ready doctor lint ping plan wait"
)
_TESTS: Final = CHECKS - {ProofKind.BUILD}
_LOOKS: Final = word_set("""
    show info log logs list ls get status check describe view total cat read find query count diff current history ps
    inspect
""")
_EDITS: Final = word_set("edit write replace patch multiedit create insert update str")
_VALID: Final = lazy_compile(
    r"(?i)\bone of\b|valid|allowed|choose|available|expected|must be|known|similar|did you mean"
)
_ABSENT: Final = lazy_compile(
    r"(?i)no such file|not found|no module named|does(?:n't| not) exist|(?:cannot|could not|can't|couldn't) find"
    r"|not a git repository"
)


def session_call(number: int, call: Call) -> SessionCall:
    """The call as a session keeps it. The line of one that the user refused is the user's preference."""
    fault = call.fault
    text = fault.text if fault else call.answer
    line = headline(text, -1 if is_shell(call.tool) else 0) if fault else _last_line(text)
    refusal = refusal_in(text) if fault else None
    preference = preference_in(text) if fault else ""
    lines = [item for item in text[:MOST_LINE].split("\n") if item.strip()]
    told = line if fault or len(text) > MOST_LINE or len(lines) > FEW_LINES else "; ".join(lines)
    return SessionCall(
        number=number,
        tool=call.tool,
        arguments=shortened(call.arguments),
        line=(preference or told)[:MOST_LINE],
        failed=fault is not None and not call.empty,
        says_no=fault is not None
        or (max(len(text) - SHORT, len(line) - BRIEF) <= 0 and bool(_NO.search(line))),
        expected=(refusal is not None and not preference)
        or call.empty
        or _probes(call.tool, call.arguments),
        checksum=f"{crc32(text.encode('utf-8', 'replace')):08x}",
    )


def refusal_in(text: str) -> str | None:
    """The reason for which the user refused a call; empty without one, None where nobody refused it."""
    if not REFUSED.search(text[:3_000]):
        return None
    reason = _REASON.search(text[:3_000])
    return reason[1].strip().rstrip(".") if reason else ""


def preference_in(text: str) -> str:
    """The reason for which the user refused a call, where it says what to do; else empty."""
    told = f"{REFUSED_IT}{refusal_in(text) or ''}"
    return told if _PREFERENCE.search(told) else ""


def shortened(value: Json, depth: int = 0) -> Json:
    """Arguments with long texts cut in their middle, and without what is nested deep."""
    if isinstance(value, str):
        half = MOST_TEXT // 2
        return value if len(value) <= MOST_TEXT else f"{value[:half]} ... {value[-half:]}"
    if isinstance(value, dict | list) and depth > MOST_DEPTH:
        return None
    if isinstance(value, dict):
        return {key: shortened(item, depth + 1) for key, item in [*value.items()][:20]}
    return [shortened(item, depth + 1) for item in value[:20]] if isinstance(value, list) else value


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text[-2_000:].split("\n")) if line.strip()), "")


def _probes(tool: str, arguments: Json) -> bool:
    parts = parts_of(tool, arguments)
    return bool(parts) and _asks_for_help(parts[-1])


def _asks_for_help(part: Part) -> bool:
    words = {*part.words[len(part.runner) + 1 :]}
    return bool(_HELP & words) or (len(words) == 1 and words <= _HELP_ALONE)


def findings_in(tried: Sequence[Call]) -> list[Finding]:
    """What was hard-won in a run; the number of a call is its index and one."""
    calls = [session_call(item.index + 1, item) for item in tried]
    found = (
        found_after(calls[:place], call) for place, call in enumerate(calls) if tried[place].worked
    )
    return [finding for finding in found if finding is not None]


def found_after(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    """The finding that `call`, which just came back, completes; `before` are the calls of the session until then."""
    if call.failed or call.expected:
        return None
    before = before[-MOST_CALLS:]
    rules: tuple[Callable[[Sequence[SessionCall], SessionCall], Finding | None], ...] = (
        _changed, _turned, _looked_again,
    )  # fmt: skip
    return next(filter(None, (rule(before, call) for rule in rules)), None)


def _words(value: Json) -> set[str]:
    return set(re.findall(r"[\w.-]{3,}", str(value).lower()))


# A call that failed, and the same call in another form that worked.


def _changed(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    if call.says_no:
        return None
    tries = [
        item
        for item in before[-NEAR:]
        if item.says_no and not item.expected and not _is_known(before, item)
    ]
    pairs = [(item, difference_between(item, call)) for item in tries]
    # Where a file was edited since, that may be what made a command work behind another one.
    found = [
        (item, made)
        for item, made in pairs
        if made and not (made.added and _edited_since(before, item))
    ]
    if not found:
        return None
    last, made = found[-1]
    akin = [pair for pair in found if _head(pair[1], pair[0]) == _head(made, last)]
    # The first try is what the next agent would do too.
    return _finding(
        FindingKind.CHANGED, [item for item, _ in akin], call, akin[0][1], shown=akin[0][0]
    )


def _edited_since(before: Sequence[SessionCall], failed: SessionCall) -> bool:
    return any(_is_edit(item) and not item.failed for item in before if item.number > failed.number)


def _is_known(before: Sequence[SessionCall], failed: SessionCall) -> bool:
    """True where the same call worked since it failed: what differs now is other work."""
    later = (item for item in before if item.number > failed.number and not item.says_no)
    return any((item.tool, item.arguments) == (failed.tool, failed.arguments) for item in later)


def _head(difference: Difference, call: SessionCall) -> str:
    return difference.wrong.head if difference.wrong else call.tool


def difference_between(failed: SessionCall, worked: SessionCall) -> Difference | None:
    """What makes the second call a corrected form of the first; None for other work, or for the same call."""
    wrong, right = parts_of(failed.tool, failed.arguments), parts_of(worked.tool, worked.arguments)
    absent = bool(_ABSENT.search(failed.line) or _PREFERENCE.search(failed.line))
    if wrong and right:
        difference = difference_of(wrong, right, missing=absent)
        if difference is None or not _is_corrected(failed, difference, absent=absent):
            return None
        steps = tuple(part for part in difference.added if not _reads(part))
        return difference._replace(added=steps) if steps or not difference.added else None
    if _is_edit(failed) and _is_edit(worked):
        same = _file(failed) == _file(worked) or failed.tool == worked.tool == "edit"
        return Difference((Change("", "", ""),)) if same else None
    return (
        _of_arguments(failed, worked, absent=absent)
        if failed.tool == worked.tool and not (wrong or right)
        else None
    )


def _is_corrected(failed: SessionCall, difference: Difference, *, absent: bool) -> bool:
    """Return whether the changed command is a corrected form, not the next step of the task."""
    wrong, right = difference.wrong, difference.right
    if (
        wrong is None
        or right is None
        or (is_idle(right.own_words) and not is_idle(wrong.own_words))
    ):
        return False
    if [part.own_words[:2] for part in difference.added[-1:]] == [("git", "add")]:
        return False
    if any(
        HIDES.search(str(change.after)) or _is_next(failed.line, change)
        for change in difference.changes
    ):
        return False
    if steps := (*difference.added, *difference.removed):
        return wrong.program not in _PROBES and (
            absent or any(part.program != "cd" for part in steps)
        )
    if _is_content(wrong):
        return False
    if wrong.program in _PROBES | READING_PROGRAMS:
        return absent and any(
            _same_file(str(item.before), str(item.after)) for item in difference.changes
        )
    same = wrong.subcommand == right.subcommand
    # Where it only found nothing, or did not know the subcommand, the rest of the command has to be the same.
    return (
        (same and len(difference.changes) <= FEW)
        if not failed.failed
        else same or not _USAGE.match(failed.line)
    )


def _is_next(line: str, change: Change) -> bool:
    """Return whether the change is to another object that the error names, unless the error lists valid values."""
    before, after, named = (_words(value) for value in (change.before, change.after, line))
    valid = _VALID.search(line) or _PREFERENCE.search(line)
    return bool(before and after & named) and not (before & named or change.name or valid)


def _same_file(before: str, after: str) -> bool:
    return (
        before != after
        and before.rstrip("/").rsplit("/", 1)[-1] == after.rstrip("/").rsplit("/", 1)[-1]
    )


def _of_arguments(failed: SessionCall, worked: SessionCall, *, absent: bool) -> Difference | None:
    """The arguments that differ, if they are few and are other forms of the same value, or the error names them."""
    old, new = _by_name(failed.arguments), _by_name(worked.arguments)
    changes = changes_between(old, new)
    kind = kind_of(failed.tool, failed.arguments)
    if not failed.failed or not 0 < len(changes) <= max(2, len(old) // 2):
        return None
    line = failed.line.casefold()
    for change in changes:
        before, after = str(change.before), str(change.after)
        alike = (
            names_alike(before, after)
            or _same_file(before, after)
            or form_of(change.before, change.after)
        )
        named = change.name.casefold() in line or after.casefold() in line
        own = alike or None in change[1:] or (named and not (absent and kind is not Kind.OTHER))
        if not own and (absent or kind in (Kind.READ, Kind.SEARCH) or len(old) == 1):
            return None
    return Difference(changes)


def _by_name(arguments: Json) -> dict[str, Json]:
    """Arguments by name, a command as a line."""
    values = arguments if isinstance(arguments, dict) else {}
    lines = {
        name: command_of({name: value}) for name, value in values.items() if isinstance(value, list)
    }
    return {name: lines.get(name) or value for name, value in values.items()}


def _is_edit(call: SessionCall) -> bool:
    named = _file(call) is not None or call.tool == "edit"
    return bool(tool_words(call.tool) & _EDITS) and not is_shell(call.tool) and named


def _file(call: SessionCall) -> str | None:
    file = file_of(call.arguments)
    return re.split(r"[/\\]", file.rstrip("/\\"))[-1] if file else None


# A call that said no and now says yes, or a look with another answer: what was done since, or differently from before.


def _turned(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    parts = parts_of(call.tool, call.arguments)
    keys: Sequence[object] = parts or [_last_part(call)]
    same = [
        item for item in before if item.says_no and not item.expected and _last_part(item) in keys
    ]
    if call.says_no or not same or _is_known(before, same[-1]):
        return None
    no = same[-1]
    key = _last_part(no)
    edited = _edited_since(before, no)
    if not isinstance(key, Part):
        return _finding(FindingKind.RETRIED, [no], call, Difference(())) if edited else None
    acts = _acts_in((*before, call))
    if redone := _redone(acts, no):
        return redone
    checked = [
        item for item in before if item.number > no.number and is_check(item.tool, item.arguments)
    ]
    if (
        edited
        and checked
        and not checked[-1].failed
        and key.head in ("git commit", "git push")
        and no.failed
    ):
        brief = key._replace(words=(*key.runner, key.program, key.subcommand))
        check = parts_of(checked[-1].tool, checked[-1].arguments)[-1]
        return _finding(
            FindingKind.PREPARED, [no], call, Difference((), brief, brief, added=(check,))
        )
    known = [part for item, part in acts if item.number <= no.number]
    done = [
        part for item, part in acts if no.number < item.number < call.number and not item.says_no
    ]
    new = [part for part in (*done, *_acts(call, key)) if part not in (key, *known)]
    own = [part for part in new if part.program == key.program]
    if (
        new
        and no.failed
        and not edited
        and (not _looks(key) or (own and _is_test(key) and "/" not in key.program))
    ):
        added = tuple(own[-1:] or new[-2:])
        found = _finding(FindingKind.PREPARED, [no], call, Difference((), key, key, added=added))
        return (
            found if len(added) == len(new) else replace(found, form=False)
        )  # another may have helped
    same = [item for item in same if _last_part(item) == key]
    if (
        edited
        and key.program not in READING_PROGRAMS | _PROBES
        and len(same) >= (TRIES if _is_test(key) else 1)
    ):
        return _finding(FindingKind.RETRIED, same, call, Difference((), key, key))
    return None


def _looked_again(before: Sequence[SessionCall], call: SessionCall) -> Finding | None:
    last = parts_of(call.tool, call.arguments)[-1:]
    if call.says_no or not last or not _is_own_look(last[0]):
        return None
    acts = _acts_in((*before, call))
    for look in reversed(before):
        part = parts_of(look.tool, look.arguments)[-1:]
        same_answer = part == last and (look.line, look.checksum) == (call.line, call.checksum)
        if part and part[0].program == last[0].program and _is_own_look(part[0]):
            found = None if look.expected or same_answer else _redone(acts, look)
            if found is not None:
                return found
    return None


def _is_own_look(part: Part) -> bool:
    """Return whether a program that can also act only looks: `./img info` shows what `./img resize` did."""
    return _looks(part) and part.program not in READING_PROGRAMS | _PROBES | _CONTENT | {"git"}


def _acts_in(calls: Sequence[SessionCall]) -> list[tuple[SessionCall, Part]]:
    return [(call, part) for call in calls for part in _acts(call)]


def _redone(acts: Sequence[tuple[SessionCall, Part]], look: SessionCall) -> Finding | None:
    """The finding about a command that was repeated with one change after the agent looked at its effect."""
    last = _last_part(look)
    acts = [pair for pair in acts if pair[1] != last]
    later = [pair for pair in acts if pair[0].number > look.number and not pair[0].says_no]
    earlier = [pair for pair in acts if pair[0].number <= look.number]
    for after, two in reversed(later):
        for first, one in reversed(earlier):
            shared = {*one.operands} & {*two.operands} - {*one.subcommand.split(" ")}
            difference = (
                difference_of((one,), (two,))
                if one != two and same_kind(one, two) and shared
                else None
            )
            if difference is not None and len(difference.changes) == 1:
                return _finding(FindingKind.CHANGED, [look], after, difference, shown=first)
    return None


def _last_part(call: SessionCall) -> object:
    parts = parts_of(call.tool, call.arguments)
    return parts[-1] if parts else exact_call(call.tool, call.arguments)


def _acts(call: SessionCall, before: Part | None = None) -> list[Part]:
    """The commands of a call that change something, without those of which it tries many forms."""
    parts = parts_of(call.tool, call.arguments)
    heads = Counter(part.head for part in {*parts})
    parts = parts[: parts.index(before)] if before in parts else parts
    return [part for part in parts if not _looks(part) and heads[part.head] < MANY_FORMS]


@lru_cache(maxsize=2_000)
def _looks(part: Part) -> bool:
    return _reads(part) or _is_content(part)


def _is_content(part: Part) -> bool:
    return part.program in _CONTENT or (
        part.program == "git" and part.subcommand in _CONTENT_OF_GIT
    )


def _reads(part: Part) -> bool:
    if (
        part.program in READING_PROGRAMS | _PROBES
        or _is_test(part)
        or _asks_for_help(part)
        or is_idle(part.own_words)
    ):
        return True
    return part.subcommand.split(" ")[-1] in _LOOKS | _CHECKS


def is_check(tool: str, arguments: Json) -> bool:
    """Return whether a command ends with tests, type checks or lint: their failures are normal work."""
    parts = parts_of(tool, arguments)
    return bool(parts) and _is_test(parts[-1])


def _is_test(part: Part) -> bool:
    return not _TESTS.isdisjoint(kinds_of(part.own_words))


def acts_in(calls: Sequence[Call]) -> list[Call]:
    """The calls that worked and may have changed something for another one."""
    worked = [call for call in calls if call.worked and may_change(call.tool, call.arguments)]
    parts = [(call, parts_of(call.tool, call.arguments)) for call in worked]
    return [call for call, commands in parts if not commands or not all(map(_looks, commands))]


def _finding(
    kind: FindingKind,
    failed: Sequence[SessionCall],
    worked: SessionCall,
    difference: Difference,
    shown: SessionCall | None = None,
) -> Finding:
    """The finding. `shown` is the call that was made in the wrong form, where another one said that it was wrong."""
    last = failed[-1]
    line = shown.line if shown in failed and shown else last.line
    draft, form = draft_of(kind, shown or last, worked, difference, line, len(failed))
    return Finding(
        kind=kind,
        thing=f"{_head(difference, last)}: {'' if kind is FindingKind.RETRIED else fingerprint(last.line)}"[
            :300
        ],
        tool=last.tool,
        line=last.line,
        failed=tuple(
            dict.fromkeys((*((shown.number,) if shown else ()), *(item.number for item in failed)))
        ),
        worked=worked.number,
        draft=draft,
        form=form,
    )
