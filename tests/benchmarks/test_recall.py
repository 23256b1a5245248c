"""The benchmarks of recall run to their end over any folder of documents and queries."""

import json
from pathlib import Path

import pytest

from benchmarks import fit, recall
from benchmarks.retrieval import collections

SETS = {
    "kitchen": [("stew", "Let the stew boil over. Turn the heat down."), ("oven", "Left the oven door open. Shut it.")],
    "garden": [("roses", "Cut the roses in frost. Wait for spring."), ("lawn", "Mowed the lawn wet. Wait for sun.")],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, documents in SETS.items():
        folder = tmp_path / name
        folder.mkdir()
        docs = [{"id": key, "text": text} for key, text in documents]
        asked = [{"id": key, "text": text.split(".")[0], "relevant": [key]} for key, text in documents]
        for file, lines in (("docs.jsonl", docs), ("queries.jsonl", asked)):
            (folder / file).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path


async def test_every_set_gets_its_figures_and_every_pair_its_strong_hits(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await recall.measure(collections(data), typed=False)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["set"]: line["ndcg@10"] for line in lines if "set" in line} == {"garden": 1.0, "kitchen": 1.0}
    pairs = {(line["bank"], line["tasks"]): line["with_strong"] for line in lines if "bank" in line}
    assert pairs == {("garden", "kitchen"): 0.0, ("kitchen", "garden"): 0.0}


async def test_a_fit_prints_a_line_for_each_setting(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await fit.fit(collections(data))
    head, first, *more = capsys.readouterr().out.splitlines()
    assert "garden" in head
    assert first.startswith("fitted")
    assert first.count("1.0000") == 3  # each set and their mean
    settings, left_out = more[: -len(SETS)], more[-len(SETS) :]
    assert len(settings) == sum(map(len, fit.GRID.values()))
    assert [line.split(":")[0] for line in left_out] == ["without garden", "without kitchen"]
