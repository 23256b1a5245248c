"""The candidates of ranking and warnings, and the symptoms that identify a lesson."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.signature import fingerprint
from mcp_reflect.storage.retrieval.lexical import Match, Question, gate_for, matches
from mcp_reflect.storage.sqlite.rows import lesson_from, scope_values
from mcp_reflect.storage.sqlite.statements import Reading, Transaction

# Words and meaning in one score.
#
# Scores are joined, not ranks: a rank forgets how much better the first is than the second. The lexical score is
# scaled by the best row's; the cosine by what unrelated texts have in the same model, and raised to a power, for a
# low
# one tells next to nothing. Then once more from where the best rows lie (Rocchio 1971), for the question is one
# wording
# and they are several.
#
# How much meaning counts depends on the bank: where all lessons are close to one another (reports of one kind of
# work, say), their cosines with a question hardly tell them apart, and their words do. `benchmarks.recall --embed`
# measures it; the numbers were chosen over six sets together.


MEANING: Final = 0.9  # the part that meaning has in a score; words have the rest
ALIKE: Final = 0.18  # lessons that are closer to one another than this are told apart less well
FALL: Final = 2.0  # what meaning loses of its part for each unit that they are closer
LEAST_MEANING: Final = 0.2
STEEP: Final = 2.5  # the power of closeness
FEEDBACK: Final = 0.8  # how much the middle of the best rows is worth beside the question
FEEDBACK_ROWS: Final = 2


class Meant(Protocol):
    """What a question means, beside lessons: how close they are, 0..1, for those that have a vector (see `Asked`).

    `alike` is how close the lessons are to one another, 0..1.
    """

    @property
    def alike(self) -> float: ...
    @property
    def near(self) -> Sequence[int]: ...
    def beside(self, reading: Reading, rows: Sequence[int]) -> "Meant": ...
    def closeness(self, rows: Sequence[int]) -> Mapping[int, float]: ...
    def moved(self, rows: Sequence[int], weight: float) -> "Meant": ...


def fused(found: Sequence[Match], beside: Meant) -> list[Match]:
    """The matches, and rows that share no word but lie near, by words and meaning together, best first.

    The best has the score 1. A lesson without a vector (yet) is taken to mean as much as its words say.
    """
    known = {match.row: match for match in found}
    asked = max((match.asked for match in found), default=1)
    rows = list(dict.fromkeys((*known, *beside.near)))
    words = {row: known[row].score if row in known else 0.0 for row in rows}
    close = beside.closeness(rows)
    part = meaning_part(beside.alike)
    first = _mixed(words, close, part)
    top = sorted((row for row in rows if row in close), key=lambda row: (-first[row], -row))[:FEEDBACK_ROWS]
    scores = _mixed(words, beside.moved(top, FEEDBACK).closeness(rows), part) if top else first
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return list(found)
    return [
        replace(
            known.get(row) or Match(row, 0.0, 0.0, (), asked), score=max(scores[row], 0.0) / best, close=close.get(row)
        )
        for row in sorted(rows, key=lambda row: (-scores[row], -row))
    ]


def meaning_part(alike: float) -> float:
    """The part (0..1) that meaning has in a score where lessons are so `alike` (0..1)."""
    return max(MEANING - FALL * max(alike - ALIKE, 0.0), LEAST_MEANING)


def _mixed(words: Mapping[int, float], close: Mapping[int, float], part: float) -> dict[int, float]:
    """The score of each row, 0..1; `part` is what meaning has of it."""
    nearest = max(close.values(), default=0.0) ** STEEP
    return {
        row: (1 - part) * score + part * (close[row] ** STEEP if row in close else nearest * score)
        for row, score in words.items()
    }


# Which lessons could be meant: the one function that ranking and warnings take their rows from.


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


# Lessons by the errors that show them: an error's fingerprint finds what its words might not.


LEAST_CHARS: Final = 12  # of a fingerprint: "error" or "failed" name none
MOST_LINES: Final = 20  # of a printed error, the last ones, each of which may be the one that names it


def values_of(scope: Scope, lesson: Lesson) -> list[dict[str, str]]:
    """The errors that a lesson is known by, as values to bind."""
    return [
        {"lesson_id": lesson.id, "fingerprint": one, "tenant": scope.tenant}
        for one in sorted(_fingerprints(lesson.symptoms, lines=False))
    ]


async def renew(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Remember which errors a changed lesson is known by now."""
    await tx.run("symptom_remove", {"lesson_id": lesson.id})
    if values := values_of(scope, lesson):
        await tx.run_many("symptom_add", values)


def with_symptoms(
    reading: Reading, scope: Scope, symptoms: Iterable[str], found: Sequence[Candidate]
) -> list[Candidate]:
    """The candidates, with the lessons that one of these very errors shows before the others."""
    told = _fingerprints(symptoms, lines=True)
    rows = reading.rows("symptom_lessons", {"fingerprints": sorted(told), **scope_values(scope)}) if told else []
    shown = [Candidate(lesson_from(row), fit=1.0, share=1.0, terms=(), asked=0, by_error=True) for row in rows]
    ids = {candidate.lesson.id for candidate in shown}
    return [*shown, *(candidate for candidate in found if candidate.lesson.id not in ids)]


def _fingerprints(symptoms: Iterable[str], *, lines: bool) -> set[str]:
    found: set[str] = set()
    for symptom in symptoms:
        found.add(fingerprint(symptom))
        if lines:
            found.update(fingerprint(line) for line in symptom[-10_000:].splitlines()[-MOST_LINES:])
    return {one for one in found if len(one) >= LEAST_CHARS}
