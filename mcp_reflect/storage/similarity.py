"""When two lessons are the same, alike, or contradict each other."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecordKind, Trust
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.retrieval.candidates import lessons_at
from mcp_reflect.storage.retrieval.identifiers import is_rare
from mcp_reflect.storage.retrieval.index import TermCounts, find_rows
from mcp_reflect.storage.retrieval.scoring import weigh
from mcp_reflect.storage.retrieval.terms import ENGLISH
from mcp_reflect.storage.retrieval.vectors import cosine_of_packed, word_vector
from mcp_reflect.storage.sqlite.statements import Reading, Writing

# When two lessons are one lesson in other words.
#
# They are where most of their words are shared, in the mistake and in the correction, and none of the
# words that carry the point differs: numbers, identifiers, paths, code, and words that turn a sentence round.


# Jaccard similarity of the words; chosen so that a changed word in six or more still is the same lesson.
SAME_WORDS: Final = 0.7

SAME_HIT: Final = 0.9
"""The same for two lessons of one answer, the second of which is left out."""

SAME_MEANING: Final = 0.9
"""The cosine of the word vectors of two texts that say the same."""

_TOKEN: Final = lazy_compile(r"`[^`]*`|\"[^\"]*\"|'[^'\s]*'|[^\s,;!?()\[\]{}\"'`]+(?:['’][a-z]+)?")
_TURNS: Final = frozenset(
    """not no never none without don't doesn't didn't can't cannot won't shouldn't isn't aren't avoid stop instead
    before after always only unless except disable enable remove add less more fewer higher lower increase decrease
    true false on off up down first last""".split()
)
_ENDING: Final = lazy_compile(r"(?:ing|ed|es|s)$")


def same_lesson(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """True if two lessons, each as (mistake, correction), say the same, in nearly the same words or by meaning."""
    return all(same_text(first, second) for first, second in zip(one, other, strict=True)) or (
        all(_same_meaning(first, second) for first, second in zip(one, other, strict=True))
        and not contradict(one, other)
    )


def says_the_same(one: str, other: str, vector: bytes | None = None, beside: bytes | None = None) -> bool:
    """True if who has read one text learns nothing from the other; the vectors are those of the texts."""
    if points(one) != points(other):
        return False
    if alike(one, other) >= SAME_HIT:
        return True
    differing = telling_words(one) ^ telling_words(other)
    if differing & _TURNING or _names_differ(one, other, differing):
        return False
    return vector is not None and beside is not None and cosine_of_packed(vector, beside) >= SAME_MEANING


def _same_meaning(one: str, other: str) -> bool:
    """True if two texts differ in other words only, none of which carries the point or turns it round.

    Word vectors of opposites are close (increase, decrease), so such words must not differ.
    """
    differing = telling_words(one) ^ telling_words(other)
    if points(one) != points(other) or differing & _TURNING or _names_differ(one, other, differing):
        return False
    first, second = _vector(one), _vector(other)
    return first is not None and second is not None and cosine_of_packed(first, second) >= SAME_MEANING


def _names_differ(one: str, other: str, differing: AbstractSet[str]) -> bool:
    """True if one of the stems that differ is of a rare word: the table does not know what it means."""
    words = re.findall(r"[^\W_]+", f"{one} {other}".lower())
    return any(is_rare(word) for word in words if stem(word) in differing)


@lru_cache(maxsize=500)
def _vector(text: str) -> bytes | None:
    return word_vector(text)


def alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, 0..1."""
    return shared(telling_words(one), telling_words(other))


