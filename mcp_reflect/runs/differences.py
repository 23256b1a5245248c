"""What differs between two calls of one kind: a word of a command, its program, its folder, a step, an argument."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.runs.text import word_set
from mcp_reflect.runs.tools import READING_PROGRAMS, command_of, is_shell
from mcp_reflect.shell import segments
from mcp_reflect.signature import plain

_HEREDOC: Final = lazy_compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:\n\s*\2\s*$|\Z)", re.DOTALL | re.MULTILINE)
_SUBCOMMAND: Final = lazy_compile(r"[a-z][a-z0-9_:-]{1,30}$")
# Words before a program that only say how it is run.
_RUNNERS: Final = lazy_compile(
    r"(?:(?:do|then|else|!|\{|sudo|doas|time|nice|nohup|command|env|exec|npx|bunx|uvx|timeout \S+|python3? -m"
    r"|(?:uv|poetry|pipenv|pdm|hatch|rye|conda) run|(?:bundle|npm|pnpm|yarn) exec|pnpm dlx|[A-Za-z_]\w{0,80}=\S*) )*"
)
# Words of the shell's own, which run nothing.
_SYNTAX: Final = word_set("for while until case select if fi done esac set exec }")
_INTERPRETERS: Final = word_set("python python3 node ruby perl bash sh zsh deno bun tsx php")
# Subcommands that name what they do only with the next word: npm run build, gh pr create, docker compose up.
_GROUPS: Final = word_set("run compose pr issue repo tool pip stack config remote stash secret db workspace")
_FOLDERS: Final = ("cwd", "workdir", "dir_path", "directory")
MOST_WORDS: Final = 60  # words of a command that are compared


class Part(NamedTuple):
    """One command of a call: the words before its program, what it is a call of (`git push`), and all its words."""

    runner: tuple[str, ...]
    program: str
    subcommand: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The command as one line."""
        return _line(self.words)

    @property
    def own_words(self) -> tuple[str, ...]:
        """The words from the program on."""
        return (self.program, *self.words[len(self.runner) + 1 :])

    @property
    def operands(self) -> tuple[str, ...]:
        """The words after the program that are not flags."""
        return tuple(word for word in self.words[len(self.runner) + 1 :] if not word.startswith("-"))


class Change(NamedTuple):
    """One place in which two calls differ: what was there, and what came instead.

    `name` is the flag before words of a command, or the argument; nested arguments are one. `""` and None are absent.
    """

    name: str
    before: Json
    after: Json


class Difference(NamedTuple):
    """The part of a call that failed, the part that worked instead, and the places in which they differ.

    `added` are commands that only the working call has, before the part that is the same; `wrong` and `right` are
    None for a call that is not a command.
    """

    changes: tuple[Change, ...]
    wrong: Part | None = None
    right: Part | None = None
    added: tuple[Part, ...] = ()
    removed: tuple[Part, ...] = ()


def parts_of(tool: str, arguments: Json) -> tuple[Part, ...]:
    """The commands of a call to a shell, in order; none for another tool. Its folder is a `cd` in front."""
    command = command_of(arguments)
    if not command or not (is_shell(tool) or (command.startswith(f"{tool} ") and "\n" not in command)):
        return ()
    values = arguments if isinstance(arguments, dict) else {}
    folder = next((value for key in _FOLDERS if isinstance(value := values.get(key), str) and value), None)
    parts = _commands(command)
    return (Part((), "cd", "", ("cd", folder)), *parts) if folder and parts else parts


@lru_cache(maxsize=1_000)
def _commands(command: str) -> tuple[Part, ...]:
    lines = segments(_HEREDOC.sub("<<heredoc", command))
    parts = (_part(words[:MOST_WORDS]) for words in lines)
    return tuple(part for part in parts if part is not None and part.program not in _SYNTAX)


def _part(words: Sequence[str]) -> Part | None:
    runners = _RUNNERS.match("".join("_".join(word.split()) + " " for word in words))
    start = runners[0].count(" ") if runners else 0
    if start >= len(words):
        return None
    program, rest = words[start], words[start + 1 :]
    name = program.rsplit("/", 1)[-1] if program.startswith(("/usr/", "/bin/", "/opt/")) else program
    named = [word for word in rest[:4] if not word.startswith("-")][:2]
    reads = name in READING_PROGRAMS or name.rsplit("/", 1)[-1] in _INTERPRETERS
    subcommand = ""
    if named and not reads and _SUBCOMMAND.match(named[0]):
        group = named[0] in _GROUPS and len(named) > 1 and _SUBCOMMAND.match(named[1])
        subcommand = " ".join(named) if group else named[0]
    return Part(tuple(words[:start]), name, subcommand, tuple(words))


def same_kind(one: Part, other: Part) -> bool:
    """True for two commands of one program that do the same thing with it."""
    if one.program != other.program:
        return False
    if one.program.rsplit("/", 1)[-1] in _INTERPRETERS:
        scripts = [next((word for word in part.operands if "." in word or "/" in word), "-c") for part in (one, other)]
        return scripts[0] == scripts[1]
    return one.subcommand == other.subcommand or not (one.subcommand and other.subcommand)


