"""Find the lessons that may fit a question, and score them: shared terms, closeness of meaning, identifiers."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecallQuery
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security.redact import context_hash
from mcp_reflect.storage.repository import Reading, lesson_from, scoped
from mcp_reflect.storage.retrieval.index import (
    TermCounts,
    error_marks,
    find_rows,
    mark,
    terms_of,
)
from mcp_reflect.storage.retrieval.question import (
    SEVERAL,
    WeighedQuestion,
    error_codes,
    own_programs,
    weigh,
)
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.vectors import MOST_COMPARED, Closeness, QueryVector

_COMPARED_AGAIN: Final = 16  # rows that are compared with the moved question
_TYPE_ROWS: Final = (
    3,
    0.2,
)  # rows, or part of the rows, that may hold a word of a task type that a task names
_TYPE_SIGNS: Final = lazy_compile(r"[\W_]+")
_WHOLE_WORD: Final = lazy_compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted numbers of the score; `python -m benchmarks.fit` prints the worth of each.

    `k1` and `b` are those of BM25; `stop` multiplies the weight of stop words. `closeness` is the worth of a lesson
    that means the same, where 1 is the worth of one that shares all terms; in the order it is less where records are
    longer than `plain_length` terms. `feedback` is the weight of the middle of the best `feedback_rows` beside the
    question.
    """

    k1: float = 1.0
    b: float = 0.9
    stop: float = 0.3
    closeness: float = 1.0
    plain_length: float = 15.0
    feedback: float = 1.0
    feedback_rows: int = 2


FITTED: Final = Weights()

# What a fit takes; docs/recall.md says what was measured. Unrelated tasks reach less, most tasks in near words more.
STRONG: Final = 0.28  # the score of a strong fit
CLOSE: Final = 0.42  # closeness that is enough without them
NEAR: Final = 0.22  # closeness of a weak fit
_WORTH: Final = 0.18  # the score of a weak fit where the caller asks for a few
_WORTH_CLOSE: Final = 0.3  # closeness that it needs, if it shares no two words
LONG: Final = (
    20  # telling words from which on a question is a report rather than a task in a sentence
)
NEAR_FOR_MORE: Final = 0.15  # the same where the caller asks for more than a few
WEAK_BY_SEVERAL: Final = (
    0.12  # the score of a weak fit by several words whose meaning is less close
)


# The score.


_LEAST_CLARITY: Final = 0.6  # abstracts of 100 terms lose by less


def _clarity(average: float, plain_length: float) -> float:
    """Return how much of its worth closeness keeps in a scope whose records have so many terms on average, 0 to 1.

    A vector is the middle of a record's words: the more words, the less it says of each, by the root of their number
    as the spread of a mean does. Fitted on eleven sets: no set loses, conversations gain .02 to .03 in R@10.
    """
    if not average:
        return 1.0
    return max(_LEAST_CLARITY, min(1.0, math.sqrt(plain_length / average)))


class Match(NamedTuple):
    """The relevance of a row. `score` is in 0..1 and can be compared between questions.

    `plain` is the score before the best rows were taken into account, `close` the closeness of the meanings, 0..1 or
    None without vectors. `words` are the shared words as the question has them, the rarest first, and `names` those of
    them that are identifiers. `asked` counts the telling words of the question. `names_it` says that one of the names has
    the form of one, or is a program of the project: a rare word may be one of the language.
    """

    row: int
    score: float
    plain: float
    close: float | None
    words: tuple[str, ...]
    names: tuple[str, ...]
    asked: int = 0
    names_it: bool = False

    @property
    def strong(self) -> bool:
        """True if the row surely has to do with the question: a shared identifier, or much of the rest."""
        several = len(self.words) >= SEVERAL or (self.close or 0.0) >= CLOSE
        return bool(self.names) or (self.plain >= STRONG and several)

    def in_common(self, near: float = NEAR) -> bool:
        """True if the row may have to do with the question: not by one common word, nor by a meaning less than `near`.

        Without vectors several words are enough.
        """
        least = (
            STRONG
            if len(self.words) < SEVERAL
            else WEAK_BY_SEVERAL
            if self.close is not None
            else 0.0
        )
        return self.strong or (self.close or 0.0) >= near or self.plain >= least

    @property
    def earns_its_line(self) -> bool:
        """True if the row is worth reading where the caller asks for a few: much is shared, in words or in meaning.

        Without vectors the words decide as `in_common` says.
        """
        if self.strong or self.close is None:
            return self.in_common()
        by_both = len(self.words) >= SEVERAL or self.close >= _WORTH_CLOSE
        return self.plain >= _WORTH and by_both


