"""Tell whether two lessons say the same.

Two texts say the same if one has the words of the other, and few more, and none of these changes the point: numbers,
identifiers, paths, code, negations, opposites.

| one text                          | the other                               | the same? |
| Set the timeout to 30 seconds.    | Set the timeout to 30 seconds, please.  | yes       |
| Set the timeout to 30 seconds.    | Set the timeout to 60 seconds.          | no        |
| Run the tests before the build.   | Run the tests after the build.          | no        |

Word vectors cannot tell here: they take unsafe for safe, received for sent, and Tuesday for Monday.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from operator import mul
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecordKind
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.candidates import lessons_at
from mcp_reflect.storage.retrieval.question import weigh
from mcp_reflect.storage.retrieval.row_search import TermCounts, find_rows
from mcp_reflect.storage.retrieval.terms import telling_words
from mcp_reflect.text.stemmer import stem
from mcp_reflect.text.word_vectors import shared_table

SAME_WORDS: Final = 0.7
"""The Jaccard similarity of the words of two texts that say the same."""

NEAR_MEANING: Final = 0.7
"""The cosine of the word vectors of two lessons that may say the same in other words.

Whoever stores the second one is told of the first, and decides.
"""

_MOST_EMBEDDED: Final = 2
"""Lessons whose meaning is compared with that of a new lesson: making a vector takes a while."""

SAME_HIT: Final = 0.9
"""The Jaccard similarity of the words of two hits of one answer, the second of which is left out."""

_TOKEN: Final = lazy_compile(r"`[^`]*`|\"[^\"]*\"|'[^'\s]*'|[^\s,;!?()\[\]{}\"'`]+(?:['’][a-z]+)?")
_NEGATIONS: Final = frozenset(
    """not no never none without don't doesn't didn't cannot can't won't isn't aren't shouldn't mustn't avoid
    skip""".split()
)
# Words that turn the point of a text round: only two texts that both have one may say the same.
_TURNS: Final = frozenset(map(stem, _NEGATIONS)) | frozenset(
    stem(word)
    for word in """stop start instead before after always only unless except enable disable activate deactivate
    allow forbid on off up down true false yes first last increase raise grow enlarge lengthen extend more higher
    longer larger bigger greater decrease reduce lower shrink shorten cut less fewer smaller shorter add include
    send keep insert append remove exclude omit drop delete strip broad broader wide wider loose looser narrow
    narrower tight tighter strict stricter open close early earlier late later lock unlock accept reject refuse show
    hide merge join split separate ascending descending sync synchronous async asynchronous serial sequential
    parallel concurrent place replace replaces rather former formerly deprecated supersedes""".split()
)


def same_record(one: Lesson, other: Lesson) -> bool:
    """True if two records of one kind and project say the same, and neither has another task type."""
    if one.kind is not other.kind or one.project != other.project:
        return False
    if one.task_type and other.task_type and one.task_type != other.task_type:
        return False
    if one.kind is not RecordKind.LESSON:
        return same_text(one.text, other.text)
    says_same_mistake = same_text(one.mistake or "", other.mistake or "")
    return says_same_mistake and same_text(one.correction or "", other.correction or "")


def near_meaning(lesson: Lesson, near: Iterable[Lesson]) -> Lesson | None:
    """Return the lesson of the nearest meaning by word vectors, None if none is near.

    `near` are ordered by shared words: the first few are compared. A lesson that is near may still say another thing,
    so that its author is asked.
    """
    nearest_lesson: Lesson | None = None
    largest_cosine = 0.0
    others = [other for other in near if other.id != lesson.id and _may_be_shown(other)]
    for other in others[:_MOST_EMBEDDED]:
        cosine = closeness(lesson.text, other.text)
        if cosine >= NEAR_MEANING and cosine > largest_cosine:
            nearest_lesson = other
            largest_cosine = cosine
    return nearest_lesson


def _may_be_shown(lesson: Lesson) -> bool:
    """Return whether a lesson may be shown to the author of another one: no words of it are from outside or orders."""
    return not (lesson.outside or lesson.suspicion or lesson.held)


def one_subject(one: str, other: str) -> bool:
    """Return whether two texts are near enough in meaning to be about one subject.

    "The deploy fails behind the proxy" and "The proxy makes the deployment fail" are.
    """
    return closeness(one, other) >= NEAR_MEANING


def closeness(one: str, other: str) -> float:
    """Return the cosine of the word vectors of two texts; 0 where one has no word that is known."""
    first, second = _vector(one), _vector(other)
    if not (first and second):
        return 0.0
    return sum(map(mul, first, second))  # both have the length 1


@lru_cache(maxsize=1_000)
def _vector(text: str) -> "tuple[float, ...] | None":
    """Return the vector of a text by the packaged table of word vectors, None if it knows no word of it."""
    vector = shared_table().embed(text)
    if not vector:
        return None
    return tuple(vector)


def same_text(one: str, other: str, least: float = SAME_WORDS) -> bool:
    """Return whether two texts say the same: one has the words of the other, and few more.

    `least` is the least Jaccard similarity of their words, 0..1. A word in the place of another makes another text, and
    so does any difference in the points (`points`).
    """
    words, other_words = telling_words(one), telling_words(other)
    is_one_in_other = words <= other_words or other_words <= words
    if not is_one_in_other or shared(words, other_words) < least:
        return False
    return points(one) == points(other) and _negate_the_same(one, other)


def _negate_the_same(one: str, other: str) -> bool:
    """Return whether two texts negate the same: a text with a negation needs its words in the order of the other.

    "Use the cache, not the proxy" and "Use the proxy, not the cache" have the same words.
    """
    if _NEGATIONS.isdisjoint(token.lower() for token in tokens(one)):
        return True
    compared_words = telling_words(one) & telling_words(other) | _NEGATIONS
    return _in_order(one, compared_words) == _in_order(other, compared_words)


def _in_order(text: str, words: AbstractSet[str]) -> list[str]:
    """Return the stems of a text that are among some words, in the order of the text."""
    stems = (stem(token.lower()) for token in tokens(text))
    return [word for word in stems if word in words]


def alike(one: str, other: str) -> float:
    """Return Jaccard's coefficient of the words of two texts, 0..1: "retry the upload" and "retry the job" have 1/3."""
    return shared(telling_words(one), telling_words(other))


