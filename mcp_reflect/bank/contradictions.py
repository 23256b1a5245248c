"""Lessons that contradict each other: tied when one is stored, and put in order when both are recalled."""

from collections.abc import Iterable, Mapping
from typing import Final

from mcp_reflect.bank.opposites import contradict
from mcp_reflect.bank.sqlite.statements import Reading, Transaction
from mcp_reflect.bank.standing import Rates
from mcp_reflect.models.lesson import Kind, Lesson, Trust

RELATION: Final = "contradicts"
_BEHIND: Final = 0.99  # of the leading lesson's score: right after it


async def cut(tx: Transaction, lesson: Lesson) -> None:
    """Cut the ties of a lesson whose wording changed."""
    await tx.run("link_cut", {"id": lesson.id, "relation": RELATION})


async def tie(tx: Transaction, lesson: Lesson, near: Iterable[Lesson]) -> None:
    """Tie a lesson to those of the `near` ones (see `nearest`) that it contradicts, both ways."""
    for other in near:
        if other.id != lesson.id and _opposed(lesson, other):
            for one, two in ((lesson.id, other.id), (other.id, lesson.id)):
                values = {"from_id": one, "relation": RELATION, "to_kind": "lesson", "to_id": two}
                await tx.run("link_add", values)


def _opposed(one: Lesson, other: Lesson) -> bool:
    if other.trust is Trust.QUARANTINED:
        return False
    if None not in (one.task_type, other.task_type) and one.task_type != other.task_type:
        return False
    return contradict((one.mistake or "", one.correction or ""), (other.mistake or "", other.correction or ""))


def among(reading: Reading, lessons: Iterable[Lesson]) -> Mapping[str, tuple[str, ...]]:
    """Which of `lessons` contradict which other ones of them, by id."""
    ids = [lesson.id for lesson in lessons if lesson.kind is Kind.LESSON]
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
