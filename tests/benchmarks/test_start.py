"""The start benchmark: whom it measures in what order, and when it says that a limit is broken."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from benchmarks.start import Comparison, in_turn, main

STAND_IN = shlex.join([sys.executable, "-S", "-E", str(Path(__file__).parent / "stand_in.py")])


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


def test_both_eras_and_the_command_are_measured_and_a_broken_limit_is_the_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # As slow as what it is compared with: far over the command line's limit of 0.35.
    command = shlex.join([sys.executable, "-c", "import argparse, asyncio, email.parser, http.client"])
    code = main(["--rounds", "1", "--bare", STAND_IN, "--server", STAND_IN, "--command", command, "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert [figure["name"] for figure in figures] == [
        "first answer, 2025-11-25",
        "first tools/list, 2025-11-25",
        "first answer, 2026-07-28",
        "first tools/list, 2026-07-28",
        "command line",
        "hook",
        "hook after a call",
        "hook after a failure",
    ]
    assert not figures[4]["within"]
    assert code == 1


def test_a_command_that_fails_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="no bank here"):
        main(["--bare", STAND_IN, "--server", STAND_IN, "--command", f"{sys.executable} -c 'exit(\"no bank here\")'"])
