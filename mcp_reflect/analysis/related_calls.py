"""Whether two calls mean the same thing, and what differs between them."""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from mcp_reflect.analysis.call_results import Tried
from mcp_reflect.analysis.text import word_set
from mcp_reflect.analysis.tools import Kind, bare_command, command_of, kind_of, program_of, suggestions_in
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Change, ErrorCategory
from mcp_reflect.signature import plain

NAME_LIMIT = 80  # characters: names are compared letter by letter, which takes quadratic time
TEXT_LIMIT = 8_000  # characters of longer texts that are compared word by word
ERROR_TEXT = 3_000  # characters of an error in which names are looked for
NAME_RATIO = 0.86  # one or two letters in a name of eight to fifteen; `test_a.py` and `test_b.py` stay apart
QUERY_DICE = 0.75  # shared words of two queries where both have words of their own
CODE_DICE = 0.8  # shared words of two pieces of code

_WORD = re.compile(r"\w{1,80}")
_TOKEN = re.compile(r"[\w@./-]{2,80}")
_BRACKETS = re.compile(r"\([^()]{1,80}\)")
_CODE_HINT = re.compile(r"[;{}=]|\n|\b(?:SELECT|INSERT|UPDATE|DELETE|def|import|const|let)\b")
_SMALL = word_set(
    """
    a an the of in on at to for and or is was by with from as it its what who when where which how did do does s
    """
)
# The argument that says what a call is about.
_SUBJECTS = (
    *("command", "cmd", "code", "script", "sql"),
    *("query", "q", "path", "file_path", "filename", "file", "url", "uri", "selector", "search"),
)


def same_intent(failed: Tried, worked: Tried, *, proved: bool = False) -> bool:
    """True where the working call is the corrected form of the failing one, not another call of the same tool.

    The argument that says what the call is about is the same, or alike, or was proposed by the failing answer, and
    little else changed. A search that finds something may have found another thing (VIVA Media AG, VIVA Plus): unless
    the two queries are about one thing for certain, it counts only where the run is `proved` by its success.
    """
    if failed.exact == worked.exact:
        return True
    old, new = leaf_map(failed.call.arguments), leaf_map(worked.call.arguments)
    changes = changes_between(failed.call.arguments, worked.call.arguments)
    if not old or not new or not changes or len(changes) > max(2, len(old) // 2 + 1):
        return False
    error, missing = error_text(failed), _about_thing(failed)
    if missing and not _same_things(failed, old, new):
        return False
    subject = _subject(old, failed.call.arguments)
    if subject is None:  # numbers and flags only
        return not missing and (any(points_at(c, error) for c in changes) or (len(old) >= 3 and len(changes) == 1))
    first, second = old[subject], new.get(subject)
    if not isinstance(first, str) or not isinstance(second, str):
        return False
    if _equal(first, second):
        return True
    if failed.fault is not None and failed.fault.empty and not proved:
        proposed = suggested(second, failed) and (names_alike(first, second) or _initials_of(first, second))
        return proposed or _same_subject(first, second)
    others = any(_equal(value, new.get(path)) and isinstance(value, str) for path, value in old.items())
    if others and len(changes) == 1 and not missing and points_at(changes[0], error):
        return True
    return (proved and suggested(second, failed)) or _texts_alike(failed, first, second, error)


def _texts_alike(failed: Tried, first: str, second: str, error: str) -> bool:
    """Whether two commands, pieces of code, paths, queries or names mean the same thing."""
    kind, command = kind_of(failed.call.tool, failed.call.arguments), command_of(failed.call.arguments)
    if "\n" not in first and (kind is Kind.RUN or command == first):
        named = (
            _code_alike(first, second) >= CODE_DICE
            and not _about_missing(failed)
            and _names_removed(first, second, error)
        )
        if _commands_alike(first, second) or (named and program_of(first)[0] == program_of(second)[0]):
            return True
    path = _looks_like_path(first)
    if _CODE_HINT.search(first[:2_000]) and not path:
        dice = _code_alike(first, second)
        named = "\n" not in first and dice >= 0.6 and _names_removed(first, second, error)
        return named or (dice >= CODE_DICE and failed.fault is not None and not failed.fault.empty)
    if path and _looks_like_path(second):
        return _paths_alike(first, second)
    return _queries_alike(first, second) if kind is Kind.SEARCH else names_alike(first, second)


def _same_things(failed: Tried, old: dict[str, Json], new: dict[str, Json]) -> bool:
    """Where a thing was not found, whether each changed text can still name the same thing, and no number changed.

    LAX is not SEA, and user 5 is not user 6. Free text (queries, commands, code) is compared elsewhere.
    """
    for path, before in old.items():
        after = new.get(path, before)
        if _equal(before, after):
            continue
        if not isinstance(before, str) or not isinstance(after, str):
            return False
        free = " " in before.strip() or _looks_like_path(before) or len(old) == 1
        if not free and not names_alike(before, after) and not suggested(after, failed):
            return False
    return True


def _subject(old: dict[str, Json], arguments: Json) -> str | None:
    """The path of the argument that says what the call is about: a known name, else the longest text."""
    texts = {path: value for path, value in old.items() if isinstance(value, str) and value.strip()}
    command = command_of(arguments)
    for name in _SUBJECTS:
        for path, value in texts.items():
            named = path.lower().rsplit(".", 1)[-1] == name
            if named and (command is None or name in _SUBJECTS[:5] or value == command):
                return path
    return max(texts, key=lambda path: (len(str(texts[path])), path), default=None)


# Names, paths, queries, commands.


def names_alike(first: str, second: str) -> bool:
    """Names that differ in dress or by a slip: case, quotes, separators, one or two letters (never digits alone)."""
    one, two = plain(first).casefold(), plain(second).casefold()
    if one == two:
        return True
    if "*" in one or "*" in two:
        return False  # *.tsx and *.jsx are other files
    bare = [re.sub(r"[\W_]+", "", text) for text in (one, two)]
    return (bool(bare[0]) and bare[0] == bare[1]) or mistyped(one, two)


def mistyped(one: str, two: str) -> bool:
    """Whether two names are one or two letters apart. The cheap tests, which rule most names out, come first."""
    if max(len(one), len(two)) > NAME_LIMIT or min(len(one), len(two)) < 4:
        return False
    if 2 * min(len(one), len(two)) < NAME_RATIO * (len(one) + len(two)):
        return False
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two) and sorted(one) != sorted(two):
        return False  # order-17 and order-18 are two orders; 4379 and 4397 are one, mistyped
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    return matcher.quick_ratio() >= NAME_RATIO and matcher.ratio() >= NAME_RATIO


