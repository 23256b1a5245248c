"""Whether a later call that worked is the corrected form of one that failed.

Any later success is not enough. The calls must be of one tool and mean the same thing: the argument that
says what the call is about is the same, or alike, or was proposed by the failing answer; and what changed
is little. `Tie` says how sure that is.
"""

import re

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Change
from mcp_reflect.reflect.rules.alike import looks_like_path, names_alike
from mcp_reflect.reflect.rules.changes import changes_between, leaf_map, same
from mcp_reflect.reflect.rules.text_ties import (
    Tie,
    about_thing,
    error_text,
    names_value,
    searched_tie,
    suggested,
    text_tie,
    words_of,
)
from mcp_reflect.reflect.rules.tools import command_of
from mcp_reflect.reflect.rules.tried import Tried
from mcp_reflect.signature import plain

_SUBJECTS = (
    *("command", "cmd", "code", "script", "sql"),
    *("query", "q", "path", "file_path", "filename", "file", "url", "uri", "selector", "search"),
)


def tie_between(failed: Tried, worked: Tried, *, proved: bool = False) -> Tie | None:
    """What ties them, or null where they are two intents.

    A search that finds something may have found another thing (VIVA Media AG, VIVA Plus). Unless the two
    queries are about one thing for certain, it counts only where the run is `proved` by its success.
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
    if about_thing(failed) and not _same_things(failed, old, new):
        return None
    return _tie(failed, old, new, changes, _subject(old, before), proved=proved)


def _same_things(failed: Tried, old: dict[str, Json], new: dict[str, Json]) -> bool:
    """Where a thing was not found, whether each changed text can still name the same thing, and no number changed.

    LAX is not SEA, and user 5 is not user 6. Free text (queries, commands, code) is judged by the tie.
    """
    for path, before in old.items():
        after = new.get(path, before)
        if same(before, after):
            continue
        if not isinstance(before, str) or not isinstance(after, str):
            return False
        free = " " in before.strip() or looks_like_path(before) or len(old) == 1
        if not free and not names_alike(before, after) and not suggested(after, failed):
            return False
    return True


def _tie(
    failed: Tried,
    old: dict[str, Json],
    new: dict[str, Json],
    changes: tuple[Change, ...],
    subject: str | None,
    *,
    proved: bool,
) -> Tie | None:
    error = error_text(failed)
    if subject is None:
        return _without_subject(failed, changes, error, len(old))
    first, second = old[subject], new.get(subject)
    if not isinstance(first, str) or not isinstance(second, str):
        return None
    if same(first, second):
        return Tie.POINTED if any(_points_at(change, error) for change in changes) else Tie.ALIKE
    if failed.fault is not None and failed.fault.empty and not proved:  # it found something: not that it was the thing
        return searched_tie(failed, first, second)
    others = any(same(value, new.get(path)) and isinstance(value, str) for path, value in old.items())
    named = others and len(changes) == 1 and not about_thing(failed) and _points_at(changes[0], error)
    tie = Tie.POINTED if named else text_tie(failed, first, second, error)
    return Tie.SUGGESTED if (tie or proved) and suggested(second, failed) else tie


def _without_subject(failed: Tried, changes: tuple[Change, ...], error: str, count: int) -> Tie | None:
    """Numbers and flags only: tied where the error names the argument that was changed."""
    missing = about_thing(failed)
    if not missing and any(_points_at(change, error) for change in changes):
        return Tie.POINTED
    return Tie.ALIKE if count >= 3 and len(changes) == 1 and not missing else None


def _subject(old: dict[str, Json], arguments: Json) -> str | None:
    """The path of the argument that says what the call is about: a known name, else the longest text."""
    texts = {path: value for path, value in old.items() if isinstance(value, str) and value.strip()}
    if not texts:
        return None
    command = command_of(arguments)
    for name in _SUBJECTS:
        for path, value in texts.items():
            named = path.lower().rsplit(".", 1)[-1] == name
            if named and (command is None or name in _SUBJECTS[:5] or value == command):
                return path
    return max(texts, key=lambda path: (len(str(texts[path])), path))


def _points_at(change: Change, error: str) -> bool:
    """Whether the error names the argument or its value."""
    words = words_of(error)
    parts = [part for part in re.split(r"[.\[\]]", change.path.casefold()) if len(part) >= 3 and not part.isdigit()]
    return any(part in words for part in parts) or any(names_value(error, words, shown) for shown in _values(change))


def _values(change: Change) -> list[str]:
    values = [
        value
        for value in (change.before, change.after)
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    return [plain(str(value)).casefold()[:200] for value in values]
