"""The benchmark of learning, on a few seeds: the ranking finds the true worth, and proof outweighs praise."""

import pytest

from benchmarks.learning import (
    bad_outcomes_until_gone,
    good_one_stays,
    kendall,
    praise_against_proof,
    ranking,
)


async def test_recall_ranks_by_true_worth_as_well_as_the_sample_mean_does() -> None:
    found, by_mean, _ = await ranking(seed=3, low=0.0, high=1.0, count=20)
    assert found >= 0.7
    assert abs(found - by_mean) <= 0.02


async def test_five_proven_failures_take_a_harmful_lesson_out() -> None:
    assert await bad_outcomes_until_gone(None) <= 5


async def test_two_failures_among_the_first_three_do_not() -> None:
    assert await good_one_stays((False, False, True))


async def test_praise_does_not_lift_a_lesson_above_proof() -> None:
    assert await praise_against_proof(1, 0, times=30)


def test_tau_is_that_of_the_books() -> None:
    assert kendall([1, 2, 3, 4], [1, 2, 3, 4]) == 1
    assert kendall([1, 2, 3], [3, 2, 1]) == -1
    assert kendall([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(5 / 30**0.5)