def _looks_like_path(text: str) -> bool:
    return " " not in text.strip() and bool(re.search(r"[/\\]|\.\w{1,8}$", text[:1_000]))


def _paths_alike(first: str, second: str) -> bool:
    """The same file looked for elsewhere, or nearly the same name in the same place."""
    one, two = first.strip().rstrip("/\\"), second.strip().rstrip("/\\")
    name, other = re.split(r"[/\\]", one)[-1], re.split(r"[/\\]", two)[-1]
    if name.casefold() == other.casefold():
        return name.casefold() not in {"index.html", "__init__.py", "readme.md", "index.js", "index.ts", "mod.rs", "."}
    stem, other_stem = name.rsplit(".", 1)[0], other.rsplit(".", 1)[0]
    if stem.casefold() == other_stem.casefold() and stem and "." in name and "." in other:
        return True
    return names_alike(name, other) and (one[: -len(name)] == two[: -len(other)] or len(name) > 12)


def _queries_alike(first: str, second: str) -> bool:
    """The same question in other words: the telling words of one are all in the other, or most are shared."""
    if names_alike(first, second):
        return True
    one, two = _telling(first), _telling(second)
    shared = one & two
    if shared in (one, two):  # words left out, or added: at most as many as stay
        return bool(shared) and 2 * len(shared) >= max(len(one), len(two))
    return 2 * len(shared) / (len(one) + len(two)) >= QUERY_DICE


def _same_subject(first: str, second: str) -> bool:
    """Queries about one thing for certain: equal but for quotes, words left out, or a sense given in brackets."""
    one, two = _telling(first), _telling(_BRACKETS.sub(" ", second))
    return names_alike(first, second) or (bool(two) and two <= one and 2 * len(two) >= len(one))


def _initials_of(short: str, long: str) -> bool:
    """Whether one is the initials of the other: SAS, Special Air Service."""
    letters = re.sub(r"[\W_]+", "", short).casefold()
    words = [word for word in _WORD.findall(long[:200].casefold()) if word not in _SMALL]
    return 2 <= len(letters) <= 8 and letters == "".join(word[0] for word in words)


def _telling(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text[:TEXT_LIMIT].casefold())) - _SMALL


def _code_alike(first: str, second: str) -> float:
    """Shared words of two texts, counted: 1 is the same words, 0 none."""
    one, two = Counter(_WORD.findall(first[:TEXT_LIMIT])), Counter(_WORD.findall(second[:TEXT_LIMIT]))
    total = sum(one.values()) + sum(two.values())
    return 2 * sum((one & two).values()) / total if total else 0.0


def _commands_alike(first: str, second: str) -> bool:
    """The same program on the same things: options may differ, what it works on may not, save for a slip."""
    if first.strip() and first.strip() in second:
        return True
    one, two = program_of(first), program_of(second)
    if not one[0] or one[0] != two[0]:
        return False
    old, new = _operands(first), _operands(second)
    if not old:
        return one[1] == two[1] or one[1].startswith("-")
    if len(old) > 1 and one[1].isalpha() and not names_alike(one[1], two[1]):
        return False  # git push and git pull, pip install and pip list
    matched = sum(
        any(names_alike(item, other) or (_looks_like_path(item) and _paths_alike(item, other)) for other in new)
        for item in old
    )
    if len(old) == 1 and len(new) == 1 and not matched:
        return False
    return matched * 2 > len(old) and (len(old) > 1 or len(new) <= 3)


