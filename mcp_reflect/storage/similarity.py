"""Tell whether two lessons say the same, or contradict each other."""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecordKind, Trust
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.stemmer import stem
from mcp_reflect.storage.repository import Reading, Writing
from mcp_reflect.storage.retrieval.index import TermCounts, find_rows
from mcp_reflect.storage.retrieval.scoring import lessons_at, weigh
from mcp_reflect.storage.retrieval.terms import ENGLISH, telling_words

# Two texts say the same if one has the words of the other, and few more, and none of these changes the point: numbers,
# identifiers, paths, code, negations, opposites. Word vectors cannot tell here: they take unsafe for safe, received for
# sent, and Tuesday for Monday.

SAME_WORDS: Final = 0.7
"""The Jaccard similarity of the words of two texts that say the same."""

SAME_HIT: Final = 0.9
"""The same for two hits of one answer, the second of which is left out."""

_TOKEN: Final = lazy_compile(r"`[^`]*`|\"[^\"]*\"|'[^'\s]*'|[^\s,;!?()\[\]{}\"'`]+(?:['’][a-z]+)?")
_NEGATIONS: Final = frozenset(
    """not no never none without don't doesn't didn't cannot can't won't isn't aren't shouldn't mustn't avoid
    skip""".split()
)
_TURNS: Final = _NEGATIONS | frozenset(
    """stop instead before after always only unless except disable enable remove add less more fewer higher lower
    increase decrease true false on off up down first last""".split()
)
# Opposites: any word of the left side against any of the right.
_OPPOSITES: Final = tuple(
    tuple(frozenset(map(stem, side.split())) for side in pair.split("/"))
    for pair in """increase raise grow enlarge lengthen extend more higher longer larger bigger greater up
    / decrease reduce lower shrink shorten cut less fewer smaller shorter down; enable activate on allow
    / disable deactivate off forbid; add include send keep insert append / remove exclude omit drop delete strip;
    broad broader wide wider loose looser / narrow narrower tight tighter strict stricter; before / after;
    start / stop; open / close; first / last; true yes / false no; early earlier / late later; lock / unlock;
    accept / reject refuse; show / hide; merge join / split separate; ascending / descending;
    sync synchronous / async asynchronous; serial sequential / parallel concurrent""".split(";")
)
# Words of one meaning, and forms that the stemmer does not know.
_SYNONYMS: Final = {
    stem(word): stem(words.split()[0])
    for words in """delete remove erase; verify check confirm; start begin began begun launch; finish complete;
    repair fix; folder directory; big large huge; quick fast rapid; slow sluggish; mail email; show shown display;
    need require necessary; change modify alter; choose chose chosen select pick; get got obtain fetch retrieve;
    make made create; use employ utilize; buy bought purchase; error mistake; entire whole; often frequently;
    config configuration; repo repository; app application; wrong incorrect; find found locate; reply respond;
    try attempt; build built; write wrote written; send sent; run ran; overwrite overwrote overwritten;
    take took taken; keep kept; forget forgot forgotten; break broke broken; throw threw thrown; hold held; lose lost;
    docs documentation; additional extra; usually typically; database db""".split(";")
    for word in words.split()
}
_TURNING: Final = frozenset[str]().union(*(side for pair in _OPPOSITES for side in pair))


def same_record(one: Lesson, other: Lesson) -> bool:
    """True if two records of one kind and project say the same, and neither has another task type."""
    if (one.kind, one.project) != (other.kind, other.project) or other_type(one, other):
        return False
    if one.kind is not RecordKind.LESSON:
        return same_text(one.text, other.text)
    return same_lesson(wording(one), wording(other))


def wording(lesson: Lesson) -> tuple[str, str]:
    """Return a lesson as (mistake, correction)."""
    return lesson.mistake or "", lesson.correction or ""


def other_type(one: Lesson, other: Lesson) -> bool:
    """True if two lessons have different task types; None fits any."""
    return None not in (one.task_type, other.task_type) and one.task_type != other.task_type


