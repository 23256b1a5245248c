"""What a lesson is worth by its evidence: a rate against the base rate of its type, and when one is harmful."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.lesson import Lesson
from mcp_reflect.storage.effectiveness import Rates, WeightedOutcome, total

COUNTS = st.floats(0, 200)
RATES = st.tuples(COUNTS, COUNTS).map(lambda pair: (pair[0], pair[0] + pair[1]))
SELF = st.lists(
    st.builds(WeightedOutcome, st.sampled_from([0.0, 0.5, 1.0]), st.just(0.3), st.sampled_from([False])), max_size=40
)
PROOFS = st.lists(
    st.builds(WeightedOutcome, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.5, 0.8, 1.0])), max_size=20
)


def lesson(wins: float = 0.0, losses: float = 0.0, task_type: str | None = None) -> Lesson:
    return Lesson(
        id="les_1",
        project="app",
        text="Sent the name. Send the id.",
        mistake="Sent the name",
        correction="Send the id",
        task_type=task_type,
        wins=wins,
        losses=losses,
        proof=wins + losses,
        created_at=0,
        updated_at=0,
    )


def alone(one: Lesson) -> Rates:
    """The rates of a scope with that lesson in it and no other."""
    return Rates({one.task_type or "": (one.wins, one.wins + one.losses)})


@given(COUNTS, COUNTS, RATES, RATES)
def test_a_rate_lies_in_its_interval_and_between_the_base_rate_and_the_record(
    wins: float, losses: float, own_type: tuple[float, float], others: tuple[float, float]
) -> None:
    one = lesson(wins, losses, "deploy")
    rates = Rates({"deploy": (own_type[0] + wins, own_type[1] + wins + losses), "": others})
    estimate = rates.effectiveness(one)
    low, mean, high, base_rate = (estimate[name] for name in ("low", "mean", "high", "base_rate"))
    record = wins / (wins + losses) if wins + losses else base_rate
    assert min(base_rate, record) - 1e-3 <= mean <= max(base_rate, record) + 1e-3
    assert 0 <= low <= high <= 1
    assert low <= mean <= high
    assert 0 < rates.base_rate(one) < 1


def test_the_bar_is_how_other_lessons_of_the_type_fare() -> None:
    rates = Rates({"deploy": (2, 20), "search": (18, 20)})
    assert rates.base_rate(lesson(task_type="deploy")) < 0.3
    assert rates.base_rate(lesson(task_type="search")) > 0.7
    unseen = rates.base_rate(lesson(task_type="unseen"))
    assert unseen == pytest.approx((20 + 2) / (40 + 4))


def test_a_lesson_does_not_lower_the_bar_it_is_held_to() -> None:
    bad = lesson(0, 30)
    assert alone(bad).base_rate(bad, others=True) == 0.5
    assert alone(bad).base_rate(bad) < 0.2


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
        one = lesson(found.wins, found.losses)
        return alone(one).mean(one)

    before = mean([*own, *proofs])
    assert mean([*own, *proofs, WeightedOutcome(1, 1)]) >= before - 1e-9
    assert mean([*own, *proofs, WeightedOutcome(0, 1)]) <= before + 1e-9


@pytest.mark.parametrize(("wins", "losses"), [(0, 3), (1, 2), (2, 3), (5, 8)])
def test_a_few_failures_prove_no_harm(wins: int, losses: int) -> None:
    one = lesson(wins, losses)
    assert not alone(one).harmful(one)


@pytest.mark.parametrize("others", [(0.0, 0.0), (1.0, 40.0), (20.0, 40.0), (39.0, 40.0)])
def test_five_proven_failures_in_a_row_prove_harm_whatever_the_base_rate(others: tuple[float, float]) -> None:
    one = lesson(0, 5, "deploy")
    assert Rates({"deploy": (others[0], others[1] + 5)}).harmful(one)
    two_of_three = lesson(1, 2, "deploy")
    assert not Rates({"deploy": (others[0] + 1, others[1] + 3)}).harmful(two_of_three)


def test_a_lesson_as_good_as_its_hard_work_allows_is_no_harm() -> None:
    rates = Rates({"deploy": (20, 100)})
    assert not rates.harmful(lesson(4, 16, "deploy"))
    assert rates.harmful(lesson(1, 19, "deploy"))


@given(st.floats(0, 50), st.floats(0, 50), st.floats(0, 5))
def test_another_win_never_makes_a_lesson_harmful(wins: float, losses: float, more: float) -> None:
    one = lesson(wins, losses, "deploy")
    better = replace(one, wins=wins + more)
    others = (30.0, 60.0)

    def rates(who: Lesson) -> Rates:
        return Rates({"deploy": (others[0] + who.wins, others[1] + who.wins + who.losses)})

    assert rates(one).harmful(one) or not rates(better).harmful(better)