def shared(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """Return Jaccard's coefficient: the part of two sets of words that is in both, 0..1."""
    if not (one or other):
        return 1.0
    return len(one & other) / len(one | other)


@lru_cache(maxsize=10_000)
def points(text: str) -> frozenset[str]:
    """Return the parts that must not differ: numbers, identifiers, paths, quoted code, negations and opposites.

    "Never set `retries` above 3" gives never, retries and 3.
    """
    words = {stem(token.lower()) for token in tokens(text)} | telling_words(text)
    return codes(text) | (words & _TURNS)


def codes(text: str) -> frozenset[str]:
    """Return the numbers, identifiers, paths and quoted code of a text: "run `make` in src/app" gives make, src/app."""
    return frozenset(token.strip("`\"'") for token in tokens(text) if is_code(token))


def tokens(text: str) -> list[str]:
    """Return the words, numbers, identifiers and quoted code of a text, without the sign that ends a sentence."""
    without_ends = (raw.rstrip(".:").replace("’", "'") for raw in _TOKEN.findall(text))
    return [token for token in without_ends if token]


def is_code(token: str) -> bool:
    """True if a token is a number, an identifier, a path, an option or quoted code: 42, maxRetries, src/app, -v, `ls`."""
    is_quoted = token[:1] in _QUOTES
    if is_quoted or not _SIGNS_OF_CODE.isdisjoint(token):
        return True
    after_first = token[1:]
    has_inner_capital = after_first != after_first.lower()
    return token.startswith("-") or has_inner_capital


_QUOTES: Final = "`\"'"
_SIGNS_OF_CODE: Final = frozenset("_/\\=<>$@#*|+:%.0123456789")

COMPARED: Final = 12  # lessons whose words are compared with those of a new one


def nearest(reading: Reading, scope: Scope, lesson: Lesson) -> list[Lesson]:
    """Return the lessons in use, of the scope and global, that share most of a lesson's words, the nearest first.

    They are read as the transaction sees them; the lesson itself is among them if it is stored.
    """
    counts = TermCounts(reading, scope)
    rows = find_rows(counts, weigh(counts, lesson.text).own, COMPARED)
    words = telling_words(lesson.text)

    def farness(other: Lesson) -> tuple[float, str]:
        return -shared(words, telling_words(other.text)), other.id

    records = lessons_at(reading, scope, rows).values()
    return sorted((other for other in records if other.kind is RecordKind.LESSON), key=farness)
