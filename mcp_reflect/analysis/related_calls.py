"""Whether a later call that worked is the corrected form of a failing one."""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from enum import Enum, auto

from mcp_reflect.analysis.call_results import Tried
from mcp_reflect.analysis.text import word_set
from mcp_reflect.analysis.tools import Kind, bare_command, command_of, kind_of, program_of, suggestions_in
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Change, ErrorCategory
from mcp_reflect.signature import plain

# Whether two values of an argument mean the same thing to whoever sent them: a name, a path, a query, a command.


NAME_LIMIT = 80  # characters: names are compared letter by letter, which takes quadratic time
TEXT_LIMIT = 8_000  # characters of longer texts that are compared word by word
NAME_RATIO = 0.86  # one or two letters in a name of eight to fifteen; `test_a.py` and `test_b.py` stay apart
QUERY_DICE = 0.75  # shared words of two queries where both have words of their own
WORD_DICE = 0.6  # shared words of two pieces of code where the error names what was changed
CODE_DICE = 0.8  # shared words of two pieces of code that nothing else ties together

_WORD_ALIKE = re.compile(r"\w{1,64}")
_BRACKETS = re.compile(r"\([^()]{1,80}\)")
_SMALL = word_set(
    """
    a an the of in on at to for and or is was by with from as it its what who when where which how did do does s
    """
)


def looks_like_path(text: str) -> bool:
    """A file path or URL: slashes or an extension, and no spaces."""
    return " " not in text.strip() and bool(re.search(r"[/\\]|\.\w{1,8}$", text[:1_000]))


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
    """One or two letters apart. The cheap tests, which rule most names out, come first."""
    if max(len(one), len(two)) > NAME_LIMIT or min(len(one), len(two)) < 4:
        return False
    if 2 * min(len(one), len(two)) < NAME_RATIO * (len(one) + len(two)):
        return False
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two) and sorted(one) != sorted(two):
        return False  # order-17 and order-18 are two orders; 4379 and 4397 are one, mistyped
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    return matcher.quick_ratio() >= NAME_RATIO and matcher.ratio() >= NAME_RATIO


def paths_alike(first: str, second: str) -> bool:
    """The same file looked for elsewhere, or nearly the same name in the same place."""
    one, two = first.strip().rstrip("/\\"), second.strip().rstrip("/\\")
    name, other = re.split(r"[/\\]", one)[-1], re.split(r"[/\\]", two)[-1]
    if name.casefold() == other.casefold():
        return name.casefold() not in {"index.html", "__init__.py", "readme.md", "index.js", "index.ts", "mod.rs", "."}
    stem, other_stem = name.rsplit(".", 1)[0], other.rsplit(".", 1)[0]
    if stem.casefold() == other_stem.casefold() and stem and "." in name and "." in other:
        return True
    return names_alike(name, other) and (one[: -len(name)] == two[: -len(other)] or len(name) > 12)


def queries_alike(first: str, second: str) -> bool:
    """The same question in other words: the telling words of one are all in the other, or most are shared."""
    if names_alike(first, second):
        return True
    one, two = telling(first), telling(second)
    shared = one & two
    if not shared:
        return False
    if shared in (one, two):  # words left out, or added: at most as many as stay
        return 2 * len(shared) >= max(len(one), len(two))
    return 2 * len(shared) / (len(one) + len(two)) >= QUERY_DICE


def same_subject(first: str, second: str) -> bool:
    """Queries about one thing for certain: equal but for quotes, words left out, or a sense given in brackets."""
    one, two = telling(first), telling(_BRACKETS.sub(" ", second))
    return names_alike(first, second) or (bool(two) and two <= one and 2 * len(two) >= len(one))


def initials_of(short: str, long: str) -> bool:
    """Whether one is the initials of the other: SAS, Special Air Service."""
    letters = re.sub(r"[\W_]+", "", short).casefold()
    words = [word for word in _WORD_ALIKE.findall(long[:200].casefold()) if word not in _SMALL]
    return 2 <= len(letters) <= 8 and letters == "".join(word[0] for word in words)


def telling(text: str) -> frozenset[str]:
    """The words of a text that say what it is about."""
    return frozenset(_WORD_ALIKE.findall(text[:TEXT_LIMIT].casefold())) - _SMALL


def code_alike(first: str, second: str) -> float:
    """Shared words of two texts, counted: 1 is the same words, 0 none."""
    one, two = Counter(_WORD_ALIKE.findall(first[:TEXT_LIMIT])), Counter(_WORD_ALIKE.findall(second[:TEXT_LIMIT]))
    total = sum(one.values()) + sum(two.values())
    return 2 * sum((one & two).values()) / total if total else 0.0


def commands_alike(first: str, second: str) -> bool:
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
        any(names_alike(item, other) or (looks_like_path(item) and paths_alike(item, other)) for other in new)
        for item in old
    )
    if len(old) == 1 and len(new) == 1 and not matched:
        return False
    return matched * 2 > len(old) and (len(old) > 1 or len(new) <= 3)


