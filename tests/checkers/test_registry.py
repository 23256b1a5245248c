"""The registry of checkers, and the benchmark that runs them."""

import json
from pathlib import Path

import pytest

from benchmarks.critique import Record, main, print_solutions, score
from mcp_reflect.checkers.base import SHIPPED, checkers


def test_a_checker_bears_the_name_it_is_registered_under() -> None:
    names = [checker.name for checker in checkers()]
    assert {"arithmetic", "units", "dates"} <= set(names)
    assert [name for name, _ in SHIPPED if name in names] == [name for name in names if name in dict(SHIPPED)]


def test_checkers_can_be_asked_for_by_name() -> None:
    assert [checker.name for checker in checkers(["units"])] == ["units"]


def test_the_benchmark_counts_the_first_wrong_step_and_false_alarms() -> None:
    records: list[Record] = [
        {"id": "a", "question": "", "steps": ["1 + 1 = 2", "2 + 2 = 5"], "first_error": 1},
        {"id": "b", "question": "", "steps": ["1 + 1 = 2"], "first_error": -1},
        {"id": "c", "question": "", "steps": ["1 + 1 = 3"], "first_error": -1},
        {"id": "d", "question": "", "steps": ["nothing to see"], "first_error": 0},
    ]
    misses: list[str] = []
    total = score(records, checkers(["arithmetic"]), misses)
    assert (total.exact, total.flagged_right, total.flagged, total.wrong) == (2, 1, 2, 2)
    assert (total.false_steps, total.checked_steps, total.steps) == (1, 4, 5)
    assert len(misses) == 2


def test_the_benchmark_says_so_where_there_is_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 2
    assert "--data" in capsys.readouterr().err


def test_the_benchmark_prints_a_row_for_each_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {"id": "a", "question": "", "steps": ["1 + 1 = 3"], "first_error": 0}
    (tmp_path / "tiny.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    print_solutions([tmp_path / "tiny.jsonl"], checkers(["arithmetic"]), misses=False)
    assert capsys.readouterr().out.splitlines()[-1].split()[:3] == ["tiny", "1", "1.0000"]
