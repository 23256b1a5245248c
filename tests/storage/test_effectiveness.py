"""How often a lesson works by its evidence, and when it is harmful."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.lesson import Lesson
from mcp_reflect.storage.outcomes import WeightedOutcome, total

COUNTS = st.floats(0, 200)
SELF = st.lists(
    st.builds(WeightedOutcome, st.sampled_from([0.0, 0.5, 1.0]), st.just(0.3), st.sampled_from([False])), max_size=40
)
PROOFS = st.lists(
    st.builds(WeightedOutcome, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.5, 0.8, 1.0])), max_size=20
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


@pytest.mark.parametrize(("wins", "losses"), [(0, 3), (1, 2), (2, 3), (5, 8)])
def test_a_few_failures_prove_no_harm(wins: int, losses: int) -> None:
    assert not lesson(wins, losses).harmful


@pytest.mark.parametrize(("wins", "losses"), [(0, 4), (1, 7), (5, 40)])
def test_a_clear_record_of_failures_proves_harm(wins: int, losses: int) -> None:
    assert lesson(wins, losses).harmful
