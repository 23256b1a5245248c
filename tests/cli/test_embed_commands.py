"""`mcp-reflect embed`, and what doctor and stats say of embeddings."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from tests.llm.embeddings.test_embedders import LETTERS, install


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank with two lessons."""
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "here")
    lessons = tmp_path / "lessons.jsonl"
    lines = [{"mistake": f"Mistake {number}", "correction": "Mend it"} for number in range(2)]
    lessons.write_text("\n".join(map(json.dumps, lines)))
    assert main(["import", str(lessons)]) == 0
    return tmp_path


WORDS = {"embedder": "words", "lessons": 2, "with_vector": 2}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_without_the_setting_there_is_nothing_to_do(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bank
    assert main(["embed"]) == 2
    assert "MCP_REFLECT_EMBEDDINGS: it names no embedder" in capsys.readouterr().err
    assert said(capsys, "doctor")["embeddings"] == said(capsys, "stats")["embeddings"] == WORDS


def test_every_lesson_gets_its_vector_now_and_doctor_and_stats_count_them(
    bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(bank, LETTERS, monkeypatch)
    monkeypatch.setenv("MCP_REFLECT_EMBEDDINGS", "letters:small")
    none_yet = {"embedder": "letters:small", "lessons": 2, "with_vector": 0}
    assert said(capsys, "stats")["embeddings"] == none_yet
    assert said(capsys, "embed") == {"embedded": 2, **none_yet, "with_vector": 2}
    assert main(["embed"]) == 0
    assert "0 lessons embedded: letters:small, 2 of 2 lessons have a vector." in capsys.readouterr().out
    report = said(capsys, "doctor")
    assert report["embeddings"] == {**none_yet, "with_vector": 2}
    assert report["degraded"] == []
    main(["doctor"])
    assert "embeddings        letters:small, 2 of 2 lessons have a vector\n" in capsys.readouterr().out


def test_a_setting_that_cannot_be_used_is_said_by_doctor_and_embed_and_recall_goes_on(
    bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bank
    monkeypatch.setenv("MCP_REFLECT_EMBEDDINGS", "olama:x")
    (problem,) = said(capsys, "doctor")["degraded"]
    assert problem.startswith('Recall compares word vectors only. MCP_REFLECT_EMBEDDINGS: there is no provider "olama"')
    assert main(["embed"]) == 1
    assert "there is no provider" in capsys.readouterr().out
    found = said(capsys, "recall", "mistake 1")
    assert (found["mode"], bool(found["lessons"])) == ("hybrid", True)
