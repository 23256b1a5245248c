"""When two lessons are the same, alike, or contradict each other."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecordKind, Trust
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.retrieval.candidates import lessons_at
from mcp_reflect.storage.retrieval.features import HELD
from mcp_reflect.storage.retrieval.index import Sums, Top, read_blocks
from mcp_reflect.storage.retrieval.lexical import Counts
from mcp_reflect.storage.retrieval.terms import ENGLISH, STOP_WORDS, words_of
from mcp_reflect.storage.sqlite.statements import Reading, Transaction

# When two lessons are one lesson in other words.
#
# They are where most of their words are shared, in the mistake and in the correction, and none of the
# words that carry the point differs: numbers, identifiers, paths, code, and words that turn a sentence round.


# Jaccard similarity of the words; chosen so that a changed word in six or more still is the same lesson.
SAME_WORDS: Final = 0.7

_TOKEN: Final = lazy_compile(r"`[^`]*`|\"[^\"]*\"|'[^'\s]*'|[^\s,;!?()\[\]{}\"'`]+(?:['’][a-z]+)?")
_TURNS: Final = frozenset(
    """not no never none without don't doesn't didn't can't cannot won't shouldn't isn't aren't avoid stop instead
    before after always only unless except disable enable remove add less more fewer higher lower increase decrease
    true false on off up down first last""".split()
)
_ENDING: Final = lazy_compile(r"(?:ing|ed|es|s)$")


def same_lesson(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two lessons, each as (mistake, correction), say the same."""
    return all(same_text(first, second) for first, second in zip(one, other, strict=True))


def alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, 0..1."""
    return shared(telling_words(one), telling_words(other))


def shared(one: set[str], other: set[str]) -> float:
    """Jaccard's coefficient: the part of two sets of words that is in both, 0..1."""
    return len(one & other) / len(one | other) if one or other else 1.0


def same_text(one: str, other: str) -> bool:
    """Whether two texts share most of their words and differ in none that carries the point."""
    return points(one) == points(other) and alike(one, other) >= SAME_WORDS


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


def telling_words(text: str) -> set[str]:
    """The stems of a text's words, without stop words where there are others."""
    words = {word.lower() for word in re.findall(r"[^\W_]+", text)}
    telling = words - ENGLISH or words
    return set(map(stem, telling))


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


async def cut(tx: Transaction, lesson: Lesson) -> None:
    """Cut the ties of a lesson whose wording changed."""
    await tx.run("link_cut", {"id": lesson.id, "relation": RELATION})


async def tie(tx: Transaction, lesson: Lesson, near: Iterable[Lesson]) -> None:
    """Tie a lesson to those of the `near` ones (see `nearest`) that it contradicts, both ways."""
    for other in near:
        if other.id != lesson.id and _opposed_contradictions(lesson, other):
            for one, two in ((lesson.id, other.id), (other.id, lesson.id)):
                values = {"from_id": one, "relation": RELATION, "to_kind": "lesson", "to_id": two}
                await tx.run("link_add", values)


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


# Which stored lessons could say the same as another one, or the opposite: those of nearly the same situation.
#
# Both ask that most words of the mistake are shared (see `merging`), so that the rarest words tell most lessons apart
# without a look at them: where a part s of n words must be shared, a text with none of the n - ⌈s·n⌉ + 1 rarest does
# not share enough (prefix filtering; Chaudhuri, Ganti and Kaushik 2006, "A Primitive Operator for Similarity Joins").


COMPARED: Final = 30  # lessons whose words are compared
MORE_WORDS: Final = 2  # words beyond the rarest that are looked up, as many more of which must be shared


async def nearest(tx: Transaction, scope: Scope, lesson: Lesson) -> list[Lesson]:
    """The active lessons out of quarantine, of the scope and global, of nearly the same situation.

    As a transaction sees them, those whose whole text is most alike first. The lesson itself is among them where it
    is stored.
    """
    return await tx.look(lambda reading: _nearest(reading, scope, lesson))


def _nearest(reading: Reading, scope: Scope, lesson: Lesson) -> list[Lesson]:
    index = Counts(reading, scope)
    situation, todo = telling_words(lesson.mistake or ""), _telling(lesson.correction or "")
    rows = _rows(index, _telling(lesson.mistake or ""), len(situation), todo)
    found = lessons_at(reading, scope, rows).values() if rows else ()
    words = telling_words(lesson.text)
    near = [
        (-shared(words, telling_words(other.text)), other.id, other)
        for other in found
        if other.kind is RecordKind.LESSON and shared(situation, telling_words(other.mistake or "")) >= SAME_WORDS
    ]
    return [other for _, _, other in sorted(near, key=lambda one: one[:2])]


def _telling(text: str) -> list[str]:
    words = list(words_of(text))
    return [word for word in words if word not in STOP_WORDS] or words


def _rows(index: Counts, words: Sequence[str], count: int, todo: Sequence[str]) -> list[int]:
    """Rows that share so many of the rarest words that they may share enough of all (of `count` at least).

    Of too many, those that share most of what is `todo`, then the newest.
    """
    index.look_up(words)
    total = max(len(words), count)
    rarest = total - math.ceil(SAME_WORDS * total) + 1
    asked = sorted(words, key=lambda word: (index.rows_with(word), word))[: rarest + MORE_WORDS]
    least = max(len(asked) - rarest + 1, 1)
    rows: list[int] = []
    for number in index.numbers:
        places = index.places[number]
        alike = {
            block: found
            for block, bits in read_blocks(index.reading, number, places, (*asked, HELD)).items()
            if (found := (counts := _counted(bits, asked)).above(least - 1, counts.any() & ~bits.get(HELD, 0)))
        }
        many = sum(found.bit_count() for found in alike.values()) > COMPARED
        more = read_blocks(index.reading, number, places, todo) if many else {}
        top = Top(COMPARED)
        for block, found in alike.items():
            top.take(block, _counted(more.get(block, {}), todo), found)
        values = {"scope": number, "places": top.places()}
        rows += [row["row"] for row in index.reading.rows("index_rows", values)]
    return rows


def _counted(bits: Mapping[str, int], words: Sequence[str]) -> Sums:
    """How many of the words each row of a block holds."""
    counts = Sums()
    for word in words:
        counts.add(bits.get(word, 0), 1)
    return counts