def shared(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """Jaccard's coefficient: the part of two sets of words that is in both, 0..1."""
    return len(one & other) / len(one | other) if one or other else 1.0


def same_text(one: str, other: str) -> bool:
    """Whether two texts share most of their words and differ in none that carries the point."""
    return points(one) == points(other) and alike(one, other) >= SAME_WORDS


@lru_cache(maxsize=1_000)
def points(text: str) -> frozenset[str]:
    """What must not differ: numbers, identifiers, paths, quoted code, negations and directions."""
    found: set[str] = set()
    for token in tokens(text):
        if token.lower() in _TURNS:
            found.add(token.lower())
        elif is_code(token):
            found.add(token.strip("`\"'"))
    return frozenset(found)


def codes(text: str) -> frozenset[str]:
    """The numbers, identifiers, paths and quoted code of a text."""
    return frozenset(token.strip("`\"'") for token in tokens(text) if is_code(token))


def tokens(text: str) -> list[str]:
    """The words, numbers, identifiers and quoted code of a text, without what ends a sentence."""
    return [token for raw in _TOKEN.findall(text) if (token := raw.rstrip(".:").replace("’", "'"))]


def is_code(token: str) -> bool:
    """Whether a token is a number, an identifier, a path, an option or quoted code."""
    if token[:1] in "`\"'" or any(sign in token for sign in "_/\\=<>$@#*|+:%.0123456789"):
        return True
    inner = token[1:]
    return token.startswith("-") or (inner != inner.lower() and len(token) > 1)


@lru_cache(maxsize=1_000)
def telling_words(text: str) -> frozenset[str]:
    """The stems of a text's words, without stop words where there are others."""
    words = {word.lower() for word in re.findall(r"[^\W_]+", text)}
    telling = words - ENGLISH or words
    return frozenset(map(stem, telling))


def stem(word: str) -> str:
    """A lower-case word without the ending that English puts to it."""
    return _ENDING.sub("", word) if len(word) > 4 else word


# When two lessons contradict each other: the same situation, and whoever follows the one acts against the other.
#
# Precise rather than broad. An instruction opposes another where both are about the same words, and they differ
# in an odd number of turns (a negation, a word and its opposite) or in the value of one setting.


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
_CLAUSE: Final = lazy_compile(
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
    return any(_opposed_opposites(one, other) for one in some for other in others)


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


def _opposed_opposites(one: _Instruction, other: _Instruction) -> bool:
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


# Lessons that contradict each other: tied when one is stored, and put in order when both are recalled.

RELATION: Final = "contradicts"
_BEHIND: Final = 0.99  # of the leading lesson's score: right after it


def cut(tx: Writing, lesson: Lesson) -> None:
    """Cut the ties of a lesson whose wording changed."""
    tx.run("link_cut", {"id": lesson.id, "relation": RELATION})


def tie(tx: Writing, lesson: Lesson, near: Iterable[Lesson]) -> None:
    """Tie a lesson to those of the `near` ones (see `nearest`) that it contradicts, both ways."""
    for other in near:
        if other.id != lesson.id and _opposed_contradictions(lesson, other):
            for one, two in ((lesson.id, other.id), (other.id, lesson.id)):
                values = {"from_id": one, "relation": RELATION, "to_kind": "lesson", "to_id": two}
                tx.run("link_add", values)


def _opposed_contradictions(one: Lesson, other: Lesson) -> bool:
    if other.trust is Trust.QUARANTINED:
        return False
    if None not in (one.task_type, other.task_type) and one.task_type != other.task_type:
        return False
    return contradict((one.mistake or "", one.correction or ""), (other.mistake or "", other.correction or ""))


def among(reading: Reading, lessons: Iterable[Lesson]) -> Mapping[str, tuple[str, ...]]:
    """Which of `lessons` contradict which other ones of them, by id."""
    ids = [lesson.id for lesson in lessons if lesson.kind is RecordKind.LESSON]
    found: dict[str, tuple[str, ...]] = {}
    for row in reading.rows("links_among", {"ids": ids, "relation": RELATION}) if len(ids) > 1 else ():
        found[row["from_id"]] = (*found.get(row["from_id"], ()), row["to_id"])
    return found


def leads(one: Lesson, other: Lesson, rates: Rates) -> bool:
    """Whether `one` is better evidenced: a person's word, then what is proved, how often learnt, the newer one."""
    return _evidence(one, rates) > _evidence(other, rates)


def _evidence(lesson: Lesson, rates: Rates) -> tuple[bool, float, int, float, str]:
    return (
        lesson.trust is Trust.TRUSTED,
        round(rates.low(lesson), 4),
        lesson.strength,
        lesson.updated_at,
        lesson.id,
    )


def settled(
    scored: Iterable[tuple[float, Lesson]], tied: Mapping[str, tuple[str, ...]], rates: Rates
) -> tuple[dict[str, float], dict[str, str]]:
    """Scores by id where of contradicting lessons the better evidenced leads, and the reason, by id, in words.

    What a better lesson contradicts comes after it, however well it fits.
    """
    every = list(scored)
    scores = {lesson.id: score for score, lesson in every}
    reasons: dict[str, str] = {}
    by_id = {lesson.id: lesson for _, lesson in every if lesson.id in tied}
    for lesson in sorted(by_id.values(), key=lambda one: _evidence(one, rates), reverse=True):
        for name in tied[lesson.id]:
            if name in by_id and name not in reasons and leads(lesson, by_id[name], rates):
                scores[name] = min(scores[name], scores[lesson.id] * _BEHIND)
                reasons[name] = f"contradicts {lesson.id}, which is better evidenced"
                reasons.setdefault(lesson.id, f"better evidenced than {name}, which says the opposite")
    return scores, reasons


# Stored lessons that could say the same as another one, or the opposite.

COMPARED: Final = 30  # lessons whose words are compared


def nearest(reading: Reading, scope: Scope, lesson: Lesson) -> list[Lesson]:
    """Return the active lessons, out of quarantine, of the scope and global, that share most of a lesson's words.

    They are read as the transaction sees them; the lesson itself is among them if it is stored.
    """
    counts = TermCounts(reading, scope)
    weights = weigh(counts, lesson.text).own
    rows = find_rows(counts, weights, COMPARED)
    words = telling_words(lesson.text)
    near = [
        (-shared(words, telling_words(other.text)), other.id, other)
        for other in lessons_at(reading, scope, rows).values()
        if other.kind is RecordKind.LESSON
    ]
    return [other for _, _, other in sorted(near, key=lambda pair: pair[:2])]
