"""The bank as a hook of the command line reads it, with sqlite3 alone and without waiting for anybody.

Only one question is answered here: may there be something to say of a call? The services decide what is said.
"""

import json
import re
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_reflect.errors import InputError
from mcp_reflect.patterns import lazy_compile

if TYPE_CHECKING:
    from mcp_reflect.storage.sqlite.unnamed_changes import UnnamedChange

_FITS_ANY_CALL: Final = "*"
"""The result of a query where the bank cannot be read: a key or head that fits any call."""

_LOCKED_SECONDS: Final = 0.3
"""How long the names of enforced guards are waited for: the process ends 1.5 s after its time is over."""

_JSON_LINE_CONTINUATION: Final = r"\\\n"
"""A backslash at the end of a line, as JSON."""

_JSON_BLANKS: Final = (r"\n", r"\r", r"\t")
"""Ends of lines and tabs, as JSON: the letter in them is none of the word behind it."""

_BACKSLASH: Final = "\\"
_PLACEHOLDER: Final = lazy_compile(r"<\w+>")
_WORD: Final = lazy_compile(r"[a-z]{3,}")
_WITHOUT_QUOTES: Final = str.maketrans("", "", "\"'`\\")

# A failure is told only with its correction, and only while the call has not worked since.
_HEADS_QUERY: Final = """
SELECT DISTINCT head FROM failures
WHERE tenant = 'local' AND project IN (?, '') AND retired_at IS NULL AND worked_at IS NULL
  AND (worked IS NOT NULL OR reflection_id IS NOT NULL)
"""
_GUARDS_QUERY: Final = (
    "SELECT DISTINCT key, project FROM guards WHERE tenant = 'local' AND key <> ''"
)
_GUARD_TEXTS_QUERY: Final = """
SELECT DISTINCT lessons.guard FROM guards JOIN lessons ON lessons.id = guards.lesson_id
WHERE guards.tenant = 'local' AND guards.project IN (SELECT value FROM json_each(?))
  AND guards.key IN (SELECT value FROM json_each(?))
"""
_NAMES_QUERY: Final = """
SELECT name, project FROM project_names
WHERE tenant = 'local' AND project IN (SELECT value FROM json_each(?))
"""
# Of lessons that a person enforces, or of all where a person chose that for the project.
_ENFORCED_QUERY: Final = """
SELECT DISTINCT guards.key, guards.project, lessons.id
FROM guards JOIN lessons ON lessons.id = guards.lesson_id
WHERE guards.tenant = 'local' AND guards.key <> ''
  AND lessons.guard_mode = 'enforce'
  AND lessons.source NOT IN ('import', 'rules') AND NOT lessons.outside
ORDER BY lessons.id LIMIT 1000
"""
_CALLS_QUERY: Final = """
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
    heads = _first_column(bank, _HEADS_QUERY, (call.project or "",))
    if any(_may_have_head(head, name, words) for head in heads):
        return True
    rows = _rows(bank, _GUARDS_QUERY, ())
    if rows is None:
        return True
    keys_named = [row for row in rows if _may_be_guarded(row[0], name, words)]
    unnamed = _unnamed_files(call, words, [row for row in rows if row not in keys_named])
    if not keys_named and not unnamed.keys:
        return False
    projects = {project for _, project in (*keys_named, *unnamed.keys)}
    near = _near_projects(bank, call, words, projects)
    guards = _texts_of(bank, keys_named, near)
    guards += _guards_of_unnamed_files(bank, call, words, unnamed, near)
    return bool(guards) and _may_meet_a_guard(guards, call)


class _UnnamedFiles(NamedTuple):
    """The keys of guarded files, each with its project, that a call may change without naming them, and how it may."""

    keys: list[tuple[str, str]]
    change: "UnnamedChange | None" = None


def _unnamed_files(call: CallAtHand, words: str, rows: list[tuple[str, str]]) -> _UnnamedFiles:
    """Return what a call may change of the guarded files that have these keys, though it does not name them.

    A call inside of a guarded folder, or beside a guarded file, need not name it whole.
    """
    keys = [row for row in rows if not row[0].startswith(("$ ", "tool "))]
    if not keys:
        return _UnnamedFiles([])
    from mcp_reflect.storage.sqlite.unnamed_changes import unnamed_change  # noqa: PLC0415 - few banks guard files

    change = unnamed_change(call.tool.lower(), call.arguments, words)
    if change is None:
        folder = call.folder.lower()
        keys = [row for row in keys if _may_be_guarded(row[0], "", folder)]
    return _UnnamedFiles(keys, change)


def _guards_of_unnamed_files(
    bank: str,
    call: CallAtHand,
    words: str,
    unnamed: _UnnamedFiles,
    near: dict[str, tuple[str, ...]],
) -> list[str]:
    """Return the guards of files that a call may change without naming them.

    Its words have what may stand for a file, as a pattern does, or a name of the path, or a folder around the project.
    """
    if not unnamed.keys:
        return []
    from mcp_reflect.storage.sqlite.unnamed_changes import (  # noqa: PLC0415 - few calls need it
        UnnamedChange,
        has_name_of,
        may_stand_for_files,
    )

    reaches_any = may_stand_for_files(unnamed.change, words)
    if unnamed.change is UnnamedChange.REMOVES:
        reaches_any = reaches_any or _is_around_project(call, words, near)
    inside = f"{words}\n{call.folder.lower()}"
    return [
        guard
        for guard in _texts_of(bank, unnamed.keys, near)
        if reaches_any or guard == _FITS_ANY_CALL or has_name_of(guard, inside)
    ]


def _texts_of(
    bank: str, keys: list[tuple[str, str]], near: dict[str, tuple[str, ...]]
) -> list[str]:
    """Return the guards of near projects that have one of some keys."""
    names = [key for key, project in keys if project in near]
    if not names:
        return []
    return _first_column(bank, _GUARD_TEXTS_QUERY, (json.dumps(sorted(near)), json.dumps(names)))


def _is_around_project(call: CallAtHand, words: str, near: dict[str, tuple[str, ...]]) -> bool:
    """Return whether a call names a folder around its project, or around one of the near ones."""
    folders = (call.folder.lower(), *(root for roots in near.values() for root in roots))
    for folder in folders:
        words = words.replace(f"{folder}/", "")  # what lies in it is no folder around it
    return any(_is_part_named(folder, words) for folder in folders)


def _is_part_named(folder: str, words: str) -> bool:
    """Return whether a name in the path of a folder stands in a call: `shop` or `work` of `/work/shop`."""
    return any(part in words for part in folder.split("/") if len(part) > 1)


def _is_around_named(folder: str, words: str) -> bool:
    """Return whether a folder, or one around it, stands in a call: `rm -rf /work` is about `/work/shop`."""
    around = folder.rstrip("/")
    while around:
        end = words.find(around)
        while end >= 0:
            behind = words[end + len(around) :].removeprefix("/")[:1]
            if not (behind.isalnum() or behind in ("_", "-", ".", "/")):
                return True
            end = words.find(around, end + 1)
        around = around.rpartition("/")[0]
    return False


def _near_projects(
    bank: str, call: CallAtHand, words: str, projects: set[str]
) -> dict[str, tuple[str, ...]]:
    """Return those of some projects whose guards may hold a call, each with its folders as far as they were looked up.

    They are its own, its session's, those that it names a folder of by its path or its last name (`git -C ../shop push`),
    and those around its folder. In a bank that cannot be read it is all of them.
    """
    near: dict[str, tuple[str, ...]] = {
        project: () for project in projects if project in (call.project, call.session_project, "")
    }
    elsewhere = projects - {call.project, ""}
    if not elsewhere or not call.folder:
        return near
    names = _rows(bank, _NAMES_QUERY, (json.dumps(sorted(elsewhere)),))
    if names is None:
        return dict.fromkeys(projects, ())
    for name, project in (*names, *((project, project) for project in elsewhere)):
        root = _folder_in(name.lower())
        if root and (project in near or _is_folder_named(root, words, call.folder.lower())):
            near[project] = (*near.get(project, ()), root)
    return near


def _folder_in(name: str) -> str:
    """Return the folder that a project's name is, with `/` between its parts; empty for a name that is no folder."""
    root = name.replace("\\", "/").replace("#", "/", 1).rstrip("/")
    is_absolute = root.startswith("/") or root[1:3] == ":/"
    return root if is_absolute else ""


