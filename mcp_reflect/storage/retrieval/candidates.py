"""The lessons that may fit a question, best first, and the errors that identify a lesson."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecallQuery
from mcp_reflect.signature import fingerprint
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.retrieval.identifiers import tools_differ, tools_of
from mcp_reflect.storage.retrieval.index import Features, Groups, TermCounts, features_of, find_held, find_rows
from mcp_reflect.storage.retrieval.scoring import Match, WeighedQuestion, score, weigh
from mcp_reflect.storage.retrieval.vectors import MOST_COMPARED, Closeness, QueryVector, VectorIndex
from mcp_reflect.storage.sqlite.statements import Reading, Writing, lesson_from, scope_values

SCORED: Final = 30  # rows found by terms that get a score
NEAREST: Final = 40  # rows found by meaning that get a score
MOST_SCORED: Final = 2_000  # with filters that few lessons pass
_FEW: Final = 2_000  # a scope with no more rows than this needs no help to find those of a task type


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson with its relevance. `by_error`: one of the errors that were sent identifies it."""

    lesson: Lesson
    match: Match
    by_error: bool = False
    tools_differ: bool = False
    vector: bytes | None = None

    @property
    def strong(self) -> bool:
        """True if it surely fits: one on other programs than the task's does not."""
        return self.by_error or (self.match.strong and not self.tools_differ)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best candidates, how many scored rows have nothing in common, and how many wait in quarantine."""

    best: list[Candidate]
    not_relevant: int = 0
    held: int = 0
    every: bool = True  # False if there are more rows than were scored


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """The rows that get a score, with the question that they are compared with. `every`: there are no more."""

    counts: TermCounts
    question: WeighedQuestion
    rows: list[Features]
    closeness: Closeness | None
    every: bool


@dataclass(frozen=True, slots=True)
class Search:
    """The means of one recall: the question, its vector, the signs in memory, and how many rows are wanted."""

    ask: RecallQuery
    query: QueryVector | None
    index: VectorIndex
    scored: int = SCORED
    read: int | None = None

    def candidates(self, reading: Reading, scope: Scope) -> Candidates:
        """Return the active lessons of a scope, and global ones, that may fit. Many queries on one thread."""
        scored = self.scored_rows(reading, scope)
        question, counts, closeness = scored.question, scored.counts, scored.closeness
        matches = score(question, scored.rows, counts.average, closeness)
        if closeness and self.query and (lost := closeness.without_vector):
            self.index.forget(self.query.model, lost)
        common = [match for match in matches if match.in_common]
        tools = tools_of(self.ask.text)
        lessons = lessons_at(reading, scope, [match.row for match in common[: self.read]])
        best = [
            Candidate(
                lesson,
                match,
                tools_differ=bool(tools) and tools_differ(tools, tools_of(lesson.text)),
                vector=closeness.vector(match.row) if closeness else None,
            )
            for match in common[: self.read]
            if (lesson := lessons.get(match.row))
        ]
        known = _known_by(reading, scope, self.ask.symptoms)
        ids = {candidate.lesson.id for candidate in known}
        best = [*known, *(candidate for candidate in best if candidate.lesson.id not in ids)]
        held = _held(counts, question) if question.own else 0
        return Candidates(best, len(matches) - len(common), held, every=scored.every)

    def scored_rows(self, reading: Reading, scope: Scope) -> "ScoredRows":
        """Return the rows that share terms with the question or are near to it, and what scores them."""
        counts = TermCounts(reading, scope)
        question = weigh(counts, self.ask.text)
        by_terms = _rows(counts, question, self.ask, self.scored)
        nearest = self._nearest(reading, counts) if question.has_meaning else ()
        rows = list(dict.fromkeys((*by_terms, *nearest)))
        closeness = Closeness(reading, self.query) if self.query and question.has_meaning else None
        return ScoredRows(counts, question, features_of(reading, rows), closeness, every=len(by_terms) < self.scored)

    def _nearest(self, reading: Reading, counts: TermCounts) -> list[int]:
        if self.query is None or counts.size > MOST_COMPARED:
            return []
        return self.index.nearest(reading, self.query, counts.numbers, max(NEAREST, self.scored))


def _rows(counts: TermCounts, question: WeighedQuestion, ask: RecallQuery, limit: int) -> list[int]:
    """The rows that share most terms; where filters or the task type name few rows, also the best of these."""
    weights = question.search_weights()
    groups: Groups = tuple(
        group
        for group in (
            tuple(index.kind_mark(kind.value) for kind in ask.kinds),
            tuple(map(index.tag_mark, ask.tags)),
        )
        if group
    )
    rows = find_rows(counts, weights, limit)
    if groups:
        rows += find_rows(counts, weights, limit, groups)
    if ask.task_type and counts.size > _FEW:
        rows += find_rows(counts, weights, limit, (*groups, (index.type_mark(ask.task_type),)))
    return rows


def _held(counts: TermCounts, question: WeighedQuestion) -> int:
    """How many quarantined lessons share words with the question."""
    rows = features_of(counts.reading, find_held(counts, question.own))
    return sum(match.in_common for match in score(question, rows, counts.average, None))


def lessons_at(reading: Reading, scope: Scope, rows: Sequence[int]) -> dict[int, Lesson]:
    """Return the records of rows by row, without those that recall may not show."""
    if not rows:
        return {}
    values: dict[str, Any] = {"rows": rows, **scope_values(scope)}
    return {row["row"]: lesson_from(row) for row in reading.rows("index_lessons", values)}


# Lessons by the errors that identify them: the fingerprint of an error finds what its words might not.


LEAST_CHARS: Final = 12  # of a fingerprint: "error" or "failed" identify nothing
MOST_LINES: Final = 20  # of a printed error, the last ones, each of which may be the one that identifies it
_BY_ERROR: Final = Match(row=0, score=1.0, plain=1.0, shared=1.0, close=None, words=(), names=())


def symptom_values(scope: Scope, lesson: Lesson) -> list[dict[str, str]]:
    """Return the errors that identify a lesson, as values to bind."""
    return [
        {"lesson_id": lesson.id, "fingerprint": text, "tenant": scope.tenant}
        for text in sorted(_fingerprints(lesson.symptoms, lines=False))
    ]


def renew_symptoms(tx: Writing, scope: Scope, lesson: Lesson) -> None:
    """Store which errors identify a changed lesson now."""
    tx.run("symptom_remove", {"lesson_id": lesson.id})
    if values := symptom_values(scope, lesson):
        tx.run_many("symptom_add", values)


def _known_by(reading: Reading, scope: Scope, symptoms: Iterable[str]) -> list[Candidate]:
    """The lessons that one of these very errors identifies."""
    sent = _fingerprints(symptoms, lines=True)
    rows = reading.rows("symptom_lessons", {"fingerprints": sorted(sent), **scope_values(scope)}) if sent else ()
    return [Candidate(lesson_from(row), _BY_ERROR, by_error=True) for row in rows]


def _fingerprints(symptoms: Iterable[str], *, lines: bool) -> set[str]:
    texts: set[str] = set()
    for symptom in symptoms:
        texts.add(fingerprint(symptom))
        if lines:
            texts.update(fingerprint(line) for line in symptom[-10_000:].splitlines()[-MOST_LINES:])
    return {text for text in texts if len(text) >= LEAST_CHARS}
