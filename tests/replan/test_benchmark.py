import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.replan import in_turns, measure, measure_calls, merge


def _write(path: Path, *lines: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _data(root: Path) -> Path:
    _write(root / "recall/banking77/docs.jsonl", {"id": "a", "text": "card lost"}, {"id": "b", "text": "new phone"})
    _write(root / "recall/cranfield/docs.jsonl", {"id": "a", "text": "heat of a wing"}, {"id": "b", "text": "drag"})
    _write(root / "recall/cranfield/queries.jsonl", {"id": "1", "text": "does a wing heat air", "relevant": ["a"]})
    _write(root / "replan/banking77_zero.jsonl", {"id": "1", "text": "my lost cards were stolen", "relevant": ["a"]})
    _write(root / "replan/react_titles_docs.jsonl", {"id": "t", "text": "Antic (magazine)"})
    _write(
        root / "replan/react_titles_queries.jsonl",
        {"id": "1", "text": "Antic", "question": "What is Antic?", "relevant": ["t"], "similar": ["Antic (magazine)"]},
    )
    return root


def test_every_set_engine_and_catalog_gets_a_line(tmp_path: Path) -> None:
    lines = list(measure(_data(tmp_path)))
    assert len(lines) == 16
    assert all(line["repeats"] == 0 for line in lines)
    assert {line["recall@10"] for line in lines if line["suggestions"]} == {1.0}


def test_rows_are_merged_by_their_best_score() -> None:
    assert merge([[("a", 2.0), ("b", 1.0)], [("b", 3.0), ("c", 2.0)]]) == ["b", "a", "c"]


def test_rows_are_read_in_turns_each_once() -> None:
    assert in_turns([[("a", 2.0), ("b", 1.0)], [("b", 3.0), ("c", 2.0)], []]) == ["a", "b", "c"]


def test_the_first_calls_time_stands_beside_the_later_ones(tmp_path: Path) -> None:
    for line in measure_calls(_data(tmp_path)):
        assert {"cold_ms", "warm_ms_p50", "warm_ms_p95", "warm_wall_ms_p95", "report_ms_p95"} <= set(line)


def test_a_missing_folder_is_said_clearly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.replan", "--data", str(tmp_path / "none")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert ran.returncode == 2
    assert "is not a folder" in ran.stderr
