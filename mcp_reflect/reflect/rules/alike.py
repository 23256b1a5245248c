"""Whether two values of an argument mean the same thing to whoever sent them: a name, a path, a query, a command."""

import re
from collections import Counter
from difflib import SequenceMatcher

from mcp_reflect.reflect.rules.patterns import word_set
from mcp_reflect.reflect.rules.tools import bare_command, program_of
from mcp_reflect.signature import plain

NAME_LIMIT = 80  # characters: names are compared letter by letter, which takes quadratic time
TEXT_LIMIT = 8_000  # characters of longer texts that are compared word by word
NAME_RATIO = 0.86  # one or two letters in a name of eight to fifteen; `test_a.py` and `test_b.py` stay apart
QUERY_DICE = 0.75  # shared words of two queries where both have words of their own
WORD_DICE = 0.6  # shared words of two pieces of code where the error names what was changed
CODE_DICE = 0.8  # shared words of two pieces of code that nothing else ties together

_WORD = re.compile(r"\w{1,64}")
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
    return (bool(bare[0]) and bare[0] == bare[1]) or _mistyped(one, two)


def _mistyped(one: str, two: str) -> bool:
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
    words = [word for word in _WORD.findall(long[:200].casefold()) if word not in _SMALL]
    return 2 <= len(letters) <= 8 and letters == "".join(word[0] for word in words)


def telling(text: str) -> frozenset[str]:
    """The words of a text that say what it is about."""
    return frozenset(_WORD.findall(text[:TEXT_LIMIT].casefold())) - _SMALL


def code_alike(first: str, second: str) -> float:
    """Shared words of two texts, counted: 1 is the same words, 0 none."""
    one, two = Counter(_WORD.findall(first[:TEXT_LIMIT])), Counter(_WORD.findall(second[:TEXT_LIMIT]))
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