def _bm25(
    question: WeighedQuestion, counts: Mapping[str, float], length: float, weights: Weights
) -> float:
    """Return the weight of the question's terms in a row of relative `length`, more where they are frequent in it."""
    norm = weights.k1 * (1 - weights.b + weights.b * length)
    covered, count_of = 0.0, counts.get
    for terms, factor in ((question.own, 1.0), (question.stops, weights.stop)):
        for term, weight in terms.items():
            if count := count_of(term):
                covered += factor * weight * count / (count + norm)
    return covered


def _words(question: WeighedQuestion, terms: Collection[str]) -> tuple[str, ...]:
    """Return the words of shared terms, the rarest first."""
    if not terms:
        return ()
    ordered = sorted(terms, key=lambda term: (-question.own[term], term))
    return tuple(dict.fromkeys(question.words[term] for term in ordered))


SCORED: Final = 30  # rows found by terms that get a score, if nothing else is said
NEAREST: Final = 16  # rows found by meaning that get a score, or as many as are found by terms
MOST_LINES: Final = (
    20  # of a printed error, the last ones, each of which may be the one that identifies it
)
_MOST_IDENTIFIED: Final = 50
_BY_ERROR: Final = Match(row=0, score=1.0, plain=1.0, close=None, words=(), names=())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson with its relevance.

    `by_error`: one of the errors that were sent identifies it. `same_type` and `same_context`: it was stored with the
    task type and in the context that were sent. `names_type`: the task has the words of its task type. `misfit` says
    what is against it, if anything is.
    """

    lesson: Lesson
    match: Match
    by_error: bool = False
    same_type: bool = False
    same_context: bool = False
    names_type: bool = False
    misfit: str = ""

    @property
    def strong(self) -> bool:
        """True if it surely fits."""
        return not self.misfit and (
            self.by_error or self.match.strong or (self.same_type and self.same_context)
        )


def text_of(query: RecallQuery) -> str:
    """Return the text of a query that terms are taken from."""
    return "\n".join((query.task, *query.symptoms))


class Search:
    """The rows that share terms with a question or are near to it, and what scores them.

    `scored` rows are found by terms, and at least as many by meaning.
    """

    def __init__(
        self,
        reading: Reading,
        scope: Scope,
        query: RecallQuery,
        vectors: Sequence[QueryVector],
        index: VectorIndex,
        scored: int = SCORED,
    ) -> None:
        self._reading, self._scope, self._query = reading, scope, query
        self._counts = TermCounts(reading, scope)
        self._question = weigh(self._counts, text_of(query))
        weights = self._question.own
        rows = find_rows(self._counts, weights, scored)
        marks = (
            tuple(mark("kind", kind) for kind in query.kinds),
            tuple(mark("tag", tag) for tag in query.tags),
        )
        if groups := tuple(filter(None, marks)):
            rows += find_rows(self._counts, weights, scored, groups)
        self._closeness = None
        if vectors and weights:
            rows += self._compare(vectors, index, rows, max(NEAREST, scored))
        self._rows = reading.rows("index_features", {"rows": list(dict.fromkeys(rows))})

    def _compare(
        self,
        vectors: Sequence[QueryVector],
        index: VectorIndex,
        rows: Sequence[int],
        nearest: int,
    ) -> list[int]:
        """Compare the meaning of rows with the question's, and of those that are near to it; return the nearest."""
        near: set[int] = set()
        if self._counts.size <= MOST_COMPARED:
            for vector in vectors:
                near.update(index.nearest(self._reading, vector, self._counts.numbers, 2 * nearest))
        self._closeness = Closeness(self._reading, vectors, near.union(rows))
        for model, gone in self._closeness.without_vector.items():
            index.forget(model, gone)
        close = self._closeness.by_row
        return sorted(close.keys() & near, key=lambda row: (-close[row], -row))[:nearest]

    def matches(self, weights: Weights = FITTED) -> list[Match]:
        """Return the relevance of each row, the best first, of equal ones the newest.

        Terms are scored by BM25 (Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework"), as the part of
        the most that a row could have, so that scores of different questions can be compared.
        """
        question, closeness, average = self._question, self._closeness, self._counts.average
        total = math.fsum(question.own.values()) or 1.0
        shared: dict[int, set[str]] = {}
        parts: dict[int, float] = {}
        for row, length, terms in self._rows:
            counts: dict[str, float] = json.loads(terms)
            shared[row] = question.own.keys() & counts.keys()
            parts[row] = (
                _bm25(question, counts, length / average if average else 1.0, weights) / total
            )
        close: Mapping[int, float] = {}
        clarity = 1.0
        if closeness:
            close = closeness.by_row
            clarity = _clarity(average, weights.plain_length)
        plain = self._scores(parts, close, weights.closeness)
        order = self._scores(parts, close, clarity * weights.closeness)
        if closeness and weights.feedback and plain:
            ranked = sorted(order, key=lambda row: (-order[row], -row))
            # Rows that hardly fit say little about the question.
            feedback = weights.feedback * min(plain[ranked[0]] / STRONG, 1.0) ** 2
            moved = closeness.toward(
                ranked[: weights.feedback_rows], feedback, ranked[:_COMPARED_AGAIN]
            )
            order = self._scores(parts, {**close, **moved}, clarity * weights.closeness)
            # The question moved toward its best rows is closer to them: their scores may not rise by that.
            scale = max(plain.values()) / (max(order.values()) or 1.0)
            order = {row: value * scale for row, value in order.items()}
        return [
            Match(
                row=row,
                score=min(order[row], 1.0),
                plain=plain[row],
                close=close.get(row) if closeness else None,
                words=_words(question, shared[row]),
                names=_words(question, shared[row] & question.names),
                asked=question.telling,
                names_it=not shared[row].isdisjoint(question.formed),
            )
            for row in sorted(order, key=lambda row: (-order[row], -row))
        ]

    def _scores(
        self, parts: Mapping[int, float], close: Mapping[int, float], weight: float
    ) -> dict[int, float]:
        """Return the score of each row, 0 to 1: the mean of its part by terms and its closeness, which has a weight.

        A row that a better model compared has its closeness count more.
        """
        worth_of_row: Mapping[int, float] = {}
        if self._closeness:
            worth_of_row = self._closeness.worth_of_row
        scores: dict[int, float] = {}
        for row, part in parts.items():
            worth = weight * worth_of_row.get(row, 1.0)
            scores[row] = (part + worth * close.get(row, 0.0)) / (1 + worth)
        return scores

    def candidates(self, most: int | None = None) -> tuple[list[Candidate], int]:
        """Return the best lessons, at most so many, and how many rows have too little in common with the question.

        One of the task type comes with its context, or with a task that is nothing but the type.
        """
        ask, matches = self._query, self.matches()
        codes = error_codes(text_of(ask))
        context = context_hash(ask.context) if ask.context is not None else None
        identified = self._identified()
        ids = {lesson.id for lesson in identified}
        found = [(lesson, _BY_ERROR) for lesson in identified]
        lessons = lessons_at(self._reading, self._scope, [match.row for match in matches[:most]])
        found += [(lessons[one.row], one) for one in matches[:most] if one.row in lessons]
        programs = own_programs(text_of(ask))
        best: list[Candidate] = []
        for lesson, shared in found:
            match = _without_verbs(shared, lesson, programs)
            by_error = shared is _BY_ERROR
            same_type = is_same_type(lesson.task_type, ask.task_type)
            same_context = context is not None and lesson.context_hash == context
            candidate = Candidate(
                lesson,
                match,
                by_error,
                same_type,
                same_context,
                names_type=self._names_type_of(lesson),
                misfit=_misfit(lesson, codes),
            )
            wanted = _is_wanted(match, ask) or _is_of_type(candidate, ask)
            if by_error or (wanted and lesson.id not in ids):
                best.append(candidate)
        shown = {one.match.row for one in best}
        return best, sum(not _is_wanted(one, ask) and one.row not in shown for one in matches)

    def _names_type_of(self, lesson: Lesson) -> bool:
        """Return whether the question has all words of a lesson's task type, one of which few lessons have.

        "Apply the new terraform module" names terraform; in a bank where every lesson is about code, "code" names none.
        """
        terms = terms_of(" ".join(_TYPE_SIGNS.split(lesson.task_type or "")))
        if not terms or not self._question.own.keys() >= set(terms):
            return False
        least, part = _TYPE_ROWS
        few = max(least, part * self._counts.size)
        rows = self._counts.look_up(terms)
        return any(rows[term] <= few for term in terms)

    def _identified(self) -> list[Lesson]:
        """Return the lessons that one of the errors that were sent, or one of their last lines, identifies."""
        symptoms = self._query.symptoms
        lines = [
            line for symptom in symptoms for line in symptom[-10_000:].splitlines()[-MOST_LINES:]
        ]
        marks = error_marks((*symptoms, *lines))
        scopes = self._counts.numbers if marks else ()
        rows = [
            row
            for scope in scopes
            for row in self._counts.newest(scope, (marks,), _MOST_IDENTIFIED)
        ]
        lessons = lessons_at(self._reading, self._scope, rows)
        return sorted(lessons.values(), key=lambda lesson: lesson.id)


