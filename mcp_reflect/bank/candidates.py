"""Which lessons could be meant: the one function that ranking, merging and warnings take their rows from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.bank.lexical import Match, Question, matches
from mcp_reflect.bank.sqlite.database import Reading, Transaction
from mcp_reflect.bank.sqlite.rows import lesson_from, scope_values
from mcp_reflect.records.lesson import Kind, Lesson
from mcp_reflect.records.scope import Scope

NEAR_SCORED: Final = 30  # rows scored in search of the same lesson, which has most of its words


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson that shares words with the question.

    `fit` is its relevance score relative to the best candidate's, `share` the part of the question's weight
    (inverse document frequency) that its words cover; both in 0..1. `terms` are the words shared, the
    most telling first, of the `asked` telling words that the question has.
    `by_error`: one of the errors that were told is a symptom of the lesson.
    """

    lesson: Lesson
    fit: float
    share: float
    terms: tuple[str, ...]
    asked: int
    by_error: bool = False


def candidates(reading: Reading, scope: Scope, question: Question, limit: int) -> list[Candidate]:
    """The active lessons of a scope, and global ones, that share telling words with a question, best first.

    Run it with `look` of a database or a transaction: it is many queries, and one change of threads.
    """
    found = matches(reading, scope, question)[:limit]
    return _with_lessons(reading, scope, found)


async def nearest(tx: Transaction, scope: Scope, text: str, limit: int) -> list[Lesson]:
    """The lessons that share most words with a text, as a transaction sees them: what merging compares."""
    question = Question(text, kinds=(Kind.LESSON.value,), scored=NEAR_SCORED)
    found = await tx.look(lambda reading: candidates(reading, scope, question, NEAR_SCORED))
    return [candidate.lesson for candidate in found if candidate.lesson.kind is Kind.LESSON][:limit]


def _with_lessons(reading: Reading, scope: Scope, found: Sequence[Match]) -> list[Candidate]:
    """The matches with their records, in the same order; rows that recall may not show are left out."""
    values: dict[str, Any] = {"rows": [match.row for match in found], **scope_values(scope)}
    lessons = {row["row"]: lesson_from(row) for row in reading.rows("index_lessons", values)}
    return [
        Candidate(lessons[match.row], fit=match.score, share=match.share, terms=match.terms, asked=match.asked)
        for match in found
        if match.row in lessons
    ]
