"""What a hook of the command line reads of the bank, with sqlite3 alone and without waiting for anybody.

It decides only whether there may be something to say of a call; the services decide what.
"""

import json
import re
import sqlite3
from contextlib import closing, suppress
from typing import Any, Final, NamedTuple

from mcp_reflect.errors import InputError
from mcp_reflect.patterns import lazy_compile

_ANY: Final = "*"
"""What a query returns in place of its rows where the bank cannot be read: a key or head that fits any call."""

_LOCKED_SECONDS: Final = 0.3
"""How long the names of enforced guards are waited for: the process ends 1.5 s after its time is over."""

_CONTINUED: Final = r"\\\n"
"""A backslash at the end of a line, as JSON."""

_BACKSLASH: Final = "\\"
_CHANGING_OTHERS: Final = lazy_compile(
    r"\b(?:rm|mv|find|bfs|xargs|unlink|rmdir|rimraf|trash|del|erase|rename|remove-item|move-item)\b|[*?\[]"
)
"""What may change files that the words do not name: all in a folder, or by a pattern."""

_PLACEHOLDER: Final = lazy_compile(r"<\w+>")
_WORD: Final = lazy_compile(r"[a-z]{3,}")
_JOINING: Final = str.maketrans("", "", "\"'`\\")

# A failure is told only with its correction, and only while the call has not worked since.
_HEADS: Final = """
SELECT DISTINCT head FROM failures
WHERE tenant = 'local' AND project IN (?, '') AND retired_at IS NULL AND worked_at IS NULL
  AND (worked IS NOT NULL OR reflection_id IS NOT NULL)
"""
_GUARDS: Final = "SELECT DISTINCT key, project FROM guards WHERE tenant = 'local' AND key <> ''"
_GUARDS_OF: Final = """
SELECT DISTINCT lessons.guard FROM guards JOIN lessons ON lessons.id = guards.lesson_id
WHERE guards.tenant = 'local' AND guards.project IN (SELECT value FROM json_each(?))
  AND guards.key IN (SELECT value FROM json_each(?))
"""
_NAMES_OF: Final = """
SELECT name, project FROM project_names
WHERE tenant = 'local' AND project IN (SELECT value FROM json_each(?))
"""
# Of lessons that a person enforces, or of all where a person chose that for the project.
_ENFORCED: Final = """
SELECT DISTINCT guards.key, guards.project, lessons.id
FROM guards JOIN lessons ON lessons.id = guards.lesson_id
WHERE guards.tenant = 'local' AND guards.key <> ''
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


class CallAtHand(NamedTuple):
    """A call as a hook gets it: `text` has its arguments, `folder` is where it is made.

    `project` is that of the folder, and `session_project` the one in whose folder the session began; None where that is
    not known, or a setting names one project for all calls.
    """

    tool: str
    arguments: Any
    text: str
    project: str | None
    folder: str = ""
    session_project: str | None = None


def may_be_known(bank: str, call: CallAtHand) -> bool:
    """Return whether a call may be one that is known to fail, or goes against a lesson.

    A wrong yes costs some time, since the services then look closely; a wrong no would lose a warning. So it is yes where
    the bank cannot be read. Words are compared before any guard is parsed.
    """
    name = call.tool.lower()
    words = _with_joined_words(call.text.lower())
    heads = _first_column(bank, _HEADS, (call.project or "",))
    if any(_may_have_head(head, name, words) for head in heads):
        return True
    rows = _rows(bank, _GUARDS, ())
    if rows is None:
        return True
    changes_others = _has_command(call.arguments) and _CHANGING_OTHERS.search(words) is not None
    folder = call.folder.lower()
    near = [
        (key, project)
        for key, project in rows
        if _may_be_guarded(key, name, words)
        or (_is_file(key) and (changes_others or _may_be_guarded(key, "", folder)))
    ]
    projects = _projects_at_hand(bank, call, words, {project for _, project in near})
    keys = [key for key, project in near if project in projects]
    if not keys:
        return False
    return _may_meet_a_guard(
        _first_column(bank, _GUARDS_OF, (json.dumps(sorted(projects)), json.dumps(keys))), call
    )


def _has_command(arguments: Any) -> bool:
    """Return whether the arguments of a call may be those of a shell."""
    if not isinstance(arguments, dict):
        return isinstance(arguments, str)
    return any(name in arguments for name in ("command", "cmd", "script", "input"))


def _is_file(key: str) -> bool:
    """Return whether a key is that of a guard of files."""
    return not key.startswith(("$ ", "tool "))


def _projects_at_hand(bank: str, call: CallAtHand, words: str, projects: set[str]) -> set[str]:
    """Return those of some projects whose guards may hold a call: its own, its session's, and those it names a folder of.

    A folder is named by its path, or by its last name: `git -C ../shop push`. In a bank that cannot be read it is all.
    """
    at_hand = projects & {call.project, call.session_project, ""}
    others = projects - at_hand
    if not others or not call.folder:
        return at_hand
    names = _rows(bank, _NAMES_OF, (json.dumps(sorted(others)),))
    if names is None:
        return projects
    for name, project in (*names, *((other, other) for other in others)):
        if _is_folder_named(name.lower(), words, call.folder.lower()):
            at_hand.add(project)
    return at_hand


def _is_folder_named(name: str, words: str, folder: str) -> bool:
    """Return whether a call may work in the folder of a project's name, from another folder or from one inside it."""
    root = name.replace("\\", "/").replace("#", "/", 1).rstrip("/")
    if "/" not in root or (root[:1].isalnum() and root[1:2] != ":"):
        return False  # it is no folder
    if (
        f"{folder.replace(_BACKSLASH, '/')}/".startswith(f"{root}/")
        or root.rsplit("/", 1)[-1] in words
    ):
        return True
    around = root.rpartition("/")[0]
    while around:
        if around in words:
            return True
        around = around.rpartition("/")[0]
    return False