def is_same_type(one: str | None, other: str | None) -> bool:
    """Return whether two task types are the same but for their case and signs: API Design, apiDesign and api_design."""
    if one is None or other is None:
        return False
    return _TYPE_SIGNS.sub("", one.casefold()) == _TYPE_SIGNS.sub("", other.casefold())


def _is_of_type(candidate: Candidate, ask: RecallQuery) -> bool:
    """Return whether a row may be shown for its task type: sent with its context, as the task, or named by the task.

    A hook says what surely fits, and a type is too little for that.
    """
    if candidate.same_type:
        return candidate.same_context or ask.task == ask.task_type
    return candidate.names_type and not ask.strong_only


def _is_wanted(match: Match, ask: RecallQuery) -> bool:
    """Return whether a row may be shown: a hook takes its own choice of what has something in common."""
    if ask.wants_more:
        return match.in_common(NEAR_FOR_MORE)
    return match.in_common() if ask.strong_only else match.earns_its_line


def _without_verbs(match: Match, lesson: Lesson, programs: frozenset[str]) -> Match:
    """Return the match without programs that the lesson has only as another form of the word.

    Terms are stems, so that `./books` meets "book a room": a name is a name in that very form alone.
    """
    forms = {word.lower() for word in _WHOLE_WORD.findall(lesson.text)}
    verbs = {name for name in match.names if name.lower() in programs and name.lower() not in forms}
    if not verbs:
        return match
    names = tuple(name for name in match.names if name not in verbs)
    words = tuple(word for word in match.words if word not in verbs)
    return match._replace(names=names, words=words, names_it=match.names_it and bool(names))


def _misfit(lesson: Lesson, codes: Mapping[str, set[str]]) -> str:
    """Return why a lesson does not surely fit a task that names these error codes, empty if it may."""
    others = error_codes("\n".join((lesson.text, *lesson.symptoms))) if codes else {}
    same_form = codes.keys() & others.keys()
    other = same_form and all(codes[form].isdisjoint(others[form]) for form in same_form)
    return "about another error code" if other else ""


def lessons_at(reading: Reading, scope: Scope, rows: Sequence[int]) -> dict[int, Lesson]:
    """Return the records of rows by row, without those that recall may not show."""
    values: dict[str, Any] = {"rows": rows, **scoped(scope)}
    return {
        row["row"]: lesson_from(row)
        for row in (reading.rows("index_lessons", values) if rows else ())
    }