def _is_folder_named(root: str, words: str, folder: str) -> bool:
    """Return whether a call may work in the folder of a project, from another folder or from one inside it."""
    is_inside = f"{folder.replace(_BACKSLASH, '/')}/".startswith(f"{root}/")
    is_named = root.rsplit("/", 1)[-1] in words
    is_above = ".." in words and _is_part_named(root, words)
    return is_inside or is_named or is_above or _is_around_named(root, words)


def _may_meet_a_guard(guards: list[str], call: CallAtHand) -> bool:
    """Return whether a call meets, or may meet, one of some guards as the bank has them.

    Few calls are looked at this far, so that what reads guards is imported here. Which folder of which project a path is
    in, the services find out: here a file counts by its name.
    """
    from mcp_reflect.guards.call import Call  # noqa: PLC0415 - see above
    from mcp_reflect.guards.guard import EDIT, Guard, parse_guard  # noqa: PLC0415
    from mcp_reflect.guards.matching import matches, may_be_met, without_paths  # noqa: PLC0415
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
        return matches(without_paths(guard), seen) or may_be_met(guard, seen)

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
        projects = _near_projects(bank, call, words, projects).keys()
    return next((lesson for project, lesson in named if project in projects), None)


def _enforced_rows(bank: str) -> list[tuple[str, str, str]]:
    """Return the key of each enforced guard with its project and the id of its lesson: `("$ git", "shop", "les_4f2a")`.

    The first or last connection of a bank locks it for a moment, also one of this very process: so it is waited for. A
    lock that stays is read past. Pages that are being written may make that fail, and then no lesson is named.
    """
    for wait, is_past_locks in ((_LOCKED_SECONDS, False), (0, True)):
        with suppress(sqlite3.Error), closing(_read_only(bank, wait, is_past_locks)) as connection:
            return connection.execute(_ENFORCED_QUERY).fetchall()
    return []