def _operands(command: str) -> list[str]:
    """The words of a command after its program, without options."""
    words = bare_command(command)[:TEXT_LIMIT].split()[1:40]
    return [word.strip("'\"") for word in words if not word.startswith("-") and word not in {"&&", "|", ";", "2>&1"}]


# What an error says of a call.


def suggested(value: str, failed: Tried) -> bool:
    """Whether the failing answer proposed this very value."""
    wanted = plain(value).casefold()
    proposals = suggestions_in(failed.call.error or failed.call.answer)
    return len(wanted) >= 2 and any(plain(item).casefold() == wanted for item in proposals)


def error_text(failed: Tried) -> str:
    """Both ends of what the call answered, in lower case."""
    text = failed.call.error or failed.call.answer
    edges = text if len(text) <= ERROR_TEXT else text[: ERROR_TEXT // 2] + "\n" + text[-ERROR_TEXT // 2 :]
    return edges.casefold()


def points_at(change: Change, error: str) -> bool:
    """Whether the error, in lower case, names the argument or its value."""
    words = _words_of(error)
    parts = [part for part in re.split(r"[.\[\]]", change.path.casefold()) if len(part) >= 3 and not part.isdigit()]
    values = [value for value in (change.before, change.after) if type(value) in (str, int, float)]
    shown = [plain(str(value)).casefold()[:200] for value in values]
    named = any(value in words if value.isalnum() else len(value) >= 3 and value in error for value in shown)
    return named or any(part in words for part in parts)


def _about_thing(failed: Tried) -> bool:
    """The failure is that something is not there: what is sent next may be about another thing."""
    about = (ErrorCategory.NOT_FOUND, ErrorCategory.NO_RESULT)
    return failed.fault is not None and failed.fault.category in about


def _about_missing(failed: Tried) -> bool:
    return _about_thing(failed) or (failed.fault is not None and failed.fault.category is ErrorCategory.DEPENDENCY)


def _names_removed(first: str, second: str, error: str) -> bool:
    """Whether a word that was taken out is one that the error names."""
    old, new = set(_TOKEN.findall(first[:TEXT_LIMIT])), set(_TOKEN.findall(second[:TEXT_LIMIT]))
    words = _words_of(error)
    return any(word.casefold() in words for word in old - new if len(word) >= 3)


def _words_of(error: str) -> frozenset[str]:
    """The words and dotted names of an error."""
    return frozenset(_TOKEN.findall(error)) | frozenset(_WORD.findall(error))


# What differs between the arguments of two calls.


MAX_LEAVES = 200  # arguments compared; a call with more is a bulk of data
MAX_DEPTH = 12
VALUE_LIMIT = 300  # characters of a text that are kept


def leaf_map(value: Json) -> dict[str, Json]:
    """The first MAX_LEAVES arguments by path: `{"filters.dates[0]": "2024-05-01"}`. A lone value has the path `""`."""
    found: dict[str, Json] = {}
    for path, item in _leaves(value, "", 0):
        found[path] = item
        if len(found) >= MAX_LEAVES:
            break
    return found


def _leaves(value: Json, path: str, depth: int) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict) and value and depth < MAX_DEPTH:
        for key in sorted(value, key=str):
            yield from _leaves(value[key], f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and value and depth < MAX_DEPTH:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]", depth + 1)
    else:
        yield path, value


def changes_between(before: Json, after: Json) -> tuple[Change, ...]:
    """The arguments that differ, in the order of their paths; long texts are cut in their middle."""
    old, new = leaf_map(before), leaf_map(after)
    found: list[Change] = []
    for path in dict.fromkeys((*old, *new)):
        if path not in new:
            found.append(Change(path=path, before=_bounded(old[path]), after=None, removed=True))
        elif path not in old:
            found.append(Change(path=path, before=None, after=_bounded(new[path]), added=True))
        elif not _equal(old[path], new[path]):
            found.append(Change(path=path, before=_bounded(old[path]), after=_bounded(new[path])))
    return tuple(found)


def _equal(first: Json, second: Json) -> bool:
    """Equal and of the same type: 1 is neither True nor 1.0 nor "1", since a service may mind."""
    return type(first) is type(second) and first == second


def _bounded(value: Json) -> Json:
    if isinstance(value, str) and len(value) > VALUE_LIMIT:
        return f"{value[: VALUE_LIMIT * 2 // 3]} ... {value[-VALUE_LIMIT // 4 :]}"
    return value if not isinstance(value, dict | list) else type(value)()
