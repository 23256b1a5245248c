"""How often a lesson works by its evidence, when it is harmful, unfit or held out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.recall import Fit
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.outcomes import WeightedOutcome, total
from mcp_reflect.storage.recalls import is_withheld

COUNTS = st.floats(0, 200)
SELF = st.lists(
    st.builds(
        WeightedOutcome, st.sampled_from([0.0, 0.5, 1.0]), st.just(0.3), st.sampled_from([False])
    ),
    max_size=40,
)
PROOFS = st.lists(
    st.builds(WeightedOutcome, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.5, 0.8, 1.0])),
    max_size=20,
)


def lesson(wins: float = 0.0, losses: float = 0.0) -> Lesson:
    return Lesson(
        id="les_1", project="app", text="Sent the name. Send the id.", mistake="Sent the name",
        correction="Send the id", wins=wins, losses=losses, proof=wins + losses, created_at=0, updated_at=0,
    )  # fmt: skip


@given(COUNTS, COUNTS, COUNTS)
def test_a_rate_lies_between_an_even_chance_and_the_record_and_grows_with_wins(
    wins: float, losses: float, more: float
) -> None:
    one = lesson(wins, losses)
    record = wins / (wins + losses) if wins + losses else 0.5
    assert min(0.5, record) - 1e-9 <= one.rate <= max(0.5, record) + 1e-9
    better = lesson(wins + more, losses)
    assert better.rate >= one.rate - 1e-9
    assert one.harmful or not better.harmful


@given(SELF, PROOFS)
def test_what_agents_say_weighs_no_more_than_one_proof_and_gives_way_to_proof(
    own: Sequence[WeightedOutcome], proofs: Sequence[WeightedOutcome]
) -> None:
    found, proved = total([*own, *proofs]), total(proofs)
    weight = sum(one.weight for one in proofs)
    assert found.wins + found.losses <= max(weight, 1.0) + 1e-9
    if weight >= 1:
        assert (found.wins, found.losses) == pytest.approx((proved.wins, proved.losses))


@given(SELF, PROOFS)
def test_a_proven_success_never_lowers_a_lesson_and_a_proven_failure_never_raises_it(
    own: Sequence[WeightedOutcome], proofs: Sequence[WeightedOutcome]
) -> None:
    def mean(outcomes: Sequence[WeightedOutcome]) -> float:
        found = total(outcomes)
        return lesson(found.wins, found.losses).rate

    before = mean([*own, *proofs])
    assert mean([*own, *proofs, WeightedOutcome(1, 1)]) >= before - 1e-9
    assert mean([*own, *proofs, WeightedOutcome(0, 1)]) <= before + 1e-9


def test_a_clear_record_of_failures_proves_harm_and_a_few_do_not() -> None:
    assert all(lesson(*counts).harmful for counts in [(0, 4), (1, 7), (5, 40)])
    assert not any(lesson(*counts).harmful for counts in [(0, 3), (1, 2), (2, 3), (5, 8)])


LESSON: dict[str, Any] = {
    "mistake": "Deployed without the migration",
    "correction": "Run the migration first",
}
TASK = "deploy with a migration"
APP = Scope(project="app")


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_the_same_task_is_always_in_the_same_arm_and_a_larger_share_keeps_it(
    task: str, share: float, more: float
) -> None:
    assert is_withheld(APP, task, share) == is_withheld(APP, f"  {task} ", share)
    assert not is_withheld(APP, task, min(share, more)) or is_withheld(APP, task, max(share, more))


def test_the_share_of_tasks_is_the_one_that_is_set() -> None:
    held = sum(is_withheld(APP, f"task {number}", 0.2) for number in range(5000))
    assert 0.18 < held / 5000 < 0.22
    assert not any(is_withheld(APP, f"task {number}", 0) for number in range(1000))
    assert all(is_withheld(APP, f"task {number}", 1) for number in range(1000))


async def test_what_is_held_out_is_counted_but_neither_shown_nor_applied(
    settings: Settings,
) -> None:
    async with Engine(replace(settings, holdout=1.0)) as engine:
        stored = await engine.store_lesson(**LESSON)
        found = await engine.recall(task=TASK)
        assert (found.lessons, found.hidden["held_out"]) == ((), 1)
        lesson = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
        assert lesson.times_applied == 0


async def test_an_outcome_without_lessons_is_told_for_the_comparison_and_moves_none(
    settings: Settings,
) -> None:
    async with Engine(replace(settings, holdout=1.0)) as engine:
        stored = await engine.store_lesson(**LESSON)
        found = await engine.recall(task=TASK)
        told = await engine.record_outcome(success=True, recall_id=found.recall_id)
        assert (told.updated, told.reason) == (
            (),
            "the lessons of that recall were held out: counted for the comparison",
        )
        assert (
            await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
        ).effectiveness is None
        with pytest.raises(InputError, match="was not among"):
            await engine.record_outcome(
                success=True, recall_id=found.recall_id, lesson_ids=[stored.lesson_id]
            )


async def test_nothing_is_held_out_unless_it_is_set(engine: Engine) -> None:
    stored = await engine.store_lesson(**LESSON)
    assert [hit.id for hit in (await engine.recall(task=TASK)).lessons] == [stored.lesson_id]
    nothing = await engine.recall(task="?!")
    with pytest.raises(InputError, match="showed nothing"):
        await engine.record_outcome(success=True, recall_id=nothing.recall_id)


FORECAST = "deploy the orders service on a Friday"
OTHER = "Friday: the release of the orders service failed at the gateway; choose a weekday to deploy the next version"
BULLETIN = {
    "mistake": "Deployed the orders service on a Friday",
    "correction": "Deploy the orders service on a Tuesday",
}


async def test_a_lesson_that_did_not_fit_a_task_is_weak_for_similar_tasks_and_strong_for_others(
    engine: Engine,
) -> None:
    stored = await engine.store_lesson(**BULLETIN)
    recall = await engine.recall(task=FORECAST)
    assert recall.lessons[0].fit is Fit.STRONG
    outcome = await engine.record_outcome(recall_id=recall.recall_id, success="irrelevant")
    assert [(one.id, one.effectiveness) for one in outcome.updated] == [(stored.lesson_id, None)]
    (again,) = (await engine.recall(task="Deploy the orders service on Friday evening")).lessons
    assert (again.fit, again.effectiveness) == (Fit.WEAK, None)
    assert again.score < 0.5
    assert "did not fit a task like this" in again.why
    (other,) = (await engine.recall(task=OTHER)).lessons
    assert other.fit is Fit.STRONG
