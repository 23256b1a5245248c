"""Whether a later call that worked is the corrected form of one that failed.

Any later success is not enough. The calls must be of one tool and mean the same thing: the argument that
says what the call is about is the same, or alike, or was proposed by the failing answer; and what changed
is little. `Tie` says how sure that is.
"""

import re
from enum import Enum, auto

from mcp_reflect.records.diagnosis import Change
from mcp_reflect.records.json import Json
from mcp_reflect.records.trace import ErrorCategory
from mcp_reflect.reflect.rules.alike import (
    CODE_DICE,
    WORD_DICE,
    code_alike,
    commands_alike,
    initials_of,
    looks_like_path,
    names_alike,
    paths_alike,
    queries_alike,
)
from mcp_reflect.reflect.rules.changes import changes_between, leaf_map, same
from mcp_reflect.reflect.rules.empty import suggestions_in
from mcp_reflect.reflect.rules.tools import Kind, command_of, kind_of
from mcp_reflect.reflect.rules.tried import Tried
from mcp_reflect.reflect.signature import plain

_SUBJECTS = (
    "command",
    "cmd",
    "code",
    "script",
    "sql",
    "query",
    "q",
    "path",
    "file_path",
    "filename",
    "file",
    "url",
    "uri",
    "selector",
    "search",
)
_ABOUT = frozenset({ErrorCategory.NOT_FOUND, ErrorCategory.NO_RESULT})
_WORD = re.compile(r"\w{1,80}")
_TOKEN = re.compile(r"[\w@./-]{2,80}")
_CODE_HINT = re.compile(r"[;{}=]|\n|\b(?:SELECT|INSERT|UPDATE|DELETE|def|import|const|let)\b")
ERROR_TEXT = 3_000  # characters of an error in which names are looked for


class Tie(Enum):
    """What ties two calls together, the surest first."""

    SAME = auto()  # the same arguments
    SUGGESTED = auto()  # the failing answer itself proposed what was then sent
    POINTED = auto()  # the error names what was then changed
    ALIKE = auto()  # the calls are alike and little else is known


def tie_between(failed: Tried, worked: Tried, *, proved: bool = False) -> Tie | None:
    """What ties them, or null where they are two intents.

    A proposal of the tool may lead to another thing altogether (VIVA Media AG to VIVA Plus). Unless it is
    alike, it counts only where the run is `proved` by its success.
    """
    if failed.exact == worked.exact:
        return Tie.SAME
    before, after = failed.call.arguments, worked.call.arguments
    old, new = leaf_map(before), leaf_map(after)
    if not old or not new or (before is None) != (after is None):
        return None
    changes = changes_between(before, after)
    if not changes or len(changes) > max(2, len(old) // 2 + 1):
        return None
    return _tie(failed, old, new, changes, _subject(old, before), proved=proved)


def _tie(
    failed: Tried,
    old: dict[str, Json],
    new: dict[str, Json],
    changes: tuple[Change, ...],
    subject: str | None,
    *,
    proved: bool,
) -> Tie | None:
    error = _error_text(failed)
    if subject is None:
        return _without_subject(failed, changes, error, len(old))
    first, second = old[subject], new.get(subject)
    if not isinstance(first, str) or not isinstance(second, str):
        return None
    if same(first, second):
        return Tie.POINTED if any(_points_at(change, error) for change in changes) else Tie.ALIKE
    tie = _text_tie(failed, first, second, error)
    if _suggested(second, failed) and (tie or proved or initials_of(first, second)):
        return Tie.SUGGESTED
    return tie


def _text_tie(failed: Tried, first: str, second: str, error: str) -> Tie | None:
    """The tie of two texts that say what a call is about, by what kind of text they are."""
    if kind_of(failed.call.tool, failed.call.arguments) is Kind.RUN or (
        command_of(failed.call.arguments) == first and "\n" not in first
    ):
        if "\n" not in first and commands_alike(first, second):
            return Tie.POINTED if _replaced_named(first, second, error) else Tie.ALIKE
    if _CODE_HINT.search(first[:2_000]) and not looks_like_path(first):
        dice = code_alike(first, second)
        if dice >= WORD_DICE and _replaced_named(first, second, error):
            return Tie.POINTED
        return Tie.ALIKE if dice >= CODE_DICE and failed.fault is not None and not failed.fault.empty else None
    if looks_like_path(first) and looks_like_path(second):
        return Tie.ALIKE if paths_alike(first, second) else None
    if kind_of(failed.call.tool, failed.call.arguments) is Kind.SEARCH:
        return Tie.ALIKE if queries_alike(first, second) else None
    return Tie.ALIKE if names_alike(first, second) else None


def _without_subject(failed: Tried, changes: tuple[Change, ...], error: str, count: int) -> Tie | None:
    """Numbers and flags only: tied where the error names the argument that was changed."""
    about_thing = failed.fault is not None and failed.fault.category in _ABOUT
    if not about_thing and any(_points_at(change, error) for change in changes):
        return Tie.POINTED
    return Tie.ALIKE if count >= 3 and len(changes) == 1 and not about_thing else None


def _subject(old: dict[str, Json], arguments: Json) -> str | None:
    """The path of the argument that says what the call is about: a known name, else the longest text."""
    texts = {path: value for path, value in old.items() if isinstance(value, str) and value.strip()}
    if not texts:
        return None
    command = command_of(arguments)
    for name in _SUBJECTS:
        for path in texts:
            if path.lower().rsplit(".", 1)[-1] == name and (
                command is None or name in _SUBJECTS[:5] or texts[path] == command
            ):
                return path
    return max(texts, key=lambda path: (len(str(texts[path])), path))


def _points_at(change: Change, error: str) -> bool:
    """Whether the error names the argument or its value."""
    words = _words_of(error)
    parts = [part for part in re.split(r"[.\[\]]", change.path.casefold()) if len(part) >= 3 and not part.isdigit()]
    return any(part in words for part in parts) or any(_names(error, words, shown) for shown in _values(change))


def _values(change: Change) -> list[str]:
    values = [
        value
        for value in (change.before, change.after)
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    return [plain(str(value)).casefold()[:200] for value in values]


def _names(error: str, words: frozenset[str], value: str) -> bool:
    return value in words if value.isalnum() else len(value) >= 3 and value in error


def _replaced_named(first: str, second: str, error: str) -> bool:
    """Whether a word that was taken out, or put in, is one that the error names."""
    old, new = set(_TOKEN.findall(first[:8_000])), set(_TOKEN.findall(second[:8_000]))
    words = _words_of(error)
    return any(word.casefold() in words for word in old ^ new if len(word) >= 3)


def _words_of(error: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(error)) | frozenset(_WORD.findall(error))


def _suggested(value: str, failed: Tried) -> bool:
    """Whether the failing answer proposed this very value."""
    wanted = plain(value).casefold()
    return len(wanted) >= 2 and any(plain(item).casefold() == wanted for item in suggestions_in(_answer(failed)))


def _answer(failed: Tried) -> str:
    return failed.call.error or failed.call.answer


def _error_text(failed: Tried) -> str:
    text = _answer(failed)
    edges = text if len(text) <= ERROR_TEXT else text[: ERROR_TEXT // 2] + "\n" + text[-ERROR_TEXT // 2 :]
    return edges.casefold()
