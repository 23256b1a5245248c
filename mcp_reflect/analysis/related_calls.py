"""Failing calls and the later ones that are their corrected form, and what differs between the two."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

from mcp_reflect.analysis.calls import Call
from mcp_reflect.analysis.text import word_set
from mcp_reflect.analysis.tools import Kind, bare_command, command_of, kind_of, program_of, suggestions_in
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Change, ErrorCategory
from mcp_reflect.signature import plain

HORIZON: Final = 30  # later calls of the same tool that are looked at for the one that worked
NAME_LIMIT: Final = 80  # characters of names that are compared letter by letter, which takes quadratic time
TEXT_LIMIT: Final = 8_000  # characters of longer texts that are compared word by word
ERROR_TEXT: Final = 3_000  # characters of an error in which names are looked for
NAME_RATIO: Final = 0.86  # one or two letters in a name of eight to fifteen; `test_a.py` and `test_b.py` stay apart
SHARED_WORDS: Final = 0.75  # share of the words of two texts with one meaning (Dice)

_WORD = re.compile(r"\w{1,80}")
_TOKEN = re.compile(r"[\w@./-]{2,80}")
_BRACKETS = re.compile(r"\([^()]{1,80}\)")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,7}\Z")
_PATH = re.compile(r"[/\\]|\.\w{1,8}$")
_SMALL = word_set(
    "a an the of in on at to for and or is was by with from as it its what who when where which how did do does s"
)
# Names of the argument that a call is about, best first.
_SUBJECTS = (
    *("command", "cmd", "code", "script", "sql"),
    *("query", "q", "path", "file_path", "filename", "file", "url", "uri", "selector", "search"),
)


def pairs_in(calls: Sequence[Call], *, succeeded: bool) -> dict[int, Call]:
    """By the index of a failed call, the first later one of the same intent that worked."""
    by_tool: dict[str, list[Call]] = {}
    for call in calls:
        if call.made:
            by_tool.setdefault(call.tool.lower(), []).append(call)
    pairs: dict[int, Call] = {}
    for group in by_tool.values():
        for place, failed in enumerate(group):
            later = group[place + 1 : place + 1 + HORIZON] if failed.failed else ()
            worked = next((call for call in later if call.worked and same_intent(failed, call, proved=succeeded)), None)
            if worked is not None:
                pairs[failed.index] = worked
    return dict(sorted(pairs.items()))


def same_intent(failed: Call, worked: Call, *, proved: bool = False) -> bool:
    """True where the working call is the corrected form of the failing one, not another call of the same tool.

    The argument that the call is about is the same, alike, or proposed by the failing answer, and little else changed.
    A search that finds something may have found another thing: it counts only where its words are those of the failed
    one, or the run is `proved` by its success.
    """
    if failed.exact == worked.exact:
        return True
    old, new = named_arguments(failed.arguments), named_arguments(worked.arguments)
    changes = changes_between(failed.arguments, worked.arguments)
    if not old or not new or not changes or len(changes) > max(2, len(old) // 2 + 1):
        return False
    error, subject = (failed.error or failed.answer)[:ERROR_TEXT].casefold(), _subject(old, failed.arguments)
    missing = failed.category in (ErrorCategory.NOT_FOUND, ErrorCategory.NO_RESULT)
    if missing and any(_names_another(failed, change) for change in changes if change.path != subject):
        return False
    if subject is None:  # numbers and flags only
        return not missing and (len(old) >= 3 or any(points_at(change, error) for change in changes))
    first, second = old[subject], new.get(subject)
    if not isinstance(first, str) or not isinstance(second, str):
        return False
    if first == second or names_alike(first, second):
        return True
    if failed.empty and not proved:
        one, two = _telling(first), _telling(_BRACKETS.sub(" ", second))  # `Mercury (planet)` is Mercury
        return bool(two) and two <= one and 2 * len(two) >= len(one)
    return (proved and suggested(second, failed)) or _alike(failed, first, second)


def _names_another(failed: Call, change: Change) -> bool:
    """True for a changed value that names another thing: LAX is not SEA, user 5 is not user 6."""
    before, after = change.before, change.after
    if change.added or change.removed or str(before) == str(after):  # 5 is "5"
        return False
    texts = isinstance(before, str) and isinstance(after, str)
    return not texts or not (names_alike(str(before), str(after)) or suggested(str(after), failed))


def _subject(old: dict[str, Json], arguments: Json) -> str | None:
    """The path of the argument that the call is about: a known name, else the longest text; None without a text."""
    texts = {path: value for path, value in old.items() if isinstance(value, str) and value.strip()}
    command = command_of(arguments)
    named = [path for path, value in texts.items() if command is not None and value == command]
    named += [path for name in _SUBJECTS for path in texts if path.lower() == name]
    return named[0] if named else max(texts, key=lambda path: (len(texts[path]), path), default=None)


def _alike(failed: Call, first: str, second: str) -> bool:
    """True for two commands, pieces of code, paths, queries or texts with one meaning."""
    kind, shared = kind_of(failed.tool, failed.arguments), _shared(first.split(), second.split()) >= SHARED_WORDS
    if kind is Kind.RUN or command_of(failed.arguments) == first:
        if "\n" in first:
            return shared
        (program, subcommand), other = program_of(first), program_of(second)
        same = program == other[0] and (subcommand == other[1] or not subcommand.isalpha())
        return first.strip() in second or (
            same and (_operands(first) == _operands(second) or (shared and kind is Kind.RUN))
        )
    if _PATH.search(first) and _PATH.search(second) and " " not in first.strip():
        one, two = (re.split(r"[/\\]", text.strip().rstrip("/\\").casefold()) for text in (first, second))
        return one[-1] == two[-1] or (names_alike(one[-1], two[-1]) and one[:-1] == two[:-1])
    return shared


def names_alike(first: str, second: str) -> bool:
    """True for names that differ in case, quotation marks, separators, or one or two letters (never digits alone)."""
    one, two = plain(first).casefold(), plain(second).casefold()
    if "*" in one or "*" in two:
        return one == two  # *.tsx and *.jsx are other files
    bare = [re.sub(r"[\W_]+", "", text) for text in (one, two)]
    return one == two or (bool(bare[0]) and bare[0] == bare[1]) or mistyped(one, two)


def mistyped(one: str, two: str) -> bool:
    """True for two names that are one or two letters apart, besides the ending that two files have in common."""
    ending = _ENDING.search(one)
    if ending and two.endswith(ending[0]):
        one, two = one.removesuffix(ending[0]), two.removesuffix(ending[0])
    shorter, longer = sorted((len(one), len(two)))
    if longer > NAME_LIMIT or shorter < 4 or 2 * shorter < NAME_RATIO * (shorter + longer):
        return False
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two) and sorted(one) != sorted(two):
        return False  # order-17 and order-18 are two orders; 4379 and 4397 are one, mistyped
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    return matcher.quick_ratio() >= NAME_RATIO and matcher.ratio() >= NAME_RATIO


def _operands(command: str) -> list[str]:
    words = bare_command(command)[:TEXT_LIMIT].split()[1:40]
    return sorted(
        word.strip("'\"") for word in words if not word.startswith("-") and word not in {"&&", "|", ";", "2>&1"}
    )


def _telling(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text[:TEXT_LIMIT].casefold())) - _SMALL


def _shared(first: Iterable[str], second: Iterable[str]) -> float:
    """The share of common words of two texts, in 0..1 (Dice)."""
    one, two = Counter(first), Counter(second)
    total = one.total() + two.total()
    return 2 * (one & two).total() / total if total else 0.0


def suggested(value: str, failed: Call) -> bool:
    """True where the failing answer proposed this very value."""
    wanted = plain(value).casefold()
    proposals = suggestions_in(failed.error or failed.answer)
    return len(wanted) >= 2 and any(plain(item).casefold() == wanted for item in proposals)


def points_at(change: Change, error: str) -> bool:
    """True where the error, in lower case, names the argument or one of its values."""
    words = {*_TOKEN.findall(error), *_WORD.findall(error)}
    values = [value for value in (change.before, change.after) if type(value) in (str, int, float)]
    shown = [plain(str(value)).casefold()[:200] for value in values]
    named = any(value in words if value.isalnum() else len(value) >= 3 and value in error for value in shown)
    return named or (len(change.path) >= 3 and change.path.casefold() in words)


def changes_between(before: Json, after: Json) -> tuple[Change, ...]:
    """The arguments that differ; a lone value is the argument `""`."""
    old, new = named_arguments(before), named_arguments(after)
    changes: list[Change] = []
    for path in dict.fromkeys((*old, *new)):
        one, two = old.get(path), new.get(path)
        added, removed = path not in old, path not in new
        if added or removed or type(one) is not type(two) or one != two:  # 1 is neither True nor "1"
            changes.append(Change(path=path, before=one, after=two, added=added, removed=removed))
    return tuple(changes)


def named_arguments(arguments: Json) -> dict[str, Json]:
    """The arguments of a call by name, a command as a line; a lone value has the name `""`."""
    if not isinstance(arguments, dict):
        return {"": arguments}
    return {
        name: (command_of({name: value}) or value) if isinstance(value, list) else value
        for name, value in arguments.items()
    }
