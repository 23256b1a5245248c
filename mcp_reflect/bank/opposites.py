"""When two lessons contradict each other: the same situation, and whoever follows the one acts against the other.

Precise rather than broad. An instruction opposes another where both are about the same words, and they differ
in an odd number of turns (a negation, a word and its opposite) or in the value of one setting.
"""

import re
from dataclasses import dataclass
from typing import Final

from mcp_reflect.bank.merging import SAME_WORDS, is_code, points, shared, stem, telling_words, tokens
from mcp_reflect.bank.stopwords import ENGLISH
from mcp_reflect.patterns import late

# Words that turn an instruction round, and words that say no more than the instruction itself.
_NEGATIONS: Final = frozenset(
    "not no never none without don't doesn't cannot can't won't shouldn't mustn't avoid skip".split()
)
_EMPTY: Final = frozenset("always please use using make sure ensure must then always only too simply".split())

# Opposites: any word of the left side against any of the right.
_OPPOSITES: Final = tuple(
    (frozenset(map(stem, left.split())), frozenset(map(stem, right.split())))
    for left, right in (
        (
            "increase raise grow enlarge lengthen extend more higher longer larger bigger greater up",
            "decrease reduce lower shrink shorten cut less fewer smaller shorter down",
        ),
        ("enable activate on allow", "disable deactivate off forbid"),
        ("add include send keep insert append", "remove exclude omit drop delete strip"),
        ("before", "after"),
        ("start", "stop"),
        ("open", "close"),
        ("first", "last"),
        ("true yes", "false no"),
        ("broad broader wide wider loose looser", "narrow narrower tight tighter strict stricter"),
        ("early earlier", "late later"),
        ("lock", "unlock"),
        ("accept", "reject refuse"),
        ("show", "hide"),
        ("merge join", "split separate"),
        ("sync synchronous", "async asynchronous"),
        ("ascending", "descending"),
        ("serial sequential", "parallel concurrent"),
    )
)
_TURNING: Final = frozenset[str]().union(*(left | right for left, right in _OPPOSITES))

# Verbs that give a setting its value. Others (look at, check, read) name a place, and two places are no contradiction.
_SETTING: Final = frozenset(
    "set use pin pass open wait configure choose select limit change switch raise lower increase decrease".split()
)
_CLAUSE: Final = late(
    r"[;.!?]\s+|[;,]\s*(?:(?:and\s+)?then\b|and\b|but\b|(?=not\b))|,\s+|(?<!\s)\s+and\s+then\s+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Instruction:
    """A clause of a correction: its words in order, without what says nothing, and whether it is negated."""

    words: tuple[str, ...]
    verb: str
    negated: bool


def contradict(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two lessons, each as (mistake, correction), contradict each other. The same both ways."""
    if not _same_situation(one[0], other[0]):
        return False
    mine, theirs = _instructions(one[1]), _instructions(other[1])
    if _clash(mine, mine) or _clash(theirs, theirs):  # a text that takes both sides stands against nobody
        return False
    return _clash(mine, theirs)


def _clash(some: "list[_Instruction]", others: "list[_Instruction]") -> bool:
    return any(_opposed(one, other) for one in some for other in others)


def _same_situation(one: str, other: str) -> bool:
    """Most words are shared, and only one side may say more: a word in another's place is another situation."""
    first, second = telling_words(one), telling_words(other)
    return shared(first, second) >= SAME_WORDS and (first <= second or second <= first) and points(one) == points(other)


def _instructions(correction: str) -> list[_Instruction]:
    found: list[_Instruction] = []
    for clause in _CLAUSE.split(correction):
        every = tokens(clause)
        plain = [token if is_code(token) else token.lower() for token in every]
        negated = any(word in _NEGATIONS for word in plain)
        words = tuple(
            word if is_code(word) else stem(word)
            for word in plain
            if word not in _NEGATIONS and word not in _EMPTY and (word not in ENGLISH or stem(word) in _TURNING)
        )
        verbs = [word for word in plain if word not in _NEGATIONS and word not in ENGLISH - {"use"}]
        if words:
            found.append(_Instruction(words, verbs[0] if verbs else "", negated))
    return found


def _opposed(one: _Instruction, other: _Instruction) -> bool:
    first, second = set(one.words) - set(other.words), set(other.words) - set(one.words)
    if not (set(one.words) & set(other.words)) or len(first) != len(second):
        return False
    if one.negated == other.negated and len(first) == 1 and _other_value(one, first.pop(), other, second.pop()):
        return True
    return _odd_turns(one, other)


def _odd_turns(one: _Instruction, other: _Instruction) -> bool:
    """The same words, but for words against their opposites; with negation, an odd number of turns."""
    first, second = set(one.words) - set(other.words), set(other.words) - set(one.words)
    turns = 0
    for word in sorted(first):
        against = next((near for near in sorted(second) if _opposite(word, near)), None)
        if against is None:
            return False
        second.discard(against)
        turns += 1
    return not second and (turns + (one.negated != other.negated)) % 2 == 1


def _opposite(one: str, other: str) -> bool:
    return any((one in left and other in right) or (one in right and other in left) for left, right in _OPPOSITES)


def _other_value(one: _Instruction, value: str, other: _Instruction, against: str) -> bool:
    """Whether the words that differ are two values of one setting: `name=value`, or `set … VALUE`."""
    name, sign, _ = value.partition("=")
    if sign and against.startswith(f"{name}="):
        return True
    if one.verb not in _SETTING or one.verb != other.verb or "/" in value + against:
        return False
    place = one.words.index(value)
    if place != other.words.index(against) or place == 0:
        return False
    return is_code(value) and is_code(against)
