"""The start benchmark: whom it measures in what order, and when it says that a limit is broken."""

from benchmarks.start import Comparison, in_turn


def test_a_limit_is_broken_only_when_both_estimates_are_over_it() -> None:
    one_slow_round = Comparison("x", bare=(1.0, 1.0, 1.0), ours=(1.0, 1.0, 9.0), limit=1.05)
    slow_rounds = Comparison("x", bare=(1.0, 1.0, 1.0), ours=(1.0, 2.0, 2.0), limit=1.05)
    slower = Comparison("x", bare=(1.0, 1.0, 1.0), ours=(1.2, 1.2, 1.2), limit=1.05)
    assert one_slow_round.within
    assert slow_rounds.median_of_ratios == 2.0
    assert slow_rounds.ratio_of_minima == 1.0
    assert slow_rounds.within
    assert not slower.within


def test_ratios_are_taken_within_a_round() -> None:
    machine_slowed_down = Comparison("x", bare=(1.0, 2.0, 4.0), ours=(1.0, 2.0, 4.0), limit=1.05)
    assert machine_slowed_down.median_of_ratios == 1.0


def test_each_round_starts_with_the_next_contestant_and_the_first_round_is_not_kept() -> None:
    order: list[str] = []

    def measure(name: str) -> dict[str, float]:
        order.append(name)
        return {"first": float(len(order))}

    times = in_turn({"a": lambda: measure("a"), "b": lambda: measure("b")}, rounds=2)
    assert "".join(order) == "abbaab"
    assert times == {"a": [{"first": 4.0}, {"first": 5.0}], "b": [{"first": 3.0}, {"first": 6.0}]}
