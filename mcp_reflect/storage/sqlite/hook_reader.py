"""What a hook of the command line reads of the bank, with sqlite3 alone and without waiting for anybody.

It decides only whether there may be something to say of a call; the services decide what.
"""

import json
import re
import sqlite3
from contextlib import closing, suppress
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.patterns import lazy_compile

_ANY: Final = "*"
"""What a query returns in place of its rows where the bank cannot be read: a key or head that fits any call."""

_LOCKED_SECONDS: Final = 0.3
"""How long the names of enforced guards are waited for: the process ends 1.5 s after its time is over."""

_CONTINUED: Final = r"\\\n"
"""A backslash at the end of a line, as JSON."""

_PLACEHOLDER: Final = lazy_compile(r"<\w+>")
_WORD: Final = lazy_compile(r"[a-z]{3,}")
_JOINING: Final = str.maketrans("", "", "\"'`\\")

# A failure is told only with its correction, and only while the call has not worked since.
_HEADS: Final = """
SELECT DISTINCT head FROM failures
WHERE tenant = 'local' AND project IN (?, '') AND retired_at IS NULL AND worked_at IS NULL
  AND (worked IS NOT NULL OR reflection_id IS NOT NULL)
"""
_GUARDS: Final = (
    "SELECT DISTINCT key FROM guards WHERE tenant = 'local' AND project IN (?, '') AND key <> ''"
)
_GUARDS_OF: Final = """
SELECT DISTINCT lessons.guard FROM guards JOIN lessons ON lessons.id = guards.lesson_id
WHERE guards.tenant = 'local' AND guards.project IN (?, '')
  AND guards.key IN (SELECT value FROM json_each(?))
"""
# Of lessons that a person enforces, or of all where a person chose that for the project.
_ENFORCED: Final = """
SELECT DISTINCT guards.key, lessons.id FROM guards JOIN lessons ON lessons.id = guards.lesson_id
WHERE guards.tenant = 'local' AND guards.key <> ''
  AND (guards.project IN (:project, '') OR :project IS NULL)
  AND lessons.guard_mode = 'enforce'
  AND lessons.source NOT IN ('import', 'rules') AND NOT lessons.outside
ORDER BY lessons.id LIMIT 1000
"""
_CALLS: Final = """
SELECT call FROM session_calls WHERE tenant = 'local' AND project = ? AND session = ?
ORDER BY number
"""

_CORRECTED_ERRORS: Final = """
SELECT DISTINCT fingerprint FROM failures
WHERE tenant = 'local' AND project IN (?, '') AND retired_at IS NULL AND lower(tool) = lower(?)
  AND (worked IS NOT NULL OR reflection_id IS NOT NULL)
"""


def may_be_known(bank: str, project: str, tool: str, arguments: Any, text: str) -> bool:
    """Return whether a call may be one that is known to fail, or goes against a lesson; `text` has its arguments.

    A wrong yes costs some time, since the services then look closely; a wrong no would lose a warning. So it is yes where
    the bank cannot be read. Words are compared before any guard is parsed.
    """
    name = tool.lower()
    words = _with_joined_words(text.lower())
    if any(_may_have_head(head, name, words) for head in _first_column(bank, _HEADS, (project,))):
        return True
    keys = [
        key for key in _first_column(bank, _GUARDS, (project,)) if _may_be_guarded(key, name, words)
    ]
    if not keys:
        return False
    return _may_meet_a_guard(
        _first_column(bank, _GUARDS_OF, (project, json.dumps(keys))), tool, arguments
    )


def _may_meet_a_guard(guards: list[str], tool: str, arguments: Any) -> bool:
    """Return whether a call meets, or may meet, one of some guards as the bank has them.

    Few calls are looked at this far, so that what reads guards is imported here.
    """
    from mcp_reflect.guards.call import Call  # noqa: PLC0415 - see above
    from mcp_reflect.guards.guard import parse_guard  # noqa: PLC0415
    from mcp_reflect.guards.matching import matches, may_be_met  # noqa: PLC0415

    call = Call(tool, arguments)
    try:
        parsed = [parse_guard(guard) for guard in guards]
    except InputError:  # of another release
        return True
    return any(matches(guard, call) or may_be_met(guard, call) for guard in parsed)