def same_lesson(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """True if two lessons, each as (mistake, correction), say the same."""
    return all(map(same_text, one, other)) and not contradict(one, other)


def same_text(one: str, other: str, least: float = SAME_WORDS) -> bool:
    """True if a reader of one text learns nothing from the other."""
    mine, theirs = (frozenset(_SYNONYMS.get(word, word) for word in telling_words(text)) for text in (one, other))
    return (
        (mine <= theirs or theirs <= mine)  # a word in the place of another makes another text
        and shared(mine, theirs) >= least
        and points(one) == points(other)
        and not _turned(mine, theirs)
    )


def _turned(words: frozenset[str], others: frozenset[str]) -> bool:
    """True if a word that has an opposite is in one text alone, and none of the same side is in the other text."""
    same_side = (side for pair in _OPPOSITES for side in pair if side & words and side & others)
    return not (words ^ others) & _TURNING <= frozenset[str]().union(*same_side)


def alike(one: str, other: str) -> float:
    """Return the share of words that two texts have in common, 0..1."""
    return shared(telling_words(one), telling_words(other))


def shared(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """Return Jaccard's coefficient: the part of two sets of words that is in both, 0..1."""
    return len(one & other) / len(one | other) if one or other else 1.0


@lru_cache(maxsize=10_000)
def points(text: str) -> frozenset[str]:
    """Return the words that must not differ: numbers, identifiers, paths, quoted code, negations and directions."""
    return codes(text) | {token.lower() for token in tokens(text) if token.lower() in _TURNS}


def codes(text: str) -> frozenset[str]:
    """Return the numbers, identifiers, paths and quoted code of a text."""
    return frozenset(token.strip("`\"'") for token in tokens(text) if is_code(token))


def tokens(text: str) -> list[str]:
    """Return the words, numbers, identifiers and quoted code of a text, without the sign that ends a sentence."""
    return [token for raw in _TOKEN.findall(text) if (token := raw.rstrip(".:").replace("’", "'"))]


def is_code(token: str) -> bool:
    """True if a token is a number, an identifier, a path, an option or quoted code."""
    if token[:1] in "`\"'" or any(sign in token for sign in "_/\\=<>$@#*|+:%.0123456789"):
        return True
    inner = token[1:]
    return token.startswith("-") or (inner != inner.lower() and len(token) > 1)


# Two lessons contradict each other if they are about the same situation, and following one means acting against the
# other: their instructions share words, and differ in an odd number of turns (a negation, a word and its opposite) or
# in the value of one setting. Precise rather than broad.

_EMPTY: Final = frozenset("always please use using make sure ensure must then only too simply".split())
# Verbs that give a setting its value. Others (look at, check, read) name a place, and two places are no contradiction.
_SETTING: Final = frozenset(
    "set use pin pass open wait configure choose select limit change switch raise lower increase decrease".split()
)
_CLAUSE: Final = lazy_compile(
    r"[;.!?]\s+|[;,]\s*(?:(?:and\s+)?then\b|and\b|but\b|(?=not\b))|,\s+|(?<!\s)\s+and\s+then\s+", re.IGNORECASE
)

# A clause of a correction: its words in order, without those that say nothing; its verb; True if it is negated.
_Instruction = tuple[tuple[str, ...], str, bool]


def contradict(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """True if two lessons, each as (mistake, correction), contradict each other. The same both ways."""
    first, second = telling_words(one[0]), telling_words(other[0])
    same_situation = (
        shared(first, second) >= SAME_WORDS
        and (first <= second or second <= first)  # a word in the place of another is another situation
        and points(one[0]) == points(other[0])
    )
    if not same_situation:
        return False
    mine, theirs = _instructions(one[1]), _instructions(other[1])

    def clash(some: list[_Instruction], others: list[_Instruction]) -> bool:
        return any(_opposed(first, second) for first in some for second in others)

    # A text that takes both sides contradicts no other.
    return clash(mine, theirs) and not clash(mine, mine) and not clash(theirs, theirs)


def _instructions(correction: str) -> list[_Instruction]:
    instructions: list[_Instruction] = []
    for clause in _CLAUSE.split(correction):
        plain = [token if is_code(token) else token.lower() for token in tokens(clause)]
        words = tuple(
            word if is_code(word) else stem(word)
            for word in plain
            if word not in _NEGATIONS | _EMPTY and (word not in ENGLISH or stem(word) in _TURNING)
        )
        verb = next((word for word in plain if word not in _NEGATIONS and word not in ENGLISH - {"use"}), "")
        if words:
            instructions.append((words, verb, not _NEGATIONS.isdisjoint(plain)))
    return instructions


def _opposed(one: _Instruction, other: _Instruction) -> bool:
    """True if the words are the same but for the value of a setting, or for an odd number of turns."""
    first, second = set(one[0]) - set(other[0]), set(other[0]) - set(one[0])
    if len(first) == len(one[0]) or len(first) != len(second):
        return False
    same_sign = one[2] == other[2]
    if same_sign and len(first) == 1 and _other_value(one, min(first), other, min(second)):
        return True
    for word in sorted(first):
        opposites = (other for pair in _OPPOSITES for side, other in (pair, pair[::-1]) if word in side)
        opposite = min(second.intersection(chain.from_iterable(opposites)), default=None)
        if opposite is None:
            return False
        second.discard(opposite)
    return (len(first) + (not same_sign)) % 2 == 1


def _other_value(one: _Instruction, value: str, other: _Instruction, against: str) -> bool:
    """True if the words that differ are two values of one setting: `name=value`, or `set … VALUE`."""
    name, sign, _ = value.partition("=")
    if sign and against.startswith(f"{name}="):
        return True
    if one[1] not in _SETTING or one[1] != other[1] or "/" in value + against:
        return False
    place = one[0].index(value)
    return place == other[0].index(against) != 0 and is_code(value) and is_code(against)


# Lessons that contradict each other are linked when one is stored.

RELATION: Final = "contradicts"
COMPARED: Final = 30  # lessons whose words are compared with those of a new one


def tie(tx: Writing, lesson: Lesson, near: Iterable[Lesson]) -> None:
    """Link a lesson with those of the `near` ones (see `nearest`) that it contradicts, both ways."""
    for other in near:
        comparable = other.id != lesson.id and other.trust is not Trust.QUARANTINED and not other_type(lesson, other)
        if comparable and contradict(wording(lesson), wording(other)):
            for one, two in ((lesson.id, other.id), (other.id, lesson.id)):
                tx.run("link_add", {"from_id": one, "relation": RELATION, "to_kind": "lesson", "to_id": two})


def nearest(reading: Reading, scope: Scope, lesson: Lesson) -> list[Lesson]:
    """Return the active lessons, out of quarantine, of the scope and global, that share most of a lesson's words.

    They are read as the transaction sees them; the lesson itself is among them if it is stored.
    """
    counts = TermCounts(reading, scope)
    rows = find_rows(counts, weigh(counts, lesson.text).own, COMPARED)
    words = telling_words(lesson.text)
    near = [other for other in lessons_at(reading, scope, rows).values() if other.kind is RecordKind.LESSON]
    return sorted(near, key=lambda other: (-shared(words, telling_words(other.text)), other.id))
