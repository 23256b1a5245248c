"""The lessons that may fit a question, best first, and the errors that identify a lesson."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecallQuery
from mcp_reflect.signature import fingerprint
from mcp_reflect.storage.retrieval.index import TermCounts, find_rows, mark
from mcp_reflect.storage.retrieval.scoring import FITTED, Match, Weights, score, tools_of, weigh
from mcp_reflect.storage.retrieval.vectors import MOST_COMPARED, Closeness, QueryVector, VectorIndex
from mcp_reflect.storage.sqlite.statements import Reading, Writing, lesson_from, scoped

SCORED: Final = 30  # rows found by terms that get a score, if nothing else is said
NEAREST: Final = 16  # rows found by meaning that get a score, or as many as are found by terms
LEAST_CHARS: Final = 12  # of a fingerprint: "error" or "failed" identify nothing
MOST_LINES: Final = 20  # of a printed error, the last ones, each of which may be the one that identifies it
_BY_ERROR: Final = Match(row=0, score=1.0, plain=1.0, close=None, words=(), names=())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson with its relevance.

    `by_error`: one of the errors that were sent identifies it. `other_tools`: it names programs, the task others.
    `irrelevant`: an agent said that it did not fit a similar task.
    """

    lesson: Lesson
    match: Match
    by_error: bool = False
    other_tools: bool = False
    irrelevant: bool = False

    @property
    def strong(self) -> bool:
        """True if it surely fits: one on other programs than the task's does not."""
        return not self.irrelevant and (self.by_error or (self.match.strong and not self.other_tools))


class Search:
    """The rows that share terms with a question or are near to it, and what scores them.

    `scored` rows are found by terms, and at least as many by meaning. `every` is False if there may be more.
    """

    def __init__(
        self,
        reading: Reading,
        scope: Scope,
        query: RecallQuery,
        vector: QueryVector | None,
        index: VectorIndex,
        scored: int = SCORED,
    ) -> None:
        self._reading, self._scope, self._query = reading, scope, query
        self._counts = TermCounts(reading, scope)
        self._question = weigh(self._counts, query.text)
        weights = self._question.own
        rows = find_rows(self._counts, weights, scored)
        self.every = len(rows) < scored
        marks = (tuple(mark("kind", kind) for kind in query.kinds), tuple(mark("tag", tag) for tag in query.tags))
        if groups := tuple(filter(None, marks)):
            rows += find_rows(self._counts, weights, scored, groups)
        self._closeness = None
        if vector and weights:
            near: list[int] = []
            nearest = max(NEAREST, scored)
            if self._counts.size <= MOST_COMPARED:
                near = index.nearest(reading, vector, self._counts.numbers, 3 * nearest)
            self._closeness = Closeness(reading, vector, (*rows, *near))
            index.forget(vector.model, self._closeness.without_vector)
            close = self._closeness.by_row
            rows += sorted(close.keys() & near, key=lambda row: (-close[row], -row))[:nearest]
        self._rows = reading.rows("index_features", {"rows": list(dict.fromkeys(rows))})

    def matches(self, weights: Weights = FITTED) -> list[Match]:
        """Return the relevance of each row, the best first."""
        return score(self._question, self._rows, self._counts.average, self._closeness, weights)

    def candidates(self, most: int | None = None) -> tuple[list[Candidate], int]:
        """Return the best lessons, at most so many, and how many rows have nothing in common with the question."""
        matches = self.matches()
        common = [match for match in matches if match.in_common]
        tools = tools_of(self._query.text)
        lessons = lessons_at(self._reading, self._scope, [match.row for match in common[:most]])
        best = _identified(self._reading, self._scope, self._query.symptoms)
        ids = {candidate.lesson.id for candidate in best}
        for match in common[:most]:
            lesson = lessons.get(match.row)
            if lesson and lesson.id not in ids:
                others = tools_of(lesson.text) if tools else ()
                best.append(Candidate(lesson, match, other_tools=bool(others) and tools.isdisjoint(others)))
        return best, len(matches) - len(common)


def lessons_at(reading: Reading, scope: Scope, rows: Sequence[int]) -> dict[int, Lesson]:
    """Return the records of rows by row, without those that recall may not show."""
    values: dict[str, Any] = {"rows": rows, **scoped(scope)}
    return {row["row"]: lesson_from(row) for row in (reading.rows("index_lessons", values) if rows else ())}


# Lessons by the errors that identify them: the fingerprint of an error finds them where its words might not.


def symptom_values(scope: Scope, lesson: Lesson) -> list[dict[str, str]]:
    """Return the errors that identify a lesson, as values to bind."""
    return [
        {"lesson_id": lesson.id, "fingerprint": text, "tenant": scope.tenant} for text in _fingerprints(lesson.symptoms)
    ]


def renew_symptoms(tx: Writing, scope: Scope, lesson: Lesson) -> None:
    """Store which errors identify a changed lesson now."""
    tx.run("symptom_remove", {"lesson_id": lesson.id})
    if values := symptom_values(scope, lesson):
        tx.run_many("symptom_add", values)


def _identified(reading: Reading, scope: Scope, symptoms: Iterable[str]) -> list[Candidate]:
    """Return the lessons that one of these errors, or one of their last lines, identifies."""
    lines = [line for symptom in symptoms for line in symptom[-10_000:].splitlines()[-MOST_LINES:]]
    values = {"fingerprints": _fingerprints((*symptoms, *lines)), **scoped(scope)}
    rows = reading.rows("symptom_lessons", values) if values["fingerprints"] else ()
    return [Candidate(lesson_from(row), _BY_ERROR, by_error=True) for row in rows]


def _fingerprints(symptoms: Iterable[str]) -> list[str]:
    return sorted({text for text in map(fingerprint, symptoms) if len(text) >= LEAST_CHARS})