def _operands(command: str) -> list[str]:
    """The words of a command after its program, without options."""
    words = bare_command(command)[:TEXT_LIMIT].split()[1:40]
    return [word.strip("'\"") for word in words if not word.startswith("-") and word not in {"&&", "|", ";", "2>&1"}]


# What differs between the arguments of two calls, argument by argument.


MAX_LEAVES = 200  # arguments compared; a call with more is a bulk of data
MAX_DEPTH = 12
VALUE_LIMIT = 300  # characters of a text kept as it was; a longer one is narrowed to what differs
MARGIN = 40  # characters kept around a difference


def leaves(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, Json]]:
    """Path and value of each argument: `("filters.dates[0]", "2024-05-01")`. A lone value has the path `""`."""
    if isinstance(value, dict) and value and depth < MAX_DEPTH:
        for key in sorted(value, key=str):
            yield from leaves(value[key], f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and value and depth < MAX_DEPTH:
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]", depth + 1)
    else:
        yield path, value


def leaf_map(value: Json) -> dict[str, Json]:
    """The first MAX_LEAVES arguments by path."""
    found: dict[str, Json] = {}
    for path, item in leaves(value):
        found[path] = item
        if len(found) >= MAX_LEAVES:
            break
    return found


def changes_between(before: Json, after: Json) -> tuple[Change, ...]:
    """The arguments that differ, in the order of their paths; long texts narrowed to where they differ."""
    old, new = leaf_map(before), leaf_map(after)
    found: list[Change] = []
    for path in dict.fromkeys((*old, *new)):
        if path not in new:
            found.append(Change(path=path, before=_bounded(old[path]), after=None, removed=True))
        elif path not in old:
            found.append(Change(path=path, before=None, after=_bounded(new[path]), added=True))
        elif not same(old[path], new[path]):
            first, second = narrowed(old[path], new[path])
            found.append(Change(path=path, before=first, after=second))
    return tuple(found)


def same(first: Json, second: Json) -> bool:
    """Equal and of the same type: 1 is neither True nor 1.0 nor "1", since a service may mind."""
    return type(first) is type(second) and first == second


def narrowed(first: Json, second: Json) -> tuple[Json, Json]:
    """Both values; where they are long texts, the part that differs with a little around it."""
    if not isinstance(first, str) or not isinstance(second, str) or max(len(first), len(second)) <= VALUE_LIMIT:
        return _bounded(first), _bounded(second)
    if "\n" in first and "\n" in second:
        one, two = _only_in(first, second), _only_in(second, first)
        if one or two:
            return _bounded(one), _bounded(two)
    start = _common(first, second)
    end = _common(first[start:][::-1], second[start:][::-1])
    return _window(first, start, len(first) - end), _window(second, start, len(second) - end)


def _only_in(first: str, second: str) -> str:
    """The lines of a text that the other does not have."""
    others = {line.strip() for line in second.split("\n")}
    return "\n".join(line for line in first.split("\n") if line.strip() not in others)


def _window(text: str, start: int, end: int) -> str:
    left, right = max(0, start - MARGIN), min(len(text), end + MARGIN)
    part = text[left:right]
    shown = part if len(part) <= VALUE_LIMIT else f"{part[: VALUE_LIMIT * 2 // 3]} ... {part[-VALUE_LIMIT // 4 :]}"
    return f"{'... ' if left else ''}{shown}{' ...' if right < len(text) else ''}"


def _common(first: str, second: str) -> int:
    """How many characters two texts share from their start."""
    shorter = min(len(first), len(second))
    low, high = 0, shorter
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _bounded(value: Json) -> Json:
    if isinstance(value, str) and len(value) > VALUE_LIMIT:
        return f"{value[: VALUE_LIMIT * 2 // 3]} ... {value[-VALUE_LIMIT // 4 :]}"
    return value if not isinstance(value, dict | list) else type(value)()


# What ties two texts that say what a call is about: queries, paths, commands, code.


ERROR_TEXT = 3_000  # characters of an error in which names are looked for

_ABOUT = frozenset({ErrorCategory.NOT_FOUND, ErrorCategory.NO_RESULT})
_WORD_TEXT_TIES = re.compile(r"\w{1,80}")
_TOKEN = re.compile(r"[\w@./-]{2,80}")
_CODE_HINT = re.compile(r"[;{}=]|\n|\b(?:SELECT|INSERT|UPDATE|DELETE|def|import|const|let)\b")


class Tie(Enum):
    """What ties two calls together, the surest first."""

    SAME = auto()  # the same arguments
    SUGGESTED = auto()  # the failing answer itself proposed what was then sent
    POINTED = auto()  # the error names what was then changed
    ALIKE = auto()  # the calls are alike and little else is known


