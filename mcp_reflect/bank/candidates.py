"""Which lessons could be meant: the one function that ranking and warnings take their rows from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_reflect.bank.hybrid import Meant, fused
from mcp_reflect.bank.lexical import Question, matches
from mcp_reflect.bank.relevance import gate_for
from mcp_reflect.bank.sqlite.rows import lesson_from, scope_values
from mcp_reflect.bank.sqlite.statements import Reading
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson that shares words with the question.

    `fit` is its relevance score relative to the best candidate's, `share` the part of the question's weight
    (inverse document frequency) that its words cover; both in 0..1. `terms` are the words shared, the
    most telling first, of the `asked` telling words that the question has. `close` is how close the meanings
    are, 0..1, null where nobody embeds, and `evidence` how much speaks for the lesson, beside what chance gives
    (see `relevance`). `by_error`: one of the errors that were told is a symptom of the lesson.
    """

    lesson: Lesson
    fit: float
    share: float
    terms: tuple[str, ...]
    asked: int
    close: float | None = None
    evidence: float = 0.0
    by_error: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """The candidates, best first, and how many more share words with the question and have nothing to do with it."""

    candidates: list[Candidate]
    not_relevant: int = 0


def candidates(
    reading: Reading,
    scope: Scope,
    question: Question,
    limit: int | None,
    meant: Meant | None = None,
    *,
    whole: bool = False,
) -> Looked:
    """The active lessons of a scope, and global ones, that share telling words with a question.

    A null `limit` gives all that got an exact score. With what is `meant` by the question, also those that mean
    something close. What the gate keeps out is only counted, or read like the others where `whole` is asked for.
    Run it with `look` of a database or a transaction: it is many queries, and one change of threads.
    """
    every = matches(reading, scope, question, most=limit if meant is None else None)
    found = [match for match in every if not match.held]
    if meant is not None:
        found = fused(found, meant.beside(reading, [match.row for match in found]))
    honest = found[:limit]
    gate = gate_for(honest)
    relevant = honest if whole else [match for match in honest if gate.lets_in(match)]
    found = [*relevant, *(match for match in every if match.held)]
    lessons = lessons_at(reading, scope, [match.row for match in found]) if found else {}
    read = [
        Candidate(
            lessons[match.row],
            fit=match.score,
            share=match.share,
            terms=match.terms,
            asked=match.asked,
            close=match.close,
            evidence=match.evidence,
        )
        for match in found
        if match.row in lessons
    ]
    return Looked(read, len(honest) - len(relevant))


def lessons_at(reading: Reading, scope: Scope, rows: Sequence[int]) -> dict[int, Lesson]:
    """The records of rows by row, but for those that recall may not show."""
    values: dict[str, Any] = {"rows": rows, **scope_values(scope)}
    return {row["row"]: lesson_from(row) for row in reading.rows("index_lessons", values)}
