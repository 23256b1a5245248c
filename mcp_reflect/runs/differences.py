"""What differs between two calls of one kind: a word of a command, its program, its folder, a step, an argument."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import INTERPRETERS, Part, line_of


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


def same_kind(one: Part, other: Part) -> bool:
    """True for two commands of one program that do the same thing with it."""
    if one.program != other.program:
        return False
    if one.program.rsplit("/", 1)[-1] in INTERPRETERS:
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
            paired = [(line_of(gone), line_of(come))] if len(gone) != len(come) else zip(gone, come, strict=True)
            changes += [Change(name if place == 0 else "", *pair) for place, pair in enumerate(paired)]
    return tuple(changes)


def _shared(one: Part, two: Part) -> float:
    return 2 * len({*one.words} & {*two.words}) / max(len(one.words) + len(two.words), 1)


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


def changes_between(before: dict[str, Json], after: dict[str, Json]) -> tuple[Change, ...]:
    """The arguments that differ; 1 is neither True nor "1"."""
    pairs = [(name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]
    return tuple(Change(*pair) for pair in pairs if type(pair[1]) is not type(pair[2]) or pair[1] != pair[2])


def names_alike(first: str, second: str) -> bool:
    """True for names that differ in case, quotation marks, separators, or one or two letters (never digits alone)."""
    one, two = (re.sub(r"[\W_]+", "", text).casefold() for text in (first, second))
    if one == two:
        return bool(one)
    letters = {re.sub(r"\d", "", text) for text in (one, two)}
    ratio = SequenceMatcher(None, one[:_NAME_LIMIT], two[:_NAME_LIMIT], autojunk=False).ratio()
    return len(letters) == 2 and "*" not in f"{first}{second}" and ratio >= _NAME_RATIO