def searched_tie(failed: Tried, first: str, second: str) -> Tie | None:
    """The tie of two queries where nothing proves that what was found is what was looked for."""
    if suggested(second, failed) and (names_alike(first, second) or initials_of(first, second)):
        return Tie.SUGGESTED
    return Tie.ALIKE if same_subject(first, second) else None


def text_tie(failed: Tried, first: str, second: str, error: str) -> Tie | None:
    """The tie of two texts, by what kind of text they are."""
    kind, command = kind_of(failed.call.tool, failed.call.arguments), command_of(failed.call.arguments)
    if "\n" not in first and (kind is Kind.RUN or command == first):
        tie = _command_tie(failed, first, second, error)
        if tie is not None:
            return tie
    if _CODE_HINT.search(first[:2_000]) and not looks_like_path(first):
        return _code_tie(failed, first, second, error)
    alike = queries_alike if kind is Kind.SEARCH else names_alike
    if looks_like_path(first) and looks_like_path(second):
        alike = paths_alike
    return Tie.ALIKE if alike(first, second) else None


def _command_tie(failed: Tried, first: str, second: str, error: str) -> Tie | None:
    if commands_alike(first, second):
        return Tie.POINTED if _replaced_named(first, second, error) else Tie.ALIKE
    return Tie.POINTED if _named_option(failed, first, second, error) else None


def _code_tie(failed: Tried, first: str, second: str, error: str) -> Tie | None:
    dice = code_alike(first, second)
    if "\n" not in first and dice >= WORD_DICE and _replaced_named(first, second, error):
        return Tie.POINTED
    return Tie.ALIKE if dice >= CODE_DICE and failed.fault is not None and not failed.fault.empty else None


def _named_option(failed: Tried, first: str, second: str, error: str) -> bool:
    """The same command but for a word that the error names: a port in use. A missing thing is another thing."""
    missing = about_thing(failed) or (failed.fault is not None and failed.fault.category is ErrorCategory.DEPENDENCY)
    same_program = program_of(first)[0] == program_of(second)[0]
    return (
        same_program
        and not missing
        and code_alike(first, second) >= CODE_DICE
        and _replaced_named(first, second, error)
    )


def about_thing(failed: Tried) -> bool:
    """The failure is that something is not there: what is sent next may be about another thing."""
    return failed.fault is not None and failed.fault.category in _ABOUT


def names_value(error: str, words: frozenset[str], value: str) -> bool:
    """Whether the error names the value."""
    return value in words if value.isalnum() else len(value) >= 3 and value in error


def _replaced_named(first: str, second: str, error: str) -> bool:
    """Whether a word that was taken out is one that the error names."""
    old, new = set(_TOKEN.findall(first[:8_000])), set(_TOKEN.findall(second[:8_000]))
    words = words_of(error)
    return any(word.casefold() in words for word in old - new if len(word) >= 3)


def words_of(error: str) -> frozenset[str]:
    """The words and dotted names of an error."""
    return frozenset(_TOKEN.findall(error)) | frozenset(_WORD_TEXT_TIES.findall(error))


def suggested(value: str, failed: Tried) -> bool:
    """Whether the failing answer proposed this very value."""
    wanted = plain(value).casefold()
    return len(wanted) >= 2 and any(plain(item).casefold() == wanted for item in suggestions_in(_answer(failed)))


def _answer(failed: Tried) -> str:
    return failed.call.error or failed.call.answer


def error_text(failed: Tried) -> str:
    """Both ends of what the call answered, in lower case."""
    text = _answer(failed)
    edges = text if len(text) <= ERROR_TEXT else text[: ERROR_TEXT // 2] + "\n" + text[-ERROR_TEXT // 2 :]
    return edges.casefold()


# Whether a later call that worked is the corrected form of one that failed.
#
# Any later success is not enough. The calls must be of one tool and mean the same thing: the argument that
# says what the call is about is the same, or alike, or was proposed by the failing answer; and what changed
# is little. `Tie` says how sure that is.


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
        return Tie.POINTED if any(points_at(change, error) for change in changes) else Tie.ALIKE
    if failed.fault is not None and failed.fault.empty and not proved:  # it found something: not that it was the thing
        return searched_tie(failed, first, second)
    others = any(same(value, new.get(path)) and isinstance(value, str) for path, value in old.items())
    named = others and len(changes) == 1 and not about_thing(failed) and points_at(changes[0], error)
    tie = Tie.POINTED if named else text_tie(failed, first, second, error)
    return Tie.SUGGESTED if (tie or proved) and suggested(second, failed) else tie


def _without_subject(failed: Tried, changes: tuple[Change, ...], error: str, count: int) -> Tie | None:
    """Numbers and flags only: tied where the error names the argument that was changed."""
    missing = about_thing(failed)
    if not missing and any(points_at(change, error) for change in changes):
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


def points_at(change: Change, error: str) -> bool:
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