def enforced_by_name(bank: str, project: str | None, tool: str, text: str) -> str | None:
    """Return the id of a lesson that a person enforces and whose program, file or tool a call names, None for none.

    `text` has the arguments of the call; without a project any lesson of the bank counts. Nothing is parsed: it is asked
    where there is no time for that. A bank that cannot be read names no lesson, so that it stops nobody.
    """
    words = _with_joined_words(text.lower())
    for key, lesson in _enforced_rows(bank, project):
        if _is_named(key.lower(), tool.lower(), words):
            return lesson
    return None


def _enforced_rows(bank: str, project: str | None) -> list[tuple[str, str]]:
    """Return the key of each enforced guard with the id of its lesson: `("$ git", "les_4f2a")`.

    The first or last connection of a bank locks it for a moment, also one of this very process: so it is waited for. A
    lock that stays is read past. Pages that are being written may make that fail, and then no lesson is named.
    """
    for wait, is_past_locks in ((_LOCKED_SECONDS, False), (0, True)):
        with suppress(sqlite3.Error), closing(_read_only(bank, wait, is_past_locks)) as connection:
            return connection.execute(_ENFORCED, {"project": project}).fetchall()
    return []


def _is_named(key: str, tool: str, text: str) -> bool:
    """Return whether a call names what a key stands for; a program (`$ git`) has to be a word: `digit` names none."""
    if not key.startswith("$ "):
        return _may_be_guarded(key, tool, text)
    return re.search(rf"(?<![\w-]){re.escape(key[2:])}(?![\w-])", text) is not None


def calls_of(bank: str, project: str, session: str) -> list[dict[str, Any]] | None:
    """Return the last calls of a session as the bank keeps them, None if it cannot be read."""
    rows = _first_column(bank, _CALLS, (project, session))
    if rows == [_ANY]:
        return None
    return [json.loads(row) for row in rows]


def may_be_corrected(bank: str, project: str, tool: str, text: str, output: str) -> bool:
    """Return whether a correction may be known of a call that failed: of the same call, or of the same error."""
    name = tool.lower()
    words = text.lower()
    if any(_may_have_head(head, name, words) for head in _first_column(bank, _HEADS, (project,))):
        return True
    errors = _first_column(bank, _CORRECTED_ERRORS, (project, tool))
    printed = output.lower()
    return any(_may_be_error(one, printed) for one in errors)


def _may_be_error(fingerprint: str, printed: str) -> bool:
    """Return whether an output has the words of an error's fingerprint: `no such file <path>` needs such and file.

    A placeholder such as `<path>` stands for what differs each time. Words of two letters are not asked for.
    """
    words = _WORD.findall(_PLACEHOLDER.sub(" ", fingerprint))
    return all(word in printed for word in words)


def _first_column(bank: str, query: str, values: tuple[str | int, ...]) -> list[str]:
    """Return the first column of a query; if the bank cannot be read, `_ANY` alone."""
    try:
        with closing(_read_only(bank)) as connection:
            return [row[0] for row in connection.execute(query, values)]
    except sqlite3.Error:  # locked, damaged, or of an older release
        return [_ANY]


def _read_only(bank: str, wait: float = 0, is_past_locks: bool = False) -> sqlite3.Connection:
    """Return a connection that writes nothing and waits for so many seconds; one that reads past locks waits for none.

    `urllib.parse.quote` would do for the address, and takes milliseconds to import.
    """
    place = bank.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    access = "mode=ro"
    if is_past_locks:
        access = "immutable=1"
    return sqlite3.connect(f"file:{place}?{access}", uri=True, timeout=wait)


def _with_joined_words(text: str) -> str:
    r"""Return the text, and again without quotes and backslashes: a shell reads `g''it` and `g\\it` as `git`."""
    joined = text.replace(_CONTINUED, "").translate(_JOINING)
    if joined == text:
        return text
    return f"{text}\n{joined}"


def _may_be_guarded(key: str, tool: str, text: str) -> bool:
    """Return whether a call may have this key of a guard: `$ git`, `dist/`, `bundle.js`, `*.go`, `tool search`."""
    word = key.lower().removeprefix("$ ").strip("*/")
    return key == _ANY or word in text or word.removeprefix("tool ") in tool


def _may_have_head(head: str, tool: str, text: str) -> bool:
    """Return whether a call may have this head: `shell:git push`, `read:src/a.py`, `search`.

    The head of a shell command has its program and subcommand, which its text must have as words.
    """
    if head == _ANY:
        return True
    tool_of_head, _, command = head.lower().partition(":")
    if tool_of_head != "shell":
        return tool_of_head == tool
    return all(word in text for word in command.split() if word.isalnum())