def _is_named(key: str, tool: str, text: str) -> bool:
    """Return whether a call names what a key stands for; a program (`$ git`) has to be a word: `digit` names none."""
    if not key.startswith("$ "):
        return _may_be_guarded(key, tool, text)
    return re.search(rf"(?<![\w-]){re.escape(key[2:])}(?![\w-])", text) is not None


def calls_of(bank: str, project: str, session: str) -> list[dict[str, Any]] | None:
    """Return the last calls of a session as the bank keeps them, None if it cannot be read."""
    rows = _first_column(bank, _CALLS_QUERY, (project, session))
    if rows == [_FITS_ANY_CALL]:
        return None
    return [json.loads(row) for row in rows]


def may_be_corrected(bank: str, project: str, tool: str, text: str, output: str) -> bool:
    """Return whether a correction may be known of a call that failed: of the same call, or of the same error."""
    name = tool.lower()
    words = text.lower()
    if any(
        _may_have_head(head, name, words) for head in _first_column(bank, _HEADS_QUERY, (project,))
    ):
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
    """Return the first column of a query; if the bank cannot be read, `_FITS_ANY_CALL` alone."""
    rows = _rows(bank, query, values)
    if rows is None:
        return [_FITS_ANY_CALL]
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
    joined = text.replace(_JSON_LINE_CONTINUATION, "")
    for escaped in _JSON_BLANKS:
        joined = joined.replace(escaped, " ")
    joined = joined.translate(_WITHOUT_QUOTES)
    if joined == text:
        return text
    return f"{text}\n{joined}"


def _may_be_guarded(key: str, tool: str, text: str) -> bool:
    """Return whether a call may have this key of a guard: `$ git`, `dist/`, `bundle.js`, `*.go`, `tool search`."""
    word = key.lower().removeprefix("$ ").strip("*/")
    return key == _FITS_ANY_CALL or word in text or word.removeprefix("tool ") in tool


def _may_have_head(head: str, tool: str, text: str) -> bool:
    """Return whether a call may have this head: `shell:git push`, `read:src/a.py`, `search`.

    The head of a shell command has its program and subcommand, which its text must have as words.
    """
    if head == _FITS_ANY_CALL:
        return True
    tool_of_head, _, command = head.lower().partition(":")
    if tool_of_head != "shell":
        return tool_of_head == tool
    return all(word in text for word in command.split() if word.isalnum())
