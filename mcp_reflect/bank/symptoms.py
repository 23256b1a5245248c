"""Lessons by the errors that show them: an error's fingerprint finds what its words might not."""

from collections.abc import Iterable, Sequence
from typing import Final

from mcp_reflect.bank.candidates import Candidate
from mcp_reflect.bank.sqlite.rows import lesson_from, scope_values
from mcp_reflect.bank.sqlite.statements import Reading, Transaction
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.signature import fingerprint

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