def _may_meet_a_guard(guards: list[str], call: CallAtHand) -> bool:
    """Return whether a call meets, or may meet, one of some guards as the bank has them.

    Few calls are looked at this far, so that what reads guards is imported here. Which folder of which project a path is
    in, the services find out: here a file counts by its name.
    """
    from mcp_reflect.guards.call import Call  # noqa: PLC0415 - see above
    from mcp_reflect.guards.guard import EDIT, Guard, parse_guard  # noqa: PLC0415
    from mcp_reflect.guards.matching import matches, may_be_met  # noqa: PLC0415
    from mcp_reflect.guards.places import CallPlace  # noqa: PLC0415
    from mcp_reflect.guards.views import EVERYWHERE, views_of  # noqa: PLC0415

    place = CallPlace(own=call.project or "", folder=call.folder)
    seen = views_of(Call(call.tool, call.arguments), place)[EVERYWHERE]
    try:
        parsed = [parse_guard(guard) for guard in guards]
    except InputError:  # of another release
        return True

    def may_meet(guard: Guard) -> bool:
        """Return whether the call may go against one guard."""
        if guard.tool == EDIT and guard.has:
            is_near = seen.may_reach_any_file or not seen.keys.isdisjoint(guard.keys)
            return is_near or may_be_met(guard, seen)
        return matches(guard, seen) or may_be_met(guard, seen)

    return any(map(may_meet, parsed))


def enforced_by_name(bank: str, call: CallAtHand) -> str | None:
    """Return the id of a lesson that a person enforces and whose program, file or tool a call names, None for none.

    Without a project any lesson of the bank counts. Nothing is parsed: it is asked where there is no time for that. A
    bank that cannot be read names no lesson, so that it stops nobody.
    """
    words = _with_joined_words(call.text.lower())
    named = [
        (project, lesson)
        for key, project, lesson in _enforced_rows(bank)
        if _is_named(key.lower(), call.tool.lower(), words)
    ]
    projects = {project for project, _ in named}
    if call.project is not None:
        projects = _projects_at_hand(bank, call, words, projects)
    return next((lesson for project, lesson in named if project in projects), None)


def _enforced_rows(bank: str) -> list[tuple[str, str, str]]:
    """Return the key of each enforced guard with its project and the id of its lesson: `("$ git", "shop", "les_4f2a")`.

    The first or last connection of a bank locks it for a moment, also one of this very process: so it is waited for. A
    lock that stays is read past. Pages that are being written may make that fail, and then no lesson is named.
    """
    for wait, is_past_locks in ((_LOCKED_SECONDS, False), (0, True)):
        with suppress(sqlite3.Error), closing(_read_only(bank, wait, is_past_locks)) as connection:
            return connection.execute(_ENFORCED).fetchall()
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
    rows = _rows(bank, query, values)
    if rows is None:
        return [_ANY]
    return [row[0] for row in rows]


def _rows(bank: str, query: str, values: tuple[str | int, ...]) -> list[Any] | None:
    """Return the rows of a query; None if the bank cannot be read."""
    try:
        with closing(_read_only(bank)) as connection:
            return connection.execute(query, values).fetchall()
    except sqlite3.Error:  # locked, damaged, or of an older release
        return None


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