def difference_of(wrong: Sequence[Part], right: Sequence[Part], *, missing: bool = False) -> Difference | None:
    """The difference between two calls to a shell that makes the second a corrected form of the first, or None.

    `missing`: the first failed because a program or a path was not there.
    """
    gone = [part for part in wrong if part not in right]
    come = [part for part in right if part not in wrong]
    if not gone:  # all of it is there again, with steps in front
        added = tuple(part for part in right[: right.index(wrong[-1])] if part in come)
        return Difference((), wrong[-1], wrong[-1], added=added) if added else None
    if not come:
        kept = next((part for part in wrong if part in right), None)
        before = tuple(part for part in wrong[: wrong.index(kept)] if part in gone) if kept else ()
        return Difference((), kept, kept, removed=before) if before else None
    pairs = [(one, two) for one in gone for two in come if same_kind(one, two)]
    if pairs:
        one, two = max(pairs, key=lambda pair: _shared(*pair))
        return Difference(_changes_of(one, two), one, two)
    one, rest = gone[0], gone[0].words[1:]
    two = next((part for part in come if missing and rest and part.words[1:] == rest), None)
    return Difference((Change("", one.program, two.program),), one, two) if two and len(gone) == 1 else None


def _changes_of(wrong: Part, right: Part) -> tuple[Change, ...]:
    """The places in which the words of two commands differ; the name is the flag before the words, if there is one."""
    changes: list[Change] = []
    old, new = wrong.words, right.words
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            name = old[start - 1] if start and old[start - 1].startswith("-") else ""
            gone, come = old[start:end], new[new_start:new_end]
            paired = [(_line(gone), _line(come))] if len(gone) != len(come) else zip(gone, come, strict=True)
            changes += [Change(name if place == 0 else "", *pair) for place, pair in enumerate(paired)]
    return tuple(changes)


def _shared(one: Part, two: Part) -> float:
    return 2 * len({*one.words} & {*two.words}) / max(len(one.words) + len(two.words), 1)


def _line(words: Sequence[str]) -> str:
    return " ".join(f"'{word}'" if not word or " " in word or "\n" in word else word for word in words)


# The form in which two values differ, in words that hold no value of the task.

_SHAPES: Final = (
    (lazy_compile(r"\d{4}-\d\d-\d\d$"), "a date as YYYY-MM-DD"),
    (lazy_compile(r"[\d-]{10}T\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)$"), "a time as YYYY-MM-DDThh:mm with its offset"),
    (lazy_compile(r"[\d-]{10}T\d\d:\d\d(?::\d\d)?$"), "a time as YYYY-MM-DDThh:mm"),
    (lazy_compile(r"\+\d{8,15}$"), "a phone number with + and its country code"),
    (lazy_compile(r"[^@\s]+@[^@\s]+\.[a-z]+$"), "an e-mail address"),
)
_MOST_AROUND: Final = 8  # characters around a value; a longer addition is a value itself


def form_of(before: Json, after: Json) -> str | None:
    """How the second value differs from the first in its form, None where it only is another value."""
    for kind, words in ((list, "as a list"), (bool, "as true or false")):
        if isinstance(after, kind) and not isinstance(before, kind):
            return words
    one, two = str(before), str(after)
    if type(before) is not type(after) and one == two:
        return "as a number" if isinstance(after, int | float) else "as text"
    left, found, right = two.partition(one)
    around = max(len(left), len(right))
    if len(one) > 1 and found and 0 < around <= _MOST_AROUND and not (left + right).isdigit():
        places = (left and f"`{left}` in front", right and f"`{right}` at the end")
        return f"with {' and '.join(filter(None, places))}"
    if one.lower() == two.lower() and one != two:
        return "in its exact case"
    return next((words for shape, words in _SHAPES if shape.match(two) and not shape.match(one)), None)


# Arguments of tools that are not a shell.

_NAME_LIMIT: Final = 80  # characters of names that are compared letter by letter, which takes quadratic time
_NAME_RATIO: Final = 0.86  # one or two letters in a name of eight to fifteen; `test_a.py` and `test_b.py` stay apart
_ENDING: Final = re.compile(r"\.[A-Za-z]\w{0,7}\Z")


def changes_between(before: dict[str, Json], after: dict[str, Json]) -> tuple[Change, ...]:
    """The arguments that differ; 1 is neither True nor "1"."""
    pairs = [(name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]
    return tuple(Change(*pair) for pair in pairs if type(pair[1]) is not type(pair[2]) or pair[1] != pair[2])


def names_alike(first: str, second: str) -> bool:
    """True for names that differ in case, quotation marks, separators, or one or two letters (never digits alone)."""
    one, two = plain(first).casefold(), plain(second).casefold()
    if "*" in one or "*" in two:
        return one == two  # *.tsx and *.jsx are other files
    bare = [re.sub(r"[\W_]+", "", text) for text in (one, two)]
    return one == two or (bool(bare[0]) and bare[0] == bare[1]) or _mistyped(one, two)


def _mistyped(one: str, two: str) -> bool:
    """True for two names that are one or two letters apart, besides the ending that two files have in common."""
    ending = _ENDING.search(one)
    if ending and two.endswith(ending[0]):
        one, two = one.removesuffix(ending[0]), two.removesuffix(ending[0])
    shorter, longer = sorted((len(one), len(two)))
    if longer > _NAME_LIMIT or shorter < 4 or 2 * shorter < _NAME_RATIO * (shorter + longer):
        return False
    if re.sub(r"\d", "", one) == re.sub(r"\d", "", two) and sorted(one) != sorted(two):
        return False  # order-17 and order-18 are two orders; 4379 and 4397 are one, mistyped
    return SequenceMatcher(None, one, two, autojunk=False).ratio() >= _NAME_RATIO
